#include "run/expand.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "run/case_id.hpp"
#include "run/shape.hpp"

namespace muster {

namespace {

/// What one parameter can be in the cases of a check.
struct Choice {
  std::string name;
  std::vector<ParamValue> values;
};

Result<Choice> choice_of(const ParamSpec& spec, const Check& check, const Settings& settings) {
  Choice choice{std::string(spec.name), {}};
  if (const auto of_check = settings.find(check.name); of_check != settings.end())
    if (const auto set = of_check->second.find(choice.name); set != of_check->second.end()) {
      choice.values = {set->second};
      return choice;
    }
  if (const auto swept = check.sweep.find(choice.name); swept != check.sweep.end()) {
    choice.values = swept->second;
  } else if (const auto given = check.params.find(choice.name); given != check.params.end()) {
    choice.values = {given->second};
  } else if (spec.default_text) {
    auto value = parse_param(spec, *spec.default_text);
    if (!value) return tl::unexpected(value.error());
    choice.values = {std::move(*value)};
  }
  if (choice.values.empty())
    return fail(ErrorKind::internal, check.place,
                fmt::format("parameter {} of check {} has no value", spec.name, check.name));
  return choice;
}

/// Every combination; the last parameter varies fastest.
std::vector<Params> combine(const std::vector<Choice>& choices) {
  std::vector<Params> combinations(1);
  for (const auto& choice : choices) {
    std::vector<Params> longer;
    for (const auto& shorter : combinations)
      for (const auto& value : choice.values) {
        longer.push_back(shorter);
        longer.back().set(choice.name, value);
      }
    combinations = std::move(longer);
  }
  return combinations;
}

std::vector<std::string> swept_names(const Check& check, const Settings& settings) {
  const auto set = settings.find(check.name);
  std::vector<std::string> names;
  for (const auto& [name, values] : check.sweep)
    if (set == settings.end() || set->second.count(name) == 0) names.push_back(name);
  return names;
}

Case common_part(const Check& check, const Expansion& with) {
  Case item;
  item.check = check.name;
  item.probe = check.probe;
  item.summary = check.summary;
  item.tags = check.tags;
  item.file = check.file;
  item.place = check.place;
  item.swept = swept_names(check, with.settings);
  item.timeout = with.options.timeout.value_or(check.timeout);
  item.expects = check.expects;
  item.metrics = check.metrics;
  item.system = with.system.name;
  item.environment = with.options.environment;
  item.ranks = check.ranks;
  item.bind = check.bind;
  item.shape.line = with.options.launch.empty() ? check.launch : with.options.launch;
  item.min_nodes = check.min_nodes;
  return item;
}

/// The command that runs just this case.
Argv rerun_command(const Case& item, const SelectOptions& options) {
  Argv argv = options.rerun_prefix;
  argv.insert(argv.end(), {"-n", item.id});
  for (const auto& setting : options.settings) argv.insert(argv.end(), {"-S", setting});
  if (options.repeat > 1) argv.insert(argv.end(), {"--repeat", std::to_string(options.repeat)});
  if (options.ranks_per_node && item.shape.line.empty())
    argv.insert(argv.end(), {"--ranks-per-node", std::to_string(*options.ranks_per_node)});
  if (!options.system.empty()) argv.insert(argv.end(), {"--system", options.system});
  if (options.per_node) argv.emplace_back("--per-node");
  return argv;
}

void name_case(Case& item, const SelectOptions& options, std::set<std::string>& taken) {
  item.id = case_id(item);
  for (int salt = 1; !taken.insert(item.id).second; ++salt) item.id = case_id(item, salt);
  item.rerun = rerun_command(item, options);
}

/// The same case of every node. Cases that can't be launched are reported once.
std::vector<Case> on_every_node(const Case& item, const Expansion& with) {
  if (!item.unable.empty()) return {item};
  const auto& nodes = with.site.nodes;
  // A node alone has no peers: then all of them are asked again.
  const bool has_peers = std::any_of(item.expects.begin(), item.expects.end(),
                                     [](const Expectation& asked) { return asked.peers.has_value(); });
  std::vector<Case> cases;
  for (const auto& host : nodes.empty() ? std::vector<std::string>{with.site.host} : nodes) {
    auto& mine = cases.emplace_back(item);
    mine.host = host;
    mine.id += "@" + host;
    if (!nodes.empty()) mine.shape.nodes = {host};
    if (!has_peers) mine.rerun = rerun_command(mine, with.options);
  }
  return cases;
}

}  // namespace

Result<std::vector<Case>> expand_check(const Check& check, const ProbeSpec& probe, const Expansion& with) {
  std::vector<Choice> choices;
  for (const auto& spec : probe.params) {
    auto choice = choice_of(spec, check, with.settings);
    if (!choice) return tl::unexpected(choice.error());
    choices.push_back(std::move(*choice));
  }
  const auto combinations = combine(choices);
  std::vector<Case> cases;
  std::set<std::string> taken;
  for (const auto& partition : with.partitions) {
    auto item = common_part(check, with);
    item.partition = partition.name;
    item.node = partition.node;
    for (const auto& reference : partition.references)
      if (reference.check == check.name) item.references.push_back(reference);
    shape_case(item, with.options, with.site, partition.ranks_per_node);
    for (const auto& params : combinations) {
      item.params = params;
      name_case(item, with.options, taken);
      if (!with.options.per_node) {
        cases.push_back(item);
        continue;
      }
      auto of_nodes = on_every_node(item, with);
      std::move(of_nodes.begin(), of_nodes.end(), std::back_inserter(cases));
    }
  }
  return cases;
}

}  // namespace muster
