#include "app/inputs/profile_draft.hpp"

#include <cctype>
#include <fmt/format.h>

#include "base/text.hpp"

namespace muster {

namespace {

/// Between quotes of TOML.
std::string toml_text(std::string_view text) {
  std::string made = "\"";
  for (const char c : printable_line(text, 255)) {
    if (c == '"' || c == '\\') made += '\\';
    made += c;
  }
  return made + "\"";
}

/// A regular expression that is found in just this text.
std::string exact_pattern(std::string_view text) {
  std::string made = "^";
  for (const char c : text) {
    if (std::string_view("\\.+*?()|[]{}^$").find(c) != std::string_view::npos) made += '\\';
    made += c;
  }
  return made;
}

/// `login` of `login03`.
std::string letters_of(std::string_view host) {
  return std::string(host.substr(0, host.find_first_of("0123456789.")));
}

std::string system_head_text(const ProfileDraft& draft, const std::string& variable) {
  auto text = fmt::format("[system]\nname   = {}\n", toml_text(draft.system));
  const auto file = toml_text(fmt::format("/etc/muster/{}.toml", draft.system));
  if (draft.cluster.empty())
    text += fmt::format("detect = {{ file = {} }}      # this file, once it is installed; elsewhere use --system {}\n",
                        file, draft.system);
  else
    text += fmt::format(
        "detect = [\n  {{ env = {}, matches = {} }},      # set in jobs\n  {{ file = {} }},      # this file, once it "
        "is installed\n]\n",
        toml_text(variable), toml_text(exact_pattern(draft.cluster) + "$"), file);
  const auto& node = draft.node;
  if (node.partition.empty() && !draft.partitions.empty() && !letters_of(node.host).empty())
    text += fmt::format("login  = {{ host = {}{} }}      # {} is in no partition\n",
                        toml_text("^" + letters_of(node.host) + "\\d*"),
                        node.gpus > 0 ? fmt::format(", gpus = {}", node.gpus) : "", node.host);
  return text;
}

/// Data that only the node itself has.
std::string cpu_line(const DraftNode& node) {
  auto text = fmt::format("cpu   = {{ architecture = {}", toml_text(node.architecture));
  if (!node.cpu_model.empty()) text += fmt::format(", model = {}", toml_text(exact_pattern(node.cpu_model)));
  if (node.smt > 0) text += fmt::format(", smt = {}", node.smt);
  if (node.domains > 0) text += fmt::format(", domains = {}", node.domains);
  return text + fmt::format(" }}      # hwloc on {}\n", node.host);
}

std::string gpu_line(const DraftPartition& partition, const DraftNode* node) {
  const bool is_seen = node != nullptr && node->gpus > 0;
  const int count = partition.gpus > 0 ? partition.gpus : is_seen ? node->gpus : 0;
  if (count == 0) return {};
  auto text = fmt::format("gpus  = {{ count = {}", count);
  if (is_seen && !node->gpu_vendor.empty()) text += fmt::format(", vendor = {}", toml_text(node->gpu_vendor));
  if (is_seen && !node->gpu_name.empty()) text += fmt::format(", name = {}", toml_text(exact_pattern(node->gpu_name)));
  text += " }";
  if (!partition.gpu_type.empty()) text += fmt::format("      # the batch system calls them {}", partition.gpu_type);
  if (is_seen && partition.gpus > 0 && node->gpus != partition.gpus)
    text += fmt::format("      # {} shows {}", node->host, node->gpus);
  return text + "\n";
}

std::string nic_line(const DraftNode& node) {
  if (node.nics == 0) return {};
  const auto name = node.nic_prefix.empty() ? "" : fmt::format(", name = {}", toml_text("^" + node.nic_prefix));
  return fmt::format("nics  = {{ count = {}{} }}      # add rate = \"200Gbit/s\" to have it judged\n", node.nics, name);
}

std::string node_table(const DraftPartition& partition, const DraftNode* node) {
  std::string text = "[partition.node]\n";
  const int cores = node != nullptr && node->cores > 0 ? node->cores : partition.cores;
  if (cores > 0) {
    text += fmt::format("cores = {}", cores);
    const bool differs = node != nullptr && partition.cores > 0 && partition.cores != cores;
    text += differs ? fmt::format("      # by hwloc on {}; the batch system counts {}\n", node->host, partition.cores)
                    : "\n";
  }
  if (node != nullptr)
    text += cpu_line(*node);
  else if (partition.smt > 0)
    text += fmt::format("cpu   = {{ smt = {} }}\n", partition.smt);
  text += gpu_line(partition, node);
  if (node != nullptr) text += nic_line(*node);
  return text;
}

std::string job_options_line(const DraftPartition& partition) {
  auto text = fmt::format("scheduler_options = [{}", toml_text("--partition=" + partition.name));
  if (partition.gpus > 0) text += fmt::format(", {}", toml_text(fmt::format("--gpus-per-node={}", partition.gpus)));
  return text + "]      # where jobs need it: \"--account={account}\"\n";
}

/// As lint takes names.
std::string profile_name_of(const std::string& partition) {
  auto name = partition;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '-';
  return name;
}

std::string partition_text(const ProfileDraft& draft, const DraftPartition& partition) {
  const DraftNode* node = partition.name == draft.node.partition ? &draft.node : nullptr;
  auto text =
      fmt::format("\n# {} node{}{}\n[[partition]]\nname = {}\n", partition.nodes, partition.nodes == 1 ? "" : "s",
                  partition.is_mixed ? ", which differ; the least of each figure follows" : "",
                  toml_text(profile_name_of(partition.name)));
  if (partition.is_default && draft.partitions.size() > 1) text += "default = true\n";
  if (!draft.launcher.empty()) text += fmt::format("launcher = {}\n", toml_text(draft.launcher));
  return text + job_options_line(partition) + node_table(partition, node);
}

}  // namespace

std::string profile_text(const ProfileDraft& draft, const std::string& variable) {
  auto text = fmt::format(
      "# {}, first profile by muster init. Correct what is wrong, add what is missing (docs/check-files.md), and\n"
      "# check it with: muster lint FILE. {}What a node has was read on {}.\n",
      draft.system, draft.cluster.empty() ? "" : "Partitions are those of the batch system. ", draft.node.host);
  text += system_head_text(draft, variable);
  for (const auto& partition : draft.partitions) text += partition_text(draft, partition);
  if (draft.partitions.empty()) text += "\n[[partition]]\nname = \"default\"\n" + node_table({}, &draft.node);
  return text;
}

}  // namespace muster
