#include <algorithm>
#include <fmt/format.h>
#include <regex>
#include <set>

#include "base/text.hpp"
#include "config/config.hpp"
#include "config/expectations.hpp"
#include "config/where.hpp"

namespace muster {

namespace {

// std::regex compiles by recursion: a longer one could end the program.
constexpr std::size_t longest_regex = 500;
constexpr double most_cores = 65'536;

std::string fault_of_regex(const std::string& text) {
  if (text.size() > longest_regex) return fmt::format("longer than {} characters", longest_regex);
  try {
    (void)std::regex(text);
    return "";
  } catch (const std::regex_error& error) {
    return error.what();
  }
}

bool has_balanced_braces(std::string_view text) {
  int open = 0;
  for (const char c : text) {
    open += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (open < 0) return false;
  }
  return open == 0;
}

bool is_variable(std::string_view text) {
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

class SystemReader {
 public:
  SystemReader(const Node& document, const std::string& name, Complaints& complaints)
      : top_(document, {}, "", complaints), complaints_(complaints) {
    system_.file = name;
  }

  SystemProfile read() {
    read_system();
    for (const auto* table : top_.tables("environment", "[[environment]]")) read_environment(*table);
    const bool has_partition = top_.find("partition") != nullptr;
    for (const auto* table : top_.tables("partition", "[[partition]]")) read_partition(*table);
    if (!has_partition) complaints_.add({}, "a profile needs at least one [[partition]]");
    top_.finish();
    return std::move(system_);
  }

 private:
  void read_system() {
    const bool is_there = top_.find("system") != nullptr;
    const auto* entry = top_.table("system");
    if (!is_there) complaints_.add({}, "a profile begins with [system] and its name");
    if (entry == nullptr) return;
    Fields fields(entry->value, entry->at, "[system]", complaints_);
    system_.name = read_name(fields, "name = \"lumi\"");
    if (const auto* name = fields.find("name")) system_.places["name"] = complaints_.text(name->value.at);
    if (const auto* detect = fields.table("detect")) read_detect(*detect);
    fields.finish();
  }

  std::string read_name(Fields& fields, std::string_view example) {
    const auto* entry = fields.need("name", example);
    const auto name = entry == nullptr ? std::nullopt : fields.text("name");
    if (name && !is_name(*name))
      complaints_.add(entry->value.at, fmt::format("the name \"{}\" {}", printable_line(*name, 60), name_rule));
    return name.value_or("");
  }

  void read_detect(const Entry& entry) {
    Fields fields(entry.value, entry.at, "\"detect\" of [system]", complaints_);
    const auto* variable = fields.need("env", "env = \"LUMI_STACK_NAME\"");
    system_.detect_env = fields.text("env").value_or("");
    if (variable != nullptr && !system_.detect_env.empty() && !is_variable(system_.detect_env))
      complaints_.add(variable->value.at, fmt::format("\"{}\" is no name of an environment variable",
                                                      printable_line(system_.detect_env, 60)));
    system_.detect_value = read_regex(fields, "matches");
    fields.finish();
  }

  std::string read_regex(Fields& fields, std::string_view key) {
    const auto* entry = fields.find(key);
    const auto text = fields.text(key);
    if (!text) return "";
    const auto fault = fault_of_regex(*text);
    if (fault.empty()) return *text;
    complaints_.add(entry->value.at,
                    fmt::format("\"{}\" is no regular expression: {}", printable_line(*text, 60), fault));
    return "";
  }

  /// Arguments and values may hold `{image}` and the like; who fills them is not known here.
  void check_braces(const Node& value) {
    if (value.kind == NodeKind::text && !has_balanced_braces(value.text))
      complaints_.add(value.at, fmt::format("the braces in \"{}\" are not balanced; a placeholder is written {{image}}",
                                            printable_line(value.text, 60)));
  }

  /// Of values only `{local_rank}` is filled; another single word in braces is one that was misspelt.
  void check_placeholders(const Node& value) {
    static const std::regex placeholder(R"(\{([A-Za-z_]+)\})");
    if (value.kind != NodeKind::text || value.text.size() > 10'000) return;
    for (std::sregex_iterator at(value.text.begin(), value.text.end(), placeholder), end; at != end; ++at)
      if ((*at)[1].str() != "local_rank")
        complaints_.add(value.at, fmt::format("nothing fills {{{}}} in a variable; only {{local_rank}} is",
                                              printable_line((*at)[1].str(), 40)));
  }

  Argv read_arguments(Fields& fields, std::string_view key) {
    const auto* entry = fields.find(key);
    if (entry != nullptr && entry->value.kind == NodeKind::array)
      for (const auto& item : entry->value.items) check_braces(item);
    return fields.texts(key);
  }

  void read_environment(const Node& table) {
    Fields fields(table, table.at, "[[environment]]", complaints_);
    EnvironmentProfile environment;
    environment.name = read_name(fields, "name = \"container\"");
    reject_twin(table, environment.name, environment_names_, "an environment");
    environment.modules = fields.texts("modules");
    environment.wrapper = read_arguments(fields, "wrapper");
    if (const auto* variables = fields.table("env")) environment.env = read_variables(*variables);
    fields.finish();
    system_.environments.push_back(std::move(environment));
  }

  Environment read_variables(const Entry& entry) {
    Environment variables;
    for (const auto& [key, at, value] : entry.value.entries) {
      if (!is_variable(key))
        complaints_.add(at, fmt::format("\"{}\" is no name of an environment variable", printable_line(key, 60)));
      check_braces(value);
      check_placeholders(value);
      if (value.kind == NodeKind::text)
        variables.emplace_back(key, value.text);
      else
        complaints_.add(value.at, fmt::format("\"{}\" must be text, such as \"1\", not {}", printable_line(key, 60),
                                              to_string(value.kind)));
    }
    return variables;
  }

  void reject_twin(const Node& table, const std::string& name, std::set<std::string>& seen, std::string_view what) {
    if (name.empty() || seen.insert(name).second) return;
    complaints_.add(
        table.find("name")->value.at,
        fmt::format("there already is {} \"{}\"; give one of them another name", what, printable_line(name, 60)));
  }

  void read_partition(const Node& table) {
    Fields fields(table, table.at, "[[partition]]", complaints_);
    PartitionProfile partition;
    partition.name = read_name(fields, "name = \"standard-g\"");
    reject_twin(table, partition.name, partition_names_, "a partition");
    partition.launcher = fields.text("launcher").value_or("");
    if (const auto* launcher = fields.find("launcher"))
      system_.places["launcher of " + partition.name] = complaints_.text(launcher->value.at);
    partition.scheduler_options = read_arguments(fields, "scheduler_options");
    partition.launcher_options = read_arguments(fields, "launcher_options");
    if (const auto* node = fields.table("node")) read_node(*node, partition);
    for (const auto* reference : fields.tables("reference", "[[partition.reference]]"))
      read_profile_reference(*reference, partition);
    fields.finish();
    system_.partitions.push_back(std::move(partition));
  }

  void read_node(const Entry& entry, PartitionProfile& partition) {
    Fields fields(entry.value, entry.at, "[partition.node]", complaints_);
    partition.node.cores = fields.integer("cores", {1, most_cores}).value_or(0);
    if (const auto* reserved = fields.find("reserved_cores")) read_reserved(*reserved, fields, partition);
    if (const auto* gpus = fields.table("gpus")) read_gpus(*gpus, partition);
    partition.machine = fields.text("machine").value_or("");
    if (const auto* machine = fields.find("machine"))
      system_.places["machine of " + partition.name] = complaints_.text(machine->value.at);
    if (const auto* bind = fields.table("bind")) read_bind(*bind, partition);
    fields.finish();
  }

  void read_bind(const Entry& entry, PartitionProfile& partition) {
    Fields fields(entry.value, entry.at, "\"bind\" of [partition.node]", complaints_);
    BindExpectation bind;
    (void)fields.need("policy", "policy = \"gpu\"");
    bind.policy = read_choice(fields, "policy", {"gpu", "cores", "spread", "compact"});
    bind.smt = fields.boolean("smt").value_or(false);
    bind.select = read_choice(fields, "select", {"wrapper", "map_gpu"});
    fields.finish();
    partition.node.bind = std::move(bind);
  }

  std::string read_choice(Fields& fields, std::string_view key, const std::vector<std::string>& known) {
    const auto text = fields.text(key);
    if (!text || std::find(known.begin(), known.end(), *text) != known.end()) return text.value_or("");
    complaints_.add(fields.find(key)->value.at,
                    fmt::format("unknown {} \"{}\"{}", key, printable_line(*text, 60), suggestion(*text, known)));
    return "";
  }

  void read_reserved(const Entry& entry, Fields& fields, PartitionProfile& partition) {
    if (entry.value.kind != NodeKind::array) return fields.refuse(entry, entry.value, "an array of core numbers");
    const double last = partition.node.cores > 0 ? partition.node.cores - 1 : most_cores - 1;
    std::set<std::int64_t> seen;
    for (const auto& item : entry.value.items) {
      if (item.kind != NodeKind::integer || item.number < 0 || item.number > last)
        fields.refuse(entry, item, fmt::format("an array of core numbers from 0 to {}", last));
      else if (!seen.insert(item.integer).second)
        complaints_.add(item.at, fmt::format("core {} is reserved twice", item.integer));
      else
        partition.node.reserved_cores.push_back(static_cast<int>(item.integer));
    }
    if (partition.node.cores > 0 && static_cast<int>(seen.size()) == partition.node.cores)
      complaints_.add(entry.value.at, "all cores are reserved; none is left to run on");
  }

  void read_gpus(const Entry& entry, PartitionProfile& partition) {
    Fields fields(entry.value, entry.at, "\"gpus\" of [partition.node]", complaints_);
    GpuExpectation gpus;
    (void)fields.need("count", "count = 8");
    gpus.count = fields.integer("count", {1, 1024}).value_or(0);
    gpus.vendor = read_choice(fields, "vendor", {"amd", "intel", "nvidia"});
    gpus.name = read_regex(fields, "name");
    fields.finish();
    partition.node.gpus = std::move(gpus);
  }

  void read_profile_reference(const Node& table, PartitionProfile& partition) {
    const std::string parent = "[[partition.reference]]";
    Fields fields(table, table.at, parent, complaints_);
    ProfileReference reference;
    const auto* check = fields.need("check", "check = \"allreduce\"");
    reference.check = fields.text("check").value_or("");
    const auto* where = fields.find("where");
    if (where != nullptr) reference.where = read_where(*where, complaints_);
    const auto* metric = find_metric(table, fields);
    fields.finish();
    if (metric == nullptr) return;
    auto figures = read_reference(*metric, fmt::format("metric \"{}\" of {}", printable_line(metric->key, 60), parent),
                                  complaints_);
    if (!figures || reference.check.empty()) return;
    reference.metric = metric->key;
    reference.reference = std::move(*figures);
    note_places(reference, *check, where, *metric);
    partition.references.push_back(std::move(reference));
  }

  /// The one key beside check and where that holds a table.
  const Entry* find_metric(const Node& table, Fields& fields) {
    const Entry* metric = nullptr;
    for (const auto& entry : table.entries) {
      if (entry.key == "check" || entry.key == "where" || entry.value.kind != NodeKind::table) continue;
      (void)fields.find(entry.key);
      if (metric == nullptr)
        metric = &entry;
      else
        complaints_.add(
            entry.at, fmt::format("a reference is about one metric; \"{}\" needs a [[partition.reference]] of its own",
                                  printable_line(entry.key, 60)));
    }
    if (metric == nullptr)
      complaints_.add(
          table.at,
          fmt::format("{} has no metric; write for example busbw = {{ value = 85.0, lower = -0.05, unit = \"GB/s\" }}",
                      fields.parent()));
    return metric;
  }

  /// So that check_references can point at the part that is wrong.
  void note_places(const ProfileReference& reference, const Entry& check, const Entry* where, const Entry& metric) {
    const auto note = [&](const std::string& part, Place at) {
      system_.places[reference.reference.place + " " + part] = complaints_.text(at);
    };
    note("check", check.value.at);
    note("unit", metric.value.find("unit")->value.at);
    if (where == nullptr) return;
    for (const auto& entry : where->value.entries) {
      note("where key " + entry.key, entry.at);
      note("where value " + entry.key, entry.value.at);
    }
  }

  Fields top_;
  Complaints& complaints_;
  SystemProfile system_;
  std::set<std::string> environment_names_;
  std::set<std::string> partition_names_;
};

}  // namespace

SystemProfile parse_system(std::string_view toml, const std::string& name, Diagnostics& diagnostics) {
  Complaints complaints(name);
  SystemProfile system;
  system.file = name;
  if (const auto document = parse_document(toml, complaints)) system = SystemReader(*document, name, complaints).read();
  complaints.deliver(diagnostics);
  return system;
}

bool is_system_document(std::string_view toml) {
  // Most files are checks: only those that could be a profile are read twice.
  const auto holds = [&](std::string_view word) { return toml.find(word) != std::string_view::npos; };
  if (!holds("system") && !holds("partition") && !holds("environment")) return false;
  Complaints ignored("");
  const auto document = parse_document(toml, ignored);
  if (!document || document->find("check") != nullptr) return false;
  return document->find("system") != nullptr || document->find("partition") != nullptr ||
         document->find("environment") != nullptr;
}

}  // namespace muster
