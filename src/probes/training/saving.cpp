#include "probes/training/saving.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <system_error>

#include "base/clock.hpp"

namespace muster::training {

namespace {

std::string text_of(const ByteVector& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Collective: rank 0's text.
Result<std::string> told_by_first(Comm& comm, std::string_view text) {
  auto told = comm.broadcast(std::as_bytes(std::span(text.data(), text.size())), 0);
  if (!told) return tl::unexpected(told.error());
  return text_of(*told);
}

}  // namespace

Result<ReadCheckpoint> read_checkpoint(Comm& comm, const Identity& identity, const std::string& path) {
  // The first character says whether the rest is the file or why there is none.
  std::string mine;
  if (comm.rank() == 0) {
    auto bytes = read_file(path);
    mine = bytes ? "+" + *bytes : "-" + bytes.error().what;
  }
  auto told = told_by_first(comm, mine);
  if (!told) return tl::unexpected(told.error());
  const std::string_view rest = std::string_view(*told).substr(std::min<std::size_t>(1, told->size()));
  if (!told->starts_with('+')) return fail(ErrorKind::file, path, std::string(rest));
  auto checkpoint = decode(identity, rest);
  if (!checkpoint) return fail(ErrorKind::file, path, checkpoint.error().what);
  return ReadCheckpoint{std::move(*checkpoint), rest.size()};
}

Saving::Saving(const Parts& parts, const Identity& identity, std::string path)
    : parts_(parts), identity_(identity), path_(std::move(path)), is_temporary_(path_.empty()) {}

Result<void> Saving::agree_on_path() {
  if (!path_.empty()) return {};
  std::string mine;
  if (parts_.comm.rank() == 0) {
    const char* folder = std::getenv("TMPDIR");
    mine = fmt::format("{}/muster-training-{}.checkpoint", folder == nullptr || *folder == '\0' ? "/tmp" : folder,
                       random_hex(8));
  }
  auto told = told_by_first(parts_.comm, mine);
  if (!told) return tl::unexpected(told.error());
  path_ = std::move(*told);
  return {};
}

Result<void> Saving::save(const Replica& replica, int epoch, SavedState& saved) {
  parts_.recorder.step("checkpoint");
  if (auto agreed = agree_on_path(); !agreed) return agreed;
  const int rank = parts_.comm.rank();
  if (parts_.writes_checkpoint(rank)) {
    const auto written = write_file(path_, encode(identity_, {replica.save(), epoch, rank}), 0600);
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
  return std::optional<State>(std::move(read->checkpoint.state));
}

Result<void> Saving::remove() {
  if (!is_temporary_ || path_.empty()) return {};
  if (auto met = parts_.comm.barrier(); !met) return met;
  std::error_code ignored;
  if (parts_.comm.rank() == 0) fs::remove(path_, ignored);
  return {};
}

}  // namespace muster::training
