#include "probes/command/result_lines.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "model/suspect.hpp"

namespace muster::program {

namespace {

using nlohmann::json;

constexpr std::size_t longest_sentence = 1000;
constexpr std::size_t most_named = 64;
constexpr std::array<std::string_view, 3> verdicts{"fail", "unmeasured", "skip"};

tl::unexpected<Error> wrong(std::string what) {
  return fail(ErrorKind::protocol, "", std::move(what));
}

bool is_sentence(const json& value) {
  return value.is_string() && !trim(value.get_ref<const std::string&>()).empty();
}

/// {"rank": 3}, {"node": "nid001"}, {"setting": "MASTER_ADDR", "node": "nid001"}; empty: it is one.
std::string fault_of_culprit(const json& culprit) {
  if (!culprit.is_object() || culprit.empty()) return "has a culprit that is not an object such as {\"rank\": 3}";
  int named = 0;
  for (const auto& [key, value] : culprit.items()) {
    const bool is_rank = key == "rank";
    if (!is_rank && !parse_culprit_kind(key))
      return fmt::format("has a culprit with an unknown key \"{}\"", printable_line(key, 40));
    if (is_rank ? !value.is_number_integer() : !is_sentence(value)) return "has a culprit without a name";
    named += key == "node" ? 0 : 1;
  }
  return named > 1 ? "has a culprit that is two things at once" : "";
}

std::string fault_of_finding(const json& finding) {
  if (!finding.is_object()) return "is not an object";
  for (const auto& [key, value] : finding.items()) {
    if (key == "reason" || key == "remedy" || key == "verdict") {
      if (!is_sentence(value)) return fmt::format("has a {} that is not text", key);
    } else if (key == "consequence") {
      if (!value.is_boolean()) return "has a consequence that is neither true nor false";
    } else if (key == "culprits") {
      if (!value.is_array() || value.size() > most_named) return "has culprits that are not short list";
      for (const json& culprit : value)
        if (std::string fault = fault_of_culprit(culprit); !fault.empty()) return fault;
    } else {
      return fmt::format("has an unknown key \"{}\"", printable_line(key, 40));
    }
  }
  for (const char* key : {"reason", "remedy"})
    if (!finding.contains(key)) return fmt::format("has no {}", key);
  if (!finding.contains("verdict")) return {};
  const auto& verdict = finding["verdict"].get_ref<const std::string&>();
  for (const std::string_view known : verdicts)
    if (verdict == known) return {};
  return "has a verdict that is neither fail nor unmeasured nor skip";
}

std::string sentence(const json& value) {
  return printable_line(value.get<std::string>(), longest_sentence);
}

void add_culprit(const json& message, const RankPlace& teller, std::span<const RankPlace> ranks, Finding& finding) {
  if (message.contains("rank")) {
    const auto rank = message["rank"].get<std::int64_t>();
    for (const RankPlace& place : ranks)
      if (place.rank == rank) finding.culprits.push_back(rank_culprit(place.rank, place.host));
    return;
  }
  Culprit culprit;
  culprit.node = message.contains("node") ? sentence(message["node"]) : teller.host;
  culprit.name = culprit.node;
  for (const auto& [key, value] : message.items()) {
    if (key == "node") continue;
    culprit.kind = *parse_culprit_kind(key);
    culprit.name = sentence(value);
    culprit.rank = message.contains("node") ? -1 : teller.rank;
  }
  finding.culprits.push_back(std::move(culprit));
}

std::string_view first_label(std::string_view host) {
  return host.substr(0, host.find('.'));
}

/// Nodes by their short names, as a program may write them.
using NodesByName = std::map<std::string_view, int>;

NodesByName nodes_by_name(std::span<const RankPlace> ranks) {
  NodesByName nodes;
  for (const RankPlace& place : ranks) nodes.try_emplace(first_label(place.host), place.node_index);
  return nodes;
}

/// Without what is not of the job.
std::set<int> nodes_named(const Finding& finding, const NodesByName& nodes) {
  std::set<int> named;
  for (const Culprit& culprit : finding.culprits)
    if (const auto node = nodes.find(first_label(culprit.node)); node != nodes.end()) named.insert(node->second);
  return named;
}

void spare(Finding& finding, bool is_of_program, const std::string& program) {
  std::vector<Culprit> kept;
  for (Culprit& culprit : finding.culprits) {
    const bool is_rank = culprit.kind == CulpritKind::rank;
    if (culprit.kind == CulpritKind::node || (is_rank && is_of_program))
      culprit = {CulpritKind::program, program, "", -1};
    culprit.node.clear();
    const bool is_known = std::any_of(kept.begin(), kept.end(), [&](const Culprit& one) {
      return one.kind == culprit.kind && one.name == culprit.name;
    });
    if (!is_known) kept.push_back(std::move(culprit));
  }
  finding.culprits = std::move(kept);
}

/// Its node, or the part that rank 0 alone has.
void doubt_rank_0(Finding& finding, std::span<const RankPlace> ranks) {
  for (Culprit& culprit : finding.culprits) culprit.node.clear();
  const auto& culprits = finding.culprits;
  if (!is_in(rank_0_culprit(), culprits)) finding.culprits.push_back(rank_0_culprit());
  finding.remedy += "; " + rank_0_remedy(ranks);
}

/// Of the findings that are, or are not, consequences.
class Named {
 public:
  Named(const std::vector<ProgramFinding>& all, const std::vector<std::size_t>& tellers, const NodesByName& by_name,
        bool is_consequence) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const ProgramFinding& reported = all[i];
      if (reported.is_consequence != is_consequence || reported.finding.verdict == Verdict::skip) continue;
      nodes_.merge(nodes_named(reported.finding, by_name));
      if (!reported.names_place) reporters_.insert(tellers[i]);
      for (const Culprit& culprit : reported.finding.culprits)
        if (reported.names_nothing) ranks_.insert(culprit.rank);
    }
  }
  [[nodiscard]] Suspect suspect(std::size_t nodes) const {
    return find_suspect({nodes_.size(), nodes, false}, Half::is_of_nodes);
  }
  [[nodiscard]] bool is_reported_by_rank_0_alone() const { return reporters_ == std::set<std::size_t>{0}; }
  [[nodiscard]] std::size_t ranks() const { return ranks_.size(); }

