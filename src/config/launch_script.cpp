#include "config/launch_script.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <initializer_list>
#include <unistd.h>

#include "base/files.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "config/line_prefix.hpp"
#include "config/shell_prologue.hpp"
#include "config/shell_statements.hpp"

namespace muster {

namespace {

/// Words in front of a command that leave it a command.
bool is_in_front(std::string_view word) {
  constexpr std::array<std::string_view, 11> known = {"exec", "time",  "if", "then", "else", "elif",
                                                      "do",   "while", "!",  "{",    "until"};
  return is_in(word, known);
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
  return is_conda || is_in(name, known);
}

/// Where, behind `exec`, `if` and assignments, the program of a command stands.
std::size_t first_of_command(const ShellStatement& command) {
  std::size_t first = 0;
  while (first < command.words.size() && is_in_front(command.words[first].text)) ++first;
  while (first < command.words.size() && is_assignment(command.words[first].text)) ++first;
  // exec may come behind assignments, too.
  while (first < command.words.size() && is_in_front(command.words[first].text)) ++first;
  return first;
}

/// `bash -c 'A=b exec "$@"'`, which starts what follows it.
bool is_shell_wrapper(const Argv& words, std::size_t at) {
  const std::size_t text = shell_text(words, at);
  return text < words.size() && shell_text_uses_arguments(words[text]);
}

/// `./select_gpu`, a script that starts what follows it.
bool is_wrapper_file(const std::string& word) {
  constexpr std::size_t most_read = 1u << 20;
  std::error_code ignored;
  if (!fs::is_regular_file(word, ignored)) return false;
  const auto text = read_file(word, most_read);
  return text && text->starts_with("#!") && uses_arguments(*text);
}

/// Words that may be the program of the line, by falling certainty: the first rule that finds one decides.
std::vector<std::size_t> program_places(const Argv& words) {
  if (const std::size_t at = torchrun_begin(words); at < words.size()) return {at};
  for (const auto rule : {is_python_name, is_shell_name, is_own_file}) {
    std::vector<std::size_t> found;
    for (std::size_t at = 1; at < words.size(); ++at)
      if (rule(words[at]) && !is_shell_wrapper(words, at) && !(rule == is_own_file && is_wrapper_file(words[at])))
        found.push_back(at);
    if (found.empty()) continue;
    // What python and shells are given may be named like them.
    if (rule != is_own_file) found.resize(1);
    return found;
  }
  return {};
}

/// What `muster gate ... -- srun ...` starts: the first word behind `--`; the end for another command.
std::size_t first_behind_gate(const std::vector<ShellWord>& words, std::size_t program) {
  if (base_name(words[program].text) != "muster") return words.size();
  if (program + 1 == words.size() || words[program + 1].text != "gate") return words.size();
  std::size_t at = program + 2;
  while (at < words.size() && words[at].text != "--") ++at;
  return std::min(at + 1, words.size());
}

/// Behind `timeout 600` and the like; `program`: nothing follows them.
std::size_t launcher_place(const ShellStatement& command, std::size_t program) {
  Argv words;
  for (const ShellWord& word : command.words) words.push_back(word.text);
  const std::size_t place = behind_prefixes(words, behind_shell_words(words, program));
  return place == words.size() ? program : place;
}

}  // namespace

std::vector<ScriptCommand> launch_commands(std::string_view script, const IsLauncher& is_launcher) {
  std::vector<ScriptCommand> found;
  for (const ShellStatement& command : shell_statements(script)) {
    std::size_t first = 0;
    while (first < command.words.size() && is_in_front(command.words[first].text)) ++first;
    std::size_t program = first;
    while (program < command.words.size() && is_assignment(command.words[program].text)) ++program;
    if (program == command.words.size()) continue;
    const auto text = [&](std::size_t from, std::size_t end) {
      return script.substr(command.words[from].begin, end - command.words[from].begin);
    };
    const auto is_one = [&](const ShellWord& word) { return is_launcher(base_name(word.text)); };
    const int number = command.words[first].number;
    const std::size_t begin = command.words[first].begin;
    if (is_one(command.words[launcher_place(command, program)]))
      found.push_back({number, std::string(trim(text(first, command.end))), begin, variables_before(script, begin)});
    const std::size_t behind = first_behind_gate(command.words, program);
    if (behind == command.words.size() || !is_one(command.words[behind])) continue;
    const std::string variables(text(first, command.words[program].begin));
    found.push_back(
        {number, variables + std::string(trim(text(behind, command.end))), begin, variables_before(script, begin)});
  }
  return found;
}

Result<GivenLine> line_of_command(const ScriptCommand& command, const LineOrigin& origin) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::usage, origin.where,
                fmt::format("\"{}\": {}; write the line up to its program instead: --launch 'srun ...'",
                            printable_line(command.text, 200), why));
  };
  const auto parts = shell_statements(command.text);
  if (parts.size() != 1) return refuse("is not a single command");
  Argv words;
  for (const ShellWord& word : parts.front().words) words.push_back(word.text);
  const auto places = program_places(words);
  if (places.empty()) return refuse("where its program begins can't be seen");
  if (places.size() > 1)
    return refuse(fmt::format("its program may be {} or {}", printable_line(words[places[0]], 60),
                              printable_line(words[places[1]], 60)));
  const std::size_t end = parts.front().words[places.front()].begin;
  auto line = parse_given_line(std::string_view(command.text).substr(0, end), origin);
  if (!line) return line;
  // Values that the batch script's shell would put in.
  Argv filled = words_of_command(
      command.text, [&](const std::string& name) { return batch_value(name, command.variables); }, unknown_expansion);
  filled.erase(filled.begin(), filled.begin() + static_cast<std::ptrdiff_t>(places.front()));
  if (auto taken = take_program(*line, std::move(filled), origin); !taken) return tl::unexpected(taken.error());
  return line;
}

