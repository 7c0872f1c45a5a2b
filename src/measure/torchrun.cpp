#include "measure/torchrun.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>

#include "base/number.hpp"
#include "base/text.hpp"
#include "device/machine.hpp"
#include "measure/rank_gpus.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster::environment {

namespace {

/// `value` with the task's variables; nullopt: one of them is not set.
std::optional<std::string> filled(std::string_view value, const Variables& variables) {
  std::string text;
  for (std::size_t at = 0; at < value.size();) {
    if (value[at] != '$') {
      text += value[at++];
      continue;
    }
    const std::size_t begin = at + (value.substr(at + 1, 1) == "{" ? 2 : 1);
    std::size_t end = begin;
    while (end < value.size() && (value[end] == '_' || std::isalnum(static_cast<unsigned char>(value[end])) != 0))
      ++end;
    const std::string_view name = value.substr(begin, end - begin);
    const auto found = variables.find(name);
    // bash sets HOSTNAME where nothing did.
    if (name == "MUSTER_HOST" || (name == "HOSTNAME" && found == variables.end()))
      text += host_name();
    else if (found == variables.end())
      return std::nullopt;
    else
      text += found->second;
    at = end + (begin - at - 1);
  }
  return text;
}

// torch/distributed/run.py, accelerate/commands/launch.py, deepspeed/launcher/runner.py.
constexpr StarterWords starter_words[] = {
    {"torchrun", "torchrun", "--nnodes", "--node-rank", "--nproc-per-node"},
    {"accelerate", "accelerate launch", "--num_machines", "--machine_rank", "--num_processes"},
    {"deepspeed", "deepspeed", "--num_nodes", "--node_rank", "--num_gpus"},
};

using Values = std::map<std::string, std::string>;

constexpr long most_devices = 64;

/// PET_NPROC_PER_NODE of `nproc-per-node`: torch/distributed/argparse_util.py.
std::string variable_of(std::string_view option) {
  std::string name = "PET_";
  for (const char letter : option)
    name += letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

/// `accelerate launch` is given the processes of all machines; without a number, as many as the GPUs that it sees. As
/// deepspeed without one, which starts a process for each of them.
std::string processes_of_starter(const Values& values) {
  const auto value = [&](std::string_view name, std::string_view otherwise) {
    const auto found = values.find(std::string(name));
    return found == values.end() ? std::string(otherwise) : found->second;
  };
  if (value("starter", "") != "accelerate") return "gpu";
  const std::string all = value("num-processes", "gpu");
  const std::string machines = value("nnodes", "1");
  for (const std::string& one : {all, machines})
    if (one.starts_with(unknown_value)) return one;
  if (machines == "1") return all;
  const auto number = parse_number_from(machines, 0L);
  if (!number || *number == 0) return unknown_value + machines;
  if (all == "gpu") return fmt::format("gpu/{}", *number);
  const auto processes = parse_number_from(all, 0L);
  return processes ? std::to_string(*processes / *number) : unknown_value + all;
}

/// What deepspeed puts into CUDA_VISIBLE_DEVICES, whatever it was: the first devices, as many as it was given a number.
/// Without one it keeps the variable: deepspeed/launcher/runner.py, launch.py.
std::optional<std::string> replaced_devices(const Values& values) {
  const auto starter = values.find("starter");
  const auto number = values.find("nproc-per-node");
  const bool is_deepspeed = starter != values.end() && starter->second == "deepspeed";
  if (!is_deepspeed || values.count("devices") != 0 || number == values.end()) return std::nullopt;
  const auto count = parse_number_from(number->second, 0L);
  if (!count) return unknown_value + number->second;
  std::string devices;
  for (long i = 0; i < std::min(*count, most_devices); ++i) devices += fmt::format("{}{}", i == 0 ? "" : ",", i);
  return devices;
}

}  // namespace

const StarterWords& words_of_starter(std::string_view starter) {
  for (const StarterWords& words : starter_words)
    if (words.starter == starter) return words;
  return starter_words[0];
}

std::vector<Fact> torchrun_facts(std::string_view options, const Variables& variables) {
  Values values;
  const bool is_torchrun = options.find("starter=") == options.npos;
  for (const char* name : {"standalone", "nnodes", "nproc-per-node", "node-rank", "rdzv-backend", "rdzv-endpoint",
                           "rdzv-id", "master-addr", "master-port"})
    if (const auto set = variables.find(variable_of(name)); is_torchrun && set != variables.end())
      values[name] = set->second;
  for (const std::string& option : split(options, '|')) {
    const std::size_t at = option.find_first_of("=?*!");
    if (at == option.npos) continue;
    const std::string text = option.substr(at + 1);
    if (option[at] == own_value || option[at] == literal_value) {
      values[option.substr(0, at)] = option[at] + text;
      continue;
    }
    const auto value = option[at] == '=' ? filled(text, variables) : std::nullopt;
    values[option.substr(0, at)] = value ? *value : unknown_value + text;
  }
  if (!is_torchrun) {
    if (auto devices = replaced_devices(values)) values["devices"] = std::move(*devices);
    values.try_emplace("nproc-per-node", processes_of_starter(values));
  }
  std::vector<Fact> facts;
  for (const auto& [name, value] : values) facts.push_back({"torchrun." + name, printable_line(value, 200)});
  return facts;
}

std::vector<Fact> torchrun_processes(const Variables& variables) {
  if (variables.find(env_torchrun) == variables.end()) return {};
  const auto options = variables.find(env_torchrun_options);
  std::string processes = "1", starter;
  for (Fact& fact : torchrun_facts(options == variables.end() ? "" : options->second, variables)) {
    if (fact.key == "torchrun.nproc-per-node") processes = fact.value;
    if (fact.key == "torchrun.starter") starter = fact.value;
  }
  std::vector<Fact> facts{{"torchrun", std::move(processes)}};
  if (!starter.empty()) facts.push_back({"torchrun.starter", std::move(starter)});
  return facts;
}

void replace_devices(const Variables& variables, gpu_mapping::Variables& selecting) {
  const auto options = variables.find(env_torchrun_options);
  if (variables.find(env_torchrun) == variables.end() || options == variables.end()) return;
  for (const Fact& fact : torchrun_facts(options->second, variables)) {
    if (fact.key != "torchrun.devices") continue;
    selecting.erase("CUDA_VISIBLE_DEVICES");
    if (!fact.value.starts_with(unknown_value)) selecting.emplace("CUDA_VISIBLE_DEVICES", fact.value);
  }
}

std::string torchrun_gpus(const Variables& variables, int local_rank) {
  const std::string root = root_of("/");
  const auto inventory = read_inventory(root);
  if (!inventory) return {};
  gpu_mapping::Variables selecting;
  for (const std::string_view name : gpu_mapping::selection_variables())
    if (const auto set = variables.find(name); set != variables.end()) selecting.emplace(name, set->second);
  replace_devices(variables, selecting);
  Observation seen;
  seen.facts = gpu_mapping::observe(Machine(root), *inventory, {local_rank, CpuMask(), selecting}, {"auto", false});
  if (const std::string* visible = seen.fact("visible")) return *visible;
  const bool has_none = seen.fact("gpu") == nullptr && seen.fact("closed") == nullptr;
  return has_none && seen.fact("unusable") == nullptr ? "none" : "";
}

}  // namespace muster::environment
