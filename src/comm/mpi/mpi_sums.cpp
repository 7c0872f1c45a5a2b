// Sums over all ranks: blocking ones, and those that go on while their rank computes.
#include <climits>

#include "comm/mpi/mpi_handle.hpp"

namespace muster {

namespace {

Result<int> count_of(std::size_t bytes, SumType type, const char* function) {
  if (type == SumType::float16 || type == SumType::bfloat16)
    return fail(ErrorKind::usage, function, "MPI has no type for half and bfloat16: NCCL and RCCL add them up");
  const std::size_t elements = bytes / size_of(type);
  if (elements <= INT_MAX) return static_cast<int>(elements);
  return fail(ErrorKind::usage, function, "a sum has at most 2147483647 elements");
}

MPI_Datatype type_of(SumType type) {
  if (type == SumType::int32) return MPI_INT32_T;
  if (type == SumType::int64) return MPI_INT64_T;
  if (type == SumType::float32) return MPI_FLOAT;
  return MPI_DOUBLE;
}

class MpiPendingSum final : public PendingSum {
 public:
  MpiPendingSum() = default;
  MpiPendingSum(const MpiPendingSum&) = delete;
  MpiPendingSum& operator=(const MpiPendingSum&) = delete;
  ~MpiPendingSum() override {
    if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  Result<bool> test() override {
    int is_done = 0;
    if (auto done = checked(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "MPI_Test"); !done)
      return tl::unexpected(done.error());
    return is_done != 0;
  }
  Result<void> wait() override { return checked(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait"); }

  MPI_Request request = MPI_REQUEST_NULL;
};

}  // namespace

Result<void> MpiComm::all_reduce_sum(SumType type, std::span<const std::byte> in, std::span<std::byte> out) {
  auto count = count_of(in.size(), type, "MPI_Allreduce");
  if (!count) return tl::unexpected(count.error());
  return checked(MPI_Allreduce(in.data(), out.data(), *count, type_of(type), MPI_SUM, handle_->comm), "MPI_Allreduce");
}

Result<std::unique_ptr<PendingSum>> MpiComm::start_sum(SumType type, std::span<const std::byte> in,
                                                       std::span<std::byte> out) {
  auto count = count_of(in.size(), type, "MPI_Iallreduce");
  if (!count) return tl::unexpected(count.error());
  auto sum = std::make_unique<MpiPendingSum>();
  auto started =
      checked(MPI_Iallreduce(in.data(), out.data(), *count, type_of(type), MPI_SUM, handle_->comm, &sum->request),
              "MPI_Iallreduce");
  if (!started) return tl::unexpected(started.error());
  return sum;
}

}  // namespace muster
