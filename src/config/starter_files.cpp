#include "config/starter_files.hpp"

#include <cstdlib>
#include <set>
#include <system_error>

#include "base/files.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::size_t most_of_starter_file = 1u << 20;

std::string unquoted(std::string_view value) {
  const bool is_quoted = value.size() > 1 && (value.front() == '\'' || value.front() == '"');
  if (const std::size_t end = is_quoted ? value.find(value.front(), 1) : value.npos; end != value.npos)
    return std::string(value.substr(1, end - 1));
  return std::string(trim(value.substr(0, value.find(" #"))));
}

std::string variable_or(const char* name, std::string otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::move(otherwise) : std::string(value);
}

}  // namespace

std::map<std::string, std::string> yaml_settings(std::string_view text) {
  std::map<std::string, std::string> settings;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    const bool is_setting = colon != line.npos && colon > 0 && line[0] != ' ' && line[0] != '#' && line[0] != '-' &&
                            (colon + 1 == line.size() || line[colon + 1] == ' ' || line[colon + 1] == '\r');
    if (!is_setting) continue;
    const std::string value = unquoted(trim(std::string_view(line).substr(colon + 1)));
    if (!value.empty() && value != "null" && value != "~" && value[0] != '#') settings[line.substr(0, colon)] = value;
  }
  return settings;
}

std::optional<StarterHosts> deepspeed_hosts(std::string_view text) {
  StarterHosts hosts;
  std::set<std::string> names;
  std::set<int> slots;
  for (const std::string& whole : split(text, '\n')) {
    const std::string_view line = trim(whole);
    if (line.empty() || line.front() == '#') continue;
    constexpr std::string_view mark = "slots=";
    const std::size_t end = line.find_first_of(" \t");
    const std::string_view rest = end == line.npos ? std::string_view() : trim(line.substr(end));
    if (!rest.starts_with(mark) || !names.emplace(line.substr(0, end)).second) return std::nullopt;
    const auto number = leading_number<int>(rest.substr(mark.size()));
    if (!number) return std::nullopt;
    slots.insert(*number);
  }
  if (names.empty()) return std::nullopt;
  hosts.nodes = static_cast<int>(names.size());
  if (slots.size() == 1) hosts.slots = *slots.begin();
  return hosts;
}

std::optional<std::string> read_starter_file(const std::string& path) {
  std::error_code ignored;
  const bool is_plain = path.find_first_of("$`\x01") == path.npos;
  if (!is_plain || !fs::is_regular_file(path, ignored)) return std::nullopt;
  auto text = read_file(path, most_of_starter_file);
  if (!text || text->find('\0') != text->npos) return std::nullopt;
  return std::move(*text);
}

// accelerate/commands/config/config_args.py
std::string accelerate_default_file() {
  const std::string cache = variable_or("XDG_CACHE_HOME", variable_or("HOME", "") + "/.cache");
  const std::string file = variable_or("HF_HOME", cache + "/huggingface") + "/accelerate/default_config.yaml";
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) ? file : std::string();
}

}  // namespace muster
