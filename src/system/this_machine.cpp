#include "system/this_machine.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "model/launcher_words.hpp"
#include "system/simulated_affinity.hpp"

extern char** environ;

namespace muster {

namespace {

ThisMachine& machine() {
  static ThisMachine one;
  return one;
}

Result<nlohmann::json> read_card(const fs::path& folder) {
  const fs::path file = folder / "machine.json";
  const auto text = read_file(file, 4u << 20);
  const auto json = nlohmann::json::parse(text ? *text : "", nullptr, false);
  if (json.is_object() && json.contains("name") && json["name"].is_string()) return json;
  return fail(ErrorKind::file, printable_line(file.string()),
              "is not a machine; write one with muster machine NAME --write FOLDER");
}

/// A folder that is not there would look like a node without any library.
Result<void> check_drivers() {
  const char* drivers = std::getenv(env_drivers);
  std::error_code ignored;
  if (drivers == nullptr || *drivers == '\0' || fs::is_directory(drivers, ignored)) return {};
  return fail(
      ErrorKind::usage, env_drivers,
      fmt::format("{} is not a folder; name one with stand-ins of the vendors' libraries that every node has, or "
                  "unset it",
                  printable_line(drivers, 200)));
}

std::string text_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string> texts_of(const nlohmann::json& json, const char* key) {
  std::vector<std::string> texts;
  const auto found = json.find(key);
  for (const auto& item : found != json.end() && found->is_array() ? *found : nlohmann::json::array())
    if (item.is_string()) texts.push_back(item.get<std::string>());
  return texts;
}

/// Names and values, `{rank}` and the like filled.
std::map<std::string, std::string> pairs_of(const nlohmann::json& json, const char* key, const RankPlace& place) {
  const std::pair<std::string_view, std::string> words[] = {
      {"{rank}", std::to_string(place.rank)},
      {"{local_rank}", std::to_string(place.local_rank)},
      {"{world_size}", std::to_string(place.world_size)},
      {"{local_size}", std::to_string(place.local_size)},
      {"{node}", std::to_string(place.node_index)},
      {"{nodes}", std::to_string(place.node_count)},
      {"{host}", place.host},
  };
  std::map<std::string, std::string> pairs;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return pairs;
  for (const auto& [name, value] : found->items()) {
    if (!value.is_string()) continue;
    std::string text = value.get<std::string>();
    for (const auto& [word, filling] : words)
      for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += filling.size())
        text.replace(at, word.size(), filling);
    pairs.emplace(name, std::move(text));
  }
  return pairs;
}

/// Variables that the real launcher sets for its ranks, and one of another kind would not. `OMPI_MCA_plm` stays:
/// without it, no program that uses Open MPI starts on a machine that has neither ssh nor rsh.
void forget_launcher() {
  constexpr std::string_view settings[] = {"OMPI_", "PMIX_", "PRTE_", "HYDRA_"};
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    const bool is_setting = std::any_of(std::begin(settings), std::end(settings),
                                        [&](std::string_view prefix) { return name.starts_with(prefix); });
    if ((is_setting || is_set_for_rank(name)) && !name.starts_with("OMPI_MCA_plm") && !name.starts_with("SLURM_"))
      names.emplace_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

/// What is really set stays: so a variable can be tried by setting it. Faults go before it.
void take_environment(const nlohmann::json& card, const RankPlace& place) {
  if (text_of(card, "launcher") == "srun") forget_launcher();
  for (const auto& [name, value] : pairs_of(card, "environment", place)) ::setenv(name.c_str(), value.c_str(), 0);
  if (const auto lists = card.find("by_rank"); lists != card.end() && lists->is_object())
    for (const auto& [name, values] : lists->items())
      if (const auto texts = texts_of(*lists, name.c_str()); static_cast<std::size_t>(place.local_rank) < texts.size())
        ::setenv(name.c_str(), texts[static_cast<std::size_t>(place.local_rank)].c_str(), 0);
  for (const auto& [name, value] : pairs_of(card, "forced", place)) ::setenv(name.c_str(), value.c_str(), 1);
  for (const std::string& name : texts_of(card, "unset")) ::unsetenv(name.c_str());
}

Result<std::optional<CpuMask>> mask_for(const nlohmann::json& card, const RankPlace& place) {
  const auto masks = texts_of(card, "masks");
  if (masks.empty()) return std::optional<CpuMask>();
  const auto index = static_cast<std::size_t>(place.local_rank);
  if (index >= masks.size())
    return fail(ErrorKind::usage, text_of(card, "name"),
                fmt::format("the simulated machine has masks for {} ranks of a node, and this is local rank {}; use "
                            "--ranks-per-node {}, or add masks to its description",
                            masks.size(), place.local_rank, masks.size()));
  auto mask = CpuMask::parse_hex(masks[index]);
  if (!mask) return tl::unexpected(mask.error());
  return std::optional(std::move(*mask));
}

std::string name_in(const nlohmann::json& card) {
  const auto faults = texts_of(card, "faults");
  return printable_line(faults.empty() ? text_of(card, "name")
                                       : fmt::format("{} with {}", text_of(card, "name"), human_list(faults)));
}

void take_interfaces(const nlohmann::json& card, const RankPlace& place, ThisMachine& found) {
  for (const auto& [name, inet] : pairs_of(card, "interfaces", place)) {
    const auto down = texts_of(card, "down");
    found.interfaces.push_back({name, inet, !is_in(name, down)});
  }
}

}  // namespace

const ThisMachine& this_machine() {
  return machine();
}

std::string root_of(const std::string& parameter) {
  return parameter == "/" ? machine().root.string() : parameter;
}

Result<CpuMask> own_mask() {
  if (machine().mask) return *machine().mask;
  return CpuMask::of_this_thread();
}

fs::path machine_folder(const std::string& host) {
  const char* named = std::getenv(env_machine);
  if (named == nullptr || *named == '\0') return {};
  const fs::path folder(named);
  std::error_code ignored;
  // A host name is not a path; a host with such a name has no folder of its own.
  const bool is_plain = !host.empty() && host.front() != '.' && host.find('/') == host.npos;
  return is_plain && fs::is_directory(folder / host, ignored) ? folder / host : folder;
}

Result<std::string> simulated_name(const fs::path& folder) {
  auto card = read_card(folder);
  std::error_code ignored;
  if (!card && !fs::exists(folder / "machine.json", ignored)) {
    // A folder for each node, and this is none of them.
    std::set<fs::path> nodes;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (fs::exists(entry.path() / "machine.json", ignored)) nodes.insert(entry.path());
    if (!nodes.empty()) card = read_card(*nodes.begin());
  }
  if (!card) return tl::unexpected(card.error());
  return name_in(*card);
}

int simulated_ranks(const fs::path& folder) {
  const auto card = read_card(folder);
  return card ? static_cast<int>(texts_of(*card, "masks").size()) : 0;
}

Result<void> simulate(const fs::path& folder, const RankPlace& place) {
  const auto card = read_card(folder);
  if (!card) return tl::unexpected(card.error());
  if (auto there = check_drivers(); !there) return there;
  // The launcher has bound this rank.
  auto mask = has_simulated_affinity() ? Result<std::optional<CpuMask>>() : mask_for(*card, place);
  if (!mask) return tl::unexpected(mask.error());
  ThisMachine found;
  found.simulated = name_in(*card);
  found.root = folder / "root";
  found.topology = (folder / "topology.xml").string();
  found.mask = std::move(*mask);
  for (auto& [name, limit] : pairs_of(*card, "limits", place)) found.limits[name] = limit;
  take_interfaces(*card, place, found);
  for (auto& [key, value] : pairs_of(*card, "facts", place)) found.facts.push_back({key, value});
  take_environment(*card, place);
  ::setenv(env_driver_sheet, (folder / "drivers.json").c_str(), 1);
  machine() = std::move(found);
  return {};
}

}  // namespace muster
