/// A case made by hand: ranks on nodes, what each observed, and the judge's word on it.
#pragma once

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "muster/probe.hpp"

namespace muster {

class MadeCase {
 public:
  explicit MadeCase(const ProbeSpec& probe, std::vector<std::pair<std::string, std::string>> params = {})
      : probe_(probe) {
    for (const ParamSpec& spec : probe.params)
      if (spec.default_text) params_.set(std::string(spec.name), *parse_param(spec, *spec.default_text));
    for (const auto& [name, text] : params)
      for (const ParamSpec& spec : probe.params)
        if (spec.name == name) params_.set(name, *parse_param(spec, text));
  }

  MadeCase& rank(const std::string& host, std::vector<Fact> facts) {
    Observation seen;
    seen.rank = static_cast<int>(ranks_.size());
    seen.facts = std::move(facts);
    return rank(host, std::move(seen));
  }
  /// nullopt: it stayed silent.
  MadeCase& rank(const std::string& host, std::optional<Observation> seen) {
    RankPlace place;
    place.rank = static_cast<int>(ranks_.size());
    place.host = host;
    for (const RankPlace& other : ranks_)
      place.node_index = other.host == host ? other.node_index : std::max(place.node_index, other.node_index + 1);
    for (const RankPlace& other : ranks_)
      if (other.host == host) {
        place.node_index = other.node_index;
        ++place.local_rank;
      }
    ranks_.push_back(place);
    seen_.push_back(std::move(seen));
    return *this;
  }

  /// What the profile promises.
  MadeCase& node(ExpectedNode promised) {
    node_ = std::move(promised);
    return *this;
  }

  /// Why timing means nothing.
  MadeCase& doubt(std::string why) {
    doubt_ = std::move(why);
    return *this;
  }

  [[nodiscard]] ProbeJudgement judge() const {
    std::vector<const Observation*> observed;
    for (const auto& one : seen_) observed.push_back(one ? &*one : nullptr);
    return probe_.judge(CaseView{params_, ranks_, observed, node_, doubt_});
  }
  [[nodiscard]] const Params& params() const { return params_; }

 private:
  const ProbeSpec& probe_;
  Params params_;
  ExpectedNode node_;
  std::string doubt_;
  std::vector<RankPlace> ranks_;
  std::vector<std::optional<Observation>> seen_;
};

/// Nothing but evidence, and this one sentence of it, after the figures of `headline`.
inline void expect_evidence(const ProbeJudgement& judgement, const std::string& sentence,
                            const std::vector<std::string>& headline = {}) {
  ASSERT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  auto expected = headline;
  expected.push_back(sentence);
  EXPECT_EQ(judgement.evidence, expected);
}

/// One finding and no evidence; the sentence is exactly this.
inline void expect_finding(const ProbeJudgement& judgement, Verdict verdict, const std::string& reason) {
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, verdict);
  EXPECT_EQ(judgement.findings[0].reason, reason);
  EXPECT_FALSE(judgement.findings[0].remedy.empty());
  EXPECT_TRUE(judgement.evidence.empty());
}

struct SilentRecorder final : Recorder {
  void step(std::string_view name) override { steps.emplace_back(name); }
  void iteration(std::uint64_t) override {}
  void peer(int) override {}
  void child_group(int group) override { groups.push_back(group); }
  std::vector<std::string> steps;
  std::vector<int> groups;
};

}  // namespace muster
