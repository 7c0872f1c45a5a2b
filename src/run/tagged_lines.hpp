/// Answers of many nodes through one pipe: lines that name their sender, so that they may be mixed.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace muster {

/// `text` as short lines, each `@NODE ` and `+part` (the line goes on), `=part` (it ends here) or, last, `.`: it is
/// all. Slurm hands on lines of up to 1,024 bytes whole, and divides longer ones.
[[nodiscard]] std::string tag_lines(std::string_view node, std::string_view text);

/// Puts them together again. Unsigned lines have no sender and are dropped.
class TaggedLines {
 public:
  /// The next bytes, in pieces of any size.
  void feed(std::span<const char> bytes);
  /// The whole output of that node, once its end is there; nullptr before.
  [[nodiscard]] const std::string* answer_of(const std::string& node) const;
  /// How many nodes have sent all.
  [[nodiscard]] std::size_t whole() const { return whole_; }

 private:
  struct Answer {
    std::string text;
    bool is_whole = false;
  };
  void take(std::string_view line);

  std::string rest_;  ///< of a line that has not ended
  std::map<std::string, Answer, std::less<>> answers_;
  std::size_t whole_ = 0;
};

}  // namespace muster
