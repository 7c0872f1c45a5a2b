#include "device/collective_capture.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster {

namespace {

constexpr std::size_t most_text = 4u << 20;

/// Of this process: it lives as long as the library may write.
struct CaptureFile {
  std::string folder;  ///< with the file in it; empty: none yet, or removed
  std::string path;
  int file = -1;
};

CaptureFile& capture_file() {
  static CaptureFile one;
  return one;
}

/// A folder for ourselves with an empty file; without one nothing is collected.
void make_capture_file() {
  CaptureFile& own = capture_file();
  const char* temporary = std::getenv("TMPDIR");
  std::string folder =
      std::string(temporary == nullptr || *temporary == '\0' ? "/tmp" : temporary) + "/muster-nccl-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return;
  own.folder = folder;
  own.path = folder + "/log";
}

/// The library makes the file when it first writes; nothing happens before.
void open_capture_file() {
  CaptureFile& own = capture_file();
  if (own.file < 0 && !own.path.empty()) own.file = ::open(own.path.c_str(), O_RDONLY | O_CLOEXEC);
}

std::size_t length_of(int file) {
  struct stat state {};
  return file >= 0 && ::fstat(file, &state) == 0 ? static_cast<std::size_t>(state.st_size) : 0;
}

}  // namespace

CollectiveAsked::CollectiveAsked() {
  if (std::getenv("NCCL_DEBUG") != nullptr || std::getenv("NCCL_DEBUG_FILE") != nullptr) return;
  if (capture_file().path.empty()) make_capture_file();
  if (capture_file().path.empty()) return;
  is_set_ = true;
  ::setenv("NCCL_DEBUG", "INFO", 1);
  ::setenv("NCCL_DEBUG_FILE", capture_file().path.c_str(), 1);
}

CollectiveAsked::~CollectiveAsked() {
  if (!is_set_) return;
  ::unsetenv("NCCL_DEBUG");
  ::unsetenv("NCCL_DEBUG_FILE");
  CaptureFile& own = capture_file();
  if (own.folder.empty()) return;
  // The library has it open by now; so have we, and its name is of no more use.
  open_capture_file();
  ::unlink(own.path.c_str());
  ::rmdir(own.folder.c_str());
  own.folder.clear();
}

CollectiveCapture CollectiveCapture::from_here() {
  CollectiveCapture capture;
  open_capture_file();
  capture.begin_ = length_of(capture_file().file);
  return capture;
}

std::string CollectiveCapture::text() const {
  const int file = capture_file().file;
  const std::size_t end = length_of(file);
  if (end <= begin_) return {};
  std::string text(std::min(end - begin_, most_text), '\0');
  const auto got = ::pread(file, text.data(), text.size(), static_cast<off_t>(begin_));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace muster
