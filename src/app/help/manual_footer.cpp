#include "app/help/manual_footer.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace muster {

namespace {

/// `Examples: muster run` has one on the line itself.
bool take_heading(std::string_view& line, std::string_view heading) {
  if (!line.starts_with(heading)) return false;
  line = trim(line.substr(heading.size()));
  return true;
}

void add(std::string& text, std::string_view more) {
  if (!text.empty()) text += ' ';
  text += more;
}

/// `Results: ...` begins a sentence of its own.
bool begins_anew(std::string_view line) {
  const auto colon = line.find(':');
  return colon != line.npos && colon < 20 && line.substr(0, colon).find(' ') == line.npos;
}

}  // namespace

FooterParts take_apart(const std::string& footer) {
  enum class In { notes, examples, status };
  FooterParts parts;
  In in = In::notes;
  for (std::string_view line : lines(footer)) {
    if (trim(line).empty()) continue;
    const bool is_indented = line.front() == ' ';
    if (take_heading(line, "Examples:") || take_heading(line, "Example:") || take_heading(line, "Start with:")) {
      in = In::examples;
      if (!line.empty()) parts.examples.emplace_back(line);
    } else if (!is_indented && line.back() == ':' && (in == In::examples || line.starts_with("Example"))) {
      // `Without a scheduler:`, between others
      in = In::examples;
      parts.examples.emplace_back(line);
    } else if (take_heading(line, "Exit status:")) {
      in = In::status;
      add(parts.exit_status, line);
    } else if (in == In::examples && is_indented) {
      parts.examples.emplace_back(line.substr(std::min<std::size_t>(2, line.find_first_not_of(' '))));
    } else if (in == In::status && (is_indented || !begins_anew(line))) {
      add(parts.exit_status, trim(line));
    } else {
      in = In::notes;
      if (parts.notes.empty() || begins_anew(line) || !is_indented)
        parts.notes.emplace_back(trim(line));
      else
        add(parts.notes.back(), trim(line));
    }
  }
  return parts;
}

}  // namespace muster
