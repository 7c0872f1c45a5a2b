#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "config/config.hpp"
#include "config/node_expectations.hpp"
#include "config/placeholders.hpp"
#include "config/profile_fields.hpp"
#include "config/profile_references.hpp"
#include "config/system_head.hpp"

namespace muster {

namespace {

class SystemReader {
 public:
  SystemReader(const Node& document, const std::string& name, DocumentErrors& errors)
      : top_(document, {}, "", errors), errors_(errors) {
    system_.file = name;
  }

  SystemProfile read() {
    const auto head = read_head();
    const auto variables = read_variables_wanted(top_);
    const auto unverified = read_unverified(top_);
    for (const auto* table : top_.tables("environment", "[[environment]]")) read_environment(*table);
    const bool has_partition = top_.find("partition") != nullptr;
    for (const auto* table : top_.tables("partition", "[[partition]]")) read_partition(*table);
    if (!has_partition) errors_.add({}, "a profile needs at least one [[partition]]");
    (void)top_.find("check");  // for parse_checks()
    top_.finish();
    for (auto& partition : system_.partitions) {
      partition.node.variables = variables;
      partition.node.login = head.login;
    }
    take_unverified(unverified);
    return std::move(system_);
  }

 private:
  SystemHead read_head() {
    const bool is_there = top_.find("system") != nullptr;
    const auto* entry = top_.table("system");
    if (!is_there) errors_.add({}, "a profile begins with [system] and its name");
    if (entry == nullptr) return {};
    auto head = read_system_head(*entry, errors_);
    system_.name = head.name;
    system_.detect = head.detect;
    if (const auto* name = entry->value.find("name")) system_.places["name"] = errors_.text(name->value.at);
    return head;
  }

  /// A key that is not set can't be unverified.
  void take_unverified(const Unverified& unverified) {
    std::set<std::string> known;
    if (!system_.detect.empty()) known.insert("detect");
    for (auto& partition : system_.partitions) {
      const auto keys = expectation_keys(partition.node);
      for (const auto& [key, why] : unverified.why)
        if (is_in(key, keys)) partition.node.unverified.emplace(key, why);
      known.insert(keys.begin(), keys.end());
    }
    for (const auto& [key, at] : unverified.places)
      if (known.count(key) == 0)
        errors_.add(at, fmt::format("this profile does not set \"{}\"{}", printable_line(key, 60),
                                    suggestion(key, std::vector<std::string>(known.begin(), known.end()))));
  }

