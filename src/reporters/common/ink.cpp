#include "reporters/common/ink.hpp"

#include <fmt/format.h>

#include "base/names.hpp"

namespace muster {

std::string Ink::of(Verdict verdict, std::string_view text) const {
  constexpr std::string_view codes[] = {"32", "1;31", "33", "1;35", "2"};
  return paint(enum_name(codes, verdict), text);
}

std::string Ink::paint(std::string_view code, std::string_view text) const {
  if (!is_colored_ || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace muster
