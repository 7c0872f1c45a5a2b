// Messages between two ranks. The loops here are what p2p times: nothing but MPI calls in them.
#include <climits>
#include <vector>

#include "comm/mpi/mpi_handle.hpp"

namespace muster {

namespace {

constexpr int pair_tag = 32766;    // both directions of a loop; who sends when is fixed
constexpr int answer_tag = 32765;  // of a window

int ping_pong_first(MPI_Comm comm, const PairEnd& end, std::uint64_t start, int count) {
  const int size = static_cast<int>(end.out.size);
  for (std::uint64_t i = start; i < start + static_cast<std::uint64_t>(count); ++i) {
    if (int code = MPI_Send(end.out.at(i).data(), size, MPI_BYTE, end.peer, pair_tag, comm); code != MPI_SUCCESS)
      return code;
    if (int code = MPI_Recv(end.in.at(i).data(), size, MPI_BYTE, end.peer, pair_tag, comm, MPI_STATUS_IGNORE);
        code != MPI_SUCCESS)
      return code;
  }
  return MPI_SUCCESS;
}

int ping_pong_second(MPI_Comm comm, const PairEnd& end, std::uint64_t start, int count) {
  const int size = static_cast<int>(end.out.size);
  for (std::uint64_t i = start; i < start + static_cast<std::uint64_t>(count); ++i) {
    if (int code = MPI_Recv(end.in.at(i).data(), size, MPI_BYTE, end.peer, pair_tag, comm, MPI_STATUS_IGNORE);
        code != MPI_SUCCESS)
      return code;
    if (int code = MPI_Send(end.out.at(i).data(), size, MPI_BYTE, end.peer, pair_tag, comm); code != MPI_SUCCESS)
      return code;
  }
  return MPI_SUCCESS;
}

/// One end of a stream.
class Window {
 public:
  Window(MPI_Comm comm, std::vector<MPI_Request>& requests, const PairEnd& end, const Comm::Stream& stream)
      : comm_(comm), requests_(requests), end_(end), stream_(stream), size_(static_cast<int>(end.out.size)) {
    const std::size_t most = static_cast<std::size_t>(stream.window) * (stream.both_ways ? 2 : 1);
    if (requests_.size() < most) requests_.resize(most);
  }

  int pass(std::uint64_t first_slot, bool sends, bool receives) {
    int used = 0;
    // Receives first: a message that finds its buffer waiting is not copied twice.
    for (int i = 0; receives && i < stream_.window; ++i) {
      const auto slot = end_.in.at(first_slot + static_cast<std::uint64_t>(i));
      if (int code = MPI_Irecv(slot.data(), size_, MPI_BYTE, end_.peer, pair_tag, comm_, next(used));
          code != MPI_SUCCESS)
        return code;
    }
    for (int i = 0; sends && i < stream_.window; ++i) {
      const auto slot = end_.out.at(first_slot + static_cast<std::uint64_t>(i));
      if (int code = MPI_Isend(slot.data(), size_, MPI_BYTE, end_.peer, pair_tag, comm_, next(used));
          code != MPI_SUCCESS)
        return code;
    }
    return MPI_Waitall(used, requests_.data(), MPI_STATUSES_IGNORE);
  }

  int run() {
    const bool is_first = end_.role == PairRole::first;
    for (int w = 0; w < stream_.count; ++w) {
      const std::uint64_t slot =
          stream_.start + static_cast<std::uint64_t>(w) * static_cast<std::uint64_t>(stream_.window);
      if (int code = pass(slot, is_first || stream_.both_ways, !is_first || stream_.both_ways); code != MPI_SUCCESS)
        return code;
      const int code = is_first ? MPI_Recv(nullptr, 0, MPI_BYTE, end_.peer, answer_tag, comm_, MPI_STATUS_IGNORE)
                                : MPI_Send(nullptr, 0, MPI_BYTE, end_.peer, answer_tag, comm_);
      if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
  }

 private:
  MPI_Request* next(int& used) { return &requests_[static_cast<std::size_t>(used++)]; }

  MPI_Comm comm_;
  std::vector<MPI_Request>& requests_;
  const PairEnd& end_;
  const Comm::Stream& stream_;
  int size_;
};

/// MPI counts in int.
Result<int> count_of(std::size_t bytes, const char* function) {
  if (bytes <= INT_MAX) return static_cast<int>(bytes);
  return fail(ErrorKind::usage, function, "a message has at most 2147483647 bytes");
}

}  // namespace

Result<void> MpiComm::send(std::span<const std::byte> bytes, int to, int tag) {
  auto count = count_of(bytes.size(), "MPI_Send");
  if (!count) return tl::unexpected(count.error());
  const auto start = [&](MPI_Request* request) {
    return MPI_Isend(bytes.data(), *count, MPI_BYTE, to, tag, handle_->comm, request);
  };
  return checked(handle_->is_patient ? handle_->patiently(start)
                                     : MPI_Send(bytes.data(), *count, MPI_BYTE, to, tag, handle_->comm),
                 "MPI_Send");
}

Result<void> MpiComm::receive(std::span<std::byte> bytes, int from, int tag) {
  auto count = count_of(bytes.size(), "MPI_Recv");
  if (!count) return tl::unexpected(count.error());
  const auto start = [&](MPI_Request* request) {
    return MPI_Irecv(bytes.data(), *count, MPI_BYTE, from, tag, handle_->comm, request);
  };
  return checked(handle_->is_patient
                     ? handle_->patiently(start)
                     : MPI_Recv(bytes.data(), *count, MPI_BYTE, from, tag, handle_->comm, MPI_STATUS_IGNORE),
                 "MPI_Recv");
}

Result<void> MpiComm::ping_pong(const PairEnd& end, std::uint64_t start, int count) {
  if (auto fits = count_of(end.out.size, "MPI_Send"); !fits) return tl::unexpected(fits.error());
  const int code = end.role == PairRole::first ? ping_pong_first(handle_->comm, end, start, count)
                                               : ping_pong_second(handle_->comm, end, start, count);
  return checked(code, "ping-pong (MPI_Send, MPI_Recv)");
}

Result<void> MpiComm::stream(const PairEnd& end, const Stream& stream) {
  if (auto fits = count_of(end.out.size, "MPI_Isend"); !fits) return tl::unexpected(fits.error());
  return checked(Window(handle_->comm, handle_->requests, end, stream).run(), "stream (MPI_Isend, MPI_Irecv)");
}

}  // namespace muster
