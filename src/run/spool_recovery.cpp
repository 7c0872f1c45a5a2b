#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <vector>

#include "run/spool.hpp"
#include "run/spool_reader.hpp"

namespace muster {

Result<RunReport> recover_spool(const fs::path& spool_file) {
  std::error_code ignored;
  if (fs::is_directory(spool_file, ignored))
    return fail(ErrorKind::file, spool_file.string(), "is a directory, not a spool file");
  // Opening a pipe would wait for a writer.
  if (fs::exists(spool_file, ignored) && !fs::is_regular_file(spool_file, ignored))
    return fail(ErrorKind::file, spool_file.string(), "can't be read: it is a pipe or a device, not a spool file");
  std::ifstream in(spool_file, std::ios::binary);
  if (!in) return fail(ErrorKind::file, spool_file.string(), fmt::format("can't be read: {}", std::strerror(errno)));
  SpoolReader reader;
  std::vector<char> piece(1u << 20);
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    reader.feed(std::as_bytes(std::span(piece.data(), static_cast<std::size_t>(in.gcount()))));
  }
  if (in.bad()) return fail(ErrorKind::file, spool_file.string(), "can't be read to its end");
  auto report = reader.finish();
  if (!report) return fail(ErrorKind::file, spool_file.string(), to_string(report.error()));
  return report;
}

}  // namespace muster
