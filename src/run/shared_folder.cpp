#include "run/shared_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_owner.hpp"
#include "run/launch_tag.hpp"
#include "run/messages.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

/// Of Open MPI 4 and 5.
constexpr const char* backing_folders[] = {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"};

std::string path_in_memory(const std::string& name) {
  return "/dev/shm/" + name;
}

/// Whether it is there now, and no other user may write it.
bool make_private_folder(const std::string& path) {
  struct stat about {};
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  return see_entry(path, about) && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() && (about.st_mode & 0077) == 0;
}

}  // namespace

SharedFolder::SharedFolder() {
  const char* secret = std::getenv(env_tag_secret);
  if (secret == nullptr || *secret == '\0') return;
  for (const char* name : backing_folders)
    if (std::getenv(name) != nullptr) return;
  // With the node: containers with names of their own may share processes, and a folder stays while one has it mapped.
  const std::string name = "muster-shm." + name_by_secret(secret) + "." + host_name();
  if (!make_private_folder(path_in_memory(name))) return;
  name_ = name;
  for (const char* setting : backing_folders) ::setenv(setting, path_in_memory(name_).c_str(), 1);
}

void SharedFolder::hide_settings() const {
  if (name_.empty()) return;
  for (const char* setting : backing_folders) ::unsetenv(setting);
}

SharedFolder::~SharedFolder() {
  if (!name_.empty()) ::rmdir(path_in_memory(name_).c_str());
}

}  // namespace muster
