/// Writes many small files below one folder; the first failure is kept, and ends the work.
#pragma once

#include <string>
#include <string_view>

#include "base/files.hpp"

namespace muster {

class TreeWriter {
 public:
  explicit TreeWriter(fs::path root) : root_(std::move(root)) {}

  void folder(const std::string& path);
  /// A line, as files of /sys are.
  void put(const std::string& path, std::string_view text) { write(path, std::string(text) + "\n"); }
  void write(const std::string& path, std::string_view text, unsigned mode = 0644);
  /// A symbolic link at `path` to `target`, both below the root.
  void link(const std::string& path, const std::string& target);
  [[nodiscard]] const Result<void>& result() const { return result_; }

 private:
  void fail_at(const fs::path& path, const std::string& what);
  fs::path root_;
  Result<void> result_;
};

}  // namespace muster
