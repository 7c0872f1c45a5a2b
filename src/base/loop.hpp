/// One event loop for the driver, on libuv: processes, deadlines, signals and the socket that rank 0 calls.
/// Everything runs on the thread that calls run(); callbacks may start and stop anything, also themselves.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muster/launcher.hpp"
#include "muster/result.hpp"

namespace muster {

class Loop {
 public:
  Loop();   ///< throws std::system_error when the system has no descriptors left
  ~Loop();  ///< ends what is left: children are killed and reaped, connections closed; handles may outlive it
  /// As the constructor, with the failure as a value of kind `system`.
  [[nodiscard]] static Result<std::unique_ptr<Loop>> open();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Turns until `done()` is true (asked after every event) or nothing is left to wait for (timers, signal watches,
  /// processes, listeners and connections are). Not to be called from a callback.
  void run_until(const std::function<bool()>& done);

  /// Calls `act` once after `seconds`; the timer lives until it fired or the handle is destroyed.
  class Timer;
  [[nodiscard]] std::shared_ptr<Timer> after(double seconds, std::function<void()> act);
  [[nodiscard]] std::shared_ptr<Timer> every(double seconds, std::function<void()> act);

  /// Calls `act(signal)` each time; the former disposition comes back with the handle's end.
  class SignalWatch;
  [[nodiscard]] std::shared_ptr<SignalWatch> on_signal(int signal, std::function<void(int)> act);

  struct Implementation;
  [[nodiscard]] Implementation& implementation() { return *implementation_; }

 private:
  explicit Loop(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

/// How a process ended: exactly one of status and signal is meant.
struct ProcessEnd {
  int status = 0;  ///< exit status; meaningless when signal != 0
  int signal = 0;
  /// As in a shell: 128 + signal, or the status.
  [[nodiscard]] int shell_status() const { return signal != 0 ? 128 + signal : status; }
};

struct ProcessOptions {
  Argv argv;                            ///< argv[0] with a slash, or looked up on PATH
  Environment env = {};                 ///< added to (or replacing in) our own environment
  std::vector<std::string> unset = {};  ///< names that are taken out of our own environment
  std::string stdin_text = {};          ///< written to its standard input, which is then closed
  std::string folder = {};              ///< working folder; empty: that of start_children_in()
  /// Raw chunks as they come, from standard output and standard error.
  std::function<void(std::span<const char>)> on_stdout = {};
  std::function<void(std::span<const char>)> on_stderr = {};
  /// Once, after the process ended and both streams are drained (or 1 s after the end, when a grandchild
  /// still holds them open).
  std::function<void(ProcessEnd)> on_end = {};
};

/// Processes without a folder of their own start there from now on; empty: in ours. A program that is named by a
/// relative path is still looked for in ours.
void start_children_in(std::string folder);

/// A child in a session and process group of its own. Destroying the handle of a running one kills its group.
class Process {
 public:
  /// Fails with kind `launch`, naming program and cause.
  [[nodiscard]] static Result<std::shared_ptr<Process>> start(Loop& loop, ProcessOptions options);
  ~Process();
  [[nodiscard]] int pid() const;  ///< also its process group
  [[nodiscard]] bool is_running() const;
  /// To the whole group. Nothing happens when it has ended.
  void signal_group(int signal);
  /// TERM (with CONT, so that a stopped one sees it), `grace_s` later KILL, both to the group.
  void end(double grace_s);

  struct Implementation;
  explicit Process(std::shared_ptr<Implementation> implementation);

 private:
  std::shared_ptr<Implementation> implementation_;
};

/// Runs a program to its end, at most `deadline_s` long (then TERM, 1 s later KILL); for asking tools their version
/// and the like. Keeps the first 64 MiB of each stream. Fails with kind `launch` when it can't be started.
struct Completed {
  ProcessEnd end;
  bool timed_out = false;
  std::string out;
  std::string err;
};
[[nodiscard]] Result<Completed> run_program(const Argv& argv, double deadline_s, const Environment& env = {},
                                            const std::string& stdin_text = {});

/// Listens on TCP for ranks to call. IPv4 and IPv6; port chosen by the kernel. Connections outlive their listener.
class Listener {
 public:
  /// Dropping the last reference closes it. Its functions may own it: they are dropped when it is closed.
  class Connection {
   public:
    virtual ~Connection() = default;
    virtual void send(std::vector<std::byte> bytes) = 0;
    virtual void close() = 0;                           ///< what was sent before still goes out
    [[nodiscard]] virtual bool has_unread() const = 0;  ///< bytes have come that on_bytes has not seen
    std::function<void(std::span<const std::byte>)> on_bytes;
    std::function<void()> on_close;  ///< once, when the other side closed or the connection broke; not after close()
  };
  /// `address`: `127.0.0.1`, or `0.0.0.0` for any.
  [[nodiscard]] static Result<std::unique_ptr<Listener>> open(
      Loop& loop, const std::string& address, std::function<void(std::shared_ptr<Connection>)> on_connection);
  ~Listener();
  [[nodiscard]] int port() const;

  struct Implementation;
  explicit Listener(std::shared_ptr<Implementation> implementation);

 private:
  std::shared_ptr<Implementation> implementation_;
};

}  // namespace muster
