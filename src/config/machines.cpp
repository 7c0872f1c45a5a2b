#include "config/machines.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "config/machine_devices.hpp"
#include "config/machine_fields.hpp"

namespace muster {

namespace {

class MachineReader {
 public:
  MachineReader(const Node& document, const std::string& name, DocumentErrors& errors)
      : top_(document, {}, "", errors), errors_(errors) {
    machine_.file = name;
  }

  MachineDescription read() {
    read_machine();
    read_cpu();
    read_domains();
    if (machine_.cores > 0) {
      if (const auto* gpus = top_.table("gpus")) machine_.gpus = read_gpus(*gpus, machine_, errors_);
      for (const auto* nics : top_.find("nics") == nullptr ? none_ : top_.tables("nics", "[[nics]]"))
        read_nics(*nics, machine_, errors_);
      if (const auto* ranks = top_.table("ranks")) read_ranks(*ranks);
      if (const auto* limits = top_.table("limits")) machine_.limits = read_limits(*limits, "[limits]", errors_);
      if (const auto* faults = top_.table("fault"))
        for (const Entry& fault : faults->value.entries)
          machine_.faults.push_back(read_fault(fault, machine_, errors_));
      top_.finish();
    }
    return std::move(machine_);
  }

 private:
  const Entry* need_table(std::string_view key, std::string_view example) {
    if (top_.find(key) == nullptr) errors_.add({}, fmt::format("a machine has a table [{}]; {}", key, example));
    return top_.table(key);
  }

  /// A key that may be left out: empty; else one of `known`.
  static std::string read_known(Fields& fields, std::string_view key, const std::vector<std::string>& known) {
    const auto word = fields.text(key);
    if (!word || is_in(*word, known)) return word.value_or("");
    fields.complain(fields.find(key)->value.at,
                    fmt::format("unknown {} \"{}\"{}", key, printable_line(*word, 60), suggestion(*word, known)));
    return {};
  }

  void read_machine() {
    const auto* entry = need_table("machine", "write for example [machine] and name = \"lumi-g\"");
    if (entry == nullptr) return;
    Fields fields(entry->value, entry->at, "[machine]", errors_);
    if (const auto* name = fields.need("name", "name = \"lumi-g\"")) {
      machine_.name = fields.text("name").value_or("");
      if (!machine_.name.empty() && !is_name(machine_.name))
        errors_.add(name->value.at, fmt::format("the name \"{}\" {}", printable_line(machine_.name, 60), name_rule));
    }
    machine_.summary = fields.text("summary").value_or("");
    read_synthetic(fields);
    (void)fields.need("sources", "sources = [\"the site's user guide, page hardware\"]");
    machine_.sources = fields.texts("sources");
    machine_.unverified = fields.texts("unverified");
    machine_.architecture = read_known(fields, "architecture", {"x86_64", "aarch64"});
    if (machine_.architecture.empty()) machine_.architecture = "x86_64";
    machine_.kernel = fields.text("kernel").value_or("");
    machine_.board = fields.text("board").value_or("");
    machine_.is_virtual = fields.boolean("virtual").value_or(false);
    read_libraries(fields);
    fields.finish();
  }

  /// Each becomes a file.
  void read_libraries(Fields& fields) {
    machine_.libraries = fields.texts("libraries");
    for (const std::string& name : machine_.libraries)
      if (name.empty() || name.front() == '.' || name.size() > 100 || name.find('/') != name.npos ||
          printable_line(name) != name)
        errors_.add(fields.find("libraries")->value.at,
                    fmt::format("\"{}\" is not a file name of a library, such as \"libnccl-net.so\"",
                                printable_line(name, 60)));
  }

  /// There is no other kind: what is captured on hardware is a folder, not a description.
  void read_synthetic(Fields& fields) {
    const auto* entry = fields.need("synthetic", "synthetic = true");
    if (entry != nullptr && (entry->value.kind != NodeKind::boolean || entry->value.text != "true"))
      errors_.add(entry->value.at, "\"synthetic\" of [machine] must be true: a description is made up, by its nature");
  }

