/// What a program wrote to a file: what the file held before is not of this run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "muster/result.hpp"

namespace muster::program {

/// A file as it was before the program started.
class FileBefore {
 public:
  FileBefore() = default;
  /// Reads its state, and at most the first and the last 64 KiB.
  explicit FileBefore(std::string path);

  /// After the program has ended: the whole file where it is new or was rewritten, the text behind its old end where it
  /// was appended to. A file that is larger, and in which the old beginning and the old end are unchanged, was appended
  /// to. Fails with kind `system` and words that follow the path: `was not written by this run`.
  [[nodiscard]] Result<std::string> written() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] bool holds_the_old() const;

  std::string path_;
  std::string state_;  ///< what changes when a file is written; empty: there was none
  std::uint64_t size_ = 0;
  std::optional<std::string> beginning_;  ///< nullopt: it could not be read
  std::optional<std::string> end_;
};

}  // namespace muster::program
