#include "config/given_line.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <wordexp.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "config/launch_script.hpp"
#include "config/line_prefix.hpp"
#include "config/shell_prologue.hpp"
#include "config/shell_statements.hpp"
#include "config/torchrun_options.hpp"

namespace muster {

namespace {

/// Without its comments: from an unquoted # at the beginning of a word to the end of the line.
std::string without_comments(std::string_view text) {
  std::string kept;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    const bool begins_word = kept.empty() || std::isspace(static_cast<unsigned char>(kept.back())) != 0;
    if (letter == '#' && quote == 0 && begins_word) {
      at = text.find('\n', at);
      if (at == text.npos) break;
    } else if (letter == '\\' && quote != '\'' && at + 1 < text.size()) {
      kept += text[at++];
    } else if (letter == quote || (quote == 0 && (letter == '"' || letter == '\''))) {
      quote = quote == 0 ? letter : '\0';
    }
    kept += text[at];
  }
  return kept;
}

/// A backslash at the end of a line joins it with the next, and other ends of lines outside of quotes are spaces, as in
/// a batch script.
std::string one_line(std::string_view text) {
  std::string line;
  const std::string kept = without_comments(text);
  char quote = 0;
  for (std::size_t at = 0; at < kept.size(); ++at) {
    const char letter = kept[at];
    if (letter == '\\' && quote != '\'' && at + 1 < kept.size()) {
      if (kept[++at] == '\n')
        line += quote == 0 ? " " : "";
      else
        line.append({letter, kept[at]});
      continue;
    }
    if (letter == quote || (quote == 0 && (letter == '"' || letter == '\''))) quote = quote == 0 ? letter : '\0';
    line += quote == 0 && (letter == '\n' || letter == '\r') ? ' ' : letter;
  }
  return line;
}

/// Names behind a dollar sign, outside of single quotes, that have no value here.
std::string unset_variables(std::string_view text) {
  std::vector<std::string> names;
  bool is_quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && !is_quoted)
      ++at;
    else if (text[at] == '\'')
      is_quoted = !is_quoted;
    else if (text[at] == '$' && !is_quoted) {
      const std::size_t begin = text.find_first_not_of('{', at + 1);
      if (begin == text.npos) break;
      std::size_t end = begin;
      while (end < text.size() && (text[end] == '_' || std::isalnum(static_cast<unsigned char>(text[end])) != 0)) ++end;
      std::string name(text.substr(begin, end - begin));
      if (!name.empty() && std::getenv(name.c_str()) == nullptr) names.push_back(std::move(name));
    }
  }
  return human_list(names);
}

Result<Argv> words_of(std::string_view text, const LineOrigin& origin) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::usage, origin.where, fmt::format("\"{}\" {}", printable_line(trim(text), 120), why));
  };
  if (text.find('\0') != text.npos) return refuse("has a zero byte");
  wordexp_t expanded = {};
  const int flags = WRDE_NOCMD | (origin.must_have_variables ? WRDE_UNDEF : 0);
  const int status = ::wordexp(one_line(text).c_str(), &expanded, flags);
  const std::unique_ptr<wordexp_t, void (*)(wordexp_t*)> owner(status == 0 ? &expanded : nullptr, ::wordfree);
  switch (status) {
    case 0:
      return Argv(expanded.we_wordv, expanded.we_wordv + expanded.we_wordc);
    case WRDE_BADCHAR:
      return refuse("is not a single command: write it without ; | & < > ( ) { }, or quote these");
    case WRDE_BADVAL:
      return refuse(
          fmt::format("names a variable that is not set ({}); export it, or let a shell of each "
                      "task put it in: bash -c '...', in single quotes",
                      unset_variables(text)));
    case WRDE_CMDSUB:
      return refuse("has a command substitution; write its result");
    default:
      return refuse("has a quote that is not closed");
  }
}