 private:
  std::set<int> nodes_;
  std::set<int> ranks_;              ///< of findings without culprits
  std::set<std::size_t> reporters_;  ///< of findings that name no place
};

}  // namespace

void spare_nodes(std::vector<ProgramFinding>& all, const std::vector<std::size_t>& tellers,
                 std::span<const RankPlace> ranks, std::size_t nodes, const std::string& program) {
  const NodesByName by_name = nodes_by_name(ranks);
  for (const bool is_consequence : {false, true}) {
    const Named named(all, tellers, by_name, is_consequence);
    const bool is_of_job = named.suspect(nodes) == Suspect::job;
    const bool is_of_rank_0 = nodes > 1 && named.is_reported_by_rank_0_alone();
    for (ProgramFinding& reported : all) {
      if (reported.is_consequence != is_consequence || reported.finding.verdict == Verdict::skip) continue;
      if (is_of_rank_0 && !reported.names_place)
        doubt_rank_0(reported.finding, ranks);
      else if (is_of_job)
        spare(reported.finding, reported.names_nothing && named.ranks() == ranks.size(), program);
    }
  }
}

Result<std::string> read_result_line(std::string_view kind, std::string_view line) {
  const json all = json::parse(line, nullptr, false);
  if (!all.is_object()) return wrong("is not JSON");
  if (all.size() != 1) return wrong("has further keys beside its own");
  const json& content = all.begin().value();
  if (kind == "evidence") {
    if (!is_sentence(content)) return wrong("is not text");
    return sentence(content);
  }
  if (std::string fault = fault_of_finding(content); !fault.empty()) return wrong(std::move(fault));
  return content.dump(-1, ' ', false, json::error_handler_t::replace);
}

ProgramFinding to_program_finding(const std::string& text, const RankPlace& teller, std::span<const RankPlace> ranks) {
  ProgramFinding reported;
  const json message = json::parse(text, nullptr, false);
  if (!fault_of_finding(message).empty()) {
    // Facts come over the network: what this side of it has not checked is not believed.
    reported.finding = {Verdict::unmeasured,
                        fmt::format("rank {} on {} printed a malformed finding", teller.rank, teller.host),
                        {rank_culprit(teller.rank, teller.host)},
                        "run it again; if it happens again, it is a fault of muster: report it with the run folder"};
    return reported;
  }
  reported.finding.reason = sentence(message["reason"]);
  reported.finding.remedy = sentence(message["remedy"]);
  if (message.contains("verdict")) reported.finding.verdict = *parse_verdict(message["verdict"].get<std::string>());
  reported.is_consequence = message.value("consequence", false);
  for (const json& culprit : message.value("culprits", json::array()))
    add_culprit(culprit, teller, ranks, reported.finding);
  reported.names_nothing = reported.finding.culprits.empty();
  for (const json& culprit : message.value("culprits", json::array()))
    for (const char* place : {"node", "rank", "device", "link"})
      reported.names_place = reported.names_place || culprit.contains(place);
  if (reported.names_nothing) reported.finding.culprits.push_back(rank_culprit(teller.rank, teller.host));
  return reported;
}

}  // namespace muster::program
