#include "config/shell_command.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "config/shell_script.hpp"

namespace muster {

namespace {

using Words = std::vector<std::string>;

constexpr int most_nested = 8;

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& names, std::string_view word) {
  return is_in(word.substr(word.rfind('/') + 1), names);
}

bool is_shell(std::string_view program) {
  return is_one_of(std::array<std::string_view, 5>{"sh", "bash", "dash", "ksh", "zsh"}, program);
}

bool is_ssh(std::string_view program) {
  return is_one_of(std::array<std::string_view, 2>{"ssh", "rsh"}, program);
}

/// Its arguments are text.
bool is_printer(std::string_view program) {
  return is_one_of(std::array<std::string_view, 2>{"echo", "printf"}, program);
}

Words from(const Words& words, std::size_t first) {
  return {words.begin() + static_cast<std::ptrdiff_t>(std::min(first, words.size())), words.end()};
}

/// The script of `sh -c SCRIPT`, `words` beginning behind `sh`; empty: there is none, or the shell has pipefail.
std::string script_of_shell(const Words& words) {
  for (std::size_t i = 0; i < words.size() && words[i].starts_with('-'); ++i) {
    if (words[i].ends_with('c') && !words[i].starts_with("--")) return i + 1 < words.size() ? words[i + 1] : "";
    if (words[i].ends_with('o') && i + 1 < words.size() && words[++i] == "pipefail") return {};
  }
  return {};
}

/// What ssh gives to the shell of the other node, `words` beginning behind `ssh`.
std::string script_of_ssh(const Words& words) {
  constexpr std::string_view with_argument = "BbcDEeFIiJLlmOoPpQRSWw";
  std::size_t host = 0;
  for (; host < words.size() && words[host].starts_with('-'); ++host)
    if (words[host].size() == 2 && with_argument.find(words[host][1]) != with_argument.npos) ++host;
  return join(from(words, host + 1), " ");
}

/// `env -S "sh -c x"` has the words of the string in its place, `words` beginning behind `env`.
Words split_by_env(const Words& words) {
  constexpr std::string_view option = "--split-string=";
  for (std::size_t i = 0; i < words.size() && words[i].starts_with('-'); ++i) {
    const std::string& word = words[i];
    // As in -vS: behind the letters of options without an argument.
    const auto letter = word.find_first_not_of("-iv0");
    const bool is_short = !word.starts_with("--") && letter != word.npos && word[letter] == 'S';
    std::string text = is_short ? word.substr(letter + 1) : "";
    if (word.starts_with(option)) text = word.substr(option.size());
    if ((is_short || word == "--split-string") && text.empty() && i + 1 < words.size()) text = words[++i];
    if (text.empty()) continue;
    const auto commands = read_script(text).commands;
    Words all = commands.empty() ? Words() : commands.front();
    const Words rest = from(words, i + 1);
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }
  return {};
}

bool loses_status(const Words& argv, int nested);

bool loses_in_script(const std::string& text, int nested) {
  if (text.empty() || nested > most_nested) return false;
  const ShellScript script = read_script(text);
  const bool has_it = text.find("pipefail") != text.npos || text.find("PIPESTATUS") != text.npos ||
                      text.find("pipestatus") != text.npos;
  if (script.has_pipe && !has_it) return true;
  return std::any_of(script.commands.begin(), script.commands.end(), [&](const Words& command) {
    const auto eval = std::find(command.begin(), command.end(), "eval");
    const bool is_eval = eval != command.end() && !is_printer(command.front()) && !has_it;
    const auto behind = static_cast<std::size_t>(eval - command.begin()) + 1;
    return (is_eval && loses_in_script(join(from(command, behind), " "), nested + 1)) ||
           loses_status(command, nested + 1);
  });
}

bool loses_status(const Words& argv, int nested) {
  if (nested > most_nested || (!argv.empty() && is_printer(argv.front()))) return false;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const Words rest = from(argv, i + 1);
    if (is_shell(argv[i])) return loses_in_script(script_of_shell(rest), nested);
    if (is_ssh(argv[i])) return loses_in_script(script_of_ssh(rest), nested);
    if (is_one_of(std::array<std::string_view, 1>{"env"}, argv[i]) && loses_status(split_by_env(rest), nested + 1))
      return true;
  }
  return false;
}

/// Programs for which operators of a shell are arguments.
bool has_such_arguments(std::string_view program) {
  return is_one_of(std::array<std::string_view, 12>{"expr", "test", "[", "grep", "egrep", "fgrep", "tr", "sed", "awk",
                                                    "printf", "perl", "jq"},
                   program);
}

bool is_operator(std::string_view word) {
  constexpr std::array<std::string_view, 15> operators{"|", "|&", "||", "&&",  ";",    "&",   ">",  ">>",
                                                       "<", "2>", "&>", "2>>", "2>&1", ">&2", "<<<"};
  return is_in(word, operators);
}

/// `>out.txt`, `2>/dev/null`, `&>>log`; not `>=1.0`, `>5`.
bool is_redirection(std::string_view word) {
  const auto arrow = word.find_first_not_of(word.starts_with('&') ? "&" : "0123456789");
  if (arrow == word.npos || arrow > 1 || word[arrow] != '>') return false;
  const std::string_view target = word.substr(std::min(word.find_first_not_of('>', arrow), word.size()));
  const auto is_begin = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("/._~$").find(c) != std::string_view::npos;
  };
  return !target.empty() && is_begin(target.front());
}

}  // namespace

bool loses_status(const std::vector<std::string>& argv) {
  return loses_status(argv, 0);
}

std::size_t find_operator(const std::vector<std::string>& argv) {
  const bool has_exec =
      std::any_of(argv.begin(), argv.end(), [](const std::string& word) { return word.starts_with("-exec"); });
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (has_such_arguments(argv[i]) || is_ssh(argv[i])) return argv.size();
    if (i == 0 || !(is_operator(argv[i]) || is_redirection(argv[i]))) continue;
    // -d '|', --delimiter '|'
    if (!argv[i - 1].starts_with('-') && !(has_exec && argv[i] == ";")) return i;
  }
  return argv.size();
}

std::size_t find_expansion(const std::vector<std::string>& argv) {
  const auto reads_it = [](const std::string& word) {
    return is_shell(word) || is_ssh(word) || is_printer(word) || has_such_arguments(word);
  };
  if (std::any_of(argv.begin(), argv.end(), reads_it)) return argv.size();
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    const bool is_home = word.starts_with("~/");
    // $HOME/x, ${HOME}/x; a word with a $ further on may be a pattern.
    const auto name = word.starts_with("${") ? 2u : 1u;
    const bool is_variable =
        word.starts_with('$') && word.size() > name && ((word[name] >= 'A' && word[name] <= 'Z') || word[name] == '_');
    if (is_home || is_variable) return i;
  }
  return argv.size();
}

}  // namespace muster
