/// Preloaded into the ranks, spoils sums that go on while ranks compute (MPI_Iallreduce): an MPI library, a network or
/// a memory that does wrong, to order.
///
///   ODD_SUMS=left_out|not_a_number|flipped|scaled
///            each rank keeps its own; an element of what the rank gives is NaN; a bit of what it gets is flipped; what
///            it gives is doubled
///   ODD_RANK=1     in MPI_COMM_WORLD; -1: all
///   ODD_CALL=60    which call of that rank, counted from 1; 0: all
///   ODD_ELEMENT=7  where
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mpi.h>
#include <string_view>
#include <vector>

namespace {

long number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

bool is_meant() {
  static long calls = 0;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ++calls;
  const long who = number_in("ODD_RANK");
  const long call = number_in("ODD_CALL");
  return (who < 0 || who == rank) && (call == 0 || call == calls);
}

}  // namespace

/// All of it happens at once; the request is one that is done.
extern "C" int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  const bool is_odd = is_meant() && type == MPI_FLOAT;
  const char* reported = std::getenv("ODD_SUMS");
  const std::string_view what = reported == nullptr ? "" : reported;
  const auto size = static_cast<std::size_t>(count) * sizeof(float);
  const auto element = static_cast<std::size_t>(number_in("ODD_ELEMENT")) % static_cast<std::size_t>(count);
  std::vector<float> mine(type == MPI_FLOAT ? static_cast<std::size_t>(count) : 0);
  if (is_odd && (what == "not_a_number" || what == "scaled")) {
    std::memcpy(mine.data(), from, size);
    if (what == "not_a_number") mine[element] = std::numeric_limits<float>::quiet_NaN();
    if (what == "scaled") mine[element] *= 2;
    from = mine.data();
  }
  const int code = PMPI_Allreduce(from, to, count, type, op, comm);
  if (is_odd && what == "left_out") std::memcpy(to, from, size);
  if (is_odd && what == "flipped") static_cast<std::uint8_t*>(to)[element * sizeof(float) + 1] ^= 4;
  return code;
}
