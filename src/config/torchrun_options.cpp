#include "config/torchrun_options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <fmt/format.h>
#include <initializer_list>
#include <map>
#include <optional>
#include <vector>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "config/given_line.hpp"
#include "config/launch_script.hpp"
#include "config/shell_prologue.hpp"
#include "config/starter_files.hpp"

namespace muster {

namespace {

/// Between options: no value that counts here has it.
constexpr char option_separator = '|';

// Names as in torch/distributed/run.py, where `_` serves for `-` as well.
constexpr std::array<std::string_view, 12> that_count = {
    "standalone", "nnodes",      "nproc-per-node", "node-rank", "rdzv-backend",  "rdzv-endpoint",
    "rdzv-id",    "master-addr", "master-port",    "starter",   "num-processes", "devices"};
constexpr std::array<std::string_view, 9> without_value = {
    "standalone", "module", "no-python",          "run-path",           "use-env",
    "use_env",    "help",   "virtual-local-rank", "enable-cpu-affinity"};

/// `--nproc_per_node` -> `nproc-per-node`; `-m` -> `module`.
std::string torchrun_option_name(std::string_view word) {
  if (word == "-m") return "module";
  std::string name(word.substr(std::min(word.find_first_not_of('-'), word.size())));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// Whether the shell of a rank can put in every `$` of it: names alone, no `$(...)`, `${NAME%...}` or arithmetic.
bool has_plain_variables(std::string_view value) {
  if (value.find('`') != value.npos) return false;
  for (std::size_t at = value.find('$'); at != value.npos; at = value.find('$', at + 1)) {
    const bool is_braced = value.substr(at + 1, 1) == "{";
    std::size_t end = at + (is_braced ? 2 : 1);
    const std::size_t begin = end;
    while (end < value.size() && (value[end] == '_' || std::isalnum(static_cast<unsigned char>(value[end])) != 0))
      ++end;
    if (end == begin || (is_braced && value.substr(end, 1) != "}")) return false;
  }
  return true;
}

/// `$(hostname)`, which each task runs on its own node.
std::string with_host(std::string value) {
  for (const std::string_view command :
       {"$(hostname)", "`hostname`", "$(hostname -s)", "$(hostname -f)", "`hostname -s`", "`hostname -f`",
        "$(uname -n)", "$(hostname -i)", "$(hostname --ip-address)", "$(hostname -I | awk '{print $1}')"})
    for (std::size_t at = value.find(command); at != value.npos; at = value.find(command, at))
      value.replace(at, command.size(), "$MUSTER_HOST");
  return value;
}

/// Another value each time that a shell expands it.
bool is_made_anew(std::string_view value) {
  for (const std::string_view made : {"$RANDOM", "${RANDOM", "$SRANDOM", "$$", "$BASHPID", "$(uuidgen", "$(mktemp"})
    if (value.find(made) != value.npos) return true;
  return false;
}

/// A dollar sign in front of a name.
bool names_variable(std::string_view value) {
  for (std::size_t at = value.find('$'); at != value.npos; at = value.find('$', at + 1)) {
    const std::string_view behind = value.substr(at + 1);
    if (behind.starts_with('{') || behind.starts_with('_') ||
        (!behind.empty() && std::isalpha(static_cast<unsigned char>(behind.front())) != 0))
      return true;
  }
  return false;
}

class OptionText {
 public:
  /// `has_shell`: a shell of the rank puts in variables.
  explicit OptionText(bool has_shell) : has_shell_(has_shell) {}

  void add(const std::string& name, std::string value) {
    if (!is_in(name, that_count)) return;
    if (has_shell_) value = with_host(std::move(value));
    std::replace(value.begin(), value.end(), option_separator, ' ');
    const char mark = mark_of(name, value);
    if (!text_.empty()) text_ += option_separator;
    text_ += name + mark + printable_line(with_dollars(std::move(value)), 200);
  }
  /// A value that no shell expands.
  void add_literal(const std::string& name, std::string value) {
    std::replace(value.begin(), value.end(), option_separator, ' ');
    text_ += fmt::format("{}{}={}", text_.empty() ? "" : "|", name, printable_line(value, 200));
  }
  /// `words`: what decides about them.
  void add_unknown(std::initializer_list<std::string_view> names, std::string_view words) {
    for (const std::string_view name : names) {
      if (!text_.empty()) text_ += option_separator;
      text_ += fmt::format("{}?{}", name, words);
    }
  }
  [[nodiscard]] std::string text() const { return text_; }

 private:
  [[nodiscard]] char mark_of(std::string_view name, std::string_view value) const {
    if (value.find(unknown_expansion) != value.npos) return '?';
    if (has_shell_) return is_made_anew(value) ? '*' : has_plain_variables(value) ? '=' : '?';
    if (value.find('`') != value.npos || value.find("$(") != value.npos) return '?';
    // Any text names a job.
    return names_variable(value) && name != "rdzv-id" ? '!' : '=';
  }

  bool has_shell_;
  std::string text_;
};

/// `NODES=$2` with the script's second argument.
std::string with_arguments(std::string value, const Argv& arguments) {
  for (std::size_t i = 0; i < arguments.size() && i < 9; ++i)
    for (const std::string& name : {"${" + std::to_string(i + 1) + "}", "$" + std::to_string(i + 1)})
      for (std::size_t at = value.find(name); at != value.npos; at = value.find(name, at + arguments[i].size()))
        value.replace(at, name.size(), arguments[i]);
  return value;
}

/// `begin`: the first word behind torchrun. Its script ends its options.
std::string options_behind(const Argv& words, std::size_t begin, bool has_shell) {
  OptionText options(has_shell);
  for (std::size_t at = begin; at < words.size() && words[at].starts_with('-') && words[at] != "--"; ++at) {
    const std::size_t equals = words[at].find('=');
    const std::string name = torchrun_option_name(words[at].substr(0, equals));
    if (equals != std::string::npos)
      options.add(name, words[at].substr(equals + 1));
    else if (is_in(name, without_value))
      options.add(name, "1");
    else if (at + 1 < words.size())
      options.add(name, words[++at]);
  }
  return options.text();
}

/// An option of `accelerate launch` or `deepspeed`, and what OptionText calls it.
struct LikeOption {
  std::string_view name;
  std::string_view of_torchrun;
};
// accelerate/commands/launch.py: num_processes counts those of all machines.
constexpr LikeOption of_accelerate[] = {{"num-machines", "nnodes"},           {"machine-rank", "node-rank"},
                                        {"num-processes", "num-processes"},   {"main-process-ip", "master-addr"},
                                        {"main-process-port", "master-port"}, {"rdzv-backend", "rdzv-backend"}};
// deepspeed/launcher/runner.py. Without --no_ssh one deepspeed starts all nodes.
constexpr LikeOption of_deepspeed[] = {{"num-gpus", "nproc-per-node"},
                                       {"num-accelerators", "nproc-per-node"},
                                       {"master-addr", "master-addr"},
                                       {"master-port", "master-port"}};
constexpr LikeOption of_deepspeed_without_ssh[] = {{"num-nodes", "nnodes"}, {"node-rank", "node-rank"}};

/// `localhost:0,1`: two; empty: not known.
std::string count_of_slots(const std::string& included) {
  const std::size_t colon = included.find(':');
  if (colon == included.npos || included.find('@') != included.npos) return {};
  return std::to_string(std::count(included.begin() + static_cast<std::ptrdiff_t>(colon), included.end(), ',') + 1);
}

using GivenOptions = std::map<std::string, std::string>;

const std::string* given_of(const GivenOptions& given, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = given.find(name); found != given.end()) return &found->second;
  return nullptr;
}

/// What the command line leaves to a file: accelerate/commands/launch.py.
void add_accelerate_file(const GivenOptions& given, OptionText& options) {
  const std::string* named = given_of(given, {"config-file"});
  const std::string path = named != nullptr ? *named : accelerate_default_file();
  if (const std::string* devices = given_of(given, {"gpu-ids"}); devices != nullptr && *devices != "all")
    options.add("devices", *devices);
  if (path.empty()) return;
  const auto text = path.ends_with(".json") ? std::nullopt : read_starter_file(path);
  for (const LikeOption& like : of_accelerate) {
    if (given.count(std::string(like.name)) != 0 || like.name == "rdzv-backend") continue;
    if (!text) {
      const bool is_count = like.name == "num-machines" || like.name == "num-processes";
      if (is_count) options.add_unknown({like.of_torchrun}, "the value in the file of --config_file");
      continue;
    }
    std::string key(like.name);
    std::replace(key.begin(), key.end(), '-', '_');
    const auto settings = yaml_settings(*text);
    if (const auto found = settings.find(key); found != settings.end())
      options.add_literal(std::string(like.of_torchrun), found->second);
  }
  if (!text || given.count("gpu-ids") != 0) return;
  const auto settings = yaml_settings(*text);
  if (const auto found = settings.find("gpu_ids"); found != settings.end() && found->second != "all")
    options.add_literal("devices", found->second);
}

/// Nodes and processes by its hostfile, and the devices that replace CUDA_VISIBLE_DEVICES:
/// deepspeed/launcher/runner.py.
void add_deepspeed_devices(const GivenOptions& given, bool has_no_ssh, OptionText& options) {
  const std::string* file = given_of(given, {"hostfile", "H"});
  const std::string* include = given_of(given, {"include", "i"});
  const bool has_number = given_of(given, {"num-gpus", "num-accelerators"}) != nullptr;
  const bool leaves_out = given_of(given, {"exclude", "e"}) != nullptr;
  const auto text = file != nullptr ? read_starter_file(*file) : std::nullopt;
  const auto hosts = text ? deepspeed_hosts(*text) : std::nullopt;
  if (file != nullptr && has_no_ssh && given_of(given, {"num-nodes"}) == nullptr) {
    if (hosts && include == nullptr && !leaves_out)
      options.add_literal("nnodes", std::to_string(hosts->nodes));
    else
      options.add_unknown({"nnodes"}, "the number of nodes in the hostfile");
  }
  if (include != nullptr) {
    const std::string slots = count_of_slots(*include);
    if (slots.empty()) return options.add_unknown({"nproc-per-node", "devices"}, "the number of slots in --include");
    options.add("nproc-per-node", slots);
    return options.add("devices", include->substr(include->find(':') + 1));
  }
  if (leaves_out) return options.add_unknown({"nproc-per-node", "devices"}, "what --exclude leaves");
  if (file == nullptr || has_number) return;
  if (hosts && hosts->slots) return options.add_literal("nproc-per-node", std::to_string(*hosts->slots));
  options.add_unknown({"nproc-per-node", "devices"}, "the number of slots in the hostfile");
}

/// `at`: the first word behind it. Its script, which ends its options, may follow an option without a value.
std::string options_of_like(std::string_view starter, const Argv& words, std::size_t at, bool has_shell) {
  const bool has_no_ssh = std::any_of(words.begin(), words.end(),
                                      [](const std::string& word) { return torchrun_option_name(word) == "no-ssh"; });
  std::vector<LikeOption> likes(std::begin(of_deepspeed), std::end(of_deepspeed));
  if (has_no_ssh) likes.insert(likes.end(), std::begin(of_deepspeed_without_ssh), std::end(of_deepspeed_without_ssh));
  if (starter == "accelerate") likes.assign(std::begin(of_accelerate), std::end(of_accelerate));
  OptionText options(has_shell);
  options.add("starter", std::string(starter));
  GivenOptions given;
  for (; at < words.size() && !words[at].ends_with(".py"); ++at) {
    if (!words[at].starts_with('-')) continue;
    const std::size_t equals = words[at].find('=');
    const std::string name = torchrun_option_name(words[at].substr(0, equals));
    const bool has_value = equals != std::string::npos || at + 1 < words.size();
    if (!has_value) break;
    const std::string value = equals == std::string::npos ? words[at + 1] : words[at].substr(equals + 1);
    given[name] = value;
    for (const LikeOption& like : likes)
      if (name == like.name) options.add(std::string(like.of_torchrun), value);
  }
  if (starter == "accelerate")
    add_accelerate_file(given, options);
  else
    add_deepspeed_devices(given, has_no_ssh, options);
  return options.text();
}

/// Of the program of `words` that starts processes.
std::string options_of_starter(const Argv& words, bool has_shell) {
  for (std::size_t at = 0; at < words.size(); ++at)
    if (const auto starter = starter_at(words, at))
      return starter->name == "torchrun" ? options_behind(words, starter->end, has_shell)
                                         : options_of_like(starter->name, words, starter->end, has_shell);
  return {};
}

}  // namespace

std::string torchrun_options(const Argv& program) {
  if (program.empty() || torchrun_begin(program) != 0) return {};
  if (const std::size_t text = shell_text(program, 0); text < program.size()) {
    // The first argument is `$0`.
    const std::size_t begin = std::min(text + 2, program.size());
    return torchrun_options_of_script(program[text],
                                      Argv(program.begin() + static_cast<std::ptrdiff_t>(begin), program.end()));
  }
  return options_of_starter(program, false);
}

std::string torchrun_options_of_script(std::string_view script, const Argv& arguments) {
  const auto command = torchrun_command(script);
  if (!command) return {};
  auto values = variables_before(script, command->begin);
  for (auto& [name, value] : values) value = with_arguments(std::move(value), arguments);
  for (std::size_t i = 0; i < arguments.size(); ++i) values[std::to_string(i + 1)] = arguments[i];
  const Argv words = words_of_command(command->text, [&](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
  return options_of_starter(words, true);
}

}  // namespace muster
