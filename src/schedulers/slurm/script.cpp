#include <cmath>
#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "schedulers/slurm/parts.hpp"

namespace muster::slurm {

namespace {

/// In whole minutes, as Slurm counts: `0:17:00`, `1-02:30:00`.
std::string time_text(Seconds limit) {
  const auto minutes = static_cast<long>(std::ceil(limit.value / 60.0 - 1e-9));
  const long days = minutes / 1440;
  const std::string clock = fmt::format("{}:{:02}:00", minutes % 1440 / 60, minutes % 60);
  return days > 0 ? fmt::format("{}-{}", days, clock) : clock;
}

/// In names of files for output, %j and the like are filled.
std::string literal(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

/// sbatch takes a line apart at blanks, and interprets quotes, backslashes and `#`, but not patterns and brackets.
std::string in_quotes(const std::string& option) {
  const bool is_plain = option.find_first_of(" \t'\"\\#") == std::string::npos;
  return is_plain ? option : shell_quote(option);
}

/// Options of ours give way to those that were chosen.
class Header {
 public:
  explicit Header(std::span<const JobOption> chosen) : chosen_(chosen) {}

  void add(std::string_view name, const std::string& value) {
    if (!chooses(chosen_, name)) line(value.empty() ? std::string(name) : fmt::format("{}={}", name, value));
  }
  void line(const std::string& option) { text_ += fmt::format("#SBATCH {}\n", in_quotes(option)); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::span<const JobOption> chosen_;
  std::string text_;
};

}  // namespace

std::string script(const JobRequest& request) {
  Header header(request.options);
  header.add("--job-name", request.name);
  header.add("--nodes", std::to_string(request.nodes));
  if (!request.node_names.empty()) header.add("--nodelist", compress_hostlist(request.node_names));
  if (request.tasks_per_node > 0) header.add("--ntasks-per-node", std::to_string(request.tasks_per_node));
  if (request.cpus_per_task > 0 && !chooses(request.options, "--cpus-per-gpu"))
    header.add("--cpus-per-task", std::to_string(request.cpus_per_task));
  if (request.gpus_per_node > 0 && gpu_option(request.options).empty())
    header.add("--gpus-per-node", std::to_string(request.gpus_per_node));
  header.add("--time", time_text(request.time_limit));
  // Others on the nodes would be measured along.
  if (!chooses(request.options, "--oversubscribe")) header.add("--exclusive", "");
  header.add("--export", "ALL");
  header.add("--chdir", request.folder);
  header.add("--output", literal(request.output));
  header.add("--open-mode", "append");
  for (const auto& option : request.options) header.line(option.text);

  std::string text = request.modules.empty() ? "#!/bin/bash\n" : "#!/bin/bash -l\n";
  text += header.text();
  text += "# Written by muster run --submit.\n\n";
  text += "# A job that is cancelled: muster ends its launch and writes its report, then this goes on.\n";
  text += "trap : TERM INT\n";
  // A job that was requeued starts again, and leaves alone what its first start has written.
  text += fmt::format("start={}/\"${{SLURM_RESTART_COUNT:-0}}\"\n", shell_quote(request.starts));
  for (const auto& module : request.modules)
    text += fmt::format("module load {} || {{ echo {} >&2; echo 3 > \"$start.status\"; exit 3; }}\n",
                        shell_quote(module), shell_quote("muster: module load " + module + " failed"));
  text += shell_line(request.command) + " --run-folder \"$start\"\n";
  text += "status=$?\n";
  text += "echo \"$status\" > \"$start.status\"\n";
  text += "exit \"$status\"\n";
  return text;
}

}  // namespace muster::slurm
