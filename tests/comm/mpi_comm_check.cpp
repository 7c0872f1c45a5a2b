// MpiComm under a real launcher, with pieces so small that every message travels in many. Exit status 0: all is well.
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <memory>

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

/// Elements 1, 2, 3, ... on every rank: the sum is known.
template <class T>
void check_sum(Comm& comm, SumType type, const char* what) {
  std::vector<T> in(1000);
  std::vector<T> out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>(i + 1);
  const auto done = comm.all_reduce_sum(type, std::as_bytes(std::span(in)), std::as_writable_bytes(std::span(out)));
  bool is_right = done.has_value();
  for (std::size_t i = 0; i < in.size(); ++i)
    is_right = is_right && out[i] == static_cast<T>(i + 1) * static_cast<T>(comm.size());
  expect(is_right, what, comm.rank());
}

void check_sums(Comm& comm) {
  check_sum<std::int32_t>(comm, SumType::int32, "sum of int32");
  check_sum<std::int64_t>(comm, SumType::int64, "sum of int64");
  check_sum<float>(comm, SumType::float32, "sum of float");
  check_sum<double>(comm, SumType::float64, "sum of double");
  for (const SumType type : {SumType::float16, SumType::bfloat16}) {
    ByteVector in(8);
    ByteVector out(8);
    const auto summed = comm.all_reduce_sum(type, in, out);
    expect(!summed && summed.error().kind == ErrorKind::usage, "a sum that MPI has no type for", comm.rank());
    const auto started = comm.start_sum(type, in, out);
    expect(!started && started.error().kind == ErrorKind::usage, "as above, started", comm.rank());
  }
}

/// Three sums under way at once, with a barrier and other sums in between, ended in another order.
void check_pending_sums(Comm& comm) {
  constexpr std::size_t sums = 3;
  std::vector<std::vector<float>> in(sums, std::vector<float>(20'000));
  std::vector<std::vector<float>> out = in;
  std::vector<std::unique_ptr<PendingSum>> pending;
  for (std::size_t k = 0; k < sums; ++k) {
    for (std::size_t i = 0; i < in[k].size(); ++i)
      in[k][i] = static_cast<float>((k + 1) * (i % 100) + static_cast<std::size_t>(comm.rank()));
    auto started =
        comm.start_sum(SumType::float32, std::as_bytes(std::span(in[k])), std::as_writable_bytes(std::span(out[k])));
    expect(started.has_value(), "start_sum", comm.rank());
    if (!started) return;
    pending.push_back(std::move(*started));
    if (k == 0) expect(comm.barrier().has_value(), "barrier while a sum is under way", comm.rank());
  }
  check_sum<std::int64_t>(comm, SumType::int64, "sum while others are under way");
  for (;;) {
    const auto is_done = pending[2]->test();
    expect(is_done.has_value(), "test of a sum", comm.rank());
    if (!is_done || *is_done) break;
  }
  expect(pending[0]->wait().has_value(), "wait for a sum", comm.rank());
  expect(pending[0]->wait().has_value(), "wait for a sum that is done", comm.rank());
  const auto again = pending[0]->test();
  expect(again && *again, "test of a sum that is done", comm.rank());
  pending[1].reset();  // waits
  const auto ranks = static_cast<std::size_t>(comm.size());
  bool is_right = true;
  for (std::size_t k = 0; k < sums; ++k)
    for (std::size_t i = 0; i < out[k].size(); ++i)
      is_right = is_right && out[k][i] == static_cast<float>(ranks * (k + 1) * (i % 100) + ranks * (ranks - 1) / 2);
  expect(is_right, "sums that were under way at once", comm.rank());
}

/// Ranks 0 and 1: a message, ping-pong and streams over three slots; what arrives is what was sent.
void check_pairs(Comm& comm) {
  if (comm.rank() > 1 || comm.size() < 2) return;
  const int peer = 1 - comm.rank();
  const PairRole role = comm.rank() == 0 ? PairRole::first : PairRole::second;
  ByteVector sent(300);
  ByteVector due(300);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    sent[i] = static_cast<std::byte>((i * 3 + static_cast<std::size_t>(comm.rank())) & 0xff);
    due[i] = static_cast<std::byte>((i * 3 + static_cast<std::size_t>(peer)) & 0xff);
  }
  ByteVector got(300);
  const PairEnd end{peer, role, {sent, 100, 100, 3}, {got, 100, 100, 3}};
  const auto arrived = [&](const Result<void>& done, const char* what) {
    expect(done.has_value() && got == due, what, comm.rank());
    std::fill(got.begin(), got.end(), std::byte{0});
  };
  if (role == PairRole::first) {
    expect(comm.send(sent, peer, 7).has_value(), "send", comm.rank());
    arrived(comm.receive(got, peer, 8), "receive");
  } else {
    arrived(comm.receive(got, peer, 7), "receive");
    expect(comm.send(sent, peer, 8).has_value(), "send", comm.rank());
  }
  arrived(comm.ping_pong(end, 1, 5), "ping_pong");
  arrived(comm.stream(end, {4, 2, 2, true}), "stream both ways");
  const auto done = comm.stream(end, {4, 2, 0, false});
  if (role == PairRole::second)
    arrived(done, "stream");
  else
    expect(done.has_value() && got == ByteVector(300), "stream: nothing comes back", comm.rank());
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

  check_sums(comm);
  check_pending_sums(comm);
  check_pairs(comm);

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
