#include <cmath>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "config/expectations.hpp"
#include "config/given_line.hpp"
#include "config/param_values.hpp"
#include "config/program_metrics.hpp"

namespace muster {

namespace {

constexpr double most_ranks_per_node = 65'536;
constexpr double most_nodes = 1'000'000;
constexpr double longest_timeout_s = 7 * 86'400;
constexpr double shortest_timeout_s = 0.01;  // shorter times are not meaningful
constexpr std::string_view ranks_wanted =
    "\"one-per-node\", \"one-per-core\", \"one-per-numa\", \"one-per-gpu\" or { per_node = 4 }";

class CheckReader {
 public:
  CheckReader(const Entry& entry, std::span<const ProbeSpec* const> probes, DocumentErrors& errors)
      : entry_(entry),
        probes_(probes),
        fields_(entry.value, entry.at, fmt::format("[check.{}]", printable_line(entry.key, 60)), errors) {
    check_.name = entry.key;
  }

  Check read(const std::string& file) {
    check_.file = file;
    check_.place = fields_.errors().text(entry_.at);
    const auto* probe = read_probe();
    check_.summary = fields_.text("summary").value_or(probe == nullptr ? "" : std::string(probe->summary));
    read_tags();
    read_ranks();
    read_bind();
    read_launch();
    check_.min_nodes = fields_.integer("nodes", {1, most_nodes}).value_or(1);
    read_timeout();
    if (probe != nullptr) {
      read_params(fields_, *probe, check_);
      read_program_metrics(fields_, *probe, check_);
      read_expectations(fields_, *probe, check_);
    } else {
      // What they may hold depends on the probe, which is unknown.
      for (const auto* key : {"params", "sweep", "metrics", "expect"}) (void)fields_.find(key);
    }
    fields_.finish();
    return std::move(check_);
  }

 private:
  const ProbeSpec* read_probe() {
    const auto* entry = fields_.need("probe", "probe = \"hello\"");
    const auto name = entry == nullptr ? std::nullopt : fields_.text("probe");
    if (!name) return nullptr;
    check_.probe = *name;
    std::vector<std::string> known;
    for (const auto* probe : probes_) {
      if (probe->name == *name) return probe;
      known.emplace_back(probe->name);
    }
    fields_.complain(entry->value.at,
                     fmt::format("unknown probe \"{}\"{}", printable_line(*name, 60), suggestion(*name, known)));
    return nullptr;
  }

  void read_tags() {
    check_.tags = fields_.texts("tags");
    const auto* entry = fields_.find("tags");
    if (entry == nullptr) return;
    std::vector<std::string> seen;
    for (const auto& item : entry->value.items) {
      if (item.kind != NodeKind::text) continue;
      if (!is_name(item.text))
        fields_.complain(item.at, fmt::format("tag \"{}\" {}", printable_line(item.text, 60), name_rule));
      if (is_in(item.text, seen))
        fields_.complain(item.at, fmt::format("tag \"{}\" is named twice", printable_line(item.text, 60)));
      seen.push_back(item.text);
    }
  }

  void read_ranks() {
    // The key of a profile.
    if (entry_.value.find("ranks_per_node") != nullptr)
      fields_.complain(
          fields_.find("ranks_per_node")->at,
          fmt::format("unknown key \"ranks_per_node\" in [check.{}]; write ranks = {{ per_node = 4 }}", check_.name));
    const auto* entry = fields_.find("ranks");
    if (entry == nullptr) return;
    if (entry->value.kind == NodeKind::table) return read_per_node(*entry);
    using Kind = RanksSpec::Kind;
    for (const auto kind : {Kind::one_per_node, Kind::one_per_core, Kind::one_per_numa, Kind::one_per_gpu})
      if (entry->value.kind == NodeKind::text && entry->value.text == to_string(RanksSpec{kind, 1})) {
        check_.ranks.kind = kind;
        return;
      }
    fields_.refuse(*entry, entry->value, ranks_wanted);
  }

  void read_per_node(const Entry& entry) {
    Fields fields(entry.value, entry.at, "\"ranks\" of " + fields_.parent(), fields_.errors());
    if (fields.find("per_gpu") != nullptr) return read_per_gpu(fields);
    const auto* count_entry = fields.need("per_node", "ranks = { per_node = 4 }");
    const auto count = count_entry == nullptr ? std::nullopt : fields.integer("per_node", {1, most_ranks_per_node});
    if (count) check_.ranks = {RanksSpec::Kind::per_node, *count};
    fields.finish();
  }

