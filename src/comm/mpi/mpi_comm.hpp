/// The only door to MPI. This header names no MPI type, so that who includes it needs no <mpi.h>.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "muster/comm.hpp"

namespace muster {

/// Which MPI this was compiled against: `openmpi`, `mpich` or `other`.
[[nodiscard]] std::string_view mpi_flavor();
/// The same with its version, as its headers have it: `Open MPI 4.1.4`, `MPICH 4.0.2`, `Intel MPI 2021.18.1`; empty:
/// not known.
[[nodiscard]] std::string mpi_built_for();
/// The library's version string, on one line. May be called before mpi_start.
[[nodiscard]] std::string mpi_library();
/// All of its lines, which for MPICH include its device and how it was configured. May be called before mpi_start.
[[nodiscard]] std::string mpi_library_text();

/// Files from which Open MPI reads its settings, by its variables or where they usually are, the first of which counts:
/// `/root/.openmpi/mca-params.conf,/etc/openmpi/openmpi-mca-params.conf`. Empty: another MPI, or not known. After
/// mpi_start; local.
[[nodiscard]] std::string mpi_settings_files();

/// MPI_Init. From here on the MPI library returns errors instead of ending the process. Returns a note for the report
/// of it (comm/mpi/gpu_support.hpp); mostly nothing.
[[nodiscard]] Result<std::string> mpi_start(int& argc, char**& argv);
/// MPI_Finalize. Collective.
[[nodiscard]] Result<void> mpi_finish();
/// MPI_Abort: ends all ranks of the job. For the agent's main alone.
[[noreturn]] void mpi_abort(int status);

/// All ranks of MPI_COMM_WORLD, on a communicator of its own, so that no message of a probe can meet ours.
class MpiComm final : public Comm {
 public:
  /// Collective. Longer messages than `most_bytes` travel in pieces: MPI counts in int.
  [[nodiscard]] static Result<std::unique_ptr<MpiComm>> world(std::size_t most_bytes = std::size_t{1} << 30);
  ~MpiComm() override;  ///< collective

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::string library() const override { return mpi_library(); }

  [[nodiscard]] Result<void> barrier() override;
  [[nodiscard]] Result<ByteVector> broadcast(std::span<const std::byte> bytes, int root) override;
  [[nodiscard]] Result<std::vector<ByteVector>> gather(std::span<const std::byte> bytes, int root) override;
  [[nodiscard]] Result<std::vector<ByteVector>> all_gather(std::span<const std::byte> bytes) override;
  [[nodiscard]] Result<bool> all_true(bool mine) override;
  /// Fails with kind `usage` above 2^31 - 1 elements.
  [[nodiscard]] Result<void> all_reduce_sum(SumType type, std::span<const std::byte> in,
                                            std::span<std::byte> out) override;
  /// Fails with kind `usage` above 2^31 - 1 elements.
  [[nodiscard]] Result<std::unique_ptr<PendingSum>> start_sum(SumType type, std::span<const std::byte> in,
                                                              std::span<std::byte> out) override;
  /// These fail with kind `usage` for a message above 2^31 - 1 bytes.
  [[nodiscard]] Result<void> send(std::span<const std::byte> bytes, int to, int tag) override;
  [[nodiscard]] Result<void> receive(std::span<std::byte> bytes, int from, int tag) override;
  [[nodiscard]] Result<void> ping_pong(const PairEnd& end, std::uint64_t start, int count) override;
  [[nodiscard]] Result<void> stream(const PairEnd& end, const Stream& stream) override;
  [[nodiscard]] Result<std::unique_ptr<Comm>> split(int group) override;

 private:
  struct Handle;  // MPI_Comm
  MpiComm(std::unique_ptr<Handle> handle, std::size_t most_bytes);
  [[nodiscard]] Result<void> count_ranks();
  [[nodiscard]] Result<std::vector<ByteVector>> collect(std::span<const std::byte> bytes, int root);
  [[nodiscard]] Result<std::vector<std::uint64_t>> lengths(std::uint64_t mine, int root);
  std::unique_ptr<Handle> handle_;
  std::size_t most_bytes_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace muster
