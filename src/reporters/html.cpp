/// One page that needs nothing else: what is wrong first, then everything, drawn by a script from data in the page.
#include <array>
#include <fmt/format.h>
#include <ostream>

#include "base/text.hpp"
#include "muster/reporter.hpp"
#include "reporters/common/paragraph.hpp"
#include "reporters/common/phrases.hpp"
#include "reporters/html/parts.hpp"
#include "reporters/html/template.hpp"

namespace muster {

namespace {

/// The script's hash, as a Content Security Policy wants it.
std::string script_source() {
  const std::string_view hex = html::page_script_sha256();
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
  return "'sha256-" + html::base64(bytes) + "'";
}

/// Nothing from outside, and no script but ours: should text of a node ever get where it does not belong, it stays
/// text.
std::string policy() {
  return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
         "script-src " +
         script_source();
}

std::string title_text(const RunReport& report) {
  return fmt::format("{}{} {} {}", report.simulated.empty() ? "" : "SIMULATED ", verdict_word(report.verdict),
                     report.system.empty() ? "muster" : report.system, report.started.substr(0, 16));
}

/// For readers without scripts, and for searching files: verdict, and every case that needs a look.
std::string summary(const RunReport& report) {
  constexpr std::size_t most_cases = 100;
  std::string text = fmt::format("<p><b>{}</b>: {}</p>\n<ul>\n", verdict_word(report.verdict),
                                 html::escaped(tally_phrase(tally(report.cases))));
  std::size_t shown = 0;
  for (const auto& result : report.cases) {
    if (!needs_attention(result.verdict) || ++shown > most_cases) continue;
    text += fmt::format("<li><b>{} {}</b>: {}</li>\n", verdict_word(result.verdict), html::escaped(title(result)),
                        html::escaped(cut(brief(result), 2000)));
  }
  if (shown > most_cases) text += fmt::format("<li>and {} more</li>\n", shown - most_cases);
  return text + "</ul>\n";
}

class Html : public Reporter {
 public:
  void run_finished(const RunReport& report, std::ostream& out) override {
    std::string_view rest = html::page_frame();
    for (auto at = rest.find('@'); at != std::string_view::npos; at = rest.find('@')) {
      const auto end = rest.find('@', at + 1);
      out << rest.substr(0, at);
      write_part(rest.substr(at + 1, end - at - 1), report, out);
      rest.remove_prefix(end + 1);
    }
    out << rest;
  }

 private:
  static void write_part(std::string_view name, const RunReport& report, std::ostream& out) {
    if (name == "TITLE") out << html::escaped(title_text(report));
    if (name == "POLICY") out << policy();
    if (name == "STYLE") out << html::page_style();
    if (name == "SUMMARY") out << summary(report);
    if (name == "DATA") out << html::data_of(report);
    if (name == "SCRIPT") out << html::page_script();
  }
};

std::unique_ptr<Reporter> make_html(const ReporterOptions&) {
  return std::make_unique<Html>();
}

}  // namespace

extern const ReporterSpec reporter_html{
    .name = "html",
    .summary = "One page for a browser, self-contained: what is wrong first, every node, measurements as pictures.",
    .file_name = "report.html",
    .make = make_html,
};

}  // namespace muster
