#include "run/job_watch.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "base/clock.hpp"
#include "base/hostlist.hpp"
#include "base/loop.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr double submit_s = 120;     // sites check jobs by programs of their own
constexpr double answer_s = 20;      // a busy controller takes its time
constexpr double slower = 1.5;       // each pause is so much longer than the one before
constexpr int most_unknown = 3;      // answers in a row that know no such job, before it is believed to be gone
constexpr int most_with_report = 2;  // exit statuses above are of runs that a signal ended, or that never began

/// Listing the folder makes NFS look again, which asking for one file would not.
int last_number(const fs::path& starts, std::string_view ending) {
  int last = -1;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(starts, ignored)) {
    const auto name = entry.path().filename().string();
    if (name.size() <= ending.size() || name.substr(name.size() - ending.size()) != ending) continue;
    last = std::max(last, parse_number<int>(name.substr(0, name.size() - ending.size())).value_or(-1));
  }
  return last;
}

class Watch {
 public:
  /// Signals have effect from here on: one that comes while the job is submitted cancels it.
  Watch(const SchedulerSpec& scheduler, const WatchOptions& options)
      : scheduler_(scheduler), options_(options), pause_s_(options.first_pause_s) {
    for (const int signal : options.ended_by)
      signals_.push_back(loop_.on_signal(signal, [this](int which) {
        ++signals_come_;
        if (end_.interrupted.empty()) end_.interrupted = std::string("SIG") + sigabbrev_np(which);
      }));
  }

  Result<void> submit(const fs::path& script);
  JobEnd follow();

 private:
  void ask();
  void take(JobStatus status);
  void ask_queue();
  void ask_past();
  void cancel();
  void wait(double seconds);
  void announce();
  void wait_for_files();
  [[nodiscard]] bool is_over() const;
  void look_for_end();
  [[nodiscard]] std::optional<Completed> run(const Argv& argv);

  const SchedulerSpec& scheduler_;
  const WatchOptions& options_;
  Loop loop_;
  std::vector<std::shared_ptr<Loop::SignalWatch>> signals_;
  JobEnd end_;
  double began_ = 0;
  double pause_s_ = 0;
  double queue_asked_ = -1e9;
  double cancelled_at_ = 0;  ///< 0: it was not
  int signals_come_ = 0;     ///< signals that came
  int unknown_ = 0;
  int ended_start_ = -1;  ///< the last start that left an exit status
};

std::optional<Completed> Watch::run(const Argv& argv) {
  auto done = run_program(argv, answer_s);
  if (!done) {
    end_.news.trouble = printable_line(to_string(done.error()), 200);
    return std::nullopt;
  }
  if (!done->timed_out) return std::move(*done);
  end_.news.trouble = fmt::format("{} gave no answer within {} s", argv[0], answer_s);
  return std::nullopt;
}

void Watch::ask() {
  const auto asked = run(scheduler_.ask(end_.news.job));
  if (!asked) return;
  auto status = scheduler_.read_status(asked->out, asked->err, asked->end.shell_status());
  if (!status) {
    end_.news.trouble = printable_line(status.error().what, 200);
    return;
  }
  end_.news.trouble.clear();
  if (status->phase == JobPhase::unknown) {
    ++unknown_;
    return;
  }
  unknown_ = 0;
  take(std::move(*status));
}

void Watch::take(JobStatus status) {
  auto& known = end_.news.status;
  const bool is_new = status.phase != known.phase || status.reason != known.reason || status.restarts != known.restarts;
  if (status.restarts > known.restarts) {
    std::string note = fmt::format("{} job {} was requeued", scheduler_.title, end_.news.job);
    if (!known.nodes.empty())
      note += fmt::format(" after a start on {}", printable_line(compress_hostlist(known.nodes), 120));
    end_.notes.push_back(std::move(note));
    end_.news.progress.reset();
  }
  // A job that has ended may not know its nodes any more.
  if (status.nodes.empty() && status.phase != JobPhase::waiting) status.nodes = known.nodes;
  known = std::move(status);
  if (is_new) pause_s_ = options_.first_pause_s;
  if (known.phase != JobPhase::waiting) end_.news.position = 0;
}

void Watch::ask_queue() {
  if (end_.news.status.phase != JobPhase::waiting || end_.news.status.is_stuck) return;
  if (monotonic_seconds() - queue_asked_ < options_.queue_pause_s) return;
  queue_asked_ = monotonic_seconds();
  const auto trouble = end_.news.trouble;
  if (const auto asked = run(scheduler_.ask_queue(end_.news.status.partition)))
    end_.news.position = scheduler_.read_position(asked->out, end_.news.job);
  end_.news.trouble = trouble;
}

/// Accounting knows who cancelled a job, and jobs that the controller has forgotten. It is not everywhere.
void Watch::ask_past() {
  const auto trouble = end_.news.trouble;
  const auto asked = run(scheduler_.ask_past(end_.news.job));
  end_.news.trouble = trouble;
  if (!asked || asked->end.shell_status() != 0) return;
  auto past = scheduler_.read_past(asked->out, end_.news.job);
  if (!past) return;
  auto& known = end_.news.status;
  if (known.phase != JobPhase::ended && past->phase == JobPhase::ended) {
    past->restarts = known.restarts;
    if (past->nodes.empty()) past->nodes = known.nodes;
    known = std::move(*past);
  } else if (past->state == known.state) {
    known.ended_by = past->ended_by;
  }
}

