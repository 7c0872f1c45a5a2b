/// How long it takes, and how much memory, to write every report format of a large recorded run:
///   report_bench [--ranks N] [--cases N] [--folder FOLDER] [FORMAT...]
/// 8 ranks per node, 3 metrics per rank, one rank in a thousand too slow; all formats of the build when none is named.
/// Every format is written by a process of its own, a copy of the one that holds the judged run, so that its memory is
/// its own. Files go to FOLDER and are removed, without it they are only counted. Exit status 1 when a budget is
/// exceeded.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/file_stream.hpp"
#include "large_run.hpp"
#include "model/json.hpp"
#include "muster/reporter.hpp"

namespace {

using namespace muster;
using Clock = std::chrono::steady_clock;

constexpr double most_seconds = 10;
constexpr double most_mebibytes = 2048;

struct Options {
  bench::Sizes sizes{100'000, 20};
  std::string folder;
  std::vector<std::string> formats;
};

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double peak_mebibytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Cost {
  double seconds = 0;
  double cpu = 0;
  double mebibytes = 0;
  double megabytes = 0;  ///< of the file
};

class Watch {
 public:
  [[nodiscard]] Cost stop() const {
    return {std::chrono::duration<double>(Clock::now() - began_).count(), cpu_seconds() - cpu_, peak_mebibytes(), 0};
  }

 private:
  Clock::time_point began_ = Clock::now();
  double cpu_ = cpu_seconds();
};

/// As the driver passes it at the end of a run.
void announce(Reporter& reporter, const RunReport& report, std::ostream& out) {
  reporter.run_started(RunReport{}, out);
  for (const auto& result : report.cases) {
    reporter.case_started(result, out);
    reporter.case_finished(result, out);
  }
  reporter.run_finished(report, out);
}

Cost write(const ReporterSpec& spec, const RunReport& report, const std::string& folder) {
  const Watch watch;
  const fs::path path = folder.empty() ? fs::path("/dev/null") : fs::path(folder) / fmt::format("bench-{}", spec.name);
  auto file = AtomicFile::open(path);
  if (!file) {
    fmt::print(stderr, "report_bench: {}\n", to_string(file.error()));
    std::exit(1);
  }
  double megabytes = 0;
  {
    FileStream out(*file);
    announce(*spec.make({}), report, out);
    out.flush();
  }
  if (!file->commit()) std::exit(1);
  auto cost = watch.stop();
  if (!folder.empty()) {
    megabytes = static_cast<double>(fs::file_size(path)) / 1e6;
    fs::remove(path);
  }
  cost.megabytes = megabytes;
  return cost;
}

/// The peak of a copy begins at what the original holds, as it does for the driver.
Cost write_apart(const ReporterSpec& spec, const RunReport& report, const std::string& folder) {
  int ends[2];
  Cost cost;
  if (::pipe(ends) != 0) std::exit(1);
  std::fflush(nullptr);
  const auto child = ::fork();
  if (child == 0) {
    cost = write(spec, report, folder);
    std::_Exit(::write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  ::close(ends[1]);
  const bool is_reported = ::read(ends[0], &cost, sizeof cost) == sizeof cost;
  ::close(ends[0]);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0 || !is_reported) {
    fmt::print(stderr, "report_bench: {} was not written\n", spec.name);
    std::exit(1);
  }
  return cost;
}

bool report_cost(std::string_view name, const Cost& cost) {
  const bool fits = cost.cpu <= most_seconds && cost.mebibytes <= most_mebibytes;
  fmt::print("{:<22}{:>9.2f}{:>9.2f}{:>10.0f}{:>11.1f}{}\n", name, cost.seconds, cost.cpu, cost.mebibytes,
             cost.megabytes, fits ? "" : "  too much");
  std::fflush(stdout);
  return fits;
}

int read_back(const std::string& path) {
  const Watch watch;
  const auto text = read_file(path, std::size_t{2} << 30);
  const auto report = text ? read_run_report(*text) : tl::unexpected(text.error());
  if (!report) {
    fmt::print(stderr, "report_bench: {}\n", to_string(report.error()));
    return 1;
  }
  auto cost = watch.stop();
  cost.megabytes = static_cast<double>(text->size()) / 1e6;
  return report_cost("read report.json", cost) ? 0 : 1;
}

/// By a new program, which holds nothing yet.
bool read_apart(const RunReport& report, const std::string& folder) {
  const auto path = (fs::path(folder) / "bench-read").string();
  {
    auto file = AtomicFile::open(path);
    if (!file) return false;
    FileStream out(*file);
    find_reporter("json")->make({})->run_finished(report, out);
    out.flush();
    if (!file->commit()) return false;
  }
  const auto child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", "report_bench", "--read", path.c_str(), nullptr);
    std::_Exit(127);
  }
  int status = 0;
  const bool is_done = child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  fs::remove(path);
  return is_done;
}

int run(const Options& options) {
  bench::Stages stages;
  const Watch watch;
  const auto report = bench::judged_run(options.sizes, stages);
  auto judging = watch.stop();
  judging.seconds = stages.decode + stages.evaluate;
  judging.cpu = stages.cpu;
  fmt::print("{} ranks on {} nodes x {} cases; each format at most {:g} s of CPU time and {:g} MiB\n",
             options.sizes.ranks, report.nodes.size(), options.sizes.cases, most_seconds, most_mebibytes);
  fmt::print("{:<22}{:>9}{:>9}{:>10}{:>11}\n", "", "s", "CPU s", "peak MiB", "file MB");
  bool fits = report_cost("decode and evaluate", judging);
  for (const auto* spec : all_reporters()) {
    const auto& wanted = options.formats;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), spec->name) == wanted.end()) continue;
    fits = report_cost(spec->name, write_apart(*spec, report, options.folder)) && fits;
  }
  if (!options.folder.empty()) fits = read_apart(report, options.folder) && fits;
  return fits ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc == 3 && std::string_view(argv[1]) == "--read") return read_back(argv[2]);
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--ranks" || option == "--cases")
      (option == "--ranks" ? options.sizes.ranks : options.sizes.cases) = std::max(1, std::atoi(value.c_str())), ++i;
    else if (option == "--folder")
      options.folder = value, ++i;
    else
      options.formats.push_back(option);
  }
  return run(options);
}
