// Any text: refused, or a report that is written and read back to the same document.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "model/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = nlohmann::json::parse(data, data + size, nullptr, false);
  if (json.is_discarded()) return 0;
  const auto report = muster::run_report_from_json(json);
  if (!report) {
    if (report.error().what.empty()) std::abort();
    return 0;
  }
  const auto text = muster::dump(muster::to_json(*report));
  const auto again = muster::run_report_from_json(nlohmann::json::parse(text));
  if (!again || muster::dump(muster::to_json(*again)) != text) std::abort();
  return 0;
}
