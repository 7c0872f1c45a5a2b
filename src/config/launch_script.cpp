#include "config/launch_script.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <initializer_list>

#include "base/text.hpp"
#include "config/torchrun_options.hpp"

namespace muster {

namespace {

/// A word as it stands, and without its quotes.
struct Word {
  std::size_t begin = 0;
  int number = 0;
  std::string text;
};

struct Command {
  std::vector<Word> words;
  std::size_t end = 0;
};

bool is_of_name(char letter) {
  return letter == '_' || std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

bool is_one_of(char letter, std::string_view letters) {
  return letters.find(letter) != letters.npos;
}

/// Splits a script into commands at `;`, `&`, `|`, parentheses and ends of lines, and these into words.
class Scanner {
 public:
  explicit Scanner(std::string_view text, ValueOf value_of = nullptr) : text_(text), value_of_(std::move(value_of)) {}

  std::vector<Command> commands() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(commands_);
  }

 private:
  void step() {
    const char letter = text_[at_];
    if (letter == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
      end_word();
      ++number_;
      at_ += 2;
    } else if (letter == '\n') {
      end_command();
      ++number_;
      ++at_;
      skip_document();
    } else if (letter == '#' && !is_in_word_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (letter == '<' || letter == '>') {
      redirect();
    } else if (is_one_of(letter, ";&|()")) {
      end_command();
      ++at_;
    } else if (is_one_of(letter, " \t\r")) {
      end_word();
      ++at_;
    } else {
      add_part();
    }
  }

  void begin_word() {
    if (is_in_word_) return;
    is_in_word_ = true;
    word_ = {at_, number_, {}};
  }

  /// One letter, or all that quotes or `$(` hold together.
  void add_part() {
    begin_word();
    const char letter = text_[at_];
    if (letter == '\'' || letter == '"' || letter == '`') return add_quoted(letter);
    if (letter == '$' && add_value()) return;
    if (text_.substr(at_, 2) == "$(" || text_.substr(at_, 2) == "${") return add_nested();
    if (letter == '\\') ++at_;
    if (at_ < text_.size()) word_.text += text_[at_++];
  }

  void add_quoted(char quote) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '$' && add_value()) continue;
      if (text_[at_] == '\\' && quote != '\'' && at_ + 1 < text_.size()) ++at_;
      add_letter();
      ++at_;
    }
    ++at_;
  }

  /// `$NAME` or `${NAME}` with a value.
  bool add_value() {
    if (!value_of_) return false;
    const bool is_braced = text_.substr(at_, 2) == "${";
    const std::size_t begin = at_ + (is_braced ? 2 : 1);
    std::size_t end = begin;
    while (end < text_.size() && is_of_name(text_[end])) ++end;
    if (end == begin || (is_braced && text_.substr(end, 1) != "}")) return false;
    const auto value = value_of_(std::string(text_.substr(begin, end - begin)));
    if (!value) return false;
    word_.text += *value;
    at_ = end + (is_braced ? 1 : 0);
    return true;
  }

  void add_nested() {
    const char open = text_[at_ + 1];
    const char close = open == '(' ? ')' : '}';
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      add_letter();
      if (text_[at_] == open) ++depth;
      if (text_[at_] == close && --depth == 0) break;
    }
    ++at_;
  }

  void add_letter() {
    if (text_[at_] == '\n') ++number_;
    word_.text += text_[at_];
  }

  void end_word() {
    if (is_in_word_ && !is_cut_) command_.words.push_back(std::move(word_));
    if (is_in_word_ && is_document_) document_ = word_.text;
    is_in_word_ = is_document_ = false;
  }

  void end_command() {
    end_word();
    if (!is_cut_) command_.end = at_;
    if (!command_.words.empty()) commands_.push_back(std::move(command_));
    command_ = {};
    is_cut_ = false;
  }

  /// What follows a redirection is not a part of the launch.
  void redirect() {
    const bool is_document = text_.substr(at_, 2) == "<<" && text_.substr(at_, 3) != "<<<";
    end_word();
    if (!is_cut_) command_.end = at_;
    is_cut_ = true;
    at_ = std::min(text_.find_first_not_of("<>&-|", at_), text_.size());
    is_document_ = is_document;
  }

  void skip_document() {
    if (document_.empty()) return;
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const bool is_last = trim(text_.substr(at_, end - at_)) == document_;
      at_ = std::min(end + 1, text_.size());
      ++number_;
      if (is_last) break;
    }
    document_.clear();
  }

  std::string_view text_;
  ValueOf value_of_;
  std::size_t at_ = 0;
  int number_ = 1;
  Word word_;
  bool is_in_word_ = false;
  bool is_cut_ = false;       ///< behind a redirection
  bool is_document_ = false;  ///< the next word ends a here-document
  std::string document_;
  Command command_;
  std::vector<Command> commands_;
};