/// Outside of comments; a backslash takes its letter along, but not in single quotes.
bool has_open_quote(std::string_view text) {
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    const bool begins_word = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t';
    if (letter == '#' && quote == 0 && begins_word) return false;
    if (letter == '\\' && quote != '\'')
      ++at;
    else if (quote == 0 && (letter == '\'' || letter == '"'))
      quote = letter;
    else if (letter == quote)
      quote = 0;
  }
  return quote != 0;
}

/// What a word processor puts in place of `-`, `"` and `'`.
bool begins_with_typography(std::string_view word) {
  for (const std::string_view sign : {"\u2013", "\u2014", "\u201c", "\u201d", "\u201e", "\u2018", "\u2019"})
    if (word.starts_with(sign)) return true;
  return false;
}

/// The value of `--export` in `words`, as `--export=VALUE` or in the next word.
std::optional<std::string> export_option(const Argv& words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at].starts_with("--export=")) return words[at].substr(9);
    if (words[at] == "--export" && at + 1 < words.size()) return words[at + 1];
  }
  return std::nullopt;
}

/// SLURM_EXPORT_ENV as srun will find it; empty: not set.
std::string export_variable(const GivenLine& line) {
  for (const auto& [name, value] : line.env)
    if (name == "SLURM_EXPORT_ENV") return value;
  const char* value = std::getenv("SLURM_EXPORT_ENV");
  return value == nullptr ? "" : value;
}

bool exports_all(const std::string& value) {
  const Argv names = split(value, ',');
  return is_in("ALL", names);
}

/// srun passes on only what `--export` names; of muster's variables one is a secret with a new value for each launch.
Result<void> check_export(const GivenLine& line, const LineOrigin& origin) {
  const auto refuse = [&](std::string_view what, std::string_view instead) {
    return fail(ErrorKind::usage, origin.where,
                fmt::format("{} keeps muster's own variables from the ranks; {}", printable_line(what, 80), instead));
  };
  if (const auto option = export_option(line.argv)) {
    if (exports_all(*option)) return {};
    return refuse("--export=" + *option, "write --export=ALL,... instead");
  }
  if (base_name(line.argv[line.launcher]) != "srun" || !origin.must_have_variables) return {};
  const std::string variable = export_variable(line);
  if (variable.empty() || exports_all(variable)) return {};
  return refuse(
      "SLURM_EXPORT_ENV=" + variable,
      "and a training's own: unset SLURM_EXPORT_ENV (sbatch --export sets it), or add --export=ALL to the line");
}

/// `mpirun -n 1 a : -n 1 b`: the agent could stand behind the last part alone. srun starts the last program in all
/// parts.
Result<void> check_single_program(const Argv& words, std::size_t launcher, const LineOrigin& origin) {
  if (base_name(words[launcher]) == "srun" || !is_in(":", words)) return {};
  return fail(
      ErrorKind::usage, origin.where,
      "starts several programs (\":\"), and the agent can take the place of one alone; write a line that starts "
      "all ranks alike");
}

/// Where, behind the word that names Python, what it is to run begins: `-m`, `-c` or the first word that is not an
/// option.
std::size_t python_program(const Argv& words, std::size_t at) {
  for (++at; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "-m" || word == "-c" || !word.starts_with('-')) return at;
    if (word == "-W" || word == "-X") ++at;
  }
  return words.size();
}

/// Whether that is a script, a module or a text.
bool runs_python_program(const Argv& words, std::size_t at) {
  const std::size_t program = python_program(words, at);
  return program < words.size() && (words[program].starts_with('-') || words[program].ends_with(".py"));
}

/// A program that Python's `-m` starts.
struct StarterModule {
  std::string_view module;
  std::string_view starter;
};
constexpr StarterModule starter_modules[] = {{"torch.distributed.run", "torchrun"},
                                             {"torch.distributed.launch", "torchrun"},
                                             {"accelerate.commands.launch", "accelerate"},
                                             {"deepspeed.launcher.runner", "deepspeed"}};

