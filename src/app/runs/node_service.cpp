#include "app/runs/node_service.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// A run does not wait longer. Slurm's own limits are 9 s without a listener, 10 s for a daemon that hangs.
constexpr double patience_s = 1;

std::string_view last_line(std::string_view text) {
  const auto trimmed = trim(text);
  return trim(trimmed.substr(trimmed.rfind('\n') + 1));
}

std::string_view first_line(std::string_view text) {
  const auto trimmed = trim(text);
  return trimmed.substr(0, trimmed.find('\n'));
}

}  // namespace

bool wants_actions(const ScheduledRunOptions& options) {
  return !options.on_fail.empty() || !options.on_pass.empty();
}

const SchedulerSpec* find_service() {
  for (const auto* scheduler : all_schedulers())
    if (scheduler->ask_service != nullptr && !find_program(scheduler->service_program).empty()) return scheduler;
  return nullptr;
}

std::string complaint_of(const Completed& done) {
  // The cause of its end is printed last, its output first.
  const auto line = trim(done.err).empty() ? first_line(done.out) : last_line(done.err);
  return line.empty() ? fmt::format("ended with status {}", done.end.shell_status()) : printable_line(line, 300);
}

Result<void> greet(const SchedulerSpec& scheduler) {
  const auto argv = scheduler.greet_service();
  const auto done = run_program(argv, patience_s);
  if (!done) return tl::unexpected(done.error());
  if (done->timed_out)
    return fail(ErrorKind::launch, join(argv, " "), fmt::format("no answer within {} s", patience_s));
  if (scheduler.is_greeted(done->out, done->end.shell_status())) return {};
  return fail(ErrorKind::launch, join(argv, " "), complaint_of(*done));
}

void warn_of_actions(const ScheduledRunOptions& options) {
  const auto* scheduler = wants_actions(options) ? find_service() : nullptr;
  if (scheduler == nullptr) return;
  if (const auto there = greet(*scheduler); !there)
    fmt::print(stderr, "muster: {} could not be done now, as {} does not answer: {}\n",
               options.on_fail.empty()   ? "--on-pass resume"
               : options.on_pass.empty() ? "--on-fail drain"
                                         : "--on-fail drain and --on-pass resume",
               scheduler->title, printable_line(to_string(there.error()), 400));
}

}  // namespace muster
