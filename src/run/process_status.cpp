#include "run/process_status.hpp"

#include <charconv>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::optional<ProcessStatus> parse_process_status(std::string_view text) {
  // The name ends at the last parenthesis: no field after it has one.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  const std::vector<std::string> fields = split(trim(text.substr(name_end + 1)), ' ');
  constexpr std::size_t first = 3;  // number of the field after the name
  if (fields.size() <= 22 - first || fields[0].size() != 1) return std::nullopt;
  ProcessStatus status;
  status.state = fields[0][0];
  if (!read_number(fields[5 - first], status.group)) return std::nullopt;
  if (!read_number(fields[22 - first], status.start_ticks)) return std::nullopt;
  return status;
}

std::optional<ProcessStatus> process_status(int pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat");
  return text ? parse_process_status(*text) : std::nullopt;
}

}  // namespace muster
