/// The flight recorder: one small memory-mapped file per rank on node-local storage. It outlives the process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/call_recorder.hpp"
#include "base/files.hpp"
#include "muster/probe.hpp"

namespace muster {

/// Where a rank is in its life; written before the step is taken.
enum class Phase : std::uint32_t {
  starting,    ///< before and in MPI_Init
  connecting,  ///< MPI is up; rank 0 calls the driver, the others wait for the job
  gap,         ///< between cases
  prepare,     ///< local part of a case
  agreeing,    ///< waiting until all ranks have prepared
  running,     ///< in the probe's run
  gathering,   ///< observations on their way to rank 0
  finishing,   ///< after the last case, in MPI_Finalize
  finished,    ///< about to exit with a clean state
};
[[nodiscard]] std::string_view to_string(Phase phase);

/// The content of a recorder file; a plain value, safe to print (text already printable).
struct FlightRecord {
  int pid = 0;
  std::uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat: distinguishes a pid from its reuse
  int parent = 0;                 ///< process that started it; 0: not known
  std::uint64_t parent_start_ticks = 0;
  double orphaned_s = 0;  ///< CLOCK_MONOTONIC of the node when the parent ended before it; 0: it did not
  double deadline_s =
      0;  ///< CLOCK_MONOTONIC of the node by which the driver has ended the launch or the rank has a later one; 0: none
  int rank = -1;  ///< from the launcher's environment until MPI_Init, then from MPI
  int world_size = 0;
  Phase phase = Phase::starting;
  int item = -1;  ///< position in the launch's list of work; -1: none yet
  std::string step;
  std::string call;         ///< of a vendor's library that it is inside of; empty: none
  double call_s = 0;        ///< CLOCK_MONOTONIC of the node when that began
  std::string device;       ///< that its calls are about; empty: none yet
  std::string error;        ///< why the probe gave up in the current item; empty: it did not
  std::uint32_t steps = 0;  ///< steps begun in this phase
  std::uint64_t iteration = 0;
  int peer = -1;
  double changed_s = 0;  ///< CLOCK_MONOTONIC of the node at the last entry
  int signal = 0;        ///< first signal that arrived; 0: none
  double signal_s = 0;
  bool is_signal_in_mpi = false;           ///< a crash in code of the MPI or of its transport
  bool is_exit_in_mpi = false;             ///< MPI ended the process, as where a connection is lost
  int child_group = 0;                     ///< process group of a program that the probe started; 0: none
  std::vector<std::string> shared_memory;  ///< files below /dev/shm that it had mapped
  std::string file;
  friend bool operator==(const FlightRecord&, const FlightRecord&) = default;
};

/// Folder for recorder files on this node: $MUSTER_RECORDER_FOLDER, else /dev/shm, else /tmp.
[[nodiscard]] fs::path recorder_folder();

/// Owned by one rank. Entries are relaxed atomic stores with a sequence counter; nothing allocates, nothing locks.
/// A new phase or item begins without a step, a new item without a device; a new step begins at iteration 0, waiting
/// for all. A call does not count as an entry: the age of the last entry is unchanged.
/// A child made by fork() can't write to it.
class FlightRecorder final : public Recorder, public CallRecorder {
 public:
  /// Creates `<folder>/muster-<tag>-<pid>` (mode 0600).
  [[nodiscard]] static Result<std::unique_ptr<FlightRecorder>> create(const fs::path& folder, const std::string& tag);
  ~FlightRecorder() override;  ///< unmaps and, when the phase is finished, removes the file

  void place(int rank, int world_size);
  void phase(Phase phase);
  void item(int index);
  /// The probe of this rank gave up, and waits for those that may still be at work. At most 159 characters are kept.
  void error(std::string_view what);
  /// For the node's watchdog (run/watchdog.hpp), by CLOCK_MONOTONIC. No entry: what was entered last stays as old as it
  /// is.
  void deadline(double monotonic_s);
  void step(std::string_view name) override;
  void iteration(std::uint64_t index) override;
  void peer(int rank) override;
  void child_group(int process_group) override;
  void call(std::string_view name) override;
  void device(std::string_view label) override;
  /// Stamps TERM, INT, HUP, QUIT, SEGV, BUS, FPE, ILL, ABRT when they arrive, then lets the former handler or the
  /// default act; and the end of the parent, of which the kernel gives notice by a signal of its own. Call before and
  /// again after MPI_Init (MPI libraries install handlers of their own).
  void stamp_signals();
  /// Notes up to 24 files below /dev/shm that this process has mapped now, so that they can be removed when it is
  /// killed. Call it when MPI is up.
  void note_shared_memory();
  /// A folder below /dev/shm for shared memory of this launch's MPI: removed with all that is in it.
  void own_shared_folder(const std::string& name);
  /// Names of files that MPI makes below /dev/shm before note_shared_memory() can see them.
  void expect_shared_memory(const std::vector<std::string>& names);

  struct Layout;

 private:
  explicit FlightRecorder(Layout* layout, fs::path file);
  [[nodiscard]] bool is_ours() const;
  template <class Act>
  void note(Act act);
  template <class Act>
  void enter(Act act);
  Layout* layout_;
  fs::path file_;
  std::string shared_folder_;
  std::uint64_t forks_;  ///< that lie between main and this process
};

/// The records of launch `tag` (empty: of all launches) in `folder`, by rank then pid. Damaged files, and files of
/// other users, are left out. Reads only.
[[nodiscard]] std::vector<FlightRecord> read_recorders(const fs::path& folder, const std::string& tag);

}  // namespace muster
