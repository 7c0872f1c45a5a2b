/// A file system of a megabyte that only this thread's mount namespace sees, to be filled up.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace muster {

/// Runs `act(folder)` on a thread of its own, with a tmpfs of 1 MiB mounted at the folder. "", or why not.
inline std::string on_small_disk(const std::string& folder, const std::function<void()>& act) {
  std::string trouble;
  std::thread([&] {
    const auto failed = [&](const char* call) { trouble = std::string(call) + ": " + std::strerror(errno); };
    if (geteuid() != 0) {
      trouble = "mounting takes root";
      return;
    }
    if (unshare(CLONE_FS | CLONE_NEWNS) != 0) return failed("unshare");
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed("mount --make-rprivate");
    if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m,mode=0700") != 0) return failed("mount tmpfs");
    act();
    umount2(folder.c_str(), MNT_DETACH);
  }).join();
  return trouble;
}

/// A folder of its own below the test's temporary folder, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = testing::TempDir() + "muster-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  /// Names in it, hidden ones too.
  [[nodiscard]] std::size_t entries() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) count += entry.path().empty() ? 0 : 1;
    return count;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace muster
