// The command line: which command is meant, and what is wrong with it. CLI11 is included by cli*.cpp alone.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <new>

#include "app/cli/options.hpp"
#include "app/commands/gate.hpp"
#include "app/driver_main.hpp"
#include "app/inputs/load.hpp"
#include "app/inputs/root_places.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "model/added_probes.hpp"
#include "run/plugins.hpp"
#include "system/own_limits.hpp"

namespace muster {

namespace {

/// The names of all options and commands that could have been meant.
std::vector<std::string> known_words(const CLI::App& app, bool options) {
  std::vector<std::string> words;
  if (options) {
    for (const auto* option : app.get_options())
      for (const auto& name : option->get_lnames()) words.push_back("--" + name);
    // Options of which one excludes the others are a nameless command of their own.
    for (const auto* group : app.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); }))
      for (const auto& word : known_words(*group, true))
        if (!is_in(word, words)) words.push_back(word);
  } else {
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
      if (!command->get_group().empty()) words.push_back(command->get_name());
  }
  return words;
}

/// Whether a word is an option of one letter that gate does not have: its value would look like a command that was
/// misplaced.
bool has_unknown_letter(const CLI::App& app, std::string_view word) {
  if (app.get_option_no_throw("COMMAND") == nullptr || word.size() < 2 || word[0] != '-') return false;
  if (std::isalpha(static_cast<unsigned char>(word[1])) == 0) return false;
  const auto options = app.get_options();
  return std::none_of(options.begin(), options.end(), [&](const CLI::Option* option) {
    const auto& letters = option->get_snames();
    return is_in(word.substr(1, 1), letters);
  });
}

/// The commands that were named, each one of the one before it; the first is muster itself.
std::vector<const CLI::App*> chosen_commands(const CLI::App& root) {
  std::vector<const CLI::App*> chain{&root};
  while (true) {
    const auto chosen = chain.back()->get_subcommands();
    if (chosen.empty()) return chain;
    chain.push_back(chosen.front());
  }
}

std::string help_of(const std::vector<const CLI::App*>& chain) {
  std::string words = "see muster ";
  for (std::size_t at = 1; at < chain.size(); ++at) words += chain[at]->get_name() + " ";
  return words + "--help";
}

/// What was left over where the last of the commands has others below it; empty: nothing.
std::string left_over(const CLI::App& root, int count, char** arguments) {
  for (const std::string& word : root.remaining(true))
    if (!word.empty() && word.front() != '-') return word;
  const bool has_word = count > 1 && arguments[1][0] != '-' && root.get_subcommands().empty();
  return has_word ? arguments[1] : "";
}

/// The first one of a command for gate that does not stand behind `--`.
std::string misplaced_word(const CLI::App& command) {
  const auto* place = command.get_option_no_throw("COMMAND");
  return place == nullptr || place->results().empty() ? "" : place->results().front();
}

/// What is wrong with the first option that none of the commands has, or with the word that ends ours; empty: nothing.
std::string explain_words(const std::vector<const CLI::App*>& chain, int count, char** arguments) {
  std::vector<std::string> options;
  for (std::size_t at = chain.size() > 1 ? 1 : 0; at < chain.size(); ++at)
    for (auto& word : known_words(*chain[at], true)) options.push_back(std::move(word));
  const auto misplaced = misplaced_word(*chain.back());
  for (int i = 1; i < count; ++i) {
    // The rest are not muster's options.
    if (!misplaced.empty() && misplaced == arguments[i])
      return fmt::format("needs a command after --: muster gate --need N -- {}", misplaced);
    const std::string word = std::string(arguments[i]).substr(0, std::string(arguments[i]).find('='));
    if (has_unknown_letter(*chain.back(), word)) return fmt::format("unknown option \"{}\"", word.substr(0, 2));
    if (word.size() <= 2 || word.compare(0, 2, "--") != 0 || word == "--help") continue;
    if (!is_in(word, options)) return fmt::format("unknown option \"{}\"{}", word, suggestion(word, options));
  }
  return {};
}

/// `muster --config FOLDER list`: options belong to commands. Empty: the first word is not an option before a command.
std::string explain_option_before_command(const CLI::App& root, int count, char** arguments) {
  if (count < 3 || arguments[1][0] != '-') return {};
  const auto commands = known_words(root, false);
  const auto command =
      std::find_if(arguments + 2, arguments + count, [&](const char* word) { return is_in(word, commands); });
  if (command == arguments + count) return {};
  return fmt::format("option \"{}\" is before the command; write muster {} {}", arguments[1], *command,
                     fmt::join(arguments + 1, command, " "));
}

std::string explain(const CLI::ParseError& error, const CLI::App& root, int count, char** arguments) {
  const auto chain = chosen_commands(root);
  const auto commands = known_words(*chain.back(), false);
  const auto word = left_over(root, count, arguments);
  std::string command;
  if (!commands.empty() && !word.empty() && !is_in(word, commands))
    command = fmt::format("unknown command \"{}\"{}", word, suggestion(word, commands));
  auto what = explain_option_before_command(root, count, arguments);
  // Of an unknown command no option can be known.
  if (what.empty() && chain.size() == 1) what = command;
  if (what.empty()) what = explain_words(chain, count, arguments);
  if (what.empty()) what = command.empty() ? std::string(trim(error.what())) : command;
  return fmt::format("{}; {}", what, help_of(chain));
}

