// Messages of sbatch when it refuses a job, and remedies.
#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/slurm/parts.hpp"

namespace muster::slurm {

namespace {

struct Refusal {
  std::string_view text;
  std::string_view remedy;
};

constexpr Refusal refusals[] = {
    {"Invalid account or account/partition", "name an account that may use the partition: -J account=..."},
    {"Invalid qos", "choose a QOS of your account: -J qos=..."},
    {"nvalid partition", "choose a partition of sinfo: -J partition=..."},
    {"default partition", "choose a partition of sinfo: -J partition=..."},
    {"Invalid feature specification", "choose a feature of the nodes (sinfo --format=%f): -J constraint=..."},
    {"reservation", "see scontrol show reservation for its name, its users and when it begins: -J reservation=..."},
    {"Invalid node name", "correct --nodes; sinfo lists the nodes"},
    {"Node count specification invalid", "request fewer nodes with --nodes"},
    {"More processors requested", "request fewer --ranks-per-node"},
    {"Requested node configuration is not available",
     "request less: fewer --nodes, --ranks-per-node or GPUs (scheduler_options of the profile, -J)"},
    {"Requested time limit is invalid", "request less time: -J time=0:30:00"},
    {"violates accounting/QOS policy",
     "request fewer nodes or less time (-J time=...), or choose another QOS (-J qos=...)"},
    {"generic resource",
     "correct the GPUs of scheduler_options or -J; scontrol show node lists the GPUs of a node (Gres)"},
    {"Invalid license", "correct -J licenses=...; see scontrol show licenses"},
    {"Access/permission denied", "see that your account may submit here"},
    {"unrecognized option",
     "correct it, or leave it out; options for the launcher inside the job are given with --launcher-option"},
    {"option requires an argument", "give it its value: -J name=value"},
    {"Unable to contact slurm controller", "try again when squeue works"},
    {"Socket timed out", "check with squeue whether the job was accepted nevertheless; try again when squeue works"},
    {"Zero Bytes were transmitted", "try again when squeue works"},
};

/// The message without the program's name and `Try "sbatch --help"`; several lines become one sentence.
std::string complaint(std::string_view err) {
  std::vector<std::string> message;
  for (std::string_view line : lines(err)) {
    line = trim(line);
    for (const std::string_view mark : {"sbatch: ", "error: ", "Batch job submission failed: "})
      if (line.substr(0, mark.size()) == mark) line.remove_prefix(mark.size());
    if (!line.empty() && line.substr(0, 5) != "Try \"") message.push_back(printable_line(line, 300));
  }
  return printable_line(join(message, "; "), 600);
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

Result<std::string> read_submit(std::string_view out, std::string_view err, int status) {
  // A greeting or a warning of the site may stand before it; with several clusters `;name` behind it.
  std::string_view job;
  for (const std::string_view line : lines(out))
    if (const auto word = trim(line.substr(0, line.find(';'))); is_number(word)) job = word;
  if (status == 0 && !job.empty()) return std::string(job);
  const auto message = complaint(err);
  if (status == 0)
    return fail(
        ErrorKind::launch, "sbatch",
        fmt::format("did not print the job's number, but \"{}\"; see squeue for the job, and end it with scancel",
                    printable_line(trim(out), 200)));
  std::string_view remedy = "see its message, and sbatch --help; muster run --submit --dry-run shows the script";
  for (const auto& refusal : refusals)
    if (err.find(refusal.text) != err.npos) {
      remedy = refusal.remedy;
      break;
    }
  return fail(ErrorKind::launch, "sbatch",
              fmt::format("{}; {}", message.empty() ? fmt::format("ended with status {}", status) : message, remedy));
}

}  // namespace muster::slurm
