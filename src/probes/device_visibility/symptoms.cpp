#include "probes/device_visibility/symptoms.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster::visibility {

void Symptoms::add(const Device& gpu, Symptom symptom) {
  const auto same = [&](const auto& one) {
    return one.first.what == symptom.what && one.first.remedy == symptom.remedy;
  };
  const auto found = std::find_if(seen_.begin(), seen_.end(), same);
  if (found != seen_.end())
    found->second.push_back(&gpu);
  else
    seen_.emplace_back(std::move(symptom), std::vector<const Device*>{&gpu});
}

void Symptoms::report(const NodeView& node, Findings& findings) const {
  for (const auto& [symptom, gpus] : seen_) {
    const std::string reason = fmt::format("{}: {}", subject(node, gpus), symptom.what);
    findings.push_back(symptom.is_note ? make_note(reason) : about(node, gpus, reason, symptom.remedy));
  }
}

std::string reported(const Device& device, std::string_view key) {
  const auto found = device.values.find(std::string(key));
  return found == device.values.end() ? std::string() : printable_line(found->second, 200);
}

double vendor_number(const Device& device, std::string_view key) {
  return parse_number<double>(reported(device, key)).value_or(0);
}

}  // namespace muster::visibility
