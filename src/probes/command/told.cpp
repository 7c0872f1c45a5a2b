#include "probes/command/told.hpp"

#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

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

Culprit rank_culprit(const RankPlace& place) {
  return {CulpritKind::rank, fmt::format("rank {}", place.rank), place.host, place.rank};
}

void add_culprit(const json& said, const RankPlace& teller, std::span<const RankPlace> ranks, Finding& finding) {
  if (said.contains("rank")) {
    const auto rank = said["rank"].get<std::int64_t>();
    for (const RankPlace& place : ranks)
      if (place.rank == rank) finding.culprits.push_back(rank_culprit(place));
    return;
  }
  Culprit culprit;
  culprit.node = said.contains("node") ? sentence(said["node"]) : teller.host;
  culprit.name = culprit.node;
  for (const auto& [key, value] : said.items()) {
    if (key == "node") continue;
    culprit.kind = *parse_culprit_kind(key);
    culprit.name = sentence(value);
    culprit.rank = said.contains("node") ? -1 : teller.rank;
  }
  finding.culprits.push_back(std::move(culprit));
}

}  // namespace

Result<std::string> read_told(std::string_view kind, std::string_view line) {
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

Told to_told(const std::string& text, const RankPlace& teller, std::span<const RankPlace> ranks) {
  Told told;
  const json said = json::parse(text, nullptr, false);
  if (!fault_of_finding(said).empty()) {
    // Facts come over the network: what this side of it has not checked is not believed.
    told.finding = {Verdict::unmeasured,
                    fmt::format("rank {} on {} printed a malformed finding", teller.rank, teller.host),
                    {rank_culprit(teller)},
                    "run it again; if it happens again, it is a fault of muster: report it with the run folder"};
    return told;
  }
  told.finding.reason = sentence(said["reason"]);
  told.finding.remedy = sentence(said["remedy"]);
  if (said.contains("verdict")) told.finding.verdict = *parse_verdict(said["verdict"].get<std::string>());
  told.is_consequence = said.value("consequence", false);
  for (const json& culprit : said.value("culprits", json::array())) add_culprit(culprit, teller, ranks, told.finding);
  if (told.finding.culprits.empty()) told.finding.culprits.push_back(rank_culprit(teller));
  return told;
}

}  // namespace muster::program
