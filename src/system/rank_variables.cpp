#include "system/rank_variables.hpp"

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/gpu_vendor.hpp"

extern char** environ;

namespace muster {

namespace {

/// What the placeholders of one rank stand for.
struct RankValues {
  std::string local_rank;
  std::string gpu;
  std::string nic;  ///< empty: none is known
};

RankValues values_of(int local_rank, const std::optional<AskedBinding>& asked) {
  RankValues values{std::to_string(local_rank), std::to_string(local_rank), {}};
  const auto at = static_cast<std::size_t>(local_rank);
  if (!asked || at >= asked->masks.size()) return values;
  if (asked->gpus[at] >= 0) values.gpu = std::to_string(asked->gpus[at]);
  values.nic = asked->nics[at];
  return values;
}

bool replace_all(std::string& text, std::string_view what, const std::string& by) {
  bool is_found = false;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
    is_found = true;
  }
  return is_found;
}

void set_gpu_variable(const RankValues& values, const AskedBinding& asked) {
  if (asked.gpu_variable.empty() || asked.binder == Binder::options) return;
  ::setenv(asked.gpu_variable.c_str(), values.gpu.c_str(), 1);
  const GpuVendor* vendor = vendor_by_visible_variable(asked.gpu_variable);
  if (vendor == nullptr) return;
  for (const std::string_view setting : vendor->order_settings) {
    const std::size_t equals = setting.find('=');
    ::setenv(std::string(setting.substr(0, equals)).c_str(), std::string(setting.substr(equals + 1)).c_str(), 1);
  }
}

}  // namespace

void fill_rank_variables(int local_rank, const std::optional<AskedBinding>& asked) {
  if (local_rank < 0) return;
  const RankValues values = values_of(local_rank, asked);
  std::vector<std::pair<std::string, std::string>> filled;
  std::vector<std::string> removed;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos || variable.find('{', equals) == std::string_view::npos) continue;
    std::string name(variable.substr(0, equals));
    std::string value(variable.substr(equals + 1));
    if (values.nic.empty() && value.find("{nic}") != std::string::npos) {
      removed.push_back(std::move(name));
      continue;
    }
    bool is_filled = replace_all(value, "{local_rank}", values.local_rank);
    is_filled |= replace_all(value, "{gpu}", values.gpu);
    is_filled |= replace_all(value, "{nic}", values.nic);
    if (is_filled) filled.emplace_back(std::move(name), std::move(value));
  }
  for (const auto& [name, value] : filled) ::setenv(name.c_str(), value.c_str(), 1);
  for (const std::string& name : removed) ::unsetenv(name.c_str());
  if (asked) set_gpu_variable(values, *asked);
}

}  // namespace muster
