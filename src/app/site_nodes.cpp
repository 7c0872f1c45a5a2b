#include "app/site_nodes.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <set>

#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "run/reach.hpp"

namespace muster {

namespace {

using Nodes = std::vector<std::string>;

bool is_count(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

Result<Nodes> first_nodes(const std::string& text, const std::optional<Allocation>& allocation) {
  if (!allocation)
    return fail(
        ErrorKind::usage, "--nodes",
        fmt::format("\"{}\" is a count, which needs a scheduler to choose nodes; name them: --nodes nid[001-004]",
                    text));
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || count < 1 || count > allocation->nodes.size())
    return fail(ErrorKind::usage, "--nodes",
                fmt::format("{} nodes: {} job {} has {}", printable_line(text, 20), allocation->scheduler,
                            allocation->job, allocation->nodes.size()));
  return Nodes(allocation->nodes.begin(), allocation->nodes.begin() + static_cast<std::ptrdiff_t>(count));
}

Result<Nodes> named_nodes(const std::string& text) {
  auto hosts = expand_hostlist(text);
  if (!hosts) return fail(ErrorKind::usage, "--nodes", hosts.error().what);
  if (hosts->empty()) return fail(ErrorKind::usage, "--nodes", "no node is named; write for example nid[001-004]");
  std::set<std::string> seen;
  std::string here;
  for (const auto& host : *hosts) {
    // It would be taken for an option by what goes there.
    if (host.front() == '-')
      return fail(ErrorKind::usage, "--nodes", fmt::format("\"{}\" is no host name", printable_line(host)));
    if (!seen.insert(host).second)
      return fail(ErrorKind::usage, "--nodes", fmt::format("{} is named twice", printable_line(host)));
    if (!is_this_node(host)) continue;
    if (!here.empty())
      return fail(ErrorKind::usage, "--nodes",
                  fmt::format("{} and {} are one machine, this one; name it once", here, printable_line(host)));
    here = printable_line(host);
  }
  return hosts;
}

}  // namespace

Result<Nodes> choose_nodes(const std::string& option, const LauncherSpec& launcher,
                           const std::optional<Allocation>& allocation) {
  if (is_count(option)) return first_nodes(option, allocation);
  const bool is_all = option == "all" && allocation;
  // One rank is all that it starts: the rest of the allocation is not for it.
  if (option.empty() && (!allocation || launcher.most_ranks == 1)) return Nodes{};
  if (option.empty() || is_all) return allocation->nodes;
  auto nodes = named_nodes(option);
  if (!nodes || !launcher.needs_allocation || !allocation) return nodes;
  for (const auto& node : *nodes)
    if (std::find(allocation->nodes.begin(), allocation->nodes.end(), node) == allocation->nodes.end())
      return fail(
          ErrorKind::usage, "--nodes",
          fmt::format("{} is not in the allocation: {} job {} has {}", printable_line(node), allocation->scheduler,
                      allocation->job, printable_line(compress_hostlist(allocation->nodes), 120)));
  return nodes;
}

}  // namespace muster