  void read_cpu() {
    const auto* entry = need_table("cpu", "write for example [cpu] and cores = 64");
    if (entry == nullptr) return;
    Fields fields(entry->value, entry->at, "[cpu]", errors_);
    machine_.cpu_model = fields.text("model").value_or("");
    machine_.packages = fields.integer("packages", {1, 64}).value_or(1);
    (void)fields.need("cores", "cores = 64");
    machine_.cores = fields.integer("cores", {1, 4096}).value_or(0);
    machine_.smt = fields.integer("smt", {1, 8}).value_or(1);
    if (machine_.cores % machine_.packages != 0)
      errors_.add(fields.find("packages")->value.at,
                  fmt::format("{} cores can't be shared out over {} packages", machine_.cores, machine_.packages));
    if (const auto* reserved = fields.find("reserved")) read_reserved(*reserved, fields);
    if (const auto* caches = fields.table("caches")) read_caches(*caches);
    fields.finish();
  }

  void read_reserved(const Entry& entry, Fields& fields) {
    if (entry.value.kind != NodeKind::array) return fields.refuse(entry, entry.value, "an array of core numbers");
    for (const auto& item : entry.value.items) {
      if (item.kind != NodeKind::integer || item.number < 0 || item.number >= std::max(1, machine_.cores))
        fields.refuse(entry, item, fmt::format("an array of core numbers from 0 to {}", machine_.cores - 1));
      else
        machine_.reserved.add(static_cast<int>(item.integer));
    }
  }

  void read_caches(const Entry& entry) {
    Fields fields(entry.value, entry.at, "\"caches\" of [cpu]", errors_);
    const auto* place = fields.need("count", "count = 8");
    const int count = fields.integer("count", {1, 4096}).value_or(0);
    if (const auto bytes = read_bytes(fields, "size")) machine_.cache_bytes = *bytes;
    fields.finish();
    if (count == 0 || machine_.cores == 0) return;
    if (machine_.cores % count != 0)
      return errors_.add(place->value.at,
                         fmt::format("{} cores can't be shared out over {} caches", machine_.cores, count));
    const int share = machine_.cores / count;
    for (int cache = 0; cache < count; ++cache) {
      CpuMask cpus;
      for (int core = cache * share; core < (cache + 1) * share; ++core) cpus = cpus | machine_.core(core);
      machine_.caches.push_back(std::move(cpus));
    }
  }

  void read_domains() {
    if (machine_.cores == 0) return;
    if (top_.find("domain") == nullptr)
      return errors_.add({}, "a machine has at least one [[domain]]; write for example cpus = \"0-63\"");
    CpuMask taken;
    for (const auto* table : top_.tables("domain", "[[domain]]")) {
      Fields fields(*table, table->at, "[[domain]]", errors_);
      DescribedDomain domain;
      domain.number = static_cast<int>(machine_.domains.size());
      domain.cpus = read_cpus(fields, "cpus", machine_).value_or(CpuMask());
      if (domain.cpus.intersects(taken))
        errors_.add(table->find("cpus")->value.at,
                    fmt::format("CPUs {} are in another domain, too", (domain.cpus & taken).list()));
      taken = taken | domain.cpus;
      if (const auto bytes = read_bytes(fields, "memory")) domain.memory = *bytes;
      fields.finish();
      machine_.domains.push_back(std::move(domain));
    }
    if (const CpuMask left = machine_.cpus() - taken; errors_.empty() && !left.empty())
      errors_.add(top_.find("domain")->at, fmt::format("CPUs {} are in no [[domain]]", left.list()));
  }

  void read_ranks(const Entry& entry) {
    Fields fields(entry.value, entry.at, "[ranks]", errors_);
    machine_.launcher = read_known(fields, "launcher", {"srun", "ibrun", "mpirun", "mpiexec", "flux"});
    machine_.masks = read_masks(fields, "masks", machine_);
    if (const auto* environment = fields.table("environment"))
      machine_.environment = read_environment(*environment, errors_, &machine_.by_rank);
    if (const auto quota = fields.number("cpu_quota")) machine_.cpu_quota = *quota;
    fields.finish();
  }

  Fields top_;
  DocumentErrors& errors_;
  MachineDescription machine_;
  const std::vector<const Node*> none_;
};

}  // namespace

MachineDescription parse_machine(std::string_view toml, const std::string& name, Diagnostics& diagnostics) {
  DocumentErrors errors(name);
  MachineDescription machine;
  machine.file = name;
  if (const auto document = parse_document(toml, errors)) machine = MachineReader(*document, name, errors).read();
  errors.deliver(diagnostics);
  return machine;
}

bool is_machine_document(std::string_view toml) {
  if (toml.find("machine") == std::string_view::npos) return false;
  DocumentErrors ignored("");
  const auto document = parse_document(toml, ignored);
  return document && document->find("machine") != nullptr && document->find("check") == nullptr;
}

}  // namespace muster
