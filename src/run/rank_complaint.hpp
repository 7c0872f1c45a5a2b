/// What a rank or the launcher wrote to standard error about its own end.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// The last line of `standard_error` about an error that is not the launcher's, at most 200 characters; empty:
/// there is none.
[[nodiscard]] std::string rank_complaint(std::string_view standard_error);

/// Of a launcher that ended before any rank was there: the first line that is neither a rule nor a warning, or else the
/// first warning, at most 160 characters; empty: there is none. Pure.
[[nodiscard]] std::string launcher_complaint(std::string_view standard_error);

/// Whether a line is one of those between which Open MPI puts its notices.
[[nodiscard]] bool is_rule(std::string_view line);

/// What stands behind `name` in the first line of `text` that has it: `hsn9` of `  Value:      hsn9`; empty: none has.
[[nodiscard]] std::string_view entry(std::string_view text, std::string_view name);

}  // namespace muster
