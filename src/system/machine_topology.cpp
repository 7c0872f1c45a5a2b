#include <cstdlib>
#include <optional>

#include "base/text.hpp"
#include "system/topology_handle.hpp"
#include "system/tree_writer.hpp"

namespace muster {

namespace {

/// A variable for as long as this lives; then what it was.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name); before != nullptr) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

Result<std::string> topology_text(const fs::path& root) {
  const Variable fsroot("HWLOC_FSROOT", fs::absolute(root).string());
  // Its reader of CPUID would mix in the processor that this program runs on.
  const Variable components("HWLOC_COMPONENTS", "linux,linuxio,stop");
  const auto topology = new_topology();
  if (!topology) return tl::unexpected(topology.error());
  const hwloc_topology_t raw = topology->get();
  (void)hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  (void)hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(raw) != 0)
    return fail(ErrorKind::system, printable_line(root.string()), "hwloc can't read the topology of this folder");
  char* text = nullptr;
  int size = 0;
  if (hwloc_topology_export_xmlbuffer(raw, &text, &size, 0) != 0)
    return fail(ErrorKind::system, printable_line(root.string()), "hwloc can't write the topology of this folder");
  std::string copied(text);
  hwloc_free_xmlbuffer(raw, text);
  return copied;
}

}  // namespace muster
