#include "reporters/common/ink.hpp"

#include <fmt/format.h>

namespace muster {

std::string Ink::of(Verdict verdict, std::string_view text) const {
  switch (verdict) {
    case Verdict::pass:
      return paint("32", text);
    case Verdict::fail:
      return paint("1;31", text);
    case Verdict::error:
      return paint("1;35", text);
    case Verdict::unmeasured:
      return paint("33", text);
    case Verdict::skip:
      return paint("2", text);
  }
  return std::string(text);
}

std::string Ink::paint(std::string_view code, std::string_view text) const {
  if (!is_colored_ || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace muster