/// Words in front of a command that leave it a command.
bool is_in_front(std::string_view word) {
  constexpr std::array<std::string_view, 11> known = {"exec", "time",  "if", "then", "else", "elif",
                                                      "do",   "while", "!",  "{",    "until"};
  return std::find(known.begin(), known.end(), word) != known.end();
}

bool is_own_file(std::string_view word) {
  return word.starts_with("./") || word.starts_with("../");
}

/// Commands that print, look for, load or change what they are given: `module load deepspeed`.
bool only_names(const Argv& words) {
  constexpr std::array<std::string_view, 22> known = {
      "echo",   "printf", "which",  "type",  "command", "pip", "pip3", "test", "[",  "module", "ml",
      "export", "cd",     "source", "mkdir", ".",       "ls",  "cat",  "rm",   "cp", "mv",     "git"};
  const std::string name = base_name(words.front());
  // But `conda run torchrun`.
  const bool is_conda = (name == "conda" || name == "mamba") && (words.size() < 2 || words[1] != "run");
  return is_conda || std::find(known.begin(), known.end(), name) != known.end();
}

/// Where, behind `exec`, `if` and assignments, the program of a command stands.
std::size_t first_of_command(const Command& command) {
  std::size_t first = 0;
  while (first < command.words.size() && is_in_front(command.words[first].text)) ++first;
  while (first < command.words.size() && is_assignment(command.words[first].text)) ++first;
  // exec may come behind assignments, too.
  while (first < command.words.size() && is_in_front(command.words[first].text)) ++first;
  return first;
}

bool is_listed_word(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// `bash -c 'A=b exec "$@"'`, which starts what follows it.
bool is_shell_wrapper(const Argv& words, std::size_t at) {
  const std::size_t text = shell_text(words, at);
  return text < words.size() && shell_text_uses_arguments(words[text]);
}

/// Words that may be the program of the line, by falling certainty: the first rule that finds one decides.
std::vector<std::size_t> program_places(const Argv& words) {
  if (const std::size_t at = torchrun_begin(words); at < words.size()) return {at};
  for (const auto rule : {is_python_name, is_shell_name, is_own_file}) {
    std::vector<std::size_t> found;
    for (std::size_t at = 1; at < words.size(); ++at)
      if (rule(words[at]) && !is_shell_wrapper(words, at)) found.push_back(at);
    if (found.empty()) continue;
    // What python and shells are given may be named like them.
    if (rule != is_own_file) found.resize(1);
    return found;
  }
  return {};
}

/// What `muster gate ... -- srun ...` starts: the first word behind `--`; the end for another command.
std::size_t first_behind_gate(const std::vector<Word>& words, std::size_t program) {
  if (base_name(words[program].text) != "muster") return words.size();
  if (program + 1 == words.size() || words[program + 1].text != "gate") return words.size();
  std::size_t at = program + 2;
  while (at < words.size() && words[at].text != "--") ++at;
  return std::min(at + 1, words.size());
}

}  // namespace

