#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "schedulers/slurm/parts.hpp"

namespace muster::slurm {

namespace {

struct Short {
  char letter;
  std::string_view name;
};

constexpr Short short_names[] = {
    {'A', "account"},       {'B', "extra-node-info"},
    {'C', "constraint"},    {'D', "chdir"},
    {'F', "nodefile"},      {'G', "gpus"},
    {'H', "hold"},          {'J', "job-name"},
    {'L', "licenses"},      {'M', "clusters"},
    {'N', "nodes"},         {'O', "overcommit"},
    {'S', "core-spec"},     {'W', "wait"},
    {'a', "array"},         {'b', "begin"},
    {'c', "cpus-per-task"}, {'d', "dependency"},
    {'e', "error"},         {'i', "input"},
    {'k', "no-kill"},       {'m', "distribution"},
    {'n', "ntasks"},        {'o', "output"},
    {'p', "partition"},     {'q', "qos"},
    {'s', "oversubscribe"}, {'t', "time"},
    {'w', "nodelist"},      {'x', "exclude"},
};

struct Reserved {
  std::string_view name;
  std::string_view instead;
};

// What muster needs to know, or to find again.
constexpr Reserved reserved[] = {
    {"--nodes", "use muster's own --nodes"},
    {"--nodelist", "name the nodes with muster's own --nodes"},
    {"--nodefile", "name the nodes with muster's own --nodes"},
    {"--ntasks", "use --ranks-per-node"},
    {"--ntasks-per-node", "use --ranks-per-node"},
    {"--output", "muster reads the job's output; --output of muster chooses where runs are kept"},
    {"--error", "muster reads the job's output; --output of muster chooses where runs are kept"},
    {"--open-mode", "muster reads the job's output"},
    {"--chdir", "the job starts in the folder where muster was started"},
    {"--array", "muster follows one job; start muster again for another"},
    {"--wait", "muster waits itself"},
    {"--wrap", "muster writes the script"},
    {"--parsable", "muster sets it itself"},
    {"--test-only", "see --dry-run of muster"},
    {"--clusters", "submit from a login node of that cluster"},
};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c == '-' || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

/// `-Ax`, `-A x`, `-A=x`: the letter's long name and what is behind it.
std::string spelt_out(std::string_view word) {
  const auto known = std::find_if(std::begin(short_names), std::end(short_names),
                                  [&](const Short& one) { return one.letter == word[1]; });
  if (known == std::end(short_names)) return "";
  auto value = trim(word.substr(2));
  if (!value.empty() && value.front() == '=') value.remove_prefix(1);
  return value.empty() ? fmt::format("--{}", known->name) : fmt::format("--{}={}", known->name, value);
}

std::string long_form(std::string_view word) {
  if (word.size() > 2 && word.substr(0, 2) == "--") {
    // `--account x`, where a value came as a word of its own.
    const auto space = word.find(' ');
    if (space == word.npos || space > word.find('=')) return std::string(word);
    return fmt::format("{}={}", word.substr(0, space), trim(word.substr(space)));
  }
  if (word.size() > 1 && word[0] == '-' && word[1] != '-') return spelt_out(word);
  const auto equals = word.find('=');
  if (equals == 1) return spelt_out("-" + std::string(word));
  return equals != word.npos && equals > 0 ? "--" + std::string(word) : "";
}

}  // namespace

Result<JobOption> read_option(std::string_view word) {
  const auto shown = printable_line(word, 80);
  const auto refuse = [&](const std::string& why) { return fail(ErrorKind::usage, fmt::format("-J {}", shown), why); };
  JobOption option;
  option.text = long_form(trim(word));
  option.name = option.text.substr(0, option.text.find('='));
  if (option.name.size() < 3 || !is_name(std::string_view(option.name).substr(2)))
    return refuse("is not an option of sbatch; write for example -J account=project_1 or -J=--account=project_1");
  if (printable(option.text) != option.text || option.text.find_first_of("\n\t") != std::string::npos)
    return refuse("has characters that are not allowed in a batch script");
  if (is_of_srun(option.name))
    return refuse(
        fmt::format("{} is an option of srun, not of sbatch; give it to the launcher inside the job: "
                    "--launcher-option={}",
                    option.name, option.text));
  for (const auto& one : reserved)
    if (option.name == one.name)
      return refuse(fmt::format("{} is not to be chosen here: {}", option.name, one.instead));
  return option;
}

bool chooses(std::span<const JobOption> options, std::string_view name) {
  return std::any_of(options.begin(), options.end(), [&](const JobOption& option) { return option.name == name; });
}

std::string value_of(std::span<const JobOption> options, std::string_view name) {
  std::string value;
  for (const auto& option : options)
    if (option.name == name && option.text.size() > name.size()) value = option.text.substr(name.size() + 1);
  return value;
}

std::vector<std::string> variables(const JobRequest& request) {
  // A job array, or sbatch that returns only after the job: nothing of it could be followed.
  std::vector<std::string> names{"SBATCH_ARRAY_INX", "SBATCH_CLUSTERS",  "SLURM_CLUSTERS", "SBATCH_EXPORT",
                                 "SBATCH_JOB_NAME",  "SBATCH_OPEN_MODE", "SBATCH_WAIT"};
  // For options that are only what muster would ask for, the variable of a user or site stands.
  for (const auto& option : request.options) {
    std::string name = option.name == "--time" ? "SBATCH_TIMELIMIT" : "SBATCH_";
    for (const char c : option.name.substr(option.name == "--time" ? option.name.size() : 2))
      name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    if (!is_in(name, names)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace muster::slurm