void Watch::cancel() {
  cancelled_at_ = monotonic_seconds();
  pause_s_ = options_.first_pause_s;
  const auto asked = run(scheduler_.cancel(end_.news.job));
  if (asked && asked->end.shell_status() != 0 && asked->err.find("nvalid job id") == std::string::npos)
    end_.notes.push_back(
        fmt::format("job {} could not be cancelled: {}", end_.news.job, printable_line(trim(asked->err), 200)));
}

/// The exit status that the last start left, if it is the end: one that a signal ended may be followed by another
/// start, and where no report is the job itself has to explain why.
void Watch::look_for_end() {
  const int last = last_number(options_.starts, ".status");
  if (last < 0 || last == ended_start_) return;
  const auto text = read_file(options_.starts / fmt::format("{}.status", last), 100);
  const auto status = text ? parse_number_from(trim(*text), 0) : std::nullopt;
  std::error_code ignored;
  const bool is_report_there = fs::exists(options_.starts / std::to_string(last) / "report.json", ignored);
  if (!status || (*status <= most_with_report && !is_report_there)) return;
  ended_start_ = last;
  if (*status > most_with_report) {
    pause_s_ = options_.first_pause_s;
    return;
  }
  end_.is_finished = true;
  end_.inside_status = *status;
  end_.news.status.restarts = std::max(end_.news.status.restarts, last);
}

bool Watch::is_over() const {
  if (end_.is_finished && cancelled_at_ == 0) return true;
  if (end_.news.status.phase == JobPhase::ended || unknown_ >= most_unknown) return true;
  return cancelled_at_ > 0 && (signals_come_ > 1 || monotonic_seconds() - cancelled_at_ > options_.gone_s);
}

void Watch::announce() {
  end_.news.waited_s = monotonic_seconds() - began_;
  if (options_.on_news) options_.on_news(end_.news);
}

/// Ends early when a signal comes, or the run inside has finished.
void Watch::wait(double seconds) {
  const double until = monotonic_seconds() + seconds;
  const int before = signals_come_;
  double next_word = monotonic_seconds() + 1;
  while (monotonic_seconds() < until && signals_come_ == before && !end_.is_finished) {
    bool is_time = false;
    const auto timer = loop_.after(std::min(options_.look_s, until - monotonic_seconds()), [&] { is_time = true; });
    loop_.run_until([&] { return is_time || signals_come_ != before; });
    const int before = ended_start_;
    look_for_end();
    if (ended_start_ != before) return;
    if (monotonic_seconds() < next_word) continue;
    next_word = monotonic_seconds() + 1;
    if (end_.news.status.phase == JobPhase::running) {
      end_.news.status.run_s += 1;
      if (const auto start = last_start(options_.starts); !start.empty())
        end_.news.progress = read_progress(start / "spool");
    }
    announce();
  }
}

/// A job whose script came to its end has left its exit status; a file system may take its time to show it.
void Watch::wait_for_files() {
  const double until = monotonic_seconds() + options_.files_s;
  const auto& status = end_.news.status;
  while (!end_.is_finished && ended_start_ < status.restarts && status.signal == 0 &&
         (status.state == "COMPLETED" || status.fault == JobFault::job) && monotonic_seconds() < until)
    wait(options_.look_s);
}

Result<void> Watch::submit(const fs::path& script) {
  const auto argv = scheduler_.submit(script.string());
  auto done = run_program(argv, submit_s);
  if (!done) return tl::unexpected(done.error());
  if (done->timed_out)
    return fail(ErrorKind::launch, argv[0],
                fmt::format("gave no answer within {} s; check whether the job was accepted nevertheless, and end it",
                            submit_s));
  auto job = scheduler_.read_submit(done->out, done->err, done->end.shell_status());
  if (!job) return tl::unexpected(job.error());
  end_.news.job = std::move(*job);
  began_ = monotonic_seconds();
  return {};
}

JobEnd Watch::follow() {
  announce();
  wait(std::min(1.0, options_.first_pause_s));
  while (true) {
    look_for_end();
    if (!end_.is_finished || end_.news.status.nodes.empty()) ask();
    if (unknown_ >= most_unknown) ask_past();
    if (!end_.interrupted.empty() && cancelled_at_ == 0 && end_.news.status.phase != JobPhase::ended) cancel();
    if (is_over()) break;
    ask_queue();
    announce();
    wait(pause_s_);
    pause_s_ = std::min(options_.longest_pause_s, pause_s_ * slower);
  }
  wait_for_files();
  if (!end_.is_finished && end_.news.status.phase == JobPhase::ended) ask_past();
  announce();
  return std::move(end_);
}

}  // namespace

Result<JobEnd> run_job(const SchedulerSpec& scheduler, const fs::path& script, const WatchOptions& options) {
  Watch watch(scheduler, options);
  if (auto submitted = watch.submit(script); !submitted) return tl::unexpected(submitted.error());
  return watch.follow();
}

fs::path last_start(const fs::path& starts) {
  const int last = last_number(starts, "");
  return last < 0 ? fs::path() : starts / std::to_string(last);
}

}  // namespace muster
