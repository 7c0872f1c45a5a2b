// How Slurm's partitions and nodes are configured: sinfo and `scontrol show config`, as a real Slurm 22.05 gave them.
#include <algorithm>

#include "base/number.hpp"
#include "base/text.hpp"
#include "schedulers/slurm/parts.hpp"

namespace muster::slurm {

namespace {

/// sinfo writes `2+` where nodes of one line differ.
int number_in(const std::string& text) {
  return std::max(0, leading_number<int>(text).value_or(0));
}

}  // namespace

/// Node, partition, sockets, cores of a socket, threads of a core, generic resources.
Argv ask_configured() {
  return {"sinfo", "--noheader", "--Node", "--format=%N|%P|%X|%Y|%Z|%G"};
}

std::vector<ConfiguredNode> read_configured(std::string_view out) {
  std::vector<ConfiguredNode> nodes;
  for (const std::string_view line : lines(out)) {
    const auto fields = split(trim(line), '|');
    if (fields.size() != 6 || fields[0].empty() || fields[1].empty()) continue;
    ConfiguredNode node;
    node.node = printable_line(fields[0], 255);
    node.partition = printable_line(fields[1], 255);
    node.is_default = node.partition.back() == '*';
    if (node.is_default) node.partition.pop_back();
    node.cores = number_in(fields[2]) * number_in(fields[3]);
    node.smt = number_in(fields[4]);
    node.gpus = gpus_of(fields[5]);
    node.gpu_type = printable_line(gpu_type_of(fields[5]), 60);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Argv ask_cluster() {
  return {"scontrol", "show", "config"};
}

/// `ClusterName             = virtual`
std::string read_cluster(std::string_view out) {
  for (const std::string_view line : lines(out)) {
    const auto equals = line.find('=');
    if (equals != line.npos && trim(line.substr(0, equals)) == "ClusterName")
      return printable_line(trim(line.substr(equals + 1)), 255);
  }
  return {};
}

}  // namespace muster::slurm
