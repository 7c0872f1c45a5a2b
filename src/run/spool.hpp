/// The spool: everything that arrived, frame by frame, so that a run whose driver died can still be shown.
#pragma once

#include "base/files.hpp"
#include "model/plan.hpp"
#include "model/record.hpp"
#include "muster/report.hpp"

namespace muster {

/// Written by the driver alone. What is shown was written before. On a full disk observations are dropped first
/// (`is_degraded`); verdicts still fit into a reserve that is kept free ahead of the file's end.
class Spool {
 public:
  [[nodiscard]] static Result<Spool> create(const fs::path& file);
  Spool(Spool&&) = default;
  Spool& operator=(Spool&&) = default;
  ~Spool() { file_.release_reserve(); }

  /// These three are bulk. The first that does not fit fails, with kind `system`, and makes the spool degraded: from
  /// then on bulk is dropped without further messages.
  [[nodiscard]] Result<void> plan(const Plan& plan, const RunReport& header);
  [[nodiscard]] Result<void> world(int launch, const World& world);
  [[nodiscard]] Result<void> record(const CaseRecord& record);
  /// Fails only when even the reserve is used up.
  [[nodiscard]] Result<void> verdict(const std::string& case_id, const Repetition& repetition);
  [[nodiscard]] bool is_degraded() const { return degraded_; }

 private:
  explicit Spool(AppendFile file);
  [[nodiscard]] Result<void> append_bulk(std::uint8_t type, std::span<const std::byte> payload);
  [[nodiscard]] Result<void> make_room(std::size_t bytes);

  AppendFile file_;
  std::size_t size_ = 0;      ///< of the file
  std::size_t reserved_ = 0;  ///< bytes from the file's start that are set aside on the disk
  std::size_t kept_;          ///< bytes beyond the end that bulk must leave to verdicts
  bool degraded_ = false;
};

/// A report from a spool: judged again where observations are there, verdicts as written otherwise, cases that
/// never finished `unmeasured` with the reason that the driver ended before them. LaunchOutcome is skipped and noted.
/// Fails with kind `file` when neither the plan nor any verdict can be read.
[[nodiscard]] Result<RunReport> recover_spool(const fs::path& spool_file);

}  // namespace muster
