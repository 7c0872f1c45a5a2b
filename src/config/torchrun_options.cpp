#include "config/torchrun_options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <span>

#include "base/text.hpp"
#include "config/given_line.hpp"
#include "config/launch_script.hpp"

namespace muster {

namespace {

/// Between options: no value that counts here has it.
constexpr char option_separator = '|';

// Names as in torch/distributed/run.py, where `_` serves for `-` as well.
constexpr std::array<std::string_view, 9> that_count = {"standalone", "nnodes",       "nproc-per-node",
                                                        "node-rank",  "rdzv-backend", "rdzv-endpoint",
                                                        "rdzv-id",    "master-addr",  "master-port"};
constexpr std::array<std::string_view, 9> without_value = {
    "standalone", "module", "no-python",          "run-path",           "use-env",
    "use_env",    "help",   "virtual-local-rank", "enable-cpu-affinity"};

template <class List>
bool is_listed(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

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

class OptionText {
 public:
  /// `has_shell`: a shell of the rank puts in variables.
  explicit OptionText(bool has_shell) : has_shell_(has_shell) {}

  void add(const std::string& name, std::string value) {
    if (!is_listed(that_count, name)) return;
    std::replace(value.begin(), value.end(), option_separator, ' ');
    const bool is_known = has_shell_ ? has_plain_variables(value) : value.find_first_of("$`") == value.npos;
    if (!text_.empty()) text_ += option_separator;
    text_ += name + (is_known ? '=' : '?') + printable_line(value, 200);
  }
  [[nodiscard]] std::string text() const { return text_; }

 private:
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
    else if (is_listed(without_value, name))
      options.add(name, "1");
    else if (at + 1 < words.size())
      options.add(name, words[++at]);
  }
  return options.text();
}

/// The first word behind torchrun, or behind Python's module of that name, at or behind `at`.
std::size_t behind_torchrun(const Argv& words, std::size_t at) {
  for (; at < words.size(); ++at) {
    if (base_name(words[at]) == "torchrun") return at + 1;
    if (words[at] == "torch.distributed.run" || words[at] == "torch.distributed.launch") return at + 1;
  }
  return words.size();
}

/// An option of `accelerate launch` or `deepspeed`, and that of torchrun which is its like.
struct LikeOption {
  std::string_view name;
  std::string_view of_torchrun;
};
// accelerate/commands/launch.py, deepspeed/launcher/runner.py. Without --no_ssh one deepspeed starts all nodes.
constexpr LikeOption of_accelerate[] = {{"num-machines", "nnodes"},
                                        {"machine-rank", "node-rank"},
                                        {"main-process-ip", "master-addr"},
                                        {"main-process-port", "master-port"}};
constexpr LikeOption of_deepspeed[] = {
    {"num-gpus", "nproc-per-node"}, {"master-addr", "master-addr"}, {"master-port", "master-port"}};
constexpr LikeOption of_deepspeed_without_ssh[] = {{"num-nodes", "nnodes"},
                                                   {"node-rank", "node-rank"},
                                                   {"num-gpus", "nproc-per-node"},
                                                   {"master-addr", "master-addr"},
                                                   {"master-port", "master-port"}};

std::string options_of_own_launcher(const Argv& words) {
  const bool is_accelerate = base_name(words.front()) == "accelerate";
  const bool has_no_ssh = std::any_of(words.begin(), words.end(),
                                      [](const std::string& word) { return torchrun_option_name(word) == "no-ssh"; });
  const std::span<const LikeOption> likes = is_accelerate ? std::span<const LikeOption>(of_accelerate)
                                            : has_no_ssh  ? std::span<const LikeOption>(of_deepspeed_without_ssh)
                                                          : std::span<const LikeOption>(of_deepspeed);
  OptionText options(false);
  for (std::size_t at = 1; at < words.size() && !words[at].ends_with(".py"); ++at) {
    if (!words[at].starts_with("--")) continue;
    const std::size_t equals = words[at].find('=');
    const std::string name = torchrun_option_name(words[at].substr(0, equals));
    const bool has_value = equals != std::string::npos || at + 1 < words.size();
    // What the file has is not read.
    if (name == "config-file" && has_value) options.add("nnodes", "$config_file");
    for (const LikeOption& like : likes)
      if (name == like.name && has_value)
        options.add(std::string(like.of_torchrun),
                    equals == std::string::npos ? words[at + 1] : words[at].substr(equals + 1));
  }
  return options.text();
}

}  // namespace

std::string torchrun_options(const Argv& program) {
  if (!program.empty() && is_own_launcher(program, 0)) return options_of_own_launcher(program);
  if (program.empty() || torchrun_begin(program) != 0) return {};
  if (const std::size_t text = shell_text(program, 0); text < program.size()) {
    // The first argument is `$0`.
    const std::size_t begin = std::min(text + 2, program.size());
    return torchrun_options_of_script(program[text],
                                      Argv(program.begin() + static_cast<std::ptrdiff_t>(begin), program.end()));
  }
  return options_behind(program, behind_torchrun(program, 0), false);
}

std::string torchrun_options_of_script(std::string_view script, const Argv& arguments) {
  const auto command = torchrun_command(script);
  if (!command) return {};
  auto values = variables_before(script, command->number);
  for (auto& [name, value] : values) value = with_arguments(std::move(value), arguments);
  for (std::size_t i = 0; i < arguments.size(); ++i) values[std::to_string(i + 1)] = arguments[i];
  const Argv words = words_of_command(command->text, [&](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
  return options_behind(words, behind_torchrun(words, torchrun_begin(words)), true);
}

}  // namespace muster
