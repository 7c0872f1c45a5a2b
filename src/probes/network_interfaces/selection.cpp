#include "probes/network_interfaces/selection.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster::network {

Selection parse_selection(Grammar grammar, std::string_view text) {
  Selection selection;
  text = trim(text);
  selection.is_exact = grammar != Grammar::nccl;
  if (grammar != Grammar::exact && text.substr(0, 1) == "^") {
    selection.is_exclusion = true;
    text.remove_prefix(1);
  }
  if (grammar == Grammar::nccl && text.substr(0, 1) == "=") {
    selection.is_exact = true;
    text.remove_prefix(1);
  }
  for (const std::string& part : split(text, ',')) {
    const std::string_view whole = trim(part);
    const std::string name(whole.substr(0, whole.find(':')));
    if (name.empty()) continue;
    if (grammar == Grammar::ucx && name == "all")
      selection.is_all = true;
    else
      selection.names.push_back(name);
  }
  return selection;
}

bool matches(const Selection& selection, const std::string& entry, std::string_view name) {
  return selection.is_exact ? name == entry : name.substr(0, entry.size()) == entry;
}

std::vector<std::string> chosen(const Selection& selection, std::span<const std::string> names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const bool is_named = std::any_of(selection.names.begin(), selection.names.end(),
                                      [&](const std::string& entry) { return matches(selection, entry, name); });
    if (selection.is_all || is_named != selection.is_exclusion) found.push_back(name);
  }
  return found;
}

}  // namespace muster::network
