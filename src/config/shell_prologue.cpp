#include "config/shell_prologue.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <initializer_list>
#include <set>
#include <system_error>

#include "base/files.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "config/launch_script.hpp"
#include "config/shell_statements.hpp"
#include "model/gpu_vendor.hpp"
#include "model/launcher_words.hpp"

namespace muster {

namespace {

constexpr std::size_t most_of_sourced = 1u << 20;
constexpr int deepest_source = 4;

/// Programs that only print, in `$(...)`.
bool only_prints(std::string_view program) {
  return is_in(program,
               {"hostname", "uname",  "nproc", "scontrol", "head",     "tail",    "cut", "sort", "tr",   "wc",
                "id",       "whoami", "date",  "seq",      "basename", "dirname", "pwd", "expr", "echo", "printf"});
}

/// Of no effect on what is judged.
bool has_no_effect(std::string_view program) {
  return only_prints(program) ||
         is_in(program, {"cd",   "set",     "shopt", ":",        "true",  "sleep", "wait", "exit", "return",
                         "trap", "mkdir",   "ls",    "which",    "type",  "env",   "cat",  "test", "[",
                         "[[",   "command", "grep",  "printenv", "touch", "rm",    "cp",   "shift"}) ||
         is_any_vendors(&GpuVendor::query_programs, program);
}

bool is_condition(std::string_view program) {
  return is_in(program, {"test", "[", "[[", "grep", "command", "which", "type", "ls"});
}

/// Words that prepare a shell and are not its program.
bool prepares(std::string_view program) {
  return is_in(program, {"source", ".", "module", "ml", "conda", "mamba", "micromamba", "eval", "export", "declare",
                         "typeset", "readonly", "unset", "ulimit", "umask", "alias", "pip", "pip3"});
}

std::size_t behind_nested(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at;
  }
  return text.size();
}

bool only_reads(std::string_view substituted) {
  if (substituted.find('>') != substituted.npos) return false;
  const auto statements = shell_statements(substituted);
  return std::all_of(statements.begin(), statements.end(), [](const ShellStatement& one) {
    const std::string program = base_name(one.words.front().text);
    if (program == "scontrol") return one.words.size() > 1 && one.words[1].text == "show";
    return only_prints(program);
  });
}

/// Whether expanding `text` starts at most programs that print.
bool is_harmless(std::string_view text) {
  if (text.find(unknown_expansion) != text.npos) return false;
  for (std::size_t at = text.find("$("); at != text.npos; at = text.find("$(", at + 1)) {
    if (text.substr(at, 3) == "$((") continue;
    const std::size_t end = behind_nested(text, at + 1);
    const std::string_view inner = text.substr(at + 2, end - at - 2);
    if (!is_harmless(inner) || !only_reads(inner)) return false;
  }
  for (std::size_t at = text.find('`'); at != text.npos;) {
    const std::size_t end = std::min(text.find('`', at + 1), text.size());
    if (!only_reads(text.substr(at + 1, end - at - 1))) return false;
    at = end < text.size() ? text.find('`', end + 1) : text.npos;
  }
  return true;
}

/// Names behind dollar signs.
std::set<std::string> variables_in(std::string_view text) {
  std::set<std::string> names;
  for (std::size_t at = text.find('$'); at != text.npos; at = text.find('$', at + 1)) {
    std::size_t end = at + (text.substr(at + 1, 1) == "{" ? 2 : 1);
    const std::size_t begin = end;
    while (end < text.size() && (text[end] == '_' || std::isalnum(static_cast<unsigned char>(text[end])) != 0)) ++end;
    if (end > begin) names.emplace(text.substr(begin, end - begin));
  }
  return names;
}

/// Set for each task by its launcher, its login or its shell.
bool is_of_task(std::string_view name) {
  return is_of_launcher(name) ||
         is_in(name, {"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "HOME", "USER", "HOSTNAME", "RANDOM", "PWD"});
}

/// Behind taskset, numactl, env and nice at `at`, with their options; `at` where none is there.
std::size_t behind_binders(const std::vector<ShellWord>& words, std::size_t at) {
  const auto is_option = [&](std::size_t i) { return i < words.size() && words[i].text.starts_with('-'); };
  while (at < words.size()) {
    const std::string name = base_name(words[at].text);
    if (name == "taskset") {
      for (++at; is_option(at); ++at)
        ;
      ++at;
    } else if (name == "numactl") {
      for (++at; is_option(at); ++at) {
        const std::string& option = words[at].text;
        const bool is_long = option.starts_with("--");
        const bool has_value = is_long
                                   ? option.find('=') == option.npos && option != "--localalloc" && option != "--all"
                                   : option.size() == 2 && option != "-l" && option != "-a";
        if (has_value) ++at;
      }
    } else if (name == "env") {
      for (++at; at < words.size() && (is_assignment(words[at].text) || words[at].text == "-u"); ++at)
        if (words[at].text == "-u") ++at;
      if (is_option(at)) return words.size();
    } else if (name == "nice") {
      for (++at; is_option(at); ++at)
        if (words[at].text == "-n") ++at;
    } else {
      return at;
    }
  }
  return words.size();
}

class PrologueReader {
 public:
  PrologueReader(std::string_view text, const ReadScript& read, int depth)
      : text_(text), read_(read), source_depth_(depth), statements_(shell_statements(text)) {}

  ShellPrologue read() {
    note_places();
    const std::size_t program = source_depth_ == 0 ? find_program() : statements_.size();
    for (std::size_t i = 0; i < program; ++i) take(i);
    found_.start = "exec ";
    if (program < statements_.size()) take_program(statements_[program]);
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string raw(const ShellStatement& one) const {
    return std::string(trim(text_.substr(one.words.front().begin, one.end - one.words.front().begin)));
  }
  [[nodiscard]] std::string program_of(const ShellStatement& one) const {
    const std::size_t at = program_word(one);
    return at < one.words.size() ? base_name(one.words[at].text) : std::string();
  }

  /// Behind exec, time and assignments.
  [[nodiscard]] static std::size_t program_word(const ShellStatement& one) {
    std::size_t at = 0;
    while (at < one.words.size() &&
           (is_in(one.words[at].text, {"exec", "time", "!"}) || is_assignment(one.words[at].text)))
      ++at;
    return at;
  }

  /// Which statements are outside of conditions, loops, functions, subshells and pipes.
  void note_places() {
    int depth = 0, parentheses = 0;
    bool is_after_condition = false;
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      const ShellStatement& one = statements_[i];
      const std::string& join = one.joined_by;
      parentheses +=
          static_cast<int>(std::count(join.begin(), join.end(), '(') - std::count(join.begin(), join.end(), ')'));
      const bool names_function = i + 1 < statements_.size() && statements_[i + 1].joined_by.starts_with("()");
      const bool was_inside = depth > 0 || parentheses > 0;
      bool opens = false;
      for (const ShellWord& word : one.words) {
        if (is_in(word.text, {"if", "for", "while", "until", "case", "select", "{"}))
          ++depth, opens = true;
        else if (is_in(word.text, {"fi", "done", "esac", "}"}))
          --depth, opens = true;
        else if (word.text == "function")
          opens = true;
        else if (!is_in(word.text, {"then", "else", "do", "elif", "!", "time"}) && one.words.front().text != "function")
          break;
      }
      const bool is_joined = join.find('|') != join.npos || (join.ends_with("&&") && is_after_condition);
      is_plain_.push_back(!was_inside && !opens && depth == 0 && !is_joined && !names_function);
      names_function_.push_back(names_function);
      is_after_condition = is_condition(program_of(one)) || (is_after_condition && join.ends_with("&&"));
    }
  }

  [[nodiscard]] std::size_t place_in(const ShellStatement& one, std::size_t from) const {
    Argv words{""};
    for (std::size_t i = from; i < one.words.size(); ++i) words.push_back(one.words[i].text);
    const std::size_t at = program_begin(words);
    return at < words.size() ? from + at - 1 : one.words.size();
  }

  /// torchrun or Python, else the last command.
  [[nodiscard]] std::size_t find_program() const {
    std::size_t known = statements_.size(), last = statements_.size();
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      const ShellStatement& one = statements_[i];
      const std::string program = program_of(one);
      if (!is_plain_[i] || program.empty() || prepares(program) || has_no_effect(program)) {
        if (program != "env" || !is_plain_[i] || place_in(one, program_word(one)) == one.words.size()) continue;
      }
      last = i;
      if (place_in(one, program_word(one)) < one.words.size()) known = i;
    }
    return known < statements_.size() ? known : last;
  }

  /// Behind the keywords of a condition or a loop.
  [[nodiscard]] static bool has_effect(const ShellStatement& one) {
    std::size_t at = 0;
    while (at < one.words.size() &&
           is_in(one.words[at].text, {"if", "then", "else", "elif", "while", "until", "do", "!", "time", "exec", "{"}))
      ++at;
    if (at == one.words.size()) return false;
    const std::string& word = one.words[at].text;
    if (is_in(word, {"for", "case", "select", "function", "fi", "done", "esac", "}"})) return false;
    return is_assignment(word) || !has_no_effect(base_name(word));
  }

  void drop(std::string statement) {
    // Expanded variables may hold tens of thousands of statements.
    if (dropped_.insert(statement).second) found_.dropped.push_back(with_dollars(std::move(statement)));
  }

  /// Whether the variables that it uses have their values here, too.
  [[nodiscard]] bool has_values(std::string_view statement) const {
    if (found_.dropped.empty()) return true;
    const auto used = variables_in(statement);
    return std::all_of(used.begin(), used.end(),
                       [&](const std::string& name) { return is_of_task(name) || set_.count(name) != 0; });
  }

  void take(std::size_t i) {
    const ShellStatement& one = statements_[i];
    const std::string statement = raw(one);
    const std::string program = program_of(one);
    if (!is_plain_[i]) {
      if (!names_function_[i] && has_effect(one)) drop(statement);
    } else if (is_in(program, {"source", "."})) {
      take_file(one, statement);
    } else if (program.empty() ||
               is_in(program, {"export", "declare", "typeset", "readonly", "unset", "ulimit", "umask"})) {
      keep(one, statement);
    } else if (!has_no_effect(program)) {
      drop(statement);
    }
  }

  void keep(const ShellStatement& one, const std::string& statement) {
    // `export A=(1 2)` goes on behind the parenthesis.
    if (!is_harmless(statement) || !has_values(statement) || statement.ends_with('=')) return drop(statement);
    for (const ShellWord& word : one.words)
      if (is_assignment(word.text)) set_.insert(word.text.substr(0, word.text.find('=')));
    found_.kept.push_back(statement);
  }

  void take_file(const ShellStatement& one, const std::string& statement) {
    const std::size_t at = program_word(one) + 1;
    const auto text =
        at < one.words.size() && read_ && source_depth_ < deepest_source ? read_(one.words[at].text) : std::nullopt;
    if (!text) return drop(statement);
    PrologueReader reader(*text, read_, source_depth_ + 1);
    reader.set_ = set_;
    const ShellPrologue inner = reader.read();
    set_ = reader.set_;
    found_.kept.insert(found_.kept.end(), inner.kept.begin(), inner.kept.end());
    if (!inner.dropped.empty()) drop(fmt::format("{} ({})", statement, join(inner.dropped, "; ")));
  }

  void take_program(const ShellStatement& one) {
    const std::size_t first = program_word(one);
    std::string assignments;
    for (std::size_t i = 0; i < first; ++i) {
      if (!is_assignment(one.words[i].text)) continue;
      const std::string statement(trim(text_.substr(one.words[i].begin, begin_of(one, i + 1) - one.words[i].begin)));
      if (is_harmless(statement) && has_values(statement))
        assignments += statement + " ";
      else
        drop(statement);
    }
    std::size_t at = place_in(one, first);
    if (at == one.words.size()) at = std::min(behind_binders(one.words, first), one.words.size());
    const std::size_t begin = begin_of(one, first);
    const std::string around(trim(text_.substr(begin, begin_of(one, at) - begin)));
    if (at < one.words.size() &&
        (one.words[at].text.starts_with('$') || one.words[at].text.starts_with(unknown_expansion)))
      drop(raw(one));
    else if (at == one.words.size() || !is_harmless(around) || !has_values(around))
      drop(raw(one));
    else
      found_.start = assignments + "exec " + (around.empty() ? "" : around + " ");
    if (found_.start == "exec " && !assignments.empty()) found_.start = assignments + "exec ";
    if (at < one.words.size() && is_shell_name(one.words[at].text)) drop(raw(one));
  }

  [[nodiscard]] static std::size_t begin_of(const ShellStatement& one, std::size_t word) {
    return word < one.words.size() ? one.words[word].begin : one.end;
  }

  std::string_view text_;
  const ReadScript& read_;
  int source_depth_;
  std::vector<ShellStatement> statements_;
  std::vector<bool> is_plain_;
  std::vector<bool> names_function_;
  std::set<std::string> set_;  ///< variables that kept statements set
  std::set<std::string> dropped_;
  ShellPrologue found_;
};

std::optional<std::string> read_sourced(const std::string& file) {
  std::error_code ignored;
  if (file.find_first_of("$`~*?") != file.npos || !fs::is_regular_file(file, ignored)) return std::nullopt;
  auto text = read_file(file, most_of_sourced);
  if (!text || text->find('\0') != text->npos) return std::nullopt;
  return std::move(*text);
}

}  // namespace

std::string with_dollars(std::string text) {
  std::replace(text.begin(), text.end(), unknown_expansion, '$');
  return text;
}

ShellPrologue shell_prologue(std::string_view text, const ReadScript& read) {
  return PrologueReader(text, read, 0).read();
}

void keep_prologue(GivenLine& line, Argv shell, std::string_view text, const std::string& name, const Argv& arguments) {
  const ShellPrologue prologue = shell_prologue(text, read_sourced);
  line.not_run = printable_line(join(prologue.dropped, "; "), 400);
  if (prologue.is_empty()) return;
  std::string kept;
  for (const std::string& statement : prologue.kept) kept += statement + "; ";
  if (!arguments.empty()) kept += fmt::format("shift {}; ", arguments.size());
  line.argv.insert(line.argv.end(), shell.begin(), shell.end());
  line.argv.push_back("-c");
  line.argv.push_back(kept + prologue.start + "\"$@\"");
  line.argv.push_back(name);
  for (const std::string& argument : arguments) line.argv.push_back(with_dollars(argument));
}

std::string with_command_variables(std::string_view text) {
  std::string replaced(text);
  std::size_t grown = 0;
  for (const ShellStatement& one : shell_statements(text)) {
    std::size_t at = 0;
    while (at < one.words.size() && (one.words[at].text == "exec" || is_assignment(one.words[at].text))) ++at;
    if (at == one.words.size() || !one.words[at].text.starts_with('$')) continue;
    std::string name = one.words[at].text.substr(1);
    if (name.starts_with('{') && name.ends_with('}')) name = name.substr(1, name.size() - 2);
    const auto values = variables_before(text, one.words[at].begin);
    const auto found = values.find(name);
    if (found == values.end()) continue;
    const std::size_t end = at + 1 < one.words.size() ? one.words[at + 1].begin : one.end;
    const std::size_t begin = one.words[at].begin;
    replaced.replace(begin + grown, end - begin, found->second + " ");
    grown += found->second.size() + 1 - (end - begin);
  }
  return replaced;
}

}  // namespace muster
