/// A table for spreadsheets and data frames: RFC 4180, one row per reading. docs/reports.md names the columns.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <unordered_map>

#include "base/text.hpp"
#include "muster/reporter.hpp"
#include "reporters/common/paragraph.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

constexpr std::string_view header =
    "run_id,case,check,system,partition,node,rank,peer,peer_node,device,metric,unit,labels,"
    "n,min,median,p95,max,mad,verdict,simulated,variables\r\n";

/// Spreadsheets take a text that begins so for a formula, also behind spaces, and in the wide forms of East Asia.
bool looks_like_formula(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return false;
  const auto rest = text.substr(first);
  static constexpr std::string_view signs[] = {
      "=", "+", "-", "@", "\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D", "\xEF\xBC\xA0"};
  return std::any_of(std::begin(signs), std::end(signs),
                     [&](std::string_view sign) { return rest.substr(0, sign.size()) == sign; });
}

/// A field of text: nothing in it ends the field, and an apostrophe in front keeps a spreadsheet from computing it.
std::string field(std::string_view given) {
  if (given.empty()) return {};
  auto text = printable_line(given, uncut);
  if (looks_like_formula(text)) text.insert(0, "'");
  if (text.find_first_of(",;\"'") == std::string::npos && text.front() != ' ' && text.back() != ' ') return text;
  std::string quoted = "\"";
  for (const char byte : text) quoted.append(byte == '"' ? 2 : 1, byte);
  return quoted + '"';
}

void append_number(std::string& line, double value) {
  if (std::isfinite(value))
    fmt::format_to(std::back_inserter(line), ",{:.15g}", value);
  else
    line += ',';
}

void append_rank(std::string& line, int rank) {
  if (rank >= 0)
    fmt::format_to(std::back_inserter(line), ",{}", rank);
  else
    line += ',';
}

std::string label_text(const Labels& where) {
  std::string text;
  for (const auto& [key, value] : where) text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  return text;
}

const std::string* value_of(const std::vector<Fact>& facts, std::string_view key) {
  for (const auto& fact : facts)
    if (fact.key == key && !fact.value.empty()) return &fact.value;
  return nullptr;
}

/// The one that the readings of a rank are about: the device that a probe reports as tested, used or assigned.
std::string device_of(const std::vector<Fact>& facts) {
  for (const std::string_view key : {"tested", "data.device", "device.address", "device", "gpu"})
    if (const auto* value = value_of(facts, key)) return *value;
  return {};
}

/// Writes the rows of one case.
class Table {
 public:
  Table(const RunReport& report, const CaseResult& result, std::ostream& out) : result_(result), out_(out) {
    head_ = fmt::format("{},{},{},{},{}", field(report.run_id), field(result.id), field(result.check),
                        field(result.system), field(result.partition));
    tail_ = fmt::format(",{},{}\r\n", field(report.simulated), field(variables_phrase(report)));
    for (const auto& row : result.rank_rows) {
      nodes_.push_back(field(row.node));
      devices_.push_back(field(device_of(row.facts)));
    }
  }

  void write() {
    for (const auto& row : result_.metrics)
      for (const auto& reading : row.readings) write_reading(row, reading);
    const bool are_listed = std::any_of(result_.metrics.begin(), result_.metrics.end(),
                                        [](const MetricRow& row) { return !row.readings.empty(); });
    if (!are_listed) write_nodes();
    if (is_empty_) write_whole();
    if (is_empty_) write_verdict();
  }

 private:
  /// The columns of a metric that are equal for all of its readings.
  struct Words {
    std::string device;  ///< that the labels name
    std::string text;    ///< metric, unit, labels
  };

  [[nodiscard]] static Words words_of(const MetricRow& row) {
    return {field(label_of(row.where, "device")),
            fmt::format("{},{},{}", field(row.metric), field(row.unit), field(label_text(row.where)))};
  }

