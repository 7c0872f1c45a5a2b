#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "base/environment.hpp"
#include "base/files.hpp"
#include "base/owned_descriptor.hpp"
#include "base/uv_handle.hpp"

namespace muster {

namespace {

// How long a stream that a grandchild holds open may delay the report of a process's end.
constexpr std::uint64_t drain_milliseconds = 1000;

Error start_error(const ProcessOptions& options, int status) {
  const std::string& program = options.argv.front();
  const std::string cause = std::strerror(-status);
  if (!options.folder.empty() && ::access(options.folder.c_str(), X_OK) != 0)
    return {ErrorKind::launch, program,
            "can't be started in the folder " + options.folder + ": " + std::strerror(errno)};
  if (status == UV_ENOENT && program.find('/') == std::string::npos)
    return {ErrorKind::launch, program, "not found on PATH"};
  if (status == UV_ENOENT && ::access(program.c_str(), F_OK) == 0)
    return {ErrorKind::launch, program, "can't be started: the interpreter in its first line is missing"};
  return {ErrorKind::launch, program, "can't be started: " + cause};
}

std::string& folder_of_children() {
  static std::string folder;
  return folder;
}

}  // namespace

void start_children_in(std::string folder) {
  folder_of_children() = std::move(folder);
}

struct Process::Implementation final : UvHandle {
  Implementation(Loop::Implementation& loop, ProcessOptions options) : UvHandle(loop), options_(std::move(options)) {
    if (options_.folder.empty()) move_to(folder_of_children());
  }
  void move_to(const std::string& folder) {
    options_.folder = folder;
    std::string& program = options_.argv.front();
    std::error_code ignored;
    if (!folder.empty() && program.find('/') != program.npos) program = fs::absolute(program, ignored).string();
  }

  Result<void> start();
  void signal_group(int signal) {
    if (running_) ::kill(-pid_, signal);
  }
  void end(double grace_s);
  void abandon() override;
  [[nodiscard]] bool is_waited_for() const override { return running_; }
  void give_up() override { close(process_); }

  int pid_ = 0;
  bool running_ = false;

 protected:
  void forget() override { options_ = {}; }

 private:
  Result<void> open_pipe(uv_pipe_t& ours, OwnedDescriptor& theirs, bool we_read);
  int spawn(const std::array<OwnedDescriptor, 3>& descriptors);
  void start_timer(uv_timer_t& timer, std::uint64_t wait, uv_timer_cb act);
  void write_input();
  void close_all();
  void kill_leftovers();
  void report_when_drained();
  void report();

  static void on_exit(uv_process_t* process, std::int64_t status, int signal);
  static void on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer);

  ProcessOptions options_;
  ProcessEnd end_;
  bool ending_ = false;
  bool reported_ = false;
  bool abandoned_ = false;
  uv_process_t process_{};
  uv_pipe_t in_{};
  uv_pipe_t out_{};
  uv_pipe_t err_{};
  uv_write_t write_{};
  uv_timer_t drain_{};
  uv_timer_t grace_{};
};

// Real pipes, where libuv's own would be sockets: a child can't open /dev/stderr when that is a socket.
Result<void> Process::Implementation::open_pipe(uv_pipe_t& ours, OwnedDescriptor& theirs, bool we_read) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(ErrorKind::launch, options_.argv.front(), std::string("no pipe for it: ") + std::strerror(errno));
  theirs.reset(ends[we_read ? 1 : 0]);
  OwnedDescriptor mine(ends[we_read ? 0 : 1]);
  uv_pipe_init(&loop().uv, &ours, 0);
  opened(ours);
  const int status = uv_pipe_open(&ours, mine.number());
  if (status != 0)
    return fail(ErrorKind::launch, options_.argv.front(), std::string("no pipe for it: ") + uv_strerror(status));
  (void)mine.release();
  return {};
}

