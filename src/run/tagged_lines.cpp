#include "run/tagged_lines.hpp"

#include <fmt/format.h>

namespace muster {

namespace {

constexpr std::size_t longest_part = 700;        // with the longest name of a host, below what Slurm keeps whole
constexpr std::size_t longest_line = 64u << 10;  // longer lines are not ours
constexpr std::size_t most_text = 16u << 20;     // of one node

}  // namespace

std::string tag_lines(std::string_view node, std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto length = std::min(end, text.size());
    const auto part = text.substr(0, std::min(length, longest_part));
    const bool ends_here = end != std::string_view::npos && part.size() == length;
    lines += fmt::format("@{} {}{}\n", node, ends_here ? '=' : '+', part);
    text.remove_prefix(part.size() + (ends_here ? 1 : 0));
  }
  return lines + fmt::format("@{} .\n", node);
}

void TaggedLines::feed(std::span<const char> bytes) {
  rest_.append(bytes.data(), bytes.size());
  std::size_t from = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', from)) {
    take(std::string_view(rest_).substr(from, end - from));
    from = end + 1;
  }
  rest_.erase(0, from);
  if (rest_.size() > longest_line) rest_.clear();
}

void TaggedLines::take(std::string_view line) {
  const auto space = line.find(' ');
  if (line.empty() || line.front() != '@' || space == std::string_view::npos || space + 1 >= line.size()) return;
  const auto node = line.substr(1, space - 1);
  const auto part = line.substr(space + 2);
  const char mark = line[space + 1];
  auto found = answers_.find(node);
  if (found == answers_.end()) found = answers_.emplace(std::string(node), Answer{}).first;
  Answer& answer = found->second;
  if (answer.is_whole || answer.text.size() > most_text) return;
  if (mark == '.' && part.empty()) {
    answer.is_whole = true;
    ++whole_;
  } else if (mark == '+' || mark == '=') {
    answer.text += part;
    if (mark == '=') answer.text += '\n';
  }
}

const std::string* TaggedLines::answer_of(const std::string& node) const {
  const auto found = answers_.find(node);
  return found != answers_.end() && found->second.is_whole ? &found->second.text : nullptr;
}

}  // namespace muster
