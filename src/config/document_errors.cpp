#include "config/document_errors.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"

namespace muster {

namespace {

// A sentence may name twelve candidates of a foreign file; it should still fit on a screen.
constexpr std::size_t longest_complaint = 1000;

}  // namespace

void DocumentErrors::add(Place at, std::string what) {
  found_.push_back({.at = at, .what = printable_line(what, longest_complaint)});
}

void DocumentErrors::add_unknown(Place at, std::string what, Place table) {
  found_.push_back({.at = at, .what = printable_line(what, longest_complaint), .table = table, .is_cause = true});
}

void DocumentErrors::add_consequence(Place at, std::string what, Place table) {
  found_.push_back({.at = at, .what = printable_line(what, longest_complaint), .table = table});
}

std::string DocumentErrors::text(Place at) const {
  return fmt::format("{}:{}:{}", name_, at.line, at.column);
}

/// A consequence follows the last unknown key of its table.
void DocumentErrors::find_orders() {
  std::map<Place, Place> last;
  for (const auto& one : found_)
    if (one.is_cause) last[one.table] = std::max(last[one.table], one.at);
  for (auto& one : found_)
    if (const auto cause = last.find(one.table); !one.is_cause && cause != last.end())
      one.order = std::max(one.order, cause->second);
}

void DocumentErrors::deliver(Diagnostics& diagnostics) {
  find_orders();
  std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) {
    return a.order == b.order ? a.is_cause && !b.is_cause : a.order < b.order;
  });
  for (auto& one : found_) diagnostics.errors.push_back({ErrorKind::file, text(one.at), std::move(one.what)});
  found_.clear();
}

}  // namespace muster