int Process::Implementation::spawn(const std::array<OwnedDescriptor, 3>& descriptors) {
  std::vector<std::string> variables = child_environment(options_.env, options_.unset);
  std::vector<char*> env = exec_list(variables);
  std::vector<char*> args = exec_list(options_.argv);
  std::array<uv_stdio_container_t, 3> stdio{};
  for (std::size_t i = 0; i < stdio.size(); ++i) {
    // UV_IGNORE gives the child /dev/null.
    stdio[i].flags = descriptors[i].number() < 0 ? UV_IGNORE : UV_INHERIT_FD;
    stdio[i].data.fd = descriptors[i].number();
  }
  uv_process_options_t how{};
  how.exit_cb = on_exit;
  how.file = args.front();
  how.args = args.data();
  how.env = env.data();
  how.cwd = options_.folder.empty() ? nullptr : options_.folder.c_str();
  how.flags = UV_PROCESS_DETACHED;  // a session of its own, so that all it starts can be signalled at once
  how.stdio_count = static_cast<int>(stdio.size());
  how.stdio = stdio.data();
  const int status = uv_spawn(&loop().uv, &process_, &how);
  opened(process_);  // also when it failed: the handle must be closed
  return status;
}

Result<void> Process::Implementation::start() {
  std::array<OwnedDescriptor, 3> theirs;
  Result<void> pipes = open_pipe(out_, theirs[1], true);
  if (pipes) pipes = open_pipe(err_, theirs[2], true);
  if (pipes && !options_.stdin_text.empty()) pipes = open_pipe(in_, theirs[0], false);
  const int status = pipes ? spawn(theirs) : 0;
  if (!pipes || status != 0) {
    abandoned_ = true;
    close(process_);
    close_all();
    return pipes ? tl::unexpected<Error>(start_error(options_, status)) : pipes;
  }
  pid_ = process_.pid;
  running_ = true;
  uv_read_start(reinterpret_cast<uv_stream_t*>(&out_), Loop::Implementation::lend_buffer, on_read);
  uv_read_start(reinterpret_cast<uv_stream_t*>(&err_), Loop::Implementation::lend_buffer, on_read);
  if (is_open(in_)) write_input();
  return {};
}

void Process::Implementation::write_input() {
  // A child may end, or close its input, without reading it all: no failure of ours.
  const uv_buf_t text = uv_buf_init(options_.stdin_text.data(), static_cast<unsigned>(options_.stdin_text.size()));
  const auto written = [](uv_write_t* request, int) { close(of<Implementation>(request->handle)->in_); };
  if (uv_write(&write_, reinterpret_cast<uv_stream_t*>(&in_), &text, 1, written) != 0) close(in_);
}

void Process::Implementation::on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
  const auto self = of<Implementation>(stream);
  if (count == 0 || self->abandoned_) return;
  self->loop().turned();
  uv_pipe_t& pipe = stream == reinterpret_cast<uv_stream_t*>(&self->out_) ? self->out_ : self->err_;
  if (count < 0) {
    close(pipe);
    self->report_when_drained();
    return;
  }
  const auto& act = &pipe == &self->out_ ? self->options_.on_stdout : self->options_.on_stderr;
  if (act) act({buffer->base, static_cast<std::size_t>(count)});
}

void Process::Implementation::on_exit(uv_process_t* process, std::int64_t status, int signal) {
  const auto self = of<Implementation>(process);
  self->loop().turned();
  self->running_ = false;
  self->end_ = {static_cast<int>(status), signal};
  close(self->process_);
  if (self->abandoned_) return;
  self->start_timer(self->drain_, drain_milliseconds, [](uv_timer_t* timer) { of<Implementation>(timer)->report(); });
  self->report_when_drained();
}

void Process::Implementation::start_timer(uv_timer_t& timer, std::uint64_t wait, uv_timer_cb act) {
  if (!is_open(timer)) {
    uv_timer_init(&loop().uv, &timer);
    opened(timer);
  }
  uv_update_time(&loop().uv);
  uv_timer_start(&timer, act, wait, 0);
}

void Process::Implementation::report_when_drained() {
  if (!running_ && !is_open(out_) && !is_open(err_)) report();
}

void Process::Implementation::report() {
  if (reported_ || abandoned_) return;
  reported_ = true;
  loop().turned();
  close(in_);
  close(out_);
  close(err_);
  close(drain_);
  // Others of its group may still use up their grace; none left: no need to wait for it.
  if (ending_ && ::kill(-pid_, 0) != 0) close(grace_);
  const auto act = std::move(options_.on_end);
  if (act) act(end_);
}

