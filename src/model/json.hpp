/// Reports, plans, cases and worlds as JSON (nlohmann). Texts of reports and findings become printable on the way out;
/// those of plans, parameters and worlds are kept byte for byte, since they are read back and acted upon.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/plan.hpp"
#include "model/record.hpp"
#include "muster/report.hpp"

namespace muster {

/// The published form, reports/schema/report-1.json. Units stand beside numbers; no NaN or infinity is written:
/// such a number becomes null.
[[nodiscard]] nlohmann::json to_json(const RunReport& report);
/// The same document as text, piece by piece, so that a large run takes no memory twice; members in the order of
/// muster/report.hpp, one blank of indentation per level, rows of nodes and ranks on one line; no newline at the end.
void write_json(const RunReport& report, std::ostream& out);
/// Fails with kind `file` naming the JSON path of what is missing or of the wrong type, or a schema version that
/// is newer than ours.
[[nodiscard]] Result<RunReport> run_report_from_json(const nlohmann::json& json);
/// The same from text, which is never a document as a whole: of a large run that would take many times the memory of
/// the report. Text that is not JSON fails with kind `file`, too.
[[nodiscard]] Result<RunReport> read_run_report(std::string_view text);

[[nodiscard]] nlohmann::json to_json(const Plan& plan);
[[nodiscard]] Result<Plan> plan_from_json(const nlohmann::json& json);
[[nodiscard]] nlohmann::json to_json(const ExpectedNode& node);
[[nodiscard]] Result<ExpectedNode> expected_node_from_json(const nlohmann::json& json);
[[nodiscard]] nlohmann::json to_json(const World& world);
[[nodiscard]] Result<World> world_from_json(const nlohmann::json& json);
[[nodiscard]] nlohmann::json to_json(const Finding& finding);
[[nodiscard]] Result<Finding> finding_from_json(const nlohmann::json& json);
/// {"name": "text", ...}: every parameter as parse_param reads it; a list is an array of the texts of its items.
[[nodiscard]] nlohmann::json to_json(const Params& params);
/// The parameters of a case for `probe`; unknown or missing names are errors.
[[nodiscard]] Result<Params> params_from_json(const nlohmann::json& json, const ProbeSpec& probe);

/// Binary form, for the wire and the spool.
[[nodiscard]] std::vector<std::byte> to_cbor(const nlohmann::json& json);
/// Fails with kind `protocol` on anything but exactly one document, nested at most 64 deep (the library's own reader
/// recurses as deep as the bytes require).
[[nodiscard]] Result<nlohmann::json> from_cbor(std::span<const std::byte> bytes);

/// Serialises without ever throwing on bad UTF-8; `indent` < 0: one line.
[[nodiscard]] std::string dump(const nlohmann::json& json, int indent = -1);

}  // namespace muster
