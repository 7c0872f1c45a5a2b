/// What a run begins and ends with, wherever its ranks are: its head, its folder, and signals that wait meanwhile.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "app/inputs/options.hpp"
#include "base/files.hpp"
#include "base/trusted_path.hpp"
#include "config/config.hpp"
#include "muster/report.hpp"

namespace muster {

/// Id, start, host, system and folder of a run that begins now.
[[nodiscard]] RunReport run_header(const RunOptions& options, const SystemProfile& system);

/// The folder of a run, and `latest` beside it.
class RunFolder {
 public:
  /// Makes it. One that was asked for by name (--run-folder) must not be there yet, and gets no `latest`. Fails with
  /// kind `usage` below a folder of another user, who could put a link in its place; for root this holds of all folders
  /// above.
  [[nodiscard]] static Result<RunFolder> make(const RunOptions& options, const RunReport& report);
  /// A folder in it, of this user alone. Fails with kind `system`.
  [[nodiscard]] Result<void> make_inside(const std::string& name) const;
  /// From the start of a run, so that `show latest` shows it also when its driver is killed.
  void link();
  /// Nothing was started: as if it had never been.
  void give_back();
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  Result<void> make_in_parent();
  fs::path path_;
  OwnedDescriptor parent_;
  OwnedDescriptor folder_;  ///< the folder that was made, whatever has its name now
  bool has_latest_ = false;
  fs::path former_;  ///< what it pointed to
  bool is_linked_ = false;
};

/// While reports are written a further Ctrl-C must not end us between two of them. The session has handlers of its own;
/// what it leaves behind when they go is this.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  /// nohup, and shells for what they start in the background, had some ignored: so they stay.
  [[nodiscard]] std::vector<int> ends() const;
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(signals)] = {};
};

/// Reports what could not be written; returns the exit status.
[[nodiscard]] int conclude(const RunReport& report);

}  // namespace muster
