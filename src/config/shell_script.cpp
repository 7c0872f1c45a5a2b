#include "config/shell_script.hpp"

#include <algorithm>
#include <array>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

bool ends_word(char c) {
  return std::string_view(" \t\n;&|()<>\"'\\$").find(c) != std::string_view::npos;
}

/// Finds commands and pipes, character by character.
class ScriptReader {
 public:
  explicit ScriptReader(std::string_view script) : rest_(script) {}

  [[nodiscard]] ShellScript read() {
    while (!rest_.empty()) {
      if (!step()) continue;
      script_.has_pipe = true;
      end_command();
      pass(starts("|&") ? 2 : 1, true);
    }
    end_command();
    return std::move(script_);
  }

 private:
  enum class Part { head, pattern, body };  ///< of a `case`: before `in`, before `)`, before `;;`

  [[nodiscard]] bool starts(std::string_view start) const { return rest_.starts_with(start); }
  void drop(std::size_t count) { rest_.remove_prefix(std::min(count, rest_.size())); }
  void drop_to(std::string_view end) {
    const auto at = rest_.find(end);
    drop(at == std::string_view::npos ? rest_.size() : at + end.size());
  }

  void add(std::string_view text) {
    if (!is_in_word_) words_.emplace_back();
    is_in_word_ = true;
    words_.back() += text;
  }
  void end_command() {
    is_in_word_ = false;
    if (!words_.empty()) script_.commands.push_back(std::move(words_));
    words_.clear();
  }

  /// True: a pipe.
  bool step() {
    const char c = rest_.front();
    if (c == '\\') return add(rest_.substr(1, 1)), pass_part(2);
    if (c == '\'' || c == '"') return pass_quoted(c);
    if (c == '#' && is_word_start_) return drop_to("\n"), expect_command();
    if (starts("$((") || (starts("((") && is_command_)) return pass_arithmetic();
    if (c == '$') return pass_dollar();
    if (starts("<<<")) return pass(3, false);
    if (starts("<<")) return begin_document();
    if (c == '\n' && !documents_.empty()) return pass_documents();
    if (starts("[[") && is_command_) return drop_to("]]"), false;
    if (is_glob()) return drop_to(")"), false;
    if (starts("||")) return end_command(), pass(2, true);
    if (starts(">|")) return pass(2, false);
    if (c == '|') return !in_pattern() || pass(1, false);
    if (starts(";;") || starts(";&")) return end_body();
    if (c == ')' && in_pattern()) cases_.back() = Part::body;
    if (ends_word(c)) {
      const bool ends_command = c == '\n' || c == ';' || c == '&' || c == '(' || c == ')';
      if (ends_command) end_command();
      return pass(1, ends_command || (is_command_ && c != '<' && c != '>'));
    }
    return pass_word();
  }

  bool pass(std::size_t count, bool is_command) {
    drop(count);
    is_command_ = is_command;
    is_word_start_ = true;
    is_in_word_ = false;
    return false;
  }
  /// Of a word.
  bool pass_part(std::size_t count) {
    drop(count);
    is_command_ = is_word_start_ = false;
    return false;
  }
  bool expect_command() {
    is_command_ = is_word_start_ = true;
    return false;
  }

  /// `$#` starts no comment; `${x%%|*}`, `${x//|/,}` are expansions.
  bool pass_dollar() {
    const std::string_view from = rest_;
    if (starts("${"))
      pass_expansion();
    else
      drop(starts("$#") ? 2 : 1);
    add(from.substr(0, from.size() - rest_.size()));
    return pass_part(0);
  }

  void pass_expansion() {
    int open = 0;
    do {
      if (rest_.front() == '\\') drop(1);
      open += starts("${") ? 1 : starts("}") ? -1 : 0;
      drop(starts("${") ? 2 : 1);
    } while (open > 0 && !rest_.empty());
  }

  bool pass_quoted(char quote) {
    drop(1);
    add("");
    while (!rest_.empty() && rest_.front() != quote) {
      if (quote == '"' && rest_.front() == '\\') drop(1);
      add(rest_.substr(0, 1));
      drop(1);
    }
    return pass_part(1);
  }

  bool pass_arithmetic() {
    drop(rest_.front() == '$' ? 1 : 0);
    int open = 0;
    do {
      open += rest_.front() == '(' ? 1 : rest_.front() == ')' ? -1 : 0;
      drop(1);
    } while (open > 0 && !rest_.empty());
    is_command_ = is_word_start_ = false;
    return false;
  }

  /// `<<EOF`, `<<-'EOF'`: what follows in this line is a part of the command.
  bool begin_document() {
    drop(starts("<<-") ? 3 : 2);
    drop(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
    std::string end(rest_.substr(0, rest_.find_first_of(" \t\n;&|()<>")));
    drop(end.size());
    std::erase_if(end, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    documents_.push_back(std::move(end));
    return pass(0, false);
  }

  bool pass_documents() {
    drop(1);
    for (const std::string& end : documents_) {
      std::string_view line;
      do {
        line = rest_.substr(0, rest_.find('\n'));
        drop(line.size() + 1);
      } while (trim(line) != end && !rest_.empty());
    }
    documents_.clear();
    return expect_command();
  }

  /// `@(a|b)`
  [[nodiscard]] bool is_glob() const {
    return rest_.size() > 1 && rest_[1] == '(' && std::string_view("@+?*!").find(rest_[0]) != std::string_view::npos;
  }

  [[nodiscard]] bool in_pattern() const { return !cases_.empty() && cases_.back() == Part::pattern; }

  bool end_body() {
    end_command();
    if (!cases_.empty()) cases_.back() = Part::pattern;
    return pass(starts(";;&") ? 3 : 2, true);
  }

  bool pass_word() {
    const auto end = std::find_if(rest_.begin(), rest_.end(), ends_word);
    const auto word = rest_.substr(0, std::max<std::size_t>(1, static_cast<std::size_t>(end - rest_.begin())));
    if (word == "case" && is_command_) cases_.push_back(Part::head);
    if (word == "in" && !cases_.empty() && cases_.back() == Part::head) cases_.back() = Part::pattern;
    if (word == "esac" && !cases_.empty() && (is_command_ || in_pattern())) cases_.pop_back();
    static constexpr std::array<std::string_view, 10> openers{"if",    "then", "else", "elif", "while",
                                                              "until", "do",   "!",    "{",    "time"};
    const bool is_command = is_command_ && is_in(word, openers);
    add(word);
    drop(word.size());
    is_command_ = is_command || in_pattern();
    is_word_start_ = false;
    return false;
  }

  std::string_view rest_;
  std::vector<Part> cases_;
  ShellScript script_;
  std::vector<std::string> words_;  ///< of the command so far
  bool is_in_word_ = false;
  std::vector<std::string> documents_;  ///< what ends each of those that begin with the next line
  bool is_command_ = true;
  bool is_word_start_ = true;
};

}  // namespace

ShellScript read_script(std::string_view script) {
  return ScriptReader(script).read();
}

}  // namespace muster
