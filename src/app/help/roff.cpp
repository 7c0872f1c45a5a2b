#include "app/help/roff.hpp"

#include "base/text.hpp"

namespace muster {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : printable_line(text, 4000)) {
    switch (letter) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += letter;
    }
  }
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
