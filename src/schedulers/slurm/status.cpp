// `scontrol --oneliner show job`, and sacct's record of a job that scontrol no longer knows.
#include <algorithm>
#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "schedulers/slurm/parts.hpp"

namespace muster::slurm {

namespace {

/// The value behind ` name=`, up to the next blank. What people choose freely (Command=, WorkDir=) stands behind all
/// that is asked for here, and the first match counts.
std::string_view value(std::string_view line, std::string_view name) {
  const auto mark = fmt::format(" {}=", name);
  const auto at = line.find(mark);
  if (at == line.npos) return {};
  line.remove_prefix(at + mark.size());
  line = line.substr(0, line.find_first_of(" \n"));
  return line == "(null)" || line == "Unknown" || line == "None" || line == "N/A" ? std::string_view() : line;
}

int number(std::string_view text) {
  return std::max(0, leading_number<int>(text).value_or(0));
}

/// `1-02:03:04`, `02:03:04`, `03:04`
double seconds(std::string_view text) {
  const auto dash = text.find('-');
  double sum = dash == text.npos ? 0 : number(text.substr(0, dash));
  int parts = 0;
  for (const auto& part : split(dash == text.npos ? text : text.substr(dash + 1), ':')) {
    sum = sum * (parts == 0 ? 24 : 60) + number(part);
    ++parts;
  }
  return sum;
}

void take_exit(std::string_view text, JobStatus& status) {
  status.exit_status = number(text);
  if (const auto colon = text.find(':'); colon != text.npos) status.signal = number(text.substr(colon + 1));
}

std::vector<std::string> hosts(std::string_view list) {
  auto found = expand_hostlist(list);
  if (!found) return {};
  for (auto& host : *found) host = printable_line(host, 255);
  return std::move(*found);
}

}  // namespace

Result<JobStatus> read_status(std::string_view out, std::string_view err, int status) {
  JobStatus job;
  if (err.find("Invalid job id") != err.npos) return job;
  std::string_view line;
  for (const std::string_view one : lines(out))
    if (line.empty() && one.substr(0, 6) == "JobId=") line = one;
  const auto state = value(line, "JobState");
  if (state.empty())
    return fail(ErrorKind::launch, "scontrol",
                status == 0 ? "gave no answer that can be read" : printable_line(trim(err), 200));
  job.state = printable_line(state, 60);
  job.reason = printable_line(value(line, "Reason"), 400);
  job.restarts = number(value(line, "Restarts"));
  job.nodes = hosts(value(line, "NodeList"));
  job.run_s = seconds(value(line, "RunTime"));
  job.partition = printable_line(value(line, "Partition"), 100);
  take_exit(value(line, "ExitCode"), job);
  explain(job);
  if (job.phase == JobPhase::waiting) job.expected_start = printable_line(value(line, "StartTime"), 40);
  return job;
}

std::optional<JobStatus> read_past(std::string_view out, std::string_view job) {
  for (const std::string_view line : lines(out)) {
    const auto fields = split(line, '|');
    if (fields.size() < 4 || fields[0] != job) continue;
    JobStatus status;
    // `CANCELLED by 1000`: a user's number.
    const auto by = fields[1].find(" by ");
    status.state = printable_line(fields[1].substr(0, by), 60);
    if (by != std::string::npos) status.ended_by = printable_line(trim(fields[1].substr(by + 4)), 60);
    take_exit(fields[2], status);
    status.nodes = hosts(fields[3]);
    explain(status);
    return status;
  }
  return std::nullopt;
}

}  // namespace muster::slurm
