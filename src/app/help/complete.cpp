#include "app/help/complete.hpp"

#include <algorithm>

#include "base/lists.hpp"

namespace muster {

namespace {

const OptionWords* find_option(const CommandWords& command, const std::string& name) {
  for (const auto& option : command.options)
    if (is_in(name, option.names)) return &option;
  return nullptr;
}

const CommandWords* find_command(const CommandWords& command, const std::string& name) {
  for (const auto& one : command.commands)
    if (one.name == name) return &one;
  return nullptr;
}

/// The place that comes after `given` others.
const OptionWords* place_after(const CommandWords& command, std::size_t given) {
  for (const auto& option : command.options) {
    if (option.place.empty()) break;
    if (given == 0 || option.is_list) return &option;
    --given;
  }
  return nullptr;
}

bool is_name(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

class Reader {
 public:
  explicit Reader(const CommandWords& root) { at_.command = &root; }

  /// A word that is complete.
  void pass(const std::string& word) {
    if (at_.is_foreign) return;
    if (at_.option != nullptr) {
      at_.option = nullptr;
    } else if (word == "--") {
      at_.is_foreign = true;
    } else if (is_name(word)) {
      // `--name=value` and `-nvalue` have it with them.
      const auto* option = find_option(*at_.command, word);
      if (option != nullptr && !option->value.empty()) at_.option = option;
    } else if (const auto* command = find_command(*at_.command, word)) {
      at_.command = command;
    } else {
      at_.places.push_back(word);
    }
  }
  /// The word at the cursor.
  AtCursor stop(const std::string& word) {
    at_.typed = word;
    if (at_.is_foreign || at_.option != nullptr) return at_;
    const auto equals = word.find('=');
    if (is_name(word) && equals != std::string::npos) {
      at_.option = find_option(*at_.command, word.substr(0, equals));
      at_.kept = word.substr(0, equals + 1);
      at_.typed = word.substr(equals + 1);
    } else if (word.empty() || word[0] != '-') {
      at_.option = place_after(*at_.command, at_.places.size());
    }
    return at_;
  }

 private:
  AtCursor at_;
};

/// Commands, or options; the latter when a dash was typed or there is nothing else.
Completion known_names(const AtCursor& at) {
  Completion names;
  const bool is_dash = !at.typed.empty() && at.typed[0] == '-';
  if (!is_dash)
    for (const auto& command : at.command->commands) names.candidates.push_back({command.name, command.summary});
  if (!is_dash && !names.candidates.empty()) return names;
  for (const auto& option : at.command->options)
    for (const auto& name : option.names)
      if (name.size() > 2 || option.names.size() == 1 || at.typed == name)
        names.candidates.push_back({name, option.help});
  return names;
}

}  // namespace

AtCursor find_cursor(const CommandWords& root, const std::vector<std::string>& words) {
  Reader reader(root);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) reader.pass(words[i]);
  return reader.stop(words.empty() ? "" : words.back());
}

Completion complete(const AtCursor& at) {
  if (at.is_foreign) return {{}, true, false, false};
  // An option that there isn't has no values.
  if (at.option == nullptr && !at.kept.empty()) return {};
  auto found = at.option == nullptr ? known_names(at) : known_values(at);
  auto& all = found.candidates;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const Candidate& candidate) { return !candidate.text.starts_with(at.typed); }),
            all.end());
  for (auto& candidate : all) candidate.text = at.kept + candidate.text;
  return found;
}

}  // namespace muster
