#include <set>

#include "app/help/complete.hpp"
#include "app/inputs/load.hpp"
#include "app/inputs/machine_files.hpp"
#include "base/lists.hpp"
#include "muster/launcher.hpp"
#include "muster/probe.hpp"
#include "muster/reporter.hpp"

namespace muster {

namespace {

using Candidates = std::vector<Candidate>;

template <class Specs>
Candidates described(const Specs& specs) {
  Candidates all;
  for (const auto* spec : specs) all.push_back({std::string(spec->name), std::string(spec->summary)});
  return all;
}

/// The checks that the command line names, or else the shipped ones.
Loaded checks_at(const AtCursor& at) {
  return load(at.places);
}

Candidates check_names(const AtCursor& at) {
  Candidates all;
  for (const auto& check : checks_at(at).checks) all.push_back({check.name, check.summary});
  return all;
}

Candidates tags(const AtCursor& at) {
  std::set<std::string> known;
  for (const auto& check : checks_at(at).checks) known.insert(check.tags.begin(), check.tags.end());
  Candidates all;
  for (const auto& tag : known) all.push_back({tag, ""});
  return all;
}

/// `hello.` first, then `hello.repetitions=`.
Candidates settings(const AtCursor& at) {
  Candidates all;
  const bool has_check = at.typed.find('.') != std::string::npos;
  for (const auto& check : checks_at(at).checks) {
    if (!has_check) all.push_back({check.name + ".", check.summary});
    const auto* probe = has_check ? find_probe(check.probe) : nullptr;
    if (probe == nullptr) continue;
    for (const auto& param : probe->params)
      all.push_back({check.name + "." + std::string(param.name) + "=", std::string(param.help)});
  }
  return all;
}

Candidates systems() {
  Candidates all;
  for (const auto& system : load({}).systems) {
    all.push_back({system.name, ""});
    for (const auto& partition : system.partitions) all.push_back({system.name + ":" + partition.name, ""});
  }
  return all;
}

Candidates environments() {
  std::set<std::string> known;
  for (const auto& system : load({}).systems)
    for (const auto& environment : system.environments) known.insert(environment.name);
  Candidates all;
  for (const auto& name : known) all.push_back({name, ""});
  return all;
}

Candidates machines() {
  Candidates all;
  for (const auto& name : known_machines()) all.push_back({name, ""});
  return all;
}

Candidates faults(const AtCursor& at) {
  Candidates all;
  if (at.places.empty()) return all;
  const auto machine = load_machine(at.places.front());
  if (machine)
    for (const auto& fault : machine->faults) all.push_back({fault.name, ""});
  return all;
}

Candidates metrics() {
  std::set<std::string> seen;
  Candidates all;
  for (const auto* probe : all_probes())
    for (const auto& metric : probe->metrics)
      if (seen.insert(std::string(metric.name)).second)
        all.push_back({std::string(metric.name), std::string(metric.help)});
  return all;
}

/// Folders of runs that lie here.
Candidates runs() {
  Candidates all;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("muster-runs", ignored))
    all.push_back({entry.path().filename().string(), ""});
  return all;
}

template <class Words>
Candidates words(const Words& list) {
  Candidates all;
  for (const auto& word : list) all.push_back({word, ""});
  return all;
}

Candidates words(std::initializer_list<const char*> list) {
  return words<>(list);
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// Values of the kinds that the help has a word of its own for.
Candidates of_kind(const AtCursor& at) {
  const auto& kind = at.option->value;
  if (!at.option->choices.empty()) return words(at.option->choices);
  if (has(kind, "FORMAT")) return described(all_reporters());
  if (has(kind, "CHECK.PARAM")) return settings(at);
  if (kind == "REGEX" || kind == "CHECK") return check_names(at);
  if (kind == "TAG") return tags(at);
  if (kind == "PROBE") return described(all_probes());
  if (kind == "METRIC") return metrics();
  if (has(kind, "RUN")) return runs();
  if (kind == "WHEN") return words({"auto", "always", "never"});
  if (kind == "POLICY") return words({"gpu", "cores", "spread", "compact"});
  if (has(kind, ":PARTITION")) return systems();
  if (kind == "NAME|FILE") return machines();
  if (kind == "BINDING") return words({"none", "profile", "auto", "cores"});
  if (is_in("--launcher", at.option->names)) return described(all_launchers());
  if (is_in("--environment", at.option->names)) return environments();
  if (is_in("--metric", at.option->names)) return metrics();
  if (is_in("--fault", at.option->names)) return faults(at);
  return {};
}

}  // namespace

Completion known_values(const AtCursor& at) {
  Completion values;
  const auto& kind = at.option->value;
  const bool is_report = has(kind, "FORMAT");
  const bool is_file_of_report = is_report && has(at.typed, "=");
  if (!is_file_of_report) values.candidates = of_kind(at);
  values.has_files = is_report ? is_file_of_report : has(kind, "FILE") || has(kind, "PATH") || has(kind, "RUN");
  values.has_folders = !values.has_files && has(kind, "FOLDER");
  values.goes_on = is_report || has(kind, "CHECK.PARAM");
  return values;
}

}  // namespace muster
