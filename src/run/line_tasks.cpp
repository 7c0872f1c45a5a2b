#include "run/line_tasks.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::string_view task_mark = "muster-rank: started by ";
constexpr int most_tasks = 1 << 24;  // a number beyond is none of a launcher's

/// The number behind `words`, which is removed up to its end; -1: there is none.
int take_task_number(std::string_view& text, std::string_view words) {
  if (!text.starts_with(words)) return -1;
  text.remove_prefix(words.size());
  std::string_view rest = text;
  const auto number = take_number<int>(rest);
  if (!number || *number < 0 || *number > most_tasks) return -1;
  text = rest;
  return *number;
}

void note_agent(LineTasks& tasks, int task, int expected) {
  if (task < 0 || expected <= 0) {
    ++tasks.unnumbered;
    return;
  }
  ++tasks.agents[task];
  tasks.expected = std::max(tasks.expected, expected);
}

std::string named_tasks(const std::vector<int>& tasks) {
  constexpr std::size_t most = 6;
  std::vector<std::string> words;
  for (const int task : tasks) words.push_back(std::to_string(task));
  return fmt::format("task{} {}", tasks.size() == 1 ? "" : "s", human_list(words, most));
}

}  // namespace

std::vector<int> LineTasks::without_agent() const {
  std::vector<int> missing;
  for (int task = 0; task < expected; ++task)
    if (agents.count(task) == 0) missing.push_back(task);
  return missing;
}

std::vector<int> LineTasks::with_several_agents() const {
  std::vector<int> several;
  for (const auto& [task, count] : agents)
    if (count > 1) several.push_back(task);
  return several;
}

std::string task_line(const std::string& host, const LaunchedBy& by) {
  const std::string task =
      by.world_size > 0 ? fmt::format("task {} of {}", by.rank, by.world_size) : "a task without a number";
  return fmt::format("{}{} on {}\n", task_mark, task, host);
}

LineTasks read_line_tasks(std::string_view standard_error, const std::vector<NodeAutopsy>& seen) {
  LineTasks tasks;
  for (const std::string_view line : lines(standard_error)) {
    // Launchers may write the task's number in front of it.
    const std::size_t at = line.find(task_mark);
    if (at == line.npos) continue;
    std::string_view words = line.substr(at + task_mark.size());
    const int task = take_task_number(words, "task ");
    note_agent(tasks, task, take_task_number(words, " of "));
  }
  if (tasks.has_agents()) return tasks;
  // A wrapper that sends standard error elsewhere.
  for (const NodeAutopsy& node : seen)
    for (const RankRemains& rank : node.ranks) note_agent(tasks, rank.record.rank, rank.record.world_size);
  return tasks;
}

std::string without_task_lines(std::string_view text) {
  if (text.find(task_mark) == text.npos) return std::string(text);
  std::string kept;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == text.npos ? text.size() : end + 1);
    if (line.find(task_mark) == line.npos) kept += line;
    text.remove_prefix(line.size());
  }
  return kept;
}

std::string uneven_tasks(const LineTasks& tasks) {
  const auto missing = tasks.without_agent();
  const auto several = tasks.with_several_agents();
  std::string words = counted(static_cast<std::size_t>(tasks.expected), "task");
  if (!missing.empty())
    words += fmt::format(", {} of which started muster's agent: not {}",
                         static_cast<std::size_t>(tasks.expected) - missing.size(), named_tasks(missing));
  if (several.empty()) return missing.empty() ? std::string() : words;
  int agents = 0;
  for (const auto& [task, count] : tasks.agents) agents += count;
  return words + fmt::format(", and {} agents: {} started several", agents, named_tasks(several));
}

}  // namespace muster
