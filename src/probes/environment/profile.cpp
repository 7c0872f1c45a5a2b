#include "probes/environment/profile.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "device/inventory.hpp"
#include "system/layout.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster::environment {

namespace {

void add_layout(std::vector<Fact>& facts) {
  const auto layout = read_layout(this_machine().topology);
  if (!layout || layout->empty()) return;
  int smt = 0;
  for (const CpuMask& core : layout->cores) smt = std::max(smt, core.count());
  facts.push_back({"node.cores", std::to_string(layout->cores.size())});
  facts.push_back({"node.smt", std::to_string(smt)});
  if (!layout->domains.empty()) facts.push_back({"node.domains", std::to_string(layout->domains.size())});
}

void add_processor(std::vector<Fact>& facts) {
  for (const Fact& fact : node_provenance().facts) {
    if (fact.key == "architecture") facts.push_back({"node.architecture", fact.value});
    if (fact.key == "cpu") facts.push_back({"node.model", fact.value});
  }
}

}  // namespace

std::vector<Fact> wanted_variables(const ExpectedNode& node, const Variables& all) {
  std::vector<Fact> facts;
  for (const VariableExpectation& wanted : node.variables) {
    const auto found = all.find(wanted.name);
    if (found == all.end()) continue;
    facts.push_back({"wanted." + wanted.name,
                     looks_secret(wanted.name) ? std::string("(not shown)") : printable_line(found->second, 4096)});
  }
  return facts;
}

std::vector<Fact> described_node(const ExpectedNode& node) {
  std::vector<Fact> facts;
  if (node.cpu || node.cores > 0) add_layout(facts);
  if (node.cpu) add_processor(facts);
  if (node.login) {
    const auto inventory = read_inventory(this_machine().root.string());
    if (inventory) facts.push_back({"node.gpus", std::to_string(inventory->count_gpus())});
  }
  return facts;
}

}  // namespace muster::environment
