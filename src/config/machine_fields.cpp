#include "config/machine_fields.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "config/placeholders.hpp"
#include "config/profile_fields.hpp"

namespace muster {

namespace {

/// Empty when `mask` is one of this machine; else what is wrong with it.
std::string fault_of(const Result<CpuMask>& mask, const MachineDescription& machine) {
  if (!mask) return mask.error().what;
  if (mask->empty()) return "names no CPU";
  if (!mask->is_subset_of(machine.cpus()))
    return fmt::format("names CPU {}, and the last one of this machine is {}", mask->highest(),
                       machine.cpus().highest());
  return {};
}

void check_placeholders(const Node& value, DocumentErrors& errors) {
  static const std::vector<std::string> known{"rank", "local_rank", "world_size", "local_size",
                                              "node", "nodes",      "host"};
  if (value.text.size() > 10'000) return errors.add(value.at, "longer than 10000 characters");
  for (const std::string& name : words_in_braces(value.text))
    if (!is_in(name, known))
      errors.add(value.at, fmt::format("nothing fills {{{}}}{}", printable_line(name, 40), suggestion(name, known)));
}

}  // namespace

std::optional<CpuMask> read_cpus(Fields& fields, std::string_view key, const MachineDescription& machine) {
  const auto* entry = fields.find(key);
  const auto text = fields.text(key);
  if (!text) return std::nullopt;
  auto mask = CpuMask::parse_list(*text);
  const std::string fault = fault_of(mask, machine);
  if (fault.empty()) return *mask;
  fields.complain(entry->value.at,
                  fmt::format("\"{}\" is not a list of this machine's CPUs: {}; write for example \"{}\"",
                              printable_line(*text, 60), fault, machine.cpus().list()));
  return std::nullopt;
}

std::vector<CpuMask> read_masks(Fields& fields, std::string_view key, const MachineDescription& machine) {
  std::vector<CpuMask> masks;
  const auto* entry = fields.find(key);
  if (entry == nullptr) return masks;
  if (entry->value.kind != NodeKind::array || entry->value.items.empty()) {
    fields.refuse(*entry, entry->value, "an array of masks, such as [\"0xfe\", \"0xfe00\"]");
    return masks;
  }
  for (const auto& item : entry->value.items) {
    if (item.kind != NodeKind::text) {
      fields.refuse(*entry, item, "an array of masks, such as [\"0xfe\", \"0xfe00\"]");
      continue;
    }
    auto mask = CpuMask::parse_hex(item.text);
    const std::string fault = fault_of(mask, machine);
    if (fault.empty())
      masks.push_back(std::move(*mask));
    else
      fields.complain(item.at, fmt::format("\"{}\" is not a mask of this machine's CPUs: {}",
                                           printable_line(item.text, 60), fault));
  }
  return masks;
}

std::optional<std::uint64_t> read_bytes(Fields& fields, std::string_view key) {
  const auto* entry = fields.find(key);
  const auto text = fields.text(key);
  if (!text) return std::nullopt;
  const auto bytes = parse_bytes(*text);
  if (bytes) return bytes->count;
  fields.refuse(*entry, entry->value, "a size, such as \"128GiB\"");
  return std::nullopt;
}

Environment read_environment(const Entry& entry, DocumentErrors& errors,
                             std::map<std::string, std::vector<std::string>>* by_rank) {
  Environment variables;
  for (const auto& [key, at, value] : entry.value.entries) {
    if (!is_variable(key))
      errors.add(at, fmt::format("\"{}\" is not a name of an environment variable", printable_line(key, 60)));
    const bool is_list = by_rank != nullptr && value.kind == NodeKind::array && !value.items.empty();
    const std::vector<Node> items = is_list ? value.items : std::vector<Node>{value};
    std::vector<std::string> texts;
    for (const Node& item : items) {
      if (item.kind != NodeKind::text || item.text.find('\0') != std::string::npos) {
        errors.add(item.at, fmt::format("\"{}\" must be text, such as \"1\"{}, not {}", printable_line(key, 60),
                                        by_rank == nullptr ? "" : ", or an array of texts, one for each local rank",
                                        to_string(item.kind)));
        continue;
      }
      check_placeholders(item, errors);
      texts.push_back(item.text);
    }
    if (is_list)
      (*by_rank)[key] = std::move(texts);
    else if (!texts.empty())
      variables.emplace_back(key, texts.front());
  }
  return variables;
}

std::map<std::string, std::string> read_limits(const Entry& entry, std::string parent, DocumentErrors& errors) {
  std::map<std::string, std::string> limits;
  Fields fields(entry.value, entry.at, std::move(parent), errors);
  for (const char* name : {"nofile", "memlock", "core"}) {
    const auto* limit = fields.find(name);
    if (limit == nullptr) continue;
    const std::string& text = limit->value.text;
    const bool is_number = !text.empty() && text.size() < 19 &&
                           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (limit->value.is_scalar() && (is_number || text == "unlimited"))
      limits[name] = text;
    else
      fields.refuse(*limit, limit->value, "a whole number or \"unlimited\"");
  }
  fields.finish();
  return limits;
}

}  // namespace muster
