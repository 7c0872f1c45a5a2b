// MpiComm under a real launcher, with pieces so small that every message travels in many. Exit status 0: all is well.
#include <cstdio>
#include <cstring>
#include <fmt/format.h>

#include "comm/mpi/mpi_comm.hpp"

namespace muster {
namespace {

int faults = 0;

void expect(bool holds, const char* what, int rank) {
  if (holds) return;
  ++faults;
  std::fputs(fmt::format("rank {}: {}\n", rank, what).c_str(), stderr);
}

/// What `rank` sends: a length of its own (rank 0 sends nothing), every byte told apart.
ByteVector bytes_of(int rank) {
  ByteVector bytes(static_cast<std::size_t>(rank) * 37);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(rank)) & 0xff);
  return bytes;
}

void check(Comm& comm) {
  const int rank = comm.rank();
  const int last = comm.size() - 1;
  expect(comm.barrier().has_value(), "barrier", rank);
  const auto from_last = comm.broadcast(rank == last ? bytes_of(9) : ByteVector{}, last);
  expect(from_last && *from_last == bytes_of(9), "broadcast", rank);
  const auto nothing = comm.broadcast({}, 0);
  expect(nothing && nothing->empty(), "broadcast of nothing", rank);

  const auto gathered = comm.gather(bytes_of(rank), last);
  expect(gathered && gathered->size() == (rank == last ? static_cast<std::size_t>(comm.size()) : 0u), "gather: count",
         rank);
  const auto all = comm.all_gather(bytes_of(rank));
  expect(all && all->size() == static_cast<std::size_t>(comm.size()), "all_gather: count", rank);
  for (int from = 0; gathered && all && from <= last; ++from) {
    const auto index = static_cast<std::size_t>(from);
    expect(rank != last || (*gathered)[index] == bytes_of(from), "gather: bytes", rank);
    expect((*all)[index] == bytes_of(from), "all_gather: bytes", rank);
  }

  const auto agreed = comm.all_true(true);
  expect(agreed && *agreed, "all_true of true", rank);
  const auto refused = comm.all_true(rank != last);
  expect(refused && !*refused, "all_true with one false", rank);
  // A root that does not exist: an error comes back, the process lives. Not with one rank alone: MPICH then moves
  // nothing.
  const auto no_root = comm.broadcast({}, comm.size() + 5);
  expect(!no_root && no_root.error().kind == ErrorKind::system, "an error of MPI is an error value", rank);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  using namespace muster;
  if (!mpi_start(argc, argv)) return 2;
  for (const std::size_t most_bytes : {std::size_t{8}, std::size_t{64}, std::size_t{1} << 30}) {
    auto comm = MpiComm::world(most_bytes);
    if (!comm) return 2;
    check(**comm);
  }
  if (!mpi_finish()) return 2;
  return faults == 0 ? 0 : 1;
}
