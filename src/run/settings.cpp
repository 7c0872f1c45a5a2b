#include "run/settings.hpp"

#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

struct Setting {
  std::string check;
  std::string param;
  std::string value;
};

tl::unexpected<Error> refuse(std::string what) {
  return fail(ErrorKind::usage, "-S", std::move(what));
}

Result<Setting> read_setting(const std::string& text) {
  const auto equals = text.find('=');
  const auto dot = text.substr(0, equals).find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot == 0 || dot + 1 == equals)
    return refuse(fmt::format("\"{}\" must be check.param=value, such as hello.repetitions=100 or *.repetitions=100",
                              printable_line(text, 60)));
  return Setting{text.substr(0, dot), text.substr(dot + 1, equals - dot - 1), text.substr(equals + 1)};
}

std::vector<std::string> param_names(const ProbeSpec& probe) {
  std::vector<std::string> names;
  for (const auto& spec : probe.params) names.emplace_back(spec.name);
  return names;
}

class SettingReader {
 public:
  SettingReader(const std::vector<Check>& checks, std::span<const ProbeSpec* const> probes)
      : checks_(checks), probes_(probes) {}

  Result<void> take(const Setting& setting) {
    bool found_check = false;
    bool found_param = false;
    for (const auto& check : checks_) {
      if (setting.check != "*" && check.name != setting.check) continue;
      found_check = true;
      const auto* probe = find_among(probes_, check.probe);
      const auto* spec = probe == nullptr ? nullptr : find_param(*probe, setting.param);
      if (spec == nullptr) continue;
      found_param = true;
      auto value = parse_param(*spec, setting.value);
      if (!value) return refuse(fmt::format("{}.{}: {}", check.name, setting.param, value.error().what));
      if (value->items.empty())
        return refuse(fmt::format("{}.{}: an empty list has no effect", check.name, setting.param));
      settings_[check.name][setting.param] = std::move(*value);
    }
    if (!found_check && setting.check != "*") return unknown_check(setting);
    return found_param ? Result<void>{} : unknown_param(setting);
  }

  [[nodiscard]] Settings done() { return std::move(settings_); }

 private:
  [[nodiscard]] Result<void> unknown_check(const Setting& setting) const {
    std::vector<std::string> known;
    for (const auto& check : checks_) known.push_back(check.name);
    return refuse(
        fmt::format("unknown check \"{}\"{}", printable_line(setting.check, 60), suggestion(setting.check, known)));
  }

  [[nodiscard]] Result<void> unknown_param(const Setting& setting) const {
    std::vector<std::string> known;
    for (const auto& check : checks_) {
      const auto* probe = find_among(probes_, check.probe);
      if (probe == nullptr || (setting.check != "*" && check.name != setting.check)) continue;
      for (const auto& name : param_names(*probe))
        if (!is_in(name, known)) known.push_back(name);
    }
    const auto whose = setting.check == "*" ? "no check has a" : fmt::format("check {} has no", setting.check);
    return refuse(fmt::format("{} parameter \"{}\"{}", whose, printable_line(setting.param, 60),
                              suggestion(setting.param, known)));
  }

  const std::vector<Check>& checks_;
  std::span<const ProbeSpec* const> probes_;
  Settings settings_;
};

}  // namespace

const ProbeSpec* find_among(std::span<const ProbeSpec* const> probes, std::string_view name) {
  for (const auto* probe : probes)
    if (probe->name == name) return probe;
  return nullptr;
}

Result<Settings> read_settings(const std::vector<std::string>& texts, const std::vector<Check>& checks,
                               std::span<const ProbeSpec* const> probes) {
  SettingReader reader(checks, probes);
  for (const auto& text : texts) {
    const auto setting = read_setting(text);
    if (!setting) return tl::unexpected(setting.error());
    if (auto taken = reader.take(*setting); !taken) return tl::unexpected(taken.error());
  }
  return reader.done();
}

}  // namespace muster