  [[nodiscard]] const std::string& of_rank(const std::vector<std::string>& all, int rank) const {
    static const std::string nothing;
    return rank >= 0 && static_cast<std::size_t>(rank) < all.size() ? all[static_cast<std::size_t>(rank)] : nothing;
  }

  void write_reading(const MetricRow& row, const RankReading& reading) {
    if (&row != row_) words_ = words_of(row), row_ = &row;
    const auto& device = words_.device.empty() ? of_rank(devices_, reading.rank) : words_.device;
    begin(of_rank(nodes_, reading.rank), reading.rank, reading.peer, device);
    end(reading.summary, reading.verdict);
  }

  void write_nodes() {
    for (const auto& item : result_.items) {
      auto& verdict = bad_.try_emplace(key_of(item.node, item.metric, item.where), Verdict::skip).first->second;
      verdict = combine(verdict, item.verdict);
    }
    for (const auto& node : result_.node_rows) {
      const auto name = field(node.node);
      for (const auto& row : node.metrics) {
        words_ = words_of(row);
        begin(name, -1, -1, words_.device);
        end(row.over, verdict_of(row, node));
      }
    }
  }

  [[nodiscard]] static std::string key_of(const std::string& node, const std::string& metric, const Labels& where) {
    return fmt::format("{}\n{}\n{}", node, metric, label_text(where));
  }

  /// Of one metric on one node: that of its readings, `skip` where they are reported only.
  [[nodiscard]] Verdict verdict_of(const MetricRow& row, const NodeRow& node) const {
    if (row.judged == 0) return Verdict::skip;
    if (row.passed == row.judged) return Verdict::pass;
    const auto bad = bad_.find(key_of(node.node, row.metric, row.where));
    return bad == bad_.end() ? Verdict::unmeasured : bad->second;
  }

  /// Of a report that has no more than what holds for the whole case.
  void write_whole() {
    for (const auto& row : result_.metrics) {
      words_ = words_of(row);
      begin(field(row.node), -1, -1, words_.device);
      end(row.over, row.judged == 0 ? Verdict::skip : row.judged == row.passed ? Verdict::pass : result_.verdict);
    }
  }

  /// A case without any reading: that it has none must be seen.
  void write_verdict() {
    words_ = {"", ",,"};
    begin(field(result_.node), -1, -1, "");
    end({}, result_.verdict);
  }

  void begin(const std::string& node, int rank, int peer, const std::string& device) {
    is_empty_ = false;
    line_.assign(head_).append(",").append(node);
    append_rank(line_, rank);
    append_rank(line_, peer);
    line_.append(",").append(of_rank(nodes_, peer));
    line_.append(",").append(device).append(",").append(words_.text);
  }

  void end(const Summary& summary, Verdict verdict) {
    fmt::format_to(std::back_inserter(line_), ",{}", summary.n);
    if (summary.n > 0)
      for (const double value : {summary.min, summary.median, summary.p95, summary.max, summary.mad})
        append_number(line_, value);
    else
      line_ += ",,,,,";
    line_.append(",").append(to_string(verdict)).append(tail_);
    out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
  }

  const CaseResult& result_;
  std::ostream& out_;
  std::string head_;
  std::string tail_;
  std::vector<std::string> nodes_;    ///< by rank
  std::vector<std::string> devices_;  ///< by rank
  std::unordered_map<std::string, Verdict> bad_;
  const MetricRow* row_ = nullptr;
  Words words_;
  std::string line_;
  bool is_empty_ = true;
};

class Csv : public Reporter {
 public:
  void run_finished(const RunReport& report, std::ostream& out) override {
    out << header;
    for (const auto& result : report.cases) Table(report, result, out).write();
  }
};

std::unique_ptr<Reporter> make_csv(const ReporterOptions&) {
  return std::make_unique<Csv>();
}

}  // namespace

extern const ReporterSpec reporter_csv{
    .name = "csv",
    .summary = "A table with one row per metric, rank and peer (RFC 4180), for spreadsheets and data frames.",
    .file_name = "readings.csv",
    .make = make_csv,
};

}  // namespace muster
