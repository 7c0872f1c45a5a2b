#include "measure/paths.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace muster::environment {

namespace {

struct Kind {
  std::uint64_t magic;
  std::string_view name;
};

// statfs(2), linux/magic.h, and the headers of Lustre (lustre_user.h), GPFS, BeeGFS and PanFS.
constexpr Kind shared_kinds[] = {
    {0x6969, "nfs"},       {0x0BD00BD0, "lustre"},   {0x47504653, "gpfs"}, {0x19830326, "beegfs"},
    {0xAAD7AAEA, "panfs"}, {0x00C36400, "ceph"},     {0xFF534D42, "cifs"}, {0xFE534D42, "smb2"},
    {0x5346414F, "afs"},   {0x20030528, "orangefs"},
};

struct Container {
  std::string_view variable;
  std::string_view name;
};
constexpr Container containers[] = {
    {"APPTAINER_CONTAINER", "Apptainer"},
    {"APPTAINER_NAME", "Apptainer"},
    {"SINGULARITY_CONTAINER", "Singularity"},
    {"SINGULARITY_NAME", "Singularity"},
    {"SHIFTER_RUNTIME", "Shifter"},
    {"SHIFTER_IMAGEREQUEST", "Shifter"},
    {"container", "Podman"},
};

}  // namespace

std::string_view shared_file_system(std::uint64_t magic) {
  for (const Kind& kind : shared_kinds)
    if (kind.magic == (magic & 0xFFFFFFFFu)) return kind.name;
  return {};
}

std::string shared_file_system(const std::string& path) {
  if (path.empty() || path.front() != '/') return {};
  for (fs::path at = path;; at = at.parent_path()) {
    struct statfs about {};
    if (::statfs(at.c_str(), &about) == 0)
      return std::string(shared_file_system(static_cast<std::uint64_t>(about.f_type)));
    if (at == at.parent_path()) return {};
  }
}

std::vector<Fact> shared_paths(const Variables& all) {
  std::vector<Fact> facts;
  for (const std::string_view name : path_variables) {
    const auto found = all.find(name);
    if (found == all.end()) continue;
    if (std::string kind = shared_file_system(found->second); !kind.empty())
      facts.push_back({fmt::format("path.{}", name), fmt::format("{} {}", kind, printable_line(found->second, 200))});
  }
  return facts;
}

std::vector<Fact> absent_caches(const Variables& all) {
  std::vector<Fact> facts;
  for (const std::string_view name : cache_variables) {
    const auto found = all.find(name);
    if (found == all.end()) continue;
    std::error_code ignored;
    const bool is_folder = fs::is_directory(found->second, ignored);
    if (is_folder && ::access(found->second.c_str(), W_OK) == 0) continue;
    facts.push_back(
        {fmt::format("absent.{}", name), fmt::format("{}, which {}", printable_line(found->second, 200),
                                                     is_folder ? "can't be written" : "is not a folder there")});
  }
  return facts;
}

std::string container_of(const Variables& all) {
  for (const Container& container : containers)
    if (all.find(container.variable) != all.end()) return std::string(container.name);
  return {};
}

std::vector<std::string> unloadable(const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    void* library = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library != nullptr) {
      ::dlclose(library);
      continue;
    }
    const char* why = ::dlerror();
    missing.push_back(printable_line(why == nullptr ? name : why, 200));
  }
  return missing;
}

}  // namespace muster::environment
