#include "config/complaints.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"

namespace muster {

namespace {

// A sentence may name twelve candidates of a foreign file; it should still fit on a screen.
constexpr std::size_t longest_complaint = 1000;

}  // namespace

void Complaints::add(Place at, std::string what) {
  found_.push_back({at, printable_line(what, longest_complaint)});
}

std::string Complaints::text(Place at) const {
  return fmt::format("{}:{}:{}", name_, at.line, at.column);
}

void Complaints::deliver(Diagnostics& diagnostics) {
  std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  for (auto& [at, what] : found_) diagnostics.errors.push_back({ErrorKind::file, text(at), std::move(what)});
  found_.clear();
}

}  // namespace muster
