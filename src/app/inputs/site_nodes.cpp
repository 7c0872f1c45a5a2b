#include "app/inputs/site_nodes.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "base/loop.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "run/remote_exec.hpp"

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
        fmt::format(
            "\"{0}\" is a count: without a job, name the nodes (--nodes 'nid[001-004]'), or let Slurm choose them "
            "(muster run --submit --nodes {0})",
            text));
  const auto count = parse_number_from<std::size_t>(text, 1, allocation->nodes.size());
  if (!count)
    return fail(ErrorKind::usage, "--nodes",
                fmt::format("{} nodes: {} job {} has {}", printable_line(text, 20), allocation->scheduler,
                            allocation->job, allocation->nodes.size()));
  return Nodes(allocation->nodes.begin(), allocation->nodes.begin() + static_cast<std::ptrdiff_t>(*count));
}

/// What goes to launchers and remote shells. To launchers a colon ends the name.
Result<void> check_name(const std::string& host) {
  if (host.find(':') != host.npos && why_no_host_name(host).empty())
    return fail(
        ErrorKind::usage, "--nodes",
        fmt::format("\"{}\" is an IPv6 address, of which mpirun reads the part before the first colon; name the "
                    "node, for example by a line of /etc/hosts",
                    host));
  const auto why = why_no_host_name(host);
  if (why.empty()) return {};
  return fail(ErrorKind::usage, "--nodes", fmt::format("\"{}\" is not a host name: {}", printable_line(host, 80), why));
}

Result<Nodes> named_nodes(const std::string& text) {
  auto hosts = expand_hostlist(text);
  if (!hosts) return fail(ErrorKind::usage, "--nodes", hosts.error().what);
  if (hosts->empty()) return fail(ErrorKind::usage, "--nodes", "no node is named; write for example nid[001-004]");
  std::set<std::string> seen;
  std::string here;
  for (const auto& host : *hosts) {
    if (auto named = check_name(host); !named) return tl::unexpected(named.error());
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

constexpr double answer_s = 20;

Result<std::string> asked(const Argv& argv) {
  auto done = run_program(argv, answer_s);
  if (!done) return tl::unexpected(done.error());
  if (done->timed_out || done->end.shell_status() != 0)
    return fail(ErrorKind::usage, "--nodes",
                fmt::format("{} failed: {}", argv[0],
                            done->timed_out ? "it gave no answer" : printable_line(trim(done->err), 200)));
  return std::move(done->out);
}

/// Nodes of the job that no step runs on.
Result<Nodes> idle_nodes(const std::optional<Allocation>& allocation) {
  if (!allocation)
    return fail(ErrorKind::usage, "--nodes", "idle needs a batch system: use it in a job, or with --submit");
  // The only one that muster finds an allocation of.
  const auto* scheduler = find_scheduler("slurm");
  const auto reported = asked(scheduler->ask_steps(allocation->job));
  if (!reported) return tl::unexpected(reported.error());
  const auto busy = scheduler->read_busy(*reported);
  auto nodes = allocation->nodes;
  std::erase_if(nodes, [&](const std::string& node) { return is_in(node, busy); });
  if (!nodes.empty()) return nodes;
  return fail(ErrorKind::usage, "--nodes",
              fmt::format("no node of {} job {} is idle: steps run on {}; wait for them, or name nodes",
                          allocation->scheduler, allocation->job, printable_line(compress_hostlist(busy), 120)));
}

NodeRequest usable(const std::vector<NodeState>& nodes, bool only_idle) {
  NodeRequest request;
  std::vector<std::string> left_out;
  for (const auto& node : nodes) {
    if (only_idle ? node.is_idle : node.is_usable) {
      request.names.push_back(node.node);
      continue;
    }
    left_out.push_back(fmt::format("{} ({}{})", node.node, node.state, node.why.empty() ? "" : ": " + node.why));
  }
  request.count = static_cast<int>(request.names.size());
  if (!left_out.empty()) request.notes.push_back("left out: " + human_list(left_out));
  return request;
}

}  // namespace

Result<NodeRequest> requested_nodes(const std::string& option, const SchedulerSpec& scheduler,
                                    std::span<const JobOption> options) {
  NodeRequest request;
  if (option.empty()) return request;
  if (is_count(option)) {
    if (read_number(option, request.count) && request.count >= 1) return request;
    return fail(ErrorKind::usage, "--nodes", fmt::format("{} is not a number of nodes", printable_line(option, 20)));
  }
  if (option == "all" || option == "idle") {
    const auto reported = asked(scheduler.ask_nodes(options));
    if (!reported) return tl::unexpected(reported.error());
    request = usable(scheduler.read_nodes(*reported), option == "idle");
    if (request.count > 0) return request;
    const auto left_out = request.notes.empty() ? std::string() : "; " + request.notes.front();
    const auto remedy = "; request a number of nodes and wait for them, with --nodes 2";
    if (option == "all") return fail(ErrorKind::usage, "--nodes", "no node is there for jobs now" + left_out + remedy);
    request.none_idle = "no node is idle now" + left_out + remedy;
    return request;
  }
  auto hosts = expand_hostlist(option);
  if (!hosts) return fail(ErrorKind::usage, "--nodes", hosts.error().what);
  std::set<std::string> seen;
  for (const auto& host : *hosts) {
    if (auto named = check_name(host); !named) return tl::unexpected(named.error());
    if (!seen.insert(host).second)
      return fail(ErrorKind::usage, "--nodes", fmt::format("{} is named twice", printable_line(host)));
  }
  if (hosts->empty()) return fail(ErrorKind::usage, "--nodes", "no node is named; write for example nid[001-004]");
  request.names = std::move(*hosts);
  request.count = static_cast<int>(request.names.size());
  return request;
}

Result<Nodes> choose_nodes(const std::string& option, const LauncherSpec& launcher,
                           const std::optional<Allocation>& allocation) {
  if (is_count(option)) return first_nodes(option, allocation);
  if (option == "idle") return idle_nodes(allocation);
  const bool is_all = option == "all" && allocation;
  // One rank is all that it starts: the rest of the allocation is not for it.
  if (option.empty() && (!allocation || launcher.most_ranks == 1)) return Nodes{};
  if (option.empty() || is_all) return allocation->nodes;
  if (option == "all")
    return fail(
        ErrorKind::usage, "--nodes",
        "all needs a batch system: use it in a job, or with --submit; else name the nodes: --nodes 'nid[001-004]'");
  auto nodes = named_nodes(option);
  if (!nodes || !launcher.needs_allocation || !allocation) return nodes;
  for (const auto& node : *nodes)
    if (!is_in(node, allocation->nodes))
      return fail(
          ErrorKind::usage, "--nodes",
          fmt::format("{} is not in the allocation: {} job {} has {}", printable_line(node), allocation->scheduler,
                      allocation->job, printable_line(compress_hostlist(allocation->nodes), 120)));
  return nodes;
}

}  // namespace muster