Argv words_of_command(std::string_view text, const ValueOf& value_of, char unknown) {
  Argv words;
  const auto commands = shell_statements(text, value_of, unknown);
  if (!commands.empty())
    for (const ShellWord& word : commands.front().words) words.push_back(word.text);
  return words;
}

std::optional<ScriptCommand> torchrun_command(std::string_view script) {
  for (const ShellStatement& command : shell_statements(script)) {
    Argv words;
    for (const ShellWord& word : command.words)
      if (!words.empty() || (!is_in_front(word.text) && !is_assignment(word.text))) words.push_back(word.text);
    if (words.empty() || only_names(words) || torchrun_begin(words) == words.size()) continue;
    const ShellWord& begin = command.words.front();
    return ScriptCommand{
        begin.number, std::string(trim(script.substr(begin.begin, command.end - begin.begin))), begin.begin, {}};
  }
  return std::nullopt;
}

bool uses_arguments(std::string_view script) {
  for (const std::string_view use : {"$@", "${@", "$*", "${*"})
    if (script.find(use) != script.npos) return true;
  for (const ShellStatement& command : shell_statements(script)) {
    const std::size_t first = first_of_command(command);
    if (first < command.words.size() && is_in(command.words[first].text, {"$1", "${1}"})) return true;
  }
  return false;
}

std::map<std::string, std::string> variables_before(std::string_view script, std::size_t begin_of_command) {
  std::map<std::string, std::string> values;
  for (const ShellStatement& command : shell_statements(script)) {
    if (command.words.front().begin >= begin_of_command) break;
    const auto begin = command.words.begin() + (command.words.front().text == "export" ? 1 : 0);
    const auto is_one = [](const ShellWord& word) { return is_assignment(word.text); };
    if (!std::all_of(begin, command.words.end(), is_one)) continue;
    for (auto word = begin; word != command.words.end(); ++word) {
      const std::size_t equals = word->text.find('=');
      values[word->text.substr(0, equals)] = word->text.substr(equals + 1);
    }
  }
  return values;
}

std::optional<std::string> batch_value(const std::string& name, const std::map<std::string, std::string>& variables) {
  // Variables that hold each other several times would fill memory: `a=$b$b`, `b=$c$c` and so on.
  constexpr std::size_t deepest = 32;
  std::size_t left = 256 * 1024;
  std::vector<std::string> open;
  const std::function<std::optional<std::string>(const std::string&)> value =
      [&](const std::string& wanted) -> std::optional<std::string> {
    const auto own = variables.find(wanted);
    // Within its own value stands the one that it had before, which the environment may know.
    const bool is_open = is_in(wanted, open);
    if (own != variables.end() && !is_open && open.size() < deepest) {
      if (left < own->second.size() + 1) return std::nullopt;
      left -= own->second.size() + 1;
      open.push_back(wanted);
      // The quotes of the assignment are gone; what they kept from the shell is rare there.
      const auto words = shell_statements('"' + own->second + '"', value, unknown_expansion);
      open.pop_back();
      if (words.size() == 1 && words.front().words.size() == 1) return words.front().words.front().text;
    }
    if (const char* set = std::getenv(wanted.c_str()); set != nullptr) return set;
    // bash sets it, exported or not.
    if (std::array<char, 256> name{}; wanted == "HOSTNAME" && ::gethostname(name.data(), name.size() - 1) == 0)
      return std::string(name.data());
    if (is_in(wanted, {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"})) return "0";
    return std::nullopt;
  };
  return value(name);
}

bool shell_text_uses_arguments(std::string_view text) {
  return uses_arguments(text) || text.find("$0") != text.npos || text.find("${0") != text.npos;
}

}  // namespace muster
