#include "run/plugin_file.hpp"

#include <algorithm>
#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"
#include "muster/plugin.hpp"

namespace muster {

namespace {

constexpr std::string_view mark = MUSTER_PLUGIN_MARK;
constexpr std::string_view own_stamp = MUSTER_PLUGIN_STAMP;

tl::unexpected<Error> refuse(const fs::path& file, std::string what) {
  return fail(ErrorKind::file, file.string(), std::move(what));
}

/// A file, seen through memory: one with kernels for GPUs may be large, and is about to be mapped anyway.
class Mapped {
 public:
  explicit Mapped(int descriptor) {
    struct stat about {};
    if (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
      size_ = static_cast<std::size_t>(about.st_size);
      start_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
  }
  ~Mapped() {
    if (start_ != MAP_FAILED) ::munmap(start_, size_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  [[nodiscard]] std::string_view bytes() const {
    return start_ == MAP_FAILED ? std::string_view() : std::string_view(static_cast<const char*>(start_), size_);
  }

 private:
  void* start_ = MAP_FAILED;
  std::size_t size_ = 0;
};

constexpr unsigned char own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;

/// Of an ELF file; 0: it is none, or none of this width.
unsigned machine_of(std::string_view bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr) || bytes.substr(0, SELFMAG) != ELFMAG) return 0;
  if (static_cast<unsigned char>(bytes[EI_CLASS]) != own_class) return 0;
  const std::size_t at = offsetof(Elf64_Ehdr, e_machine);
  return static_cast<unsigned char>(bytes[at]) + 256u * static_cast<unsigned char>(bytes[at + 1]);
}

#if defined(__aarch64__)
constexpr unsigned own_machine = EM_AARCH64;
constexpr const char* own_machine_name = "aarch64";
#elif defined(__x86_64__)
constexpr unsigned own_machine = EM_X86_64;
constexpr const char* own_machine_name = "x86_64";
#else
constexpr unsigned own_machine = 0;  // not looked at
constexpr const char* own_machine_name = "this machine";
#endif

/// `0.1.0` of `0.1.0,0a1b2c,libstdc++`
std::string version_of(std::string_view stamp) {
  return printable_line(stamp.substr(0, stamp.find(',')), 40);
}

std::string difference(std::string_view stamp) {
  if (version_of(stamp) != version_of(own_stamp))
    return fmt::format("was built for muster {}, this is {}", version_of(stamp), version_of(own_stamp));
  if (stamp.substr(stamp.rfind(',') + 1) != own_stamp.substr(own_stamp.rfind(',') + 1))
    return fmt::format("was built with {}, muster with {}", printable_line(stamp.substr(stamp.rfind(',') + 1), 40),
                       own_stamp.substr(own_stamp.rfind(',') + 1));
  return fmt::format("was built with other headers of muster {} than this one's", version_of(own_stamp));
}

}  // namespace

Result<void> hold_fitting(std::string_view bytes, const std::string& file) {
  const unsigned machine = machine_of(bytes);
  if (machine == 0) return refuse(file, "is not a shared object; name the .so that was built, or remove the file");
  if (own_machine != 0 && machine != own_machine)
    return refuse(file, fmt::format("was built for another processor than {}; build it here", own_machine_name));
  const auto at = bytes.find(mark);
  if (at == bytes.npos)
    return refuse(file, "is not a plug-in of muster; build it with muster_add_probe (docs/tutorial-plugin-probe.md)");
  const auto rest = bytes.substr(at + mark.size(), 200);
  const auto stamp = rest.substr(0, rest.find('\0'));
  if (stamp == own_stamp) return {};
  return refuse(file, difference(stamp) + "; build it again with this muster's CMake package");
}

Result<OwnedDescriptor> hold_plugin(const fs::path& file) {
  auto opened = open_trusted(file, with_installer());
  if (!opened) return opened;
  struct stat about {};
  if (::fstat(opened->number(), &about) != 0 || !S_ISREG(about.st_mode)) return refuse(file, "is not a file");
  const Mapped mapped(opened->number());
  if (mapped.bytes().empty()) return refuse(file, "can't be read, or is empty");
  if (auto held = hold_fitting(mapped.bytes(), file.string()); !held) return tl::unexpected(held.error());
  return opened;
}

}  // namespace muster