// To what is left of the group after its leader was reaped. The kernel keeps a number while a group uses it, so a
// process of that number means: the group was gone and the number is someone else's by now.
void Process::Implementation::kill_leftovers() {
  if (::kill(pid_, 0) != 0 && errno == ESRCH) ::kill(-pid_, SIGKILL);
}

void Process::Implementation::end(double grace_s) {
  if (!running_ || abandoned_) return;
  ending_ = true;
  signal_group(SIGTERM);
  signal_group(SIGCONT);  // a stopped process sees TERM only now
  const auto act = [](uv_timer_t* timer) {
    const auto self = of<Implementation>(timer);
    if (self->running_)
      self->signal_group(SIGKILL);
    else
      self->kill_leftovers();
    close(self->grace_);
  };
  start_timer(grace_, static_cast<std::uint64_t>(std::clamp(grace_s, 0.0, 1e6) * 1000), act);
}

void Process::Implementation::abandon() {
  if (abandoned_) return;
  abandoned_ = true;
  if (running_) {
    signal_group(SIGKILL);
    // It stays with the loop to be reaped; one that can't be killed shall not keep run_until waiting.
    uv_unref(reinterpret_cast<uv_handle_t*>(&process_));
  } else if (ending_) {
    kill_leftovers();
  }
  close_all();
}

void Process::Implementation::close_all() {
  close(in_);
  close(out_);
  close(err_);
  close(drain_);
  close(grace_);
}

Result<std::shared_ptr<Process>> Process::start(Loop& loop, ProcessOptions options) {
  if (options.argv.empty() || options.argv.front().empty()) return fail(ErrorKind::launch, "", "no program was named");
  auto implementation = std::make_shared<Implementation>(loop.implementation(), std::move(options));
  if (Result<void> started = implementation->start(); !started) return tl::unexpected<Error>(started.error());
  return std::make_shared<Process>(std::move(implementation));
}

Process::Process(std::shared_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Process::~Process() {
  implementation_->abandon();
}
int Process::pid() const {
  return implementation_->pid_;
}
bool Process::is_running() const {
  return implementation_->running_;
}
void Process::signal_group(int signal) {
  implementation_->signal_group(signal);
}
void Process::end(double grace_s) {
  implementation_->end(grace_s);
}

// ----------------------------------------------------------------------------------------------------------------

namespace {

// More than any tool prints about itself; a runaway program must not exhaust our memory.
constexpr std::size_t most_output = 64u << 20;
constexpr double grace_s = 1;
// A process that KILL does not end within this time hangs in the kernel.
constexpr double unkillable_s = 2;

void keep_some(std::string& text, std::span<const char> chunk) {
  text.append(chunk.data(), std::min(chunk.size(), most_output - text.size()));
}

Result<Completed> run_on(Loop& loop, ProcessOptions options, double deadline_s) {
  Completed completed;
  bool is_over = false;
  options.on_stdout = [&](std::span<const char> chunk) { keep_some(completed.out, chunk); };
  options.on_stderr = [&](std::span<const char> chunk) { keep_some(completed.err, chunk); };
  options.on_end = [&](ProcessEnd end) {
    completed.end = end;
    is_over = true;
  };
  auto process = Process::start(loop, std::move(options));
  if (!process) return tl::unexpected<Error>(process.error());
  const auto deadline = loop.after(deadline_s, [&] {
    // It may have ended just now, with a grandchild holding its output: that is not a timeout.
    completed.timed_out = (*process)->is_running();
    (*process)->end(grace_s);
  });
  const auto limit = loop.after(deadline_s + grace_s + unkillable_s, [&] { is_over = true; });
  loop.run_until([&] { return is_over; });
  if ((*process)->is_running()) completed.end.signal = SIGKILL;
  return completed;
}

}  // namespace

Result<Completed> run_program(const Argv& argv, double deadline_s, const Environment& env,
                              const std::string& stdin_text) {
  const auto loop = Loop::open();
  if (!loop) return tl::unexpected<Error>(loop.error());
  ProcessOptions options;
  options.argv = argv;
  options.env = env;
  options.stdin_text = stdin_text;
  return run_on(**loop, std::move(options), deadline_s);
}

}  // namespace muster