bool is_starter_name(std::string_view name) {
  return name == "torchrun" || name == "deepspeed" || name == "accelerate" || name == "accelerate-launch";
}

/// `bash -c 'source env; python train.py'`: a text that does not start what follows it.
bool is_shell_program(const Argv& words, std::size_t at) {
  const std::size_t text = shell_text(words, at);
  return text < words.size() && !shell_text_uses_arguments(words[text]);
}

/// Assignments, and what a shell has in front of a command: `A=b exec srun`, `time A=b srun`.
void take_words_in_front(Argv& words, GivenLine& line) {
  std::size_t at = behind_shell_words(words);
  for (; at < words.size() && is_assignment(words[at]); at = behind_shell_words(words, at + 1)) {
    const std::size_t equals = words[at].find('=');
    line.env.emplace_back(words[at].substr(0, equals), words[at].substr(equals + 1));
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Its words from the program on, with the values that the shell around it puts in, and where the program begins in
/// `line`; nullopt: it is not recognised before its variables have their values.
struct Tail {
  std::size_t begin = 0;
  Argv program;
};
std::optional<Tail> tail_of(const std::string& line) {
  if (has_open_quote(line)) return std::nullopt;
  const auto statements = shell_statements(line);
  if (statements.size() != 1 || statements.front().end < line.size()) return std::nullopt;
  Argv words;
  for (const ShellWord& word : statements.front().words)
    if (!words.empty() || !is_assignment(word.text)) words.push_back(word.text);
  const std::size_t front = statements.front().words.size() - words.size();
  const std::size_t at = program_begin(words);
  if (at == 0 || at >= words.size()) return std::nullopt;
  Argv program = words_of_command(
      line, [](const std::string& name) { return batch_value(name, {}); }, unknown_expansion);
  program.erase(program.begin(), program.begin() + static_cast<std::ptrdiff_t>(front + at));
  return Tail{statements.front().words[front + at].begin, std::move(program)};
}

/// From launcher to the program; assignments in front become the environment.
Result<GivenLine> split_line(Argv words, const LineOrigin& origin) {
  GivenLine line;
  take_words_in_front(words, line);
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(program_begin(words));
  Argv program(begin, words.end());
  words.erase(begin, words.end());
  line.launcher = behind_prefixes(words);
  if (line.launcher == words.size())
    return fail(ErrorKind::usage, origin.where, "names no launcher; write for example 'srun -N 2 --ntasks-per-node=8'");
  if (const auto odd = std::find_if(words.begin(), words.end(), begins_with_typography); odd != words.end())
    return fail(ErrorKind::usage, origin.where,
                fmt::format("\"{}\" begins with a dash or a quote of printed text, which is none to a shell; type - \" "
                            "or ' in its place",
                            printable_line(*odd, 80)));
  if (auto checked = check_single_program(words, line.launcher, origin); !checked)
    return tl::unexpected(checked.error());
  line.argv = std::move(words);
  if (auto checked = check_export(line, origin); !checked) return tl::unexpected(checked.error());
  if (auto taken = take_program(line, std::move(program), origin); !taken) return tl::unexpected(taken.error());
  return line;
}

}  // namespace

std::size_t program_begin(const Argv& words) {
  const std::size_t torchrun = torchrun_begin(words);
  for (std::size_t at = 1; at < torchrun; ++at)
    if ((is_python_name(words[at]) && runs_python_program(words, at)) || is_shell_program(words, at)) return at;
  return torchrun;
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == word.npos || equals == 0 || (word[0] >= '0' && word[0] <= '9')) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](unsigned char letter) {
    return letter == '_' || (letter < 0x80 && std::isalnum(letter) != 0);
  });
}

bool is_python_name(std::string_view word) {
  const std::string name = base_name(word);
  // Scripts of LUMI's containers that start Python.
  if (name.starts_with("conda-python")) return true;
  return name.starts_with("python") && name.find_first_not_of("python0123456789.") == name.npos;
}

