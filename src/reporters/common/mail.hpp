/// What cron mails: a run that was not well, on one page whatever happened.
#pragma once

#include <cstddef>
#include <string>

#include "muster/report.hpp"

namespace muster {

inline constexpr std::size_t most_mail_lines = 40;
inline constexpr std::size_t most_mail_columns = 100;

/// Nothing when the exit status is 0 and every report was written. Otherwise plain text of at most most_mail_lines,
/// none wider than `width` (taken between 60 and most_mail_columns): verdict, tally and exit status; what is wrong,
/// failures first, the same cause once, each with culprit, remedy and the command to repeat it; how much had to be
/// left out; where the report is. No colours, no escapes. So many lines of `beside` are left for others, and one for
/// each report that was lost, which the driver reports, too.
[[nodiscard]] std::string mail_text(const RunReport& report, std::size_t width, std::size_t beside = 0);

/// Lines on what is reported even where all is well: that nothing real was tested, or by other checks than muster's
/// own, or with places of other users. Empty: nothing is.
[[nodiscard]] std::string remarks_of(const RunReport& report);

}  // namespace muster