std::vector<ScriptCommand> launch_commands(std::string_view script, const IsLauncher& is_launcher) {
  std::vector<ScriptCommand> found;
  for (const Command& command : Scanner(script).commands()) {
    std::size_t first = 0;
    while (first < command.words.size() && is_in_front(command.words[first].text)) ++first;
    std::size_t program = first;
    while (program < command.words.size() && is_assignment(command.words[program].text)) ++program;
    if (program == command.words.size()) continue;
    const auto text = [&](std::size_t from, std::size_t end) {
      return script.substr(command.words[from].begin, end - command.words[from].begin);
    };
    const auto is_one = [&](const Word& word) { return is_launcher(base_name(word.text)); };
    const int number = command.words[first].number;
    if (is_one(command.words[program])) found.push_back({number, std::string(trim(text(first, command.end)))});
    const std::size_t behind = first_behind_gate(command.words, program);
    if (behind == command.words.size() || !is_one(command.words[behind])) continue;
    const std::string variables(text(first, command.words[program].begin));
    found.push_back({number, variables + std::string(trim(text(behind, command.end)))});
  }
  return found;
}

Result<GivenLine> line_of_command(const ScriptCommand& command, const LineOrigin& origin) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::usage, origin.where,
                fmt::format("\"{}\": {}; write the line up to its program instead: --launch 'srun ...'",
                            printable_line(command.text, 200), why));
  };
  const auto parts = Scanner(command.text).commands();
  if (parts.size() != 1) return refuse("is not a single command");
  Argv words;
  for (const Word& word : parts.front().words) words.push_back(word.text);
  const auto places = program_places(words);
  if (places.empty()) return refuse("where its program begins can't be seen");
  if (places.size() > 1)
    return refuse(fmt::format("its program may be {} or {}", printable_line(words[places[0]], 60),
                              printable_line(words[places[1]], 60)));
  const std::size_t end = parts.front().words[places.front()].begin;
  auto line = parse_given_line(std::string_view(command.text).substr(0, end), origin);
  if (!line) return line;
  line->left_out.assign(words.begin() + static_cast<std::ptrdiff_t>(places.front()), words.end());
  line->torchrun = torchrun_in(line->left_out);
  // Values that the batch script's shell would put in.
  Argv filled = words_of_command(command.text, [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
  filled.erase(filled.begin(), filled.begin() + static_cast<std::ptrdiff_t>(places.front()));
  line->torchrun_options = torchrun_options(filled);
  return line;
}

Argv words_of_command(std::string_view text, const ValueOf& value_of) {
  Argv words;
  const auto commands = Scanner(text, value_of).commands();
  if (!commands.empty())
    for (const Word& word : commands.front().words) words.push_back(word.text);
  return words;
}

std::optional<ScriptCommand> torchrun_command(std::string_view script) {
  for (const Command& command : Scanner(script).commands()) {
    Argv words;
    for (const Word& word : command.words)
      if (!words.empty() || (!is_in_front(word.text) && !is_assignment(word.text))) words.push_back(word.text);
    if (words.empty() || only_names(words) || torchrun_begin(words) == words.size()) continue;
    const Word& begin = command.words.front();
    return ScriptCommand{begin.number, std::string(trim(script.substr(begin.begin, command.end - begin.begin)))};
  }
  return std::nullopt;
}

bool uses_arguments(std::string_view script) {
  for (const std::string_view use : {"$@", "${@", "$*", "${*"})
    if (script.find(use) != script.npos) return true;
  for (const Command& command : Scanner(script).commands()) {
    const std::size_t first = first_of_command(command);
    if (first < command.words.size() && is_listed_word(command.words[first].text, {"$1", "${1}"})) return true;
  }
  return false;
}

std::map<std::string, std::string> variables_before(std::string_view script, int number) {
  std::map<std::string, std::string> values;
  for (const Command& command : Scanner(script).commands()) {
    if (command.words.front().number >= number) break;
    const auto begin = command.words.begin() + (command.words.front().text == "export" ? 1 : 0);
    const auto is_one = [](const Word& word) { return is_assignment(word.text); };
    if (!std::all_of(begin, command.words.end(), is_one)) continue;
    for (auto word = begin; word != command.words.end(); ++word) {
      const std::size_t equals = word->text.find('=');
      values[word->text.substr(0, equals)] = word->text.substr(equals + 1);
    }
  }
  return values;
}

bool shell_text_uses_arguments(std::string_view text) {
  return uses_arguments(text) || text.find("$0") != text.npos || text.find("${0") != text.npos;
}

}  // namespace muster
