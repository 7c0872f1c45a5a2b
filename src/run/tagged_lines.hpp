/// Answers of many nodes through one pipe: lines that name their sender, so that they may be mixed.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// `text` as short lines, each `@NODE ` and `+part` (the line goes on), `=part` (it ends here) or, last, `.`: it is
/// all. Slurm hands on lines of up to 1,024 bytes whole, and divides longer ones.
[[nodiscard]] std::string tag_lines(std::string_view node, std::string_view text);

/// Puts them together again. Each line begins with the label of its task, `N: ` or `P0 N: ` with blanks before numbers,
/// which the launcher puts there (srun --label) and a task can't choose. The name of a node is the task's own claim: a
/// task that signs for two nodes is dropped, and a node for which two others sign has no answer. Lines without label or
/// name are dropped.
class TaggedLines {
 public:
  /// The next bytes, in pieces of any size.
  void feed(std::span<const char> bytes);
  /// The whole output of that node, once its end is there; nullptr before, and while the answer is in doubt.
  [[nodiscard]] const std::string* answer_of(const std::string& node) const;
  /// How many tasks have sent all, or are dropped.
  [[nodiscard]] std::size_t whole() const { return whole_; }
  /// How many tasks sign for that node, without those that are dropped.
  [[nodiscard]] std::size_t tasks_of(const std::string& node) const;
  /// For which nodes each dropped task signed: the first eight.
  [[nodiscard]] std::vector<std::vector<std::string>> dropped() const;

 private:
  struct Task {
    std::vector<std::string> nodes;  ///< for which it signed; more than one: it is dropped
    std::string text;
    bool is_whole = false;
  };
  void take(std::string_view line);
  /// False: the task is dropped.
  bool sign(Task& task, std::string_view node);

  std::string rest_;                                ///< of a line that has not ended
  std::map<std::string, Task, std::less<>> tasks_;  ///< by label
  std::map<std::string, std::vector<const Task*>, std::less<>> of_node_;
  std::size_t whole_ = 0;
};

}  // namespace muster