/// `muster gate`: it ends as what it starts, so that its own failures have statuses of their own.
bool is_gate(int count, char** arguments) {
  return count > 1 && std::string_view(arguments[1]) == "gate";
}

/// Arguments after `--` belong to the user's command.
int own_words(int count, char** arguments) {
  if (!is_gate(count, arguments)) return count;
  const auto is_end = [](const char* word) { return std::string_view(word) == "--"; };
  return static_cast<int>(std::find_if(arguments, arguments + count, is_end) - arguments);
}

int misuse_of(int count, char** arguments) {
  return is_gate(count, arguments) ? exit_gate_refused : exit_usage;
}

/// An empty value is mostly a variable that was never set: `--nodes "$NODES"` must not mean this machine.
std::string option_with_empty_value(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    const bool ends_empty =
        word.size() > 1 && word[0] == '-' && word.back() == '=' && word.find('=') == word.size() - 1;
    if (ends_empty) return word.substr(0, word.size() - 1);
    if (word.empty()) return i > 1 ? arguments[i - 1] : "the command";
  }
  return "";
}

/// Descriptors 0, 1 and 2 are taken, so that no file of ours gets one of their numbers. A report that is sent to a
/// standard output that was closed is lost, and must be seen to be.
void open_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
      (void)!open(descriptor == STDOUT_FILENO ? "/dev/full" : "/dev/null", O_RDWR);
}

/// As CLI11 takes them: without the program, last first. `-J=--mca` is meant as `-J` with the value `--mca`; CLI11
/// would take the equals sign into the value.
std::vector<std::string> words_of(int count, char** arguments) {
  std::vector<std::string> words;
  for (int i = count - 1; i > 0; --i) {
    std::string word = arguments[i];
    if (word.size() > 3 && word[0] == '-' && word[1] != '-' && word[2] == '=') word.erase(2, 1);
    words.push_back(std::move(word));
  }
  return words;
}

int command_line(int count, char** arguments) {
  // The question that is asked most often is answered without building the whole command line.
  if (count == 2 && std::string_view(arguments[1]) == "--version") {
    fmt::print("muster {}\n", MUSTER_VERSION);
    return 0;
  }
  CLI::App root{"muster: tests the nodes of a GPU cluster, and names what is at fault"};
  root.name("muster");
  root.require_subcommand(1);
  root.set_version_flag("--version", "muster " MUSTER_VERSION);
  root.footer("Start with:\n  muster run      check this machine\n  muster doctor   what can be measured here");
  int status = 0;
  Argv words(arguments, arguments + count);
  words[0] = "muster";
  count = own_words(count, arguments);
  for (const auto add : {add_run, add_gate, add_history, add_compare, add_show, add_plan, add_list, add_lint,
                         add_doctor, add_machine, add_bind, add_init, add_selftest, add_node, add_manual, add_complete})
    add({root, status, words});
  if (const auto option = option_with_empty_value(count, arguments); !option.empty()) {
    fmt::print(stderr, "muster: {} has an empty value; leave it out, or give it one\n", printable_line(option));
    return misuse_of(count, arguments);
  }
  try {
    root.parse(words_of(count, arguments));
  } catch (const CLI::Success& asked) {
    return root.exit(asked);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "muster: {}\n", printable_line(explain(error, root, count, arguments)));
    return misuse_of(count, arguments);
  }
  return status;
}

/// Without a result: for a gate not the status that its job would have.
int failure_of(int count, char** arguments) {
  const int misuse = misuse_of(count, arguments);
  return misuse == exit_usage ? 2 : misuse;
}

/// Measured: a run with four report files has 16 open before its first launch, beside the three standard streams, and
/// at most 27 at any time. A launch asks for 28 beyond what is open then (descriptors_of_a_launch), and further report
/// files take the rest (docs/measurements/robustness.md).
constexpr std::size_t files_of_the_driver = 48;

}  // namespace

int driver_main(int count, char** arguments) {
  int status = failure_of(count, arguments);
  // A file over the limit is then an error of write(), which is reported. To ignore the signal would pass on to
  // children.
  std::signal(SIGXFSZ, [](int) {});
  open_standard_streams();
  if (const auto why = too_small_limit(files_of_the_driver); !why.empty()) {
    std::fprintf(stderr, "muster: %s\n", why.c_str());
    return misuse_of(count, arguments);
  }
  leave_places_of_others();
  set_probe_source(find_plugins);
  try {
    status = command_line(count, arguments);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "muster: %s\n", out_of_memory().c_str());
  } catch (const std::exception& error) {
    // What no command took care of: standard output that is gone (muster list | head), memory that is short.
    std::fprintf(stderr, "muster: %s\n", printable_line(error.what()).c_str());
  }
  // A report that could not be printed is a failure.
  const bool is_lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (is_lost) std::fprintf(stderr, "muster: standard output can't be written\n");
  if (is_lost && status == 0) status = 2;
  return status;
}

}  // namespace muster
