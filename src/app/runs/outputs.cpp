#include "app/runs/outputs.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <optional>
#include <sys/ioctl.h>
#include <unistd.h>

#include "app/inputs/simulation.hpp"
#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// Of the terminal; without one from COLUMNS, for logs.
std::optional<int> screen_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  const char* text = std::getenv("COLUMNS");
  const auto columns = leading_number<int>(text == nullptr ? "" : text);
  return columns && *columns >= 20 && *columns <= 1000 ? columns : std::nullopt;
}

/// Without copying the results of a large run.
RunReport header_of(const RunReport& report) {
  RunReport header;
  header.run_id = report.run_id;
  header.muster_version = report.muster_version;
  header.started = report.started;
  header.seconds = report.seconds;
  header.command_line = report.command_line;
  header.host = report.host;
  header.user = report.user;
  header.system = report.system;
  header.system_place = report.system_place;
  header.folder = report.folder;
  header.verdict = report.verdict;
  header.exit_status = report.exit_status;
  header.interrupted = report.interrupted;
  header.simulated = report.simulated;
  header.variables = report.variables;
  header.notes = report.notes;
  header.nodes = report.nodes;
  header.launches = report.launches;
  return header;
}

}  // namespace

Result<ReporterOptions> terminal_options(const std::string& color, bool quiet) {
  ReporterOptions options;
  options.terminal = isatty(STDOUT_FILENO) != 0;
  options.quiet = quiet;
  if (const auto width = screen_width()) options.width = *width;
  const char* term = std::getenv("TERM");
  const bool is_dumb = term != nullptr && std::string_view(term) == "dumb";
  if (is_dumb) options.terminal = false;
  if (color == "always")
    options.color = true;
  else if (color == "auto")
    options.color = options.terminal && !is_set("NO_COLOR");
  else if (color != "never")
    return fail(ErrorKind::usage, "--color", fmt::format("\"{}\" is not one of auto, always, never", color));
  return options;
}

Result<void> Outputs::add(const std::string& wanted, const ReporterOptions& terminal, const fs::path& folder) {
  const auto equals = wanted.find('=');
  const auto format = wanted.substr(0, equals);
  const auto* spec = find_reporter(format);
  if (spec == nullptr) {
    std::vector<std::string> known;
    for (const auto* one : all_reporters()) known.emplace_back(one->name);
    return fail(ErrorKind::usage, "--report",
                fmt::format("unknown format \"{}\"{}", format, suggestion(format, known)));
  }
  auto name = equals == std::string::npos ? std::string(spec->file_name) : wanted.substr(equals + 1);
  if (equals == std::string::npos && !name.empty()) name = folder.empty() ? "-" : (folder / name).string();
  if (equals != std::string::npos && name.empty())
    return fail(ErrorKind::usage, "--report", fmt::format("\"{}\" names no file; write {}=FILE", wanted, format));
  One one;
  one.format = format;
  if (name.empty() || name == "-") {
    one.reporter = spec->make(terminal);
  } else {
    const auto path = fs::absolute(name).lexically_normal();
    for (const auto& other : all_)
      if (other.file && fs::absolute(other.file->path()).lexically_normal() == path && path != "/dev/null")
        return fail(ErrorKind::usage, "--report",
                    fmt::format("{} and {} go to the same file {}; give each its own", other.format, format, name));
    auto file = AtomicFile::open(name);
    if (!file) return fail(ErrorKind::usage, "--report", to_string(file.error()));
    one.file = std::make_unique<AtomicFile>(std::move(*file));
    one.stream = std::make_unique<FileStream>(*one.file);
    one.reporter = spec->make({});
  }
  all_.push_back(std::move(one));
  return {};
}

Result<Outputs> Outputs::open(const std::vector<std::string>& wanted, const OutputRequest& screen,
                              const fs::path& folder) {
  Outputs outputs;
  auto terminal = terminal_options(screen.color, screen.quiet);
  if (!terminal) return tl::unexpected(terminal.error());
  terminal->lines_beside = screen.lines_beside;
  // The console has standard output, unless its text goes to a file or another report is sent there.
  const auto is_console = [](const std::string& one) { return one.substr(0, one.find('=')) == "console"; };
  const auto is_on_stdout = [&](const std::string& one) {
    return (folder.empty() && one.find('=') == std::string::npos) || one == "console" ||
           (one.size() > 2 && one.compare(one.size() - 2, 2, "=-") == 0);
  };
  if (std::count_if(wanted.begin(), wanted.end(), is_on_stdout) > 1)
    return fail(ErrorKind::usage, "--report", "only one report can go to standard output; give the others files");
  const bool takes_over = std::any_of(wanted.begin(), wanted.end(),
                                      [&](const std::string& one) { return is_console(one) || is_on_stdout(one); });
  std::vector<std::string> all;
  if (!takes_over) all.emplace_back("console");
  all.insert(all.end(), wanted.begin(), wanted.end());
  if (!folder.empty()) all.push_back("json=" + (folder / "report.json").string());
  std::vector<std::string> seen;
  for (const auto& one : all) {
    if (is_in(one, seen)) continue;
    seen.push_back(one);
    if (auto added = outputs.add(one, *terminal, folder); !added) return tl::unexpected(added.error());
  }
  return outputs;
}

bool Outputs::are_all_files() const {
  return std::none_of(all_.begin(), all_.end(), [](const One& one) { return one.file == nullptr; });
}

std::vector<ReporterSink> Outputs::sinks() {
  std::vector<ReporterSink> sinks;
  for (auto& one : all_) {
    ReporterSink sink{one.reporter.get(), &std::cout};
    if (one.file) {
      sink.out = one.stream.get();
      sink.keep = [&one]() -> Result<void> {
        one.stream->flush();
        return one.file->commit();
      };
    }
    sinks.push_back(std::move(sink));
  }
  return sinks;
}

Result<void> flush_standard_output() {
  std::cout.flush();
  if (!std::cout) return fail(ErrorKind::system, "standard output", "could not be written");
  return {};
}

std::vector<std::string> Outputs::files() const {
  std::vector<std::string> names;
  for (const auto& one : all_)
    if (one.file) names.push_back(fmt::format("{}: {}", one.format, one.file->path().string()));
  return names;
}

std::vector<Error> replay(const RunReport& report, const std::vector<ReporterSink>& sinks) {
  std::vector<Error> errors;
  auto header = header_of(report);
  for (const auto& sink : sinks) {
    sink.reporter->run_started(header, *sink.out);
    for (const auto& result : report.cases) {
      sink.reporter->case_started(result, *sink.out);
      sink.reporter->case_finished(result, *sink.out);
    }
    sink.reporter->run_finished(report, *sink.out);
    if (!sink.keep) continue;
    if (auto kept = sink.keep(); !kept) errors.push_back(kept.error());
  }
  return errors;
}

}  // namespace muster
