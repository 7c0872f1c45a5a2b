#include "config/node_expectations.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <regex>
#include <set>

#include "base/cpu_mask.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "config/profile_fields.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

/// Gbit/s.
double read_rate(Fields& fields, std::string_view key) {
  constexpr std::string_view unit = "Gbit/s";
  const auto* entry = fields.find(key);
  const auto text = fields.text(key);
  if (!text) return 0;
  std::string_view rest = *text;
  const auto rate = take_number<double>(rest, std::chars_format::fixed);
  if (rate && trim(rest) == unit && *rate > 0 && *rate < 1e6) return *rate;
  fields.refuse(*entry, entry->value, "a rate, such as \"200Gbit/s\"");
  return 0;
}

/// `0-1 x4`, or `all x4` for every pair, the lower number first; empty: neither.
std::vector<GpuLinkExpectation> pairs_in(const std::string& text, int gpus) {
  static const std::regex pattern("(?:all|([0-9]{1,4})-([0-9]{1,4})) x([1-9][0-9]?)");
  std::smatch found;
  std::vector<GpuLinkExpectation> pairs;
  if (text.size() > 20 || !std::regex_match(text, found, pattern)) return pairs;
  const int links = std::stoi(found[3]);
  if (!found[1].matched) {
    for (int first = 0; first < gpus; ++first)
      for (int second = first + 1; second < gpus; ++second) pairs.push_back({first, second, links});
    return pairs;
  }
  const int a = std::stoi(found[1]), b = std::stoi(found[2]);
  if (a != b && std::max(a, b) < gpus) pairs.push_back({std::min(a, b), std::max(a, b), links});
  return pairs;
}

class NodeReader {
 public:
  NodeReader(const Entry& entry, PartitionProfile& partition, DocumentErrors& errors)
      : fields_(entry.value, entry.at, "[partition.node]", errors), partition_(partition), node_(partition.node) {}

  void read() {
    node_.cores = fields_.integer("cores", {1, most_cores}).value_or(0);
    if (const auto* cpu = fields_.table("cpu")) read_cpu(*cpu);
    if (const auto* reserved = fields_.find("reserved_cores")) read_reserved(*reserved);
    if (const auto* gpus = fields_.table("gpus")) read_gpus(*gpus);
    if (const auto* links = fields_.find("gpu_links")) read_gpu_links(*links);
    partition_.machine = fields_.text("machine").value_or("");
    if (const auto* bind = fields_.table("bind")) read_bind(*bind);
    if (const auto* nics = fields_.table("nics")) read_nics(*nics);
    read_plugins();
    fields_.finish();
  }

 private:
  void read_cpu(const Entry& entry) {
    Fields fields(entry.value, entry.at, "\"cpu\" of [partition.node]", fields_.errors());
    CpuExpectation cpu;
    cpu.architecture = read_choice(fields, "architecture", {"x86_64", "aarch64", "ppc64le"});
    cpu.model = read_regex(fields, "model");
    cpu.smt = fields.integer("smt", {1, 8}).value_or(0);
    cpu.domains = fields.integer("domains", {1, 1024}).value_or(0);
    fields.finish();
    node_.cpu = std::move(cpu);
  }

  void read_reserved(const Entry& entry) {
    if (entry.value.kind != NodeKind::array) return fields_.refuse(entry, entry.value, "an array of core numbers");
    const double last = node_.cores > 0 ? node_.cores - 1 : most_cores - 1;
    std::set<std::int64_t> seen;
    for (const auto& item : entry.value.items) {
      if (item.kind != NodeKind::integer || item.number < 0 || item.number > last)
        fields_.refuse(entry, item, fmt::format("an array of core numbers from 0 to {}", last));
      else if (!seen.insert(item.integer).second)
        fields_.complain(item.at, fmt::format("core {} is reserved twice", item.integer));
      else
        node_.reserved_cores.push_back(static_cast<int>(item.integer));
    }
    if (node_.cores > 0 && static_cast<int>(seen.size()) == node_.cores)
      fields_.complain(entry.value.at, "all cores are reserved; none is left to run on");
  }

  void read_gpus(const Entry& entry) {
    Fields fields(entry.value, entry.at, "\"gpus\" of [partition.node]", fields_.errors());
    GpuExpectation gpus;
    const auto* count = fields.need("count", "count = 8");
    if (count != nullptr && count->value.kind == NodeKind::integer && count->value.integer == 0)
      fields.complain(count->value.at, "\"count\" is at least 1: leave \"gpus\" out for nodes without GPUs");
    else
      gpus.count = fields.integer("count", {1, 1024}).value_or(0);
    gpus.vendor = read_choice(fields, "vendor", names_of_vendors());
    gpus.name = read_regex(fields, "name");
    fields.finish();
    node_.gpus = std::move(gpus);
  }

