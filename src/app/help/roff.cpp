#include "app/help/roff.hpp"

#include "base/text.hpp"

namespace muster {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  append_replaced(out, printable_line(text, 4000), "\\-'`^~", {"\\e", "\\-", "\\(aq", "\\(ga", "\\(ha", "\\(ti"});
  return out;
}

}  // namespace

std::string roff(std::string_view text) {
  const auto out = escaped(text);
  // A line that starts so would be a request; quotes are escaped already.
  return out.empty() || out.front() != '.' ? out : "\\&" + out;
}

std::string roff_bold(std::string_view text) {
  return "\\fB" + escaped(text) + "\\fR";
}

std::string roff_italic(std::string_view text) {
  return "\\fI" + escaped(text) + "\\fR";
}

}  // namespace muster
