#include "probes/training/saving.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <system_error>

#include "base/clock.hpp"
#include "base/number.hpp"

namespace muster::training {

namespace {

std::string text_of(const ByteVector& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Collective: rank 0's text.
Result<std::string> from_first_rank(Comm& comm, std::string_view text) {
  auto reported = comm.broadcast(std::as_bytes(std::span(text.data(), text.size())), 0);
  if (!reported) return tl::unexpected(reported.error());
  return text_of(*reported);
}

}  // namespace

Result<ReadCheckpoint> read_checkpoint(Comm& comm, const Identity& identity, const std::string& path) {
  // The first character marks the rest as the file or as the reason of its absence.
  std::string mine;
  if (comm.rank() == 0) {
    auto bytes = read_file(path);
    mine = bytes ? "+" + *bytes : "-" + bytes.error().what;
  }
  auto reported = from_first_rank(comm, mine);
  if (!reported) return tl::unexpected(reported.error());
  const std::string_view rest = std::string_view(*reported).substr(std::min<std::size_t>(1, reported->size()));
  if (!reported->starts_with('+')) return fail(ErrorKind::file, path, std::string(rest));
  auto checkpoint = decode(identity, rest);
  if (!checkpoint) return fail(ErrorKind::file, path, checkpoint.error().what);
  return ReadCheckpoint{std::move(*checkpoint), rest.size()};
}

Result<void> may_write_checkpoint(const std::string& path) {
  std::error_code trouble;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, trouble))
    return fail(ErrorKind::usage, "checkpoint", fmt::format("{}: there is no folder {}", path, folder.string()));
  if (!fs::exists(fs::symlink_status(path, trouble))) return {};
  if (!fs::is_regular_file(path, trouble))
    return fail(ErrorKind::usage, "checkpoint", fmt::format("{} exists and is not a file", path));
  std::ifstream file(path, std::ios::binary);
  std::string start(64, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (is_checkpoint(start)) return {};
  return fail(ErrorKind::usage, "checkpoint",
              fmt::format("{} exists and is not a checkpoint of muster; it is not overwritten", path));
}

Saving::Saving(const Parts& parts, const Identity& identity, std::string path)
    : parts_(parts), identity_(identity), path_(std::move(path)), is_temporary_(path_.empty()) {}

Saving::~Saving() {
  std::error_code ignored;
  if (is_temporary_ && !path_.empty() && parts_.comm.rank() == 0) fs::remove(path_, ignored);
}

Result<void> Saving::agree() {
  std::string mine;
  if (parts_.comm.rank() == 0) {
    const char* folder = std::getenv("TMPDIR");
    const std::string run = random_hex(8);
    mine = fmt::format("{} {}/muster-training-{}.checkpoint", run,
                       folder == nullptr || *folder == '\0' ? "/tmp" : folder, run);
  }
  auto reported = from_first_rank(parts_.comm, mine);
  if (!reported) return tl::unexpected(reported.error());
  const std::size_t end = std::min(reported->find(' '), reported->size());
  run_ = leading_number<std::uint64_t>(reported->substr(0, end), 16).value_or(run_);
  if (path_.empty()) path_ = reported->substr(std::min(end + 1, reported->size()));
  return {};
}

Result<void> Saving::write(const Replica& replica, int epoch) const {
  if (!is_temporary_)
    if (auto may = may_write_checkpoint(path_); !may) return fail(ErrorKind::file, "", may.error().what);
  return write_file(path_, encode(identity_, {replica.save(), epoch, parts_.comm.rank(), run_}), 0600);
}

Result<void> Saving::save(const Replica& replica, int epoch, SavedState& saved) {
  parts_.recorder.step("checkpoint");
  if (auto agreed = agree(); !agreed) return agreed;
  if (parts_.writes_checkpoint(parts_.comm.rank())) {
    const auto written = write(replica, epoch);
    saved.is_mine = written.has_value();
    if (!written) saved.fault = to_string(written.error());
  }
  return parts_.comm.barrier();
}

Result<std::optional<State>> Saving::read_back(SavedState& saved) {
  auto could_write = parts_.comm.all_true(saved.fault.empty());
  if (!could_write) return tl::unexpected(could_write.error());
  if (!*could_write) return std::optional<State>();
  auto read = read_checkpoint(parts_.comm, identity_, path_);
  if (!read) {
    saved.fault = to_string(read.error());
    return std::optional<State>();
  }
  saved.bytes = read->bytes;
  saved.writer = read->checkpoint.writer;
  saved.is_of_another_run = read->checkpoint.run != run_;
  if (saved.is_of_another_run) return std::optional<State>();
  return std::optional<State>(std::move(read->checkpoint.state));
}

}  // namespace muster::training
