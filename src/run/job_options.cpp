#include "run/job_options.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <regex>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "run/session.hpp"

namespace muster {

namespace {

using Fills = std::map<std::string, std::string>;

/// A word of the profile or of -J, with the value that came as a word of its own.
struct Word {
  std::string text;
  std::string place;  ///< empty: -J
};

const std::regex& placeholder() {
  static const std::regex pattern(R"(\{([A-Za-z_][A-Za-z0-9_-]*)\})");
  return pattern;
}

/// `-A`, `project_1`: one option.
bool takes_value(const std::string& option, const std::string& next) {
  const bool is_open = option.size() > 1 && option[0] == '-' && option.find('=') == std::string::npos &&
                       option.find(' ') == std::string::npos;
  return is_open && !next.empty() && next[0] != '-' && next.find('=') == std::string::npos;
}

std::vector<Word> joined(const Argv& words, const std::vector<std::string>& places) {
  std::vector<Word> joined;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!joined.empty() && takes_value(joined.back().text, words[i]))
      joined.back().text += " " + words[i];
    else
      joined.push_back({words[i], i < places.size() ? places[i] : ""});
  }
  return joined;
}

void note_placeholders(const std::string& text, std::vector<std::string>& names) {
  for (std::sregex_iterator at(text.begin(), text.end(), placeholder()), end; at != end; ++at)
    names.push_back((*at)[1].str());
}

/// The name of `name=value`; empty: it is another word.
std::string filled_by(const std::string& word) {
  const auto equals = word.find('=');
  return equals == std::string::npos || word[0] == '-' ? "" : word.substr(0, equals);
}

std::string filled(const std::string& text, const Fills& fills) {
  std::string made;
  std::size_t from = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), placeholder()), end; at != end; ++at) {
    const auto value = fills.find((*at)[1].str());
    if (value == fills.end()) continue;
    made += text.substr(from, static_cast<std::size_t>(at->position()) - from) + value->second;
    from = static_cast<std::size_t>(at->position() + at->length());
  }
  return made + text.substr(from);
}

Result<void> refuse_unfilled(const std::string& place, const std::string& text) {
  std::vector<std::string> names;
  note_placeholders(text, names);
  if (names.empty()) return {};
  return fail(
      ErrorKind::usage, place,
      fmt::format("nothing fills {{{}}} in \"{}\"; write -J {}=VALUE", names[0], printable_line(text, 80), names[0]));
}

const EnvironmentProfile* find_environment(const SystemProfile& system, const std::string& name) {
  for (const auto& environment : system.environments)
    if (environment.name == name) return &environment;
  return nullptr;
}

/// `owner`: as the profile's places name the array.
void add_words(const SystemProfile& system, const Argv& options, const std::string& owner, std::vector<Word>& words) {
  std::vector<std::string> places;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const auto at = system.places.find(fmt::format("scheduler_options of {} {}", owner, i));
    places.push_back(at == system.places.end() ? system.file : at->second);
  }
  for (auto& word : joined(options, places)) words.push_back(std::move(word));
}

/// Of the partition and of the environment that the job uses; nullptr: none.
std::vector<Word> words_of(const SystemProfile& system, const EnvironmentProfile* environment) {
  std::vector<Word> words;
  for (const auto& partition : system.partitions) add_words(system, partition.scheduler_options, partition.name, words);
  if (environment != nullptr)
    add_words(system, environment->scheduler_options, "environment " + environment->name, words);
  return words;
}

Result<void> heed_refusals(const SystemProfile& system, const std::vector<JobOption>& options) {
  for (const auto& partition : system.partitions)
    for (const auto& option : options)
      if (is_in(option.name, partition.scheduler_refuses))
        return fail(ErrorKind::usage,
                    option.place.empty() ? fmt::format("-J {}", printable_line(option.text, 80)) : option.place,
                    fmt::format("{}:{} refuses jobs with {}; leave it out", system.name, partition.name, option.name));
  return {};
}

/// What may be chosen beside the options that every scheduler of this kind has.
struct OfProfile {
  std::vector<std::string> placeholders;
  std::vector<std::string> options;  ///< `--account`
};

/// Fails for an option that looks like another one, and that the profile does not have either.
Result<void> refuse_misspelt(const SchedulerSpec& scheduler, const JobOption& option, const OfProfile& profile) {
  if (scheduler.meant_option == nullptr || is_in(option.name, profile.options)) return {};
  const auto meant = scheduler.meant_option(option.name);
  if (meant.empty()) return {};
  return fail(ErrorKind::usage, fmt::format("-J {}", printable_line(option.text, 80)),
              fmt::format("{} has no option {}; did you mean \"{}\"?", scheduler.program, option.name, meant));
}

