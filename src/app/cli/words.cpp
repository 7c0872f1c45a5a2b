#include <algorithm>

#include "app/cli/options.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// `N:INT in [1 - 65536]` -> `N`: the parser leaves the range there.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  auto value = option.get_type_name();
  if (const auto range = value.find(" in ["); range != std::string::npos) value.resize(value.rfind(':', range));
  value.resize(std::min(value.size(), value.find(":{")));
  return value.empty() ? "VALUE" : value;
}

/// `ACTION:{drain}`: the parser appends the accepted values.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const auto type = option.get_type_name();
  const auto open = type.find(":{"), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  std::vector<std::string> all;
  for (const auto& word : split(std::string_view(type).substr(open + 2, close - open - 2), ',')) all.emplace_back(word);
  return all;
}

OptionWords words_of(const CLI::Option& option) {
  OptionWords words;
  for (const auto& name : option.get_snames()) words.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) words.names.push_back("--" + name);
  if (option.get_positional()) words.place = option.get_name(true);
  words.value = value_of(option);
  words.choices = choices_of(option);
  auto help = option.get_description();
  std::replace(help.begin(), help.end(), '\n', ' ');
  words.help = help;
  words.is_required = option.get_required();
  // Options that take one value at a time, and may be repeated, are marked.
  words.is_list = option.get_items_expected_max() > 1 || help.find("epeatable") != std::string::npos ||
                  help.find("given again") != std::string::npos;
  return words;
}

void take_options(const CLI::App& app, std::vector<OptionWords>& options) {
  const auto is_known = [&](const OptionWords& one) {
    return std::any_of(options.begin(), options.end(),
                       [&](const OptionWords& known) { return known.names == one.names && known.place == one.place; });
  };
  for (const auto* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (auto words = words_of(*option); !is_known(words)) options.push_back(std::move(words));
  }
  // Options of which one excludes the others are a nameless command of their own.
  for (const auto* group : app.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); }))
    take_options(*group, options);
}

}  // namespace

CommandWords words_of(const CLI::App& app, const std::string& above) {
  CommandWords words;
  words.name = app.get_name();
  words.path = above.empty() ? words.name : above + " " + words.name;
  words.summary = app.get_description();
  words.footer = app.get_footer();
  take_options(app, words.options);
  // A place that is hidden is there to refuse what should stand behind `--`.
  for (const auto* option : app.get_options())
    if (option->get_positional() && option->get_group().empty()) words.behind = option->get_single_name();
  std::stable_partition(words.options.begin(), words.options.end(),
                        [](const OptionWords& option) { return !option.place.empty(); });
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!sub->get_name().empty() && !sub->get_group().empty()) words.commands.push_back(words_of(*sub, words.path));
  return words;
}

}  // namespace muster
