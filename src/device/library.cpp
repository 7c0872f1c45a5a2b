#include "device/library.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <link.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "model/gpu_vendor.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

/// Folders before each name; `` is where the loader looks.
std::vector<std::string> folders() {
  if (this_machine().simulated.empty()) {
    std::vector<std::string> searched{""};
    for (const GpuVendor* vendor : gpu_vendors())
      searched.insert(searched.end(), vendor->library_folders.begin(), vendor->library_folders.end());
    return searched;
  }
  const char* drivers = std::getenv(env_drivers);
  if (drivers == nullptr || *drivers == '\0') return {};
  return {std::string(drivers) + "/"};
}

/// The loader's message for a missing library and for one that lacks another differ only in the name.
bool is_missing(const std::string& path, const std::string& words) {
  return words.rfind(path + ": cannot open shared object file: No such file", 0) == 0;
}

std::string file_of(void* handle) {
  const link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return {};
  std::error_code ignored;
  const fs::path file = fs::canonical(map->l_name, ignored);
  return ignored ? std::string(map->l_name) : file.string();
}

}  // namespace

Library Library::open(std::initializer_list<const char*> names) {
  Library library;
  library.name_ = names.size() == 0 ? "" : *names.begin();
  for (const std::string& folder : folders())
    for (const char* name : names) {
      const std::string path = folder + name;
      if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        library.handle_ = handle;
        library.name_ = name;
        library.file_ = file_of(handle);
        library.error_.clear();
        return library;
      }
      const char* message = ::dlerror();
      const std::string words = message == nullptr ? "" : message;
      if (library.error_.empty() && !is_missing(path, words)) {
        library.name_ = name;
        library.error_ = printable_line(words, 300);
      }
    }
  return library;
}

void* Library::symbol(const char* symbol) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, symbol);
}

}  // namespace muster