/// The options of -J, and what they fill.
Result<std::vector<JobOption>> read_chosen(const SchedulerSpec& scheduler, const Argv& chosen,
                                           const OfProfile& of_profile, Fills& fills) {
  std::vector<JobOption> options;
  for (const auto& word : joined(chosen, {})) {
    if (const auto name = filled_by(word.text); is_in(name, of_profile.placeholders)) {
      fills[name] = word.text.substr(name.size() + 1);
      continue;
    }
    auto option = scheduler.read_option(word.text);
    if (!option) return tl::unexpected(option.error());
    if (auto spelt = refuse_misspelt(scheduler, *option, of_profile); !spelt) return tl::unexpected(spelt.error());
    std::erase_if(options, [&](const JobOption& before) { return before.name == option->name; });
    options.push_back(std::move(*option));
  }
  return options;
}

}  // namespace

Result<JobChoice> choose_job_options(const SchedulerSpec& scheduler, const SystemProfile& system,
                                     const std::string& environment, const Argv& chosen) {
  std::vector<std::string> of_options, of_wrapper;
  const auto* around = find_environment(system, environment);
  const auto profile = words_of(system, around);
  for (const auto& word : profile) note_placeholders(word.text, of_options);
  if (around != nullptr)
    for (const auto& word : around->wrapper) note_placeholders(word, of_wrapper);
  OfProfile of_profile{of_options, {}};
  of_profile.placeholders.insert(of_profile.placeholders.end(), of_wrapper.begin(), of_wrapper.end());
  for (const auto& word : profile)
    if (const auto option = scheduler.read_option(word.text)) of_profile.options.push_back(option->name);

  Fills fills;
  const auto from_user = read_chosen(scheduler, chosen, of_profile, fills);
  if (!from_user) return tl::unexpected(from_user.error());
  JobChoice choice;
  for (const auto& word : profile) {
    auto option = scheduler.read_option(filled(word.text, fills));
    if (!option) return fail(ErrorKind::usage, word.place, option.error().where + ": " + option.error().what);
    const auto is_same = [&](const JobOption& other) { return other.name == option->name; };
    if (std::any_of(from_user->begin(), from_user->end(), is_same)) continue;
    if (auto complete = refuse_unfilled(word.place, option->text); !complete) return tl::unexpected(complete.error());
    option->place = word.place;
    choice.options.push_back(std::move(*option));
  }
  choice.options.insert(choice.options.end(), from_user->begin(), from_user->end());
  if (around != nullptr)
    for (const auto& word : around->wrapper)
      if (auto complete =
              refuse_unfilled(fmt::format("{}: environment {}", system.file, environment), filled(word, fills));
          !complete)
        return tl::unexpected(complete.error());
  for (const auto& [name, value] : fills)
    if (is_in(name, of_wrapper)) choice.fills.push_back(name + "=" + value);
  if (auto taken = heed_refusals(system, choice.options); !taken) return tl::unexpected(taken.error());
  return choice;
}

void fill_wrapper(Argv& wrapper, Argv& options) {
  std::vector<std::string> names;
  for (const auto& word : wrapper) note_placeholders(word, names);
  Fills fills;
  std::erase_if(options, [&](const std::string& word) {
    const auto name = filled_by(word);
    if (!is_in(name, names)) return false;
    fills[name] = word.substr(name.size() + 1);
    return true;
  });
  for (auto& word : wrapper) word = filled(word, fills);
}

Seconds time_needed(const Plan& plan) {
  const Deadlines deadlines;
  const double around_launch = deadlines.startup_s + deadlines.finish_s;
  // Nodes are asked for what they have, and the report is written.
  double sum = 60;
  for (const auto& launch : plan.launches) {
    sum += around_launch;
    for (const auto& item : launch.items)
      sum += plan.cases[static_cast<std::size_t>(item.case_index)].timeout.value + deadlines.gap_s;
  }
  // A case that hangs costs its deadline, an autopsy and another start-up; two of them are allowed for.
  sum += 2 * (around_launch + deadlines.autopsy_s + deadlines.grace_s);
  return {std::ceil(sum / 60) * 60};
}

int tasks_per_node(const Plan& plan, bool is_node_known) {
  int most = 0;
  for (const auto& item : plan.cases) {
    const bool follows_node =
        item.ranks.kind == RanksSpec::Kind::one_per_core || item.ranks.kind == RanksSpec::Kind::one_per_numa;
    if (item.unable.empty() && follows_node && !is_node_known) return 0;
    if (item.unable.empty()) most = std::max(most, item.shape.ranks_per_node);
  }
  return most;
}

}  // namespace muster
