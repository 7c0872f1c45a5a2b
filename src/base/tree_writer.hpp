/// Writes many small files below one folder; the first failure is kept, and ends the work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/trusted_path.hpp"

namespace muster {

/// All is done by descriptors, and no link is followed: whatever other users exchange meanwhile, nothing outside of the
/// folder is changed, and no file that is there is written into.
class TreeWriter {
 public:
  /// `shown`: what messages call the folder.
  TreeWriter(OwnedDescriptor folder, fs::path shown) : folder_(std::move(folder)), shown_(std::move(shown)) {}

  /// One of a folder below it, which is made; its first failure is that of making it.
  [[nodiscard]] TreeWriter below(const std::string& path);
  void folder(const std::string& path) { (void)open_folder(path); }
  /// A line, as files of /sys are.
  void put(const std::string& path, std::string_view text) { write(path, std::string(text) + "\n"); }
  /// A new file; one that is there is removed before.
  void write(const std::string& path, std::string_view text, unsigned mode = 0644);
  /// A file of the folder itself that appears only when complete.
  void replace(const std::string& name, std::string_view text);
  /// A symbolic link at `path` to `target`, both below the root.
  void link(const std::string& path, const std::string& target);
  /// A file or a folder of the folder itself, with all that is in it. One that does not exist is not an error.
  void remove(const std::string& name);

  /// What is in it.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] int descriptor() const { return folder_.number(); }
  [[nodiscard]] OwnedDescriptor release() { return std::move(folder_); }
  [[nodiscard]] const Result<void>& result() const { return result_; }

 private:
  OwnedDescriptor open_folder(const fs::path& path);
  void fail_at(const fs::path& path, const std::string& what);
  OwnedDescriptor folder_;
  fs::path shown_;
  Result<void> result_;
};

}  // namespace muster
