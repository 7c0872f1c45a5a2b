/// Reports that a command writes: which formats, and where to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file_stream.hpp"
#include "muster/reporter.hpp"
#include "run/session.hpp"

namespace muster {

/// Of standard output.
struct OutputRequest {
  std::string color = "auto";
  bool quiet = false;
  int lines_beside = 0;  ///< as ReporterOptions has it
};

class Outputs {
 public:
  /// `wanted`: FORMAT or FORMAT=FILE (`-`: standard output) as given with --report. The console is always there
  /// unless its format is sent to a file; `folder` (may be empty) gets report.json and files without a name.
  /// Every file is opened here: one that can't be written fails now, kind `usage`.
  [[nodiscard]] static Result<Outputs> open(const std::vector<std::string>& wanted, const OutputRequest& screen,
                                            const fs::path& folder);

  /// They refer to this object, which must stay where it is.
  [[nodiscard]] std::vector<ReporterSink> sinks();
  /// No report goes to standard output.
  [[nodiscard]] bool are_all_files() const;
  /// `json: results.json` for every file, for people.
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  struct One {
    std::unique_ptr<Reporter> reporter;
    std::string format;
    std::unique_ptr<AtomicFile> file;    ///< nullptr: standard output
    std::unique_ptr<FileStream> stream;  ///< into the file
  };
  [[nodiscard]] Result<void> add(const std::string& wanted, const ReporterOptions& terminal, const fs::path& folder);
  std::vector<One> all_;
};

/// Colour and width for standard output: `auto` looks at the terminal, NO_COLOR and TERM=dumb.
[[nodiscard]] Result<ReporterOptions> terminal_options(const std::string& color, bool quiet);

/// Fails when standard output (a full disk, a closed pipe) did not take all that was printed.
[[nodiscard]] Result<void> flush_standard_output();

/// Passes a finished report to reporters from beginning to end. All are tried; the errors of files that could not be
/// written.
[[nodiscard]] std::vector<Error> replay(const RunReport& report, const std::vector<ReporterSink>& sinks);

}  // namespace muster
