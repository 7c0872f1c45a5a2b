// Checks, profiles and sites for the tests of select.
#pragma once

#include <array>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "run/select.hpp"

namespace muster::fake {

inline constexpr ParamSpec counting_params[] = {{"count", ParamType::integer, "1", "How many.", {}, 1, 1e6}};
inline constexpr ParamSpec sending_params[] = {
    {"sizes", ParamType::bytes_list, "8B", "Sizes.", {}, {}, {}},
    {"mode", ParamType::text, "fresh", "Buffers.", "fresh|reused", {}, {}},
};
inline constexpr ProbeSpec counting{.name = "counting", .summary = "Counts.", .params = counting_params};
inline constexpr ProbeSpec sending{.name = "sending", .summary = "Sends.", .params = sending_params};
inline constexpr std::array<const ProbeSpec*, 2> chosen_probes{&counting, &sending};

inline Check make_check(const std::string& name, const std::string& probe = "counting",
                        std::vector<std::string> tags = {"default"}) {
  Check check;
  check.name = name;
  check.probe = probe;
  check.tags = std::move(tags);
  check.ranks = {RanksSpec::Kind::per_node, 2};
  check.place = "f.toml:1";
  return check;
}

inline ParamValue value_of(const ProbeSpec& probe, const std::string& param, const std::string& text) {
  for (const auto& spec : probe.params)
    if (spec.name == param)
      if (auto value = parse_param(spec, text)) return *value;
  ADD_FAILURE() << param << "=" << text;
  return {};
}

inline void sweep(Check& check, const ProbeSpec& probe, const std::string& param,
                  const std::vector<std::string>& texts) {
  for (const auto& text : texts) check.sweep[param].push_back(value_of(probe, param, text));
}

inline SystemProfile make_system(const std::vector<std::string>& partitions = {"p"}) {
  SystemProfile system;
  system.name = "s";
  system.file = "s.toml";
  for (const auto& name : partitions) system.partitions.emplace_back().name = name;
  return system;
}

/// Two cores and mpirun on this machine.
inline Site make_site() {
  Site site;
  site.launcher = "mpirun";
  site.cores = 2;
  return site;
}

inline Site local_site() {
  auto site = make_site();
  site.launcher = "local";
  site.launcher_most_ranks = 1;
  return site;
}

/// A plan of `checks`; the members may be changed before.
struct Choosing {
  std::vector<Check> checks = {};
  SelectOptions options = {};
  SystemProfile system = make_system();
  Site site = make_site();

  [[nodiscard]] Result<Plan> result() const { return make_plan(checks, system, options, site, chosen_probes); }
  [[nodiscard]] Plan plan() const {
    auto made = result();
    if (made) return *made;
    ADD_FAILURE() << to_string(made.error());
    return {};
  }
  [[nodiscard]] Case only_case() const {
    const auto made = plan();
    EXPECT_EQ(made.cases.size(), 1u);
    return made.cases.empty() ? Case{} : made.cases.front();
  }
  /// What is said; empty when there is a plan.
  [[nodiscard]] std::string error() const {
    const auto made = result();
    if (made) return "";
    EXPECT_EQ(made.error().kind, ErrorKind::usage);
    return to_string(made.error());
  }
  /// `a count=1` for every case.
  [[nodiscard]] std::vector<std::string> cases() const {
    std::vector<std::string> all;
    for (const auto& item : plan().cases) {
      all.push_back(item.check);
      for (const auto& [name, value] : item.params.values()) all.back() += " " + name + "=" + to_string(value);
    }
    return all;
  }
};

}  // namespace muster::fake
