#include "base/text.hpp"
#include "model/json.hpp"
#include "model/json_stream.hpp"
#include "model/report_fields.hpp"

namespace muster {

namespace {

/// Before anything else: of a newer document nothing else can be expected to be right.
Result<void> check_version(const nlohmann::json& json) {
  if (!json.is_object())
    return fail(ErrorKind::file, "", fmt::format("expected an object, found {}", json.type_name()));
  const auto found = json.find("schema_version");
  if (found == json.end()) return fail(ErrorKind::file, "schema_version", "is missing: this is not a muster report");
  if (!found->is_number_integer())
    return fail(ErrorKind::file, "schema_version", fmt::format("expected an integer, found {}", found->type_name()));
  if (*found > RunReport::schema_version)
    return fail(
        ErrorKind::file, "schema_version",
        fmt::format("is {}, this muster reads up to {}; use a newer muster", found->dump(), RunReport::schema_version));
  if (*found < 1) return fail(ErrorKind::file, "schema_version", fmt::format("{} does not exist", found->dump()));
  return {};
}

}  // namespace

nlohmann::json to_json(const RunReport& report) {
  return write_json(report, TextForm::printable);
}

void write_json(const RunReport& report, std::ostream& out) {
  JsonText text(out);
  JsonStream object(text);
  fields(object, report);
}

Result<RunReport> run_report_from_json(const nlohmann::json& json) {
  if (auto version = check_version(json); !version) return tl::unexpected(version.error());
  auto report = read_json<RunReport>(json);
  if (!report) return report;
  if (const auto expected = tally_json(report->cases); json["tally"] != expected)
    return fail(ErrorKind::file, "tally",
                fmt::format("is {}, but the cases give {}; the report was changed",
                            printable_line(dump(json["tally"]), 200), dump(expected)));
  return report;
}

nlohmann::json to_json(const Finding& finding) {
  return write_json(finding, TextForm::printable);
}

Result<Finding> finding_from_json(const nlohmann::json& json) {
  return read_json<Finding>(json);
}

}  // namespace muster
