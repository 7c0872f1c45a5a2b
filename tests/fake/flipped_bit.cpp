/// Preloaded into the ranks, flips one bit of what MPI hands to one of them: broken memory, to order.
///
///   FLIP_IN=recv|waitall|allreduce   what MPI_Recv receives, what MPI_Waitall completes, the result of MPI_Allreduce
///   FLIP_RANK=1                      in MPI_COMM_WORLD
///   FLIP_BYTES=1048576               only messages (results) of exactly that size are counted
///   FLIP_CALL=3                      which of those, counted from 1
///   FLIP_STAYS=1                     that one and all after it
///   FLIP_EVERY=100                   each hundredth instead
///   FLIP_BYTE=4000 FLIP_BIT=3        where
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mpi.h>
#include <string_view>
#include <vector>

namespace {

std::uint64_t number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

struct Plan {
  std::string_view call = std::getenv("FLIP_IN") == nullptr ? "" : std::getenv("FLIP_IN");
  std::uint64_t rank = number_in("FLIP_RANK");
  std::uint64_t bytes = number_in("FLIP_BYTES");
  std::uint64_t which = number_in("FLIP_CALL");
  bool stays = number_in("FLIP_STAYS") != 0;
  std::uint64_t every = number_in("FLIP_EVERY");
  std::uint64_t byte = number_in("FLIP_BYTE");
  std::uint64_t bit = number_in("FLIP_BIT");
  std::uint64_t counted = 0;
};

Plan& plan() {
  static Plan one;
  return one;
}

std::size_t bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
}

/// `memory` has just been filled by a call of that name.
void arrived(std::string_view call, void* memory, std::size_t bytes) {
  Plan& one = plan();
  if (call != one.call || bytes != one.bytes || one.byte >= bytes) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (static_cast<std::uint64_t>(rank) != one.rank) return;
  ++one.counted;
  if (one.every > 0 ? one.counted % one.every != 0 : one.stays ? one.counted < one.which : one.counted != one.which) return;
  static_cast<std::uint8_t*>(memory)[one.byte] ^= static_cast<std::uint8_t>(1U << one.bit);
}

struct Expected {
  void* memory;
  std::size_t bytes;
};
std::vector<Expected> expected;  // by MPI_Irecv, until the next MPI_Waitall

}  // namespace

extern "C" {

int MPI_Recv(void* memory, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const int code = PMPI_Recv(memory, count, type, source, tag, comm, status);
  if (code == MPI_SUCCESS) arrived("recv", memory, bytes_of(count, type));
  return code;
}

int MPI_Irecv(void* memory, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  expected.push_back({memory, bytes_of(count, type)});
  return PMPI_Irecv(memory, count, type, source, tag, comm, request);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  const int code = PMPI_Waitall(count, requests, statuses);
  if (code == MPI_SUCCESS)
    for (const Expected& one : expected) arrived("waitall", one.memory, one.bytes);
  expected.clear();
  return code;
}

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const int code = PMPI_Allreduce(from, to, count, type, op, comm);
  if (code == MPI_SUCCESS) arrived("allreduce", to, bytes_of(count, type));
  return code;
}
}