  void read_per_gpu(Fields& fields) {
    (void)fields.integer("per_gpu", {1, 1});
    const auto* entry = fields.find("otherwise");
    const bool is_text = entry != nullptr && entry->value.kind == NodeKind::text;
    if (is_text && entry->value.text != "one-per-core")
      fields.refuse(*entry, entry->value, "\"one-per-core\" or a number of ranks");
    const auto otherwise = is_text ? std::optional(0) : fields.integer("otherwise", {1, most_ranks_per_node});
    check_.ranks = {RanksSpec::Kind::one_per_gpu, static_cast<int>(otherwise.value_or(1))};
    fields.finish();
  }

  void read_bind() {
    const auto* entry = fields_.find("bind");
    if (entry == nullptr) return;
    static const std::vector<std::string> known{"none", "profile", "auto", "cores"};
    if (entry->value.kind == NodeKind::text && is_in(entry->value.text, known))
      check_.bind = entry->value.text;
    else
      fields_.refuse(*entry, entry->value, "\"none\", \"profile\", \"auto\" or \"cores\"");
  }

  /// Variables have their values where the line is started, not where a file is only read.
  void read_launch() {
    const auto* entry = fields_.find("launch");
    if (entry == nullptr) return;
    if (entry->value.kind != NodeKind::text)
      return fields_.refuse(*entry, entry->value, "a launch line, such as \"srun -N 2 --ntasks-per-node=8\"");
    check_.launch = entry->value.text;
    check_.launch_place = fields_.errors().text(entry->value.at);
    if (const auto line = parse_given_line(check_.launch, {"launch", false}); !line)
      fields_.complain(entry->value.at, to_string(line.error()));
    for (const auto* key : {"ranks", "nodes", "bind"})
      if (const auto* other = fields_.find(key))
        fields_.complain(
            other->at, fmt::format("\"{}\" has no effect beside \"launch\"{}: the line starts the ranks; leave one out",
                                   key, fields_.in_parent()));
  }

  void read_timeout() {
    const auto* entry = fields_.find("timeout");
    if (entry == nullptr) return;
    const auto& value = entry->value;
    std::optional<double> seconds;
    if (value.is_number()) seconds = value.number;
    if (value.kind == NodeKind::text)
      if (const auto parsed = parse_duration(value.text)) seconds = parsed->value;
    if (seconds && std::isfinite(*seconds) && *seconds >= shortest_timeout_s && *seconds <= longest_timeout_s)
      check_.timeout = Seconds{*seconds};
    else
      fields_.refuse(*entry, value, "a duration of 10ms to 168h, such as \"60s\"");
  }

  const Entry& entry_;
  std::span<const ProbeSpec* const> probes_;
  Fields fields_;
  Check check_;
};

std::vector<Check> read_checks(const Node& document, const std::string& name, std::span<const ProbeSpec* const> probes,
                               DocumentErrors& errors) {
  std::vector<Check> checks;
  Fields top(document, {}, "", errors);
  const auto* all = top.find("check");
  // Beside a profile the other keys at the top are that one's.
  const bool is_beside_profile = document.find("system") != nullptr || document.find("partition") != nullptr ||
                                 document.find("environment") != nullptr;
  if (all == nullptr || !is_beside_profile) top.finish();
  if (all == nullptr) {
    if (errors.empty()) errors.add({}, "there is no check in this file; write for example [check.hello]");
    return checks;
  }
  if (all->value.kind != NodeKind::table) {
    errors.add(all->at, "\"check\" must be a table with a name, written [check.NAME]");
    return checks;
  }
  for (const auto& entry : all->value.entries) {
    if (!is_name(entry.key))
      errors.add(entry.at, fmt::format("the name \"{}\" {}", printable_line(entry.key, 60), name_rule));
    if (entry.value.kind == NodeKind::table)
      checks.push_back(CheckReader(entry, probes, errors).read(name));
    else
      errors.add(entry.at, fmt::format("\"{}\" must be a table, written [check.NAME]", printable_line(entry.key, 60)));
  }
  if (all->value.entries.empty())
    errors.add(all->at, "there is no check in this file; write for example [check.hello]");
  return checks;
}

}  // namespace

std::vector<Check> parse_checks(std::string_view toml, const std::string& name,
                                std::span<const ProbeSpec* const> probes, Diagnostics& diagnostics) {
  DocumentErrors errors(name);
  std::vector<Check> checks;
  if (const auto document = parse_document(toml, errors)) checks = read_checks(*document, name, probes, errors);
  errors.deliver(diagnostics);
  return checks;
}

}  // namespace muster
