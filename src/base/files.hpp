/// Files: read whole, written beside and renamed, appended record by record. Errors name path and cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/owned_descriptor.hpp"
#include "muster/result.hpp"

namespace muster {

namespace fs = std::filesystem;

/// Fails with kind `system`: missing, unreadable, a folder, or larger than `most` bytes.
[[nodiscard]] Result<std::string> read_file(const fs::path& path, std::size_t most = 256u << 20);
/// Of at most 64 KiB, trimmed, as files of /proc and /sys are read; empty where it can't be read.
[[nodiscard]] std::string read_line(const fs::path& path);

/// A file that appears at `path` only when complete. Opens its temporary file beside it at once, so that a report
/// that can't be written is an error at the start. A symbolic link stays one: what it points to is replaced. What is
/// no regular file (a device, a pipe) is written as it comes, and nothing is renamed over it.
class AtomicFile {
 public:
  [[nodiscard]] static Result<AtomicFile> open(const fs::path& path, unsigned mode = 0644);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();  ///< without commit: the temporary file is removed

  [[nodiscard]] Result<void> write(std::string_view text);
  /// fsync, then rename over `path`. Fails, leaving `path` as it was, when a write has failed before.
  [[nodiscard]] Result<void> commit();
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  AtomicFile() = default;
  void discard();
  fs::path path_;
  fs::path target_;     ///< path_ with its link followed
  fs::path temporary_;  ///< empty: written in place
  int descriptor_ = -1;
  int error_ = 0;  ///< errno of the write that failed
};

/// Opens, writes and commits in one call.
[[nodiscard]] Result<void> write_file(const fs::path& path, std::string_view text, unsigned mode = 0644);

/// A file that only grows. A write is complete or rolled back: after a failure the file ends where it ended before,
/// and what is left of the reserve is kept.
class AppendFile {
 public:
  /// Creates it, mode 0600; `reserve` bytes of disk are set aside for it at once (0: none), so that writes within
  /// the reserve can't fail for a full disk. Fails when they can't be had.
  [[nodiscard]] static Result<AppendFile> create(const fs::path& path, std::size_t reserve);
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);
  /// Sets aside disk for the next `bytes` bytes, beside what already is. Fails with kind `system` when they can't be
  /// had; does nothing on a file system that knows no such thing.
  [[nodiscard]] Result<void> reserve(std::size_t bytes);
  /// Gives back what of the reserve is unused.
  void release_reserve();

 private:
  AppendFile() = default;
  fs::path path_;
  OwnedDescriptor descriptor_;
  std::uint64_t size_ = 0;
  std::uint64_t reserved_to_ = 0;  ///< disk is set aside up to here
};

/// Makes `path` and its parents; the last one with `mode`. An existing folder is fine.
[[nodiscard]] Result<void> make_folder(const fs::path& path, unsigned mode = 0700);
/// Points the symbolic link at `target`, atomically; an existing link is replaced.
[[nodiscard]] Result<void> replace_symlink(int folder, const std::string& name, const fs::path& target);
/// First match of `program` on PATH that may be executed (or itself when it has a slash); empty: none.
[[nodiscard]] fs::path find_program(std::string_view program);
/// The running executable.
[[nodiscard]] fs::path own_executable();
/// PREFIX of PREFIX/bin/muster. Empty where that is unknown, as without /proc: nothing may then be taken from below it,
/// or it would come from the current folder.
[[nodiscard]] fs::path install_prefix();

}  // namespace muster
