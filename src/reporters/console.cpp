/// What people look at while a run goes on, and what they read when it is over.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <ostream>
#include <vector>

#include "base/text.hpp"
#include "muster/reporter.hpp"
#include "reporters/common/blocks.hpp"
#include "reporters/common/console_text.hpp"
#include "reporters/common/mail.hpp"
#include "reporters/common/paragraph.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

constexpr std::size_t least_title = 20;
constexpr std::size_t most_title = 40;

/// Until then a guess would jump about.
bool can_estimate(const RunProgress& progress) {
  return progress.done >= 2 && progress.done < progress.total && progress.elapsed_s >= 1;
}

/// In steps of 5 or 10 s, so that it stays readable; an estimate is not more precise than that.
std::string remaining_phrase(const RunProgress& progress) {
  const double left = progress.elapsed_s / progress.done * (progress.total - progress.done);
  const double step = left > 60 ? 10 : left > 10 ? 5 : 1;
  return fmt::format(", about {} remaining", clock_phrase(std::ceil(left / step) * step));
}

std::string running_phrase(const RunProgress& progress) {
  if (progress.running.empty()) return "between cases";
  auto text =
      fmt::format("running {} {}", printable_line(progress.running, uncut), time_phrase(progress.case_elapsed_s));
  if (progress.case_deadline_s > 0) text += fmt::format(" of {:.0f} s", progress.case_deadline_s);
  return text;
}

/// Cut to the width by leaving out what matters least.
std::string status_text(const RunProgress& progress, std::size_t width) {
  auto text = fmt::format("{} | {}/{} done", running_phrase(progress), progress.done, progress.total);
  if (progress.failed > 0) text += fmt::format(" | {} failed", progress.failed);
  const std::string parts[] = {fmt::format(" | {} elapsed", clock_phrase(progress.elapsed_s)),
                               can_estimate(progress) ? remaining_phrase(progress) : std::string()};
  for (const auto& part : parts) {
    if (columns(text) + columns(part) > width) break;
    text += part;
  }
  return cut(text, width);
}

class Console : public Reporter {
 public:
  explicit Console(const ReporterOptions& options)
      : options_(options), page_{Ink(options.color), static_cast<std::size_t>(std::clamp(options.width, 20, 1000))} {}

  void run_started(const RunReport& header, std::ostream& out) override {
    for (const auto& launch : header.launches)
      for (const auto& id : launch.cases) fit_title(columns(printable_line(id, uncut)));
    if (!options_.quiet) say(head_text(header, page_) + "\n", out);
  }

  void case_finished(const CaseResult& result, std::ostream& out) override {
    if (options_.quiet) return;
    if (held_.empty() || result.node.empty() || common_title(held_.front()) != common_title(result)) report_held(out);
    if (!result.node.empty()) return held_.push_back(result);
    fit_title(columns(title(result)) + (result.repetitions.size() > 1 ? repetitions_passed(result).size() + 2 : 0));
    say(case_line(result, title_columns_, page_), out);
  }

  void notice(std::string_view line, std::ostream& out) override {
    report_held(out);
    if (!options_.quiet)
      say(fmt::format("{}{}\n", pad("note", 11), wrap(printable_line(line, uncut), page_.width, 11)), out);
  }

  /// Redraws with spaces and a carriage return: no escapes, so that it works without colours too.
  void tick(const RunProgress& progress, std::ostream& out) override {
    report_held(out);
    if (options_.quiet || !options_.terminal) return;
    const auto text = status_text(progress, page_.width - 1);
    if (text == status_) return;
    out << '\r' << page_.ink.faint(pad(text, columns(status_))) << '\r' << std::flush;
    status_ = text;
  }

  void run_finished(const RunReport& report, std::ostream& out) override {
    report_held(out);
    if (options_.quiet) {
      out << mail_text(report, page_.width, static_cast<std::size_t>(std::max(options_.lines_beside, 0)));
      return;
    }
    std::string text;
    for (const auto& group : blocks_of(report)) text += "\n" + case_block(group, page_);
    say(text + summary_text(report, page_), out);
  }

 private:
  /// The nodes of one case come one right after the other; together they take few lines.
  void report_held(std::ostream& out) {
    if (held_.empty()) return;
    for (const auto& result : held_)
      fit_title(columns(needs_attention(result.verdict) ? title(result) : common_title(result)));
    say(node_lines(held_, title_columns_, page_), out);
    held_.clear();
  }

  /// Everything else that is written goes through here, in place of the status line.
  void say(const std::string& text, std::ostream& out) {
    if (!status_.empty()) out << '\r' << std::string(columns(status_), ' ') << '\r';
    status_.clear();
    out << text;
  }

  void fit_title(std::size_t wanted) { title_columns_ = std::max(title_columns_, std::min(wanted, most_title)); }

  ReporterOptions options_;
  Page page_;
  std::size_t title_columns_ = least_title;
  std::vector<CaseResult> held_;  ///< of one case on some nodes, not printed yet
  std::string status_;            ///< what stands on the last line now
};

std::unique_ptr<Reporter> make_console(const ReporterOptions& options) {
  return std::make_unique<Console>(options);
}

}  // namespace

extern const ReporterSpec reporter_console{
    .name = "console",
    .summary = "For people: progress, one line per case, what failed and why, a summary.",
    .file_name = "",
    .make = make_console,
};

}  // namespace muster