bool is_shell_name(std::string_view word) {
  const std::string name = base_name(word);
  return name == "bash" || name == "sh" || name == "dash" || name == "zsh" || name == "ksh";
}

std::size_t shell_text(const Argv& words, std::size_t at) {
  if (!is_shell_name(words[at])) return words.size();
  for (++at; at + 1 < words.size() && words[at].starts_with('-'); ++at)
    if (!words[at].starts_with("--") && words[at].ends_with('c')) return at + 1;
  return words.size();
}

std::optional<ProcessStarter> starter_at(const Argv& words, std::size_t at) {
  const std::string name = base_name(words[at]);
  // `IMAGE=/images/deepspeed` is none.
  if (words[at].find('=') != std::string::npos) return std::nullopt;
  if (name == "torchrun") return ProcessStarter{"torchrun", at + 1};
  if (name == "deepspeed") return ProcessStarter{"deepspeed", at + 1};
  if (name == "accelerate-launch") return ProcessStarter{"accelerate", at + 1};
  if (name == "accelerate" && at + 1 < words.size() && words[at + 1] == "launch")
    return ProcessStarter{"accelerate", at + 2};
  if (!is_python_name(words[at])) return std::nullopt;
  const std::size_t option = python_program(words, at);
  // `python3 /opt/venv/bin/torchrun`
  if (option < words.size() && is_starter_name(base_name(words[option]))) return starter_at(words, option);
  if (option + 1 >= words.size() || words[option] != "-m") return std::nullopt;
  for (const StarterModule& known : starter_modules)
    if (words[option + 1] == known.module) return ProcessStarter{known.starter, option + 2};
  return std::nullopt;
}

std::size_t torchrun_begin(const Argv& words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (starter_at(words, at)) return at;
    if (const std::size_t text = shell_text(words, at); text < words.size() && torchrun_command(words[text])) return at;
    // What a script is given may be named like them: `python train.py --backend deepspeed`.
    if (is_python_name(words[at]) && runs_python_program(words, at)) break;
  }
  return words.size();
}

std::string torchrun_in(const Argv& program) {
  return !program.empty() && torchrun_begin(program) == 0 ? shell_line(program) : std::string();
}

Result<void> take_program(GivenLine& line, Argv program, const LineOrigin& origin) {
  if (is_in(":", program))
    return fail(ErrorKind::usage, origin.where,
                "starts several programs (\":\"), and the agent can take the place of one alone; write a line that "
                "starts all ranks alike");
  const std::size_t text = program.empty() ? 0 : shell_text(program, 0);
  if (text > 0 && text < program.size()) {
    program[text] = with_command_variables(program[text]);
    Argv shell(program.begin(), program.begin() + static_cast<std::ptrdiff_t>(text - 1));
    // Options in the word of `-c`: `bash -lc`.
    if (std::string options = program[text - 1]; options != "-c") {
      options.pop_back();
      shell.push_back(std::move(options));
    }
    const std::size_t behind = std::min(text + 2, program.size());
    keep_prologue(line, std::move(shell), program[text], text + 1 < program.size() ? program[text + 1] : program[0],
                  Argv(program.begin() + static_cast<std::ptrdiff_t>(behind), program.end()));
  }
  line.torchrun_options = torchrun_options(program);
  for (std::string& word : program) word = with_dollars(std::move(word));
  line.left_out = std::move(program);
  line.torchrun = torchrun_in(line.left_out);
  return {};
}

Result<GivenLine> parse_given_line(std::string_view text, const LineOrigin& origin) {
  const std::string whole = text.find('\0') == text.npos ? one_line(text) : std::string();
  const auto tail = tail_of(whole);
  auto words = words_of(tail ? std::string_view(whole).substr(0, tail->begin) : text, origin);
  if (!words) return tl::unexpected(words.error());
  auto line = split_line(std::move(*words), origin);
  if (line && tail)
    if (auto taken = take_program(*line, tail->program, origin); !taken) return tl::unexpected(taken.error());
  return line;
}

}  // namespace muster
