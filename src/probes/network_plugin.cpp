// NCCL's and RCCL's network plugin: without it they fall back to sockets, silently. docs/methods/network_plugin.md
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.hpp"
#include "measure/paths.hpp"
#include "muster/probe.hpp"
#include "probes/network_plugin/judge.hpp"
#include "probes/network_plugin/plugin.hpp"

namespace muster {

namespace {

constexpr ParamSpec network_plugin_params[] = {
    {"plugins",
     ParamType::text_list,
     "",
     "Plugins that must load, in addition to those of the profile: `ofi`.",
     {},
     {},
     {}},
    {"load_timeout", ParamType::duration, "5s", "Time limit for loading the plugin.", {}, 0.1, 600},
};

/// What decides about the plugin.
constexpr std::string_view variables[] = {"NCCL_NET_PLUGIN", "NCCL_NET"};

void read_settings_of_plugin(Observation& seen) {
  for (const std::string_view name : variables) {
    const char* value = std::getenv(std::string(name).c_str());
    if (value != nullptr && *value != '\0') seen.facts.push_back({fmt::format("env.{}", name), printable_line(value)});
  }
  if (const auto container = environment::container_of(environment::parse_environment(environ)); !container.empty())
    seen.facts.push_back({"container", container});
}

void try_plugin(RunContext& context, Observation& seen) {
  const char* chosen = std::getenv("NCCL_NET_PLUGIN");
  LoadQuestion question;
  question.names = network_plugin::file_names(chosen == nullptr ? "" : chosen);
  question.wanted = network_plugin::entry_points();
  question.companion = "libfabric.so.1";
  question.deadline_s = context.params.duration("load_timeout").value;
  question.on_start = [&](int group) { context.recorder.child_group(group); };
  if (question.names.empty()) return;
  context.recorder.step("load plugin");
  for (const TriedLibrary& one : try_load(question)) seen.facts.push_back({"plugin", network_plugin::to_text(one)});
}

/// One rank looks at its node.
Result<Observation> run_network_plugin(RunContext& context) {
  Observation seen;
  if (context.place.local_rank != 0) return seen;
  seen.facts.push_back({"speaks", "yes"});
  read_settings_of_plugin(seen);
  try_plugin(context, seen);
  return seen;
}

}  // namespace

extern const ProbeSpec probe_network_plugin{
    .name = "network_plugin",
    .summary = "The network plugin of NCCL or RCCL loads where the job runs.",
    .params = network_plugin_params,
    .run = run_network_plugin,
    .judge = network_plugin::judge,
};

}  // namespace muster