  /// What the agent fills in values; another single word in braces is one that was misspelt.
  void check_placeholders(const Node& value) {
    if (value.kind != NodeKind::text || value.text.size() > 10'000) return;
    for (const auto& word : words_in_braces(value.text))
      if (!word.empty() && word != "local_rank" && word != "gpu" && word != "nic")
        errors_.add(value.at,
                    fmt::format("nothing fills {{{}}} in a variable; {{local_rank}}, {{gpu}} and {{nic}} are filled",
                                printable_line(word, 40)));
  }

  void read_environment(const Node& table) {
    Fields fields(table, table.at, "[[environment]]", errors_);
    EnvironmentProfile environment;
    environment.name = read_name(fields, "name = \"container\"");
    reject_twin(table, environment.name, environment_names_, "an environment");
    environment.modules = fields.texts("modules");
    if (const auto* options = fields.find("scheduler_options")) {
      environment.scheduler_options = read_arguments(fields, "scheduler_options");
      note_options("scheduler_options of environment " + environment.name, *options);
    }
    environment.wrapper = read_arguments(fields, "wrapper");
    if (const auto* variables = fields.table("env")) environment.env = read_variables(*variables);
    fields.finish();
    system_.environments.push_back(std::move(environment));
  }

  /// Where each of an array of options stands: `<key> <index>`.
  void note_options(const std::string& key, const Entry& options) {
    for (std::size_t i = 0; i < options.value.items.size(); ++i)
      system_.places[fmt::format("{} {}", key, i)] = errors_.text(options.value.items[i].at);
  }

  Environment read_variables(const Entry& entry) {
    Environment variables;
    for (const auto& [key, at, value] : entry.value.entries) {
      if (!is_variable(key))
        errors_.add(at, fmt::format("\"{}\" is not a name of an environment variable", printable_line(key, 60)));
      check_braces(value, errors_);
      check_placeholders(value);
      if (value.kind == NodeKind::text)
        variables.emplace_back(key, value.text);
      else
        errors_.add(value.at, fmt::format("\"{}\" must be text, such as \"1\", not {}", printable_line(key, 60),
                                          to_string(value.kind)));
    }
    return variables;
  }

  void reject_twin(const Node& table, const std::string& name, std::set<std::string>& seen, std::string_view what) {
    if (name.empty() || seen.insert(name).second) return;
    errors_.add(table.find("name")->value.at, fmt::format("there already is {} \"{}\"; give one of them another name",
                                                          what, printable_line(name, 60)));
  }

  /// A partition inherits from the one that it is like; its own keys override that.
  PartitionProfile begin_partition(Fields& fields) {
    const auto like = fields.text("like");
    if (!like) return {};
    std::vector<std::string> known;
    for (const auto& other : system_.partitions) {
      if (other.name == *like) {
        auto copy = other;
        copy.is_default = false;
        return copy;
      }
      known.push_back(other.name);
    }
    errors_.add(fields.find("like")->value.at,
                fmt::format("there is no partition \"{}\" above{}", printable_line(*like, 60),
                            known.empty() ? "" : suggestion(*like, known)));
    return {};
  }

  void read_partition(const Node& table) {
    Fields fields(table, table.at, "[[partition]]", errors_);
    auto partition = begin_partition(fields);
    partition.name = read_name(fields, "name = \"standard-g\"");
    reject_twin(table, partition.name, partition_names_, "a partition");
    read_default(fields, partition);
    if (const auto* launcher = fields.find("launcher")) {
      partition.launcher = fields.text("launcher").value_or("");
      system_.places["launcher of " + partition.name] = errors_.text(launcher->value.at);
    }
    read_scheduler(fields, partition);
    if (fields.find("launcher_options") != nullptr)
      partition.launcher_options = read_arguments(fields, "launcher_options");
    read_networks(fields, partition);
    if (const auto ranks = fields.integer("ranks_per_node", {1, 65'536})) partition.ranks_per_node = *ranks;
    if (const auto* node = fields.table("node")) {
      read_node(*node, partition, errors_);
      if (const auto* machine = node->value.find("machine"))
        system_.places["machine of " + partition.name] = errors_.text(machine->value.at);
    }
    for (const auto* reference : fields.tables("reference", "[[partition.reference]]"))
      read_profile_reference(*reference, partition, system_, errors_);
    fields.finish();
    system_.partitions.push_back(std::move(partition));
  }

  void read_networks(Fields& fields, PartitionProfile& partition) {
    const auto* networks = fields.find("networks");
    if (networks == nullptr) return;
    partition.networks = fields.texts("networks");
    for (const auto& item : networks->value.items)
      if (item.kind == NodeKind::text && trim(item.text).empty())
        errors_.add(item.at, "a network has an interface, such as \"hsn*\", or an address, such as \"10.1.0.0/16\"");
  }

  void read_scheduler(Fields& fields, PartitionProfile& partition) {
    if (const auto* options = fields.find("scheduler_options")) {
      partition.scheduler_options = read_arguments(fields, "scheduler_options");
      note_options("scheduler_options of " + partition.name, *options);
    }
    if (fields.find("scheduler_refuses") != nullptr) partition.scheduler_refuses = fields.texts("scheduler_refuses");
    const auto* options = fields.find("scheduler_options");
    for (std::size_t i = 0; options != nullptr && i < partition.scheduler_options.size(); ++i) {
      const auto name = partition.scheduler_options[i].substr(0, partition.scheduler_options[i].find_first_of("= "));
      const auto& refused = partition.scheduler_refuses;
      if (is_in(name, refused))
        errors_.add(options->value.items[i].at,
                    fmt::format("{} is among what this partition's scheduler refuses", printable_line(name, 60)));
    }
  }

  void read_default(Fields& fields, PartitionProfile& partition) {
    partition.is_default = fields.boolean("default").value_or(false);
    if (!partition.is_default) return;
    for (const auto& other : system_.partitions)
      if (other.is_default)
        errors_.add(fields.find("default")->at,
                    fmt::format("partition {} already is the default", printable_line(other.name, 60)));
  }

  Fields top_;
  DocumentErrors& errors_;
  SystemProfile system_;
  std::set<std::string> environment_names_;
  std::set<std::string> partition_names_;
};

}  // namespace

SystemProfile parse_system(std::string_view toml, const std::string& name, Diagnostics& diagnostics) {
  DocumentErrors errors(name);
  SystemProfile system;
  system.file = name;
  if (const auto document = parse_document(toml, errors)) system = SystemReader(*document, name, errors).read();
  errors.deliver(diagnostics);
  return system;
}

namespace {

constexpr std::array<std::string_view, 3> keys_of_profiles{"system", "partition", "environment"};

/// What of a document is there at the top.
struct TopKeys {
  bool profile = false;
  bool check = false;
};

TopKeys top_keys(std::string_view toml) {
  // Most files are checks: only those that could be a profile are read twice.
  const auto is_in_text = [&](std::string_view word) { return toml.find(word) != std::string_view::npos; };
  if (std::none_of(keys_of_profiles.begin(), keys_of_profiles.end(), is_in_text)) return {false, true};
  DocumentErrors ignored("");
  const auto document = parse_document(toml, ignored);
  if (!document) return {};
  const auto is_key = [&](std::string_view word) { return document->find(word) != nullptr; };
  return {std::any_of(keys_of_profiles.begin(), keys_of_profiles.end(), is_key), is_key("check")};
}

}  // namespace

bool is_system_document(std::string_view toml) {
  return top_keys(toml).profile;
}

bool is_check_document(std::string_view toml) {
  const auto keys = top_keys(toml);
  return keys.check || !keys.profile;
}

}  // namespace muster
