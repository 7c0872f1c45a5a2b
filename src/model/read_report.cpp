#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "model/json.hpp"
#include "model/report_fields.hpp"

namespace muster {

namespace {

using Json = nlohmann::json;

/// Takes the rows of nodes out of a document while it is parsed: nearly all of a large report is in them.
class Rows {
 public:
  /// For the parser: whether `parsed` stays in the document.
  bool keeps(int depth, Json::parse_event_t event, Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::key && level < keys_.size()) keys_[level] = parsed.get_ref<const std::string&>();
    if (event == Json::parse_event_t::array_start && depth == 1) index_ = 0;
    if (event != Json::parse_event_t::object_end || keys_[1] != "cases") return true;
    if (depth == case_depth) ++index_;
    if (depth != row_depth || keys_[3] != "node_rows" || error_) return true;
    auto& rows = rows_[index_];
    const JsonPlace top;
    const JsonPlace cases{&top, "cases"};
    const JsonPlace of_case{&cases, {}, index_};
    const JsonPlace list{&of_case, "node_rows"};
    const JsonPlace place{&list, {}, rows.size()};
    JsonReader reader(parsed, place, error_);
    fields(reader, rows.emplace_back());
    reader.finish();
    return false;
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  void put_into(RunReport& report) {
    for (auto& [index, rows] : rows_)
      if (index < report.cases.size()) report.cases[index].node_rows = std::move(rows);
  }

 private:
  // The document is at depth 0, its members are at 1, items of `cases` at 2, their members at 3, items of those at 4.
  static constexpr int case_depth = 2;
  static constexpr int row_depth = 4;
  std::array<std::string, 5> keys_;  ///< the last one at each depth
  std::size_t index_ = 0;            ///< of the case
  std::map<std::size_t, std::vector<NodeRow>> rows_;
  std::optional<Error> error_;
};

}  // namespace

Result<RunReport> read_run_report(std::string_view text) {
  Rows rows;
  const auto json = Json::parse(
      text, [&](int depth, Json::parse_event_t event, Json& parsed) { return rows.keeps(depth, event, parsed); },
      false);
  if (json.is_discarded()) return fail(ErrorKind::file, "", "is not valid JSON");
  // A newer document is reported as such, independent of its rows.
  auto report = run_report_from_json(json);
  if (!report) return report;
  if (rows.error()) return tl::unexpected(*rows.error());
  rows.put_into(*report);
  return report;
}

}  // namespace muster