  void read_gpu_links(const Entry& entry) {
    const int gpus = node_.gpus ? node_.gpus->count : 0;
    if (gpus < 2)
      return fields_.errors().add_consequence(entry.at, "\"gpu_links\" needs \"gpus\" with a count of 2 or more",
                                              fields_.header());
    const std::string wanted = fmt::format(
        "an array of texts: \"0-1 x4\" for four links between GPUs 0 and 1 (of 0 to {}), or \"all x4\"", gpus - 1);
    if (entry.value.kind != NodeKind::array) return fields_.refuse(entry, entry.value, wanted);
    std::set<std::pair<int, int>> seen;
    for (const auto& item : entry.value.items) {
      const auto pairs = item.kind == NodeKind::text ? pairs_in(item.text, gpus) : std::vector<GpuLinkExpectation>();
      if (pairs.empty()) fields_.refuse(entry, item, wanted);
      for (const GpuLinkExpectation& pair : pairs) {
        if (!seen.insert({pair.first, pair.second}).second)
          fields_.complain(item.at, fmt::format("GPUs {} and {} have their links twice", pair.first, pair.second));
        node_.gpu_links.push_back(pair);
      }
    }
  }

  void read_nics(const Entry& entry) {
    Fields fields(entry.value, entry.at, "\"nics\" of [partition.node]", fields_.errors());
    NicExpectation nics;
    (void)fields.need("count", "count = 4");
    nics.count = fields.integer("count", {1, 1024}).value_or(0);
    nics.name = read_regex(fields, "name");
    nics.rate = read_rate(fields, "rate");
    fields.finish();
    node_.nics = std::move(nics);
  }

  void read_plugins() {
    node_.plugins = fields_.texts("plugins");
    node_.plugins_from = fields_.text("plugins_from").value_or("");
    node_.plugins_in = fields_.texts("plugins_in");
    if (!node_.plugins_in.empty() && node_.plugins.empty())
      fields_.complain(fields_.find("plugins_in")->value.at, "\"plugins_in\" needs \"plugins\"");
    const std::vector<std::string> known{"ofi"};
    for (const std::string& name : node_.plugins)
      if (name != known.front())
        fields_.complain(fields_.find("plugins")->value.at,
                         fmt::format("unknown plugin \"{}\"{}", printable_line(name, 60), suggestion(name, known)));
  }

  void read_bind(const Entry& entry) {
    Fields fields(entry.value, entry.at, "\"bind\" of [partition.node]", fields_.errors());
    BindExpectation bind;
    (void)fields.need("policy", "policy = \"gpu\"");
    bind.policy = read_choice(fields, "policy", {"gpu", "cores", "spread", "compact"});
    bind.smt = fields.boolean("smt").value_or(false);
    bind.select = read_choice(fields, "select", {"wrapper", "map_gpu"});
    bind.masks = fields.texts("masks");
    bind.is_far_noted = read_choice(fields, "far", {"fail", "note"}) == "note";
    if (const auto* masks = fields.find("masks"); masks != nullptr && masks->value.kind == NodeKind::array)
      check_masks(masks->value);
    fields.finish();
    node_.bind = std::move(bind);
  }

  /// Masks are those of ranks that share a node: each has CPUs of its own, none that are reserved.
  void check_masks(const Node& masks) {
    CpuMask taken;
    CpuMask reserved;
    for (const int core : node_.reserved_cores) reserved.add(core);
    for (const auto& item : masks.items) {
      if (item.kind != NodeKind::text) continue;
      const auto shown = printable_line(item.text, 60);
      const auto mask = CpuMask::parse_hex(item.text);
      if (!mask || mask->empty()) {
        fields_.complain(item.at, fmt::format("\"{}\" is not a mask of CPUs; write for example \"0xfe00\"", shown));
        continue;
      }
      if (const CpuMask both = *mask & reserved; !both.empty())
        fields_.complain(item.at, fmt::format("the mask {} holds core {}, which is reserved", shown, both.list()));
      if (const CpuMask both = *mask & taken; !both.empty())
        fields_.complain(item.at, fmt::format("the mask {} holds CPU {}, which another one has", shown, both.list()));
      taken = taken | *mask;
    }
  }

  Fields fields_;
  PartitionProfile& partition_;
  ExpectedNode& node_;
};

}  // namespace

void read_node(const Entry& entry, PartitionProfile& partition, DocumentErrors& errors) {
  partition.node = {};
  NodeReader(entry, partition, errors).read();
}

std::vector<std::string> expectation_keys(const ExpectedNode& node) {
  std::vector<std::string> keys;
  const auto add = [&](bool is_stated, std::string key) {
    if (is_stated) keys.push_back(std::move(key));
  };
  add(node.cores > 0, "cores");
  add(!node.reserved_cores.empty(), "reserved_cores");
  add(node.gpus.has_value(), "gpus");
  add(!node.gpu_links.empty(), "gpu_links");
  add(node.bind.has_value(), "bind");
  add(node.nics.has_value(), "nics");
  add(node.login.has_value(), "login");
  if (node.cpu) {
    add(!node.cpu->architecture.empty(), "cpu.architecture");
    add(!node.cpu->model.empty(), "cpu.model");
    add(node.cpu->smt > 0, "cpu.smt");
    add(node.cpu->domains > 0, "cpu.domains");
  }
  for (const auto& variable : node.variables) add(true, "variable " + variable.name);
  return keys;
}

}  // namespace muster
