#include "model/gpu_vendor.hpp"

#include <algorithm>
#include <vector>

namespace muster {

namespace {

void append_term(std::string& line, std::string_view term, std::string_view separator) {
  if (term.empty()) return;
  if (!line.empty()) line += separator;
  line += term;
}

template <class Test>
const GpuVendor* vendor_with(Terms GpuVendor::*terms, Test test) {
  for (const GpuVendor* vendor : gpu_vendors())
    if (std::any_of((vendor->*terms).begin(), (vendor->*terms).end(), test)) return vendor;
  return nullptr;
}

std::vector<std::string> sorted_names(bool (*is_wanted)(const GpuVendor&)) {
  std::vector<std::string> names;
  for (const GpuVendor* vendor : gpu_vendors())
    if (is_wanted(*vendor)) names.emplace_back(vendor->name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::span<const GpuVendor* const> gpu_vendors() {
  static const std::vector<const GpuVendor*> sorted = [] {
    const auto listed = listed_gpu_vendors();
    std::vector<const GpuVendor*> all(listed.begin(), listed.end());
    std::stable_sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->place < b->place; });
    return all;
  }();
  return sorted;
}

std::vector<std::string> names_of_vendors() {
  return sorted_names([](const GpuVendor& /*vendor*/) { return true; });
}

std::vector<std::string> described_vendors() {
  return sorted_names([](const GpuVendor& vendor) { return vendor.described != nullptr; });
}

const GpuVendor& terms_of_vendor(std::string_view name) {
  static constexpr GpuVendor unknown{};
  const auto all = gpu_vendors();
  const auto found = std::find_if(all.begin(), all.end(), [&](const GpuVendor* one) { return one->name == name; });
  return found == all.end() ? unknown : **found;
}

std::string of_all_vendors(std::string_view GpuVendor::*term, std::string_view separator) {
  std::string line;
  for (const GpuVendor* vendor : gpu_vendors()) append_term(line, vendor->*term, separator);
  return line;
}

std::string first_of_all_vendors(Terms GpuVendor::*terms, std::string_view separator) {
  std::string line;
  for (const GpuVendor* vendor : gpu_vendors())
    if (!(vendor->*terms).empty()) append_term(line, (vendor->*terms).front(), separator);
  return line;
}

bool is_any_vendors(Terms GpuVendor::*terms, std::string_view word) {
  return vendor_with(terms, [&](std::string_view one) { return one == word; }) != nullptr;
}

const GpuVendor* vendor_by_visible_variable(std::string_view variable) {
  for (const GpuVendor* vendor : gpu_vendors())
    if (!variable.empty() && vendor->visible_variable == variable) return vendor;
  return nullptr;
}

std::string_view log_marks_of(const GpuVendor& vendor) {
  return vendor.log_marks.empty() ? vendor.driver : vendor.log_marks;
}

const GpuVendor* vendor_by_prefix(Terms GpuVendor::*terms, std::string_view text) {
  return vendor_with(terms, [&](std::string_view one) { return text.starts_with(one); });
}

bool is_gpu_service(std::string_view process) {
  process.remove_prefix(std::min(process.find_first_not_of(" 0123456789"), process.size()));
  return process.find(" of user ") == process.npos && vendor_by_prefix(&GpuVendor::services, process) != nullptr;
}

}  // namespace muster
