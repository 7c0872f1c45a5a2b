/// Faults of GPUs from the data of a library or a driver on each, gathered so that eight with the same are one
/// sentence.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "measure/node_devices.hpp"

namespace muster::visibility {

struct Symptom {
  std::string what;  ///< behind `GPU 0000:c1:00.0 on nid001: `
  std::string remedy;
  bool is_note = false;
};

/// By symptom, in the order in which they were first seen.
class Symptoms {
 public:
  void add(const Device& gpu, Symptom symptom);
  void report(const NodeView& node, Findings& findings) const;

 private:
  std::vector<std::pair<Symptom, std::vector<const Device*>>> seen_;
};

/// The value of that name; empty: unknown.
[[nodiscard]] std::string reported(const Device& device, std::string_view key);
/// 0 where it is unknown, or is not a number.
[[nodiscard]] double vendor_number(const Device& device, std::string_view key);

}  // namespace muster::visibility
