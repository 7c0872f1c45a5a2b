// A reader of RFC 4180 gets back what was meant, and a spreadsheet computes nothing.
#include <fmt/format.h>

#include "base/text.hpp"
#include "reporters/listed_report.hpp"
#include "reporters/telling.hpp"

namespace muster {
namespace {

using Record = std::vector<std::string>;

constexpr std::size_t field_count = 22;
enum Column {
  run_id,
  id,
  check,
  system,
  partition,
  node,
  rank,
  peer,
  peer_node,
  device,
  metric,
  unit,
  labels,
  n,
  verdict = 19,
  simulated,
  variables
};

/// By the grammar of RFC 4180, section 2; stops at the first thing that it does not allow.
std::vector<Record> parsed(const std::string& text) {
  std::vector<Record> records;
  std::size_t at = 0;
  while (at < text.size()) {
    Record record;
    for (;;) {
      std::string field;
      if (text[at] == '"') {
        for (++at; at < text.size() && (text[at] != '"' || text[at + 1] == '"'); ++at)
          if (field += text[at]; text[at] == '"') ++at;
        ++at;
      } else {
        const auto end = text.find_first_of(",\r\n\"", at);
        field = text.substr(at, end - at);
        at = end;
      }
      record.push_back(field);
      if (text[at] == ',')
        ++at;
      else
        break;
    }
    records.push_back(record);
    if (text.compare(at, 2, "\r\n") != 0) {
      ADD_FAILURE() << "no record ends at byte " << at;
      return records;
    }
    at += 2;
  }
  return records;
}

RunReport with_text(const std::string& text) {
  auto run = sample::listed_report();
  run.run_id = text;
  auto& result = run.cases[2];
  result.id = result.check = result.system = result.partition = text;
  for (auto& row : result.rank_rows) row = {row.rank, text, {{"tested", text}}};
  for (auto& row : result.metrics) row.metric = row.unit = text, row.where = {{text, text}};
  return run;
}

TEST(Csv, EveryRecordHasAllFields) {
  for (const auto& run : {sample::listed_report(), sample::report(), RunReport{}, with_text(sample::hostile)})
    for (const auto& record : parsed(reported("csv", run))) EXPECT_EQ(record.size(), field_count);
}

TEST(Csv, TextComesBack) {
  for (const auto* text : {"a,b", "say \"hi\"", "a;b", " led and trailed ", "\"", ",", "it's"}) {
    const auto records = parsed(reported("csv", with_text(text)));
    const auto& first = records.at(3);
    for (const int column : {id, check, system, partition, node, peer_node, device, metric, unit})
      EXPECT_EQ(first.at(static_cast<std::size_t>(column)), text) << column;
    EXPECT_EQ(first.at(labels), fmt::format("{0}={0}", text));
  }
}

TEST(Csv, NoFieldIsAFormula) {
  for (const auto* text : {"=1+1", "+1", "-1", "@SUM(A1)", "  =cmd|' /C calc'!A0", "\t=1", "\r=1", "\n=1",
                           "\xEF\xBC\x9D"
                           "1",
                           "\",=1+1,\""}) {
    for (const auto& record : parsed(reported("csv", with_text(text))))
      for (std::size_t i = 0; i < record.size(); ++i) {
        const auto field = std::string(trim(record[i]));
        const bool is_number = i == rank || i == peer || i >= n;
        if (is_number || field.empty()) continue;
        EXPECT_EQ(std::string("=+-@").find(field[0]), std::string::npos) << field;
        EXPECT_FALSE(field.starts_with("\xEF\xBC\x9D")) << field;
      }
  }
}

TEST(Csv, NegativeNumbersStayNumbers) {
  auto run = sample::listed_report();
  run.cases[2].metrics[0].readings[0].summary = {3, -1.5, -1, -0.5, -0.25, 0.125};
  const auto record = parsed(reported("csv", run)).at(3);
  EXPECT_EQ(Record(record.begin() + n, record.begin() + verdict),
            (Record{"3", "-1.5", "-1", "-0.5", "-0.25", "0.125"}));
}

TEST(Csv, AReadingSaysWhereAndWhatAbout) {
  const auto records = parsed(reported("csv", sample::listed_report()));
  const auto& first = records.at(3);
  EXPECT_EQ(first.at(node), "nid001");
  EXPECT_EQ(first.at(rank), "0");
  EXPECT_EQ(first.at(peer), "4");
  EXPECT_EQ(first.at(peer_node), "nid002");
  EXPECT_EQ(first.at(device), "GPU 0000:01:00.0");
  EXPECT_EQ(first.at(labels), "size=16MiB type=float");
}

TEST(Csv, TheDeviceOfTheLabelsCountsMore) {
  auto run = sample::listed_report();
  for (auto& row : run.cases[2].metrics) row.where = {{"device", "0000:c1:00.0"}};
  EXPECT_EQ(parsed(reported("csv", run)).at(3).at(device), "0000:c1:00.0");
}

TEST(Csv, ManyReadingsAreRolledUpByNode) {
  RunReport run;
  CaseResult result;
  result.id = "p2p%1";
  result.verdict = Verdict::fail;
  auto row = sample::row("busbw", "GB/s", {{"size", "1MiB"}}, sample::summary(8, 1, 2, 3));
  row.judged = 8;
  for (const auto* name : {"nid001", "nid002", "nid003"}) {
    row.node = name;
    row.passed = row.node == "nid001" ? 8 : 7;
    result.node_rows.push_back({name, 8, Verdict::fail, {row}});
  }
  Item item;
  item.node = "nid002";
  item.metric = "busbw";
  item.where = row.where;
  item.verdict = Verdict::fail;
  result.items = {item};
  run.cases = {result};
  const auto records = parsed(reported("csv", run));
  ASSERT_EQ(records.size(), 4u);
  const std::string verdicts[] = {"pass", "fail", "unmeasured"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(records[i + 1].at(node), fmt::format("nid00{}", i + 1));
    EXPECT_EQ(records[i + 1].at(rank), "");
    EXPECT_EQ(records[i + 1].at(n), "8");
    EXPECT_EQ(records[i + 1].at(verdict), verdicts[i]) << "never a pass that is not known to be one";
  }
}

TEST(Csv, EveryRowNamesTheSimulatedMachineAndTheVariables) {
  auto run = sample::report();
  run.simulated = "lumi-g, with a comma";
  run.variables = {{"MUSTER_CHECKS", "/opt/checks"}, {"MUSTER_MACHINE", "/srv/lumi"}};
  const auto records = parsed(reported("csv", run));
  ASSERT_GT(records.size(), 1u);
  for (std::size_t i = 1; i < records.size(); ++i) {
    EXPECT_EQ(records[i].at(simulated), run.simulated);
    EXPECT_EQ(records[i].at(variables), "MUSTER_CHECKS=/opt/checks MUSTER_MACHINE=/srv/lumi");
  }
}

TEST(Csv, ACaseWithoutReadingsIsSeen) {
  RunReport run;
  CaseResult result;
  result.id = "lost%1";
  result.verdict = Verdict::error;
  run.cases = {result};
  const auto records = parsed(reported("csv", run));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].at(id), "lost%1");
  EXPECT_EQ(records[1].at(metric), "");
  EXPECT_EQ(records[1].at(verdict), "error");
}

}  // namespace
}  // namespace muster
