#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fmt/format.h>
#include <utility>

#include "base/agent_mark.hpp"
#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "comm/mpi/gpu_support.hpp"
#include "comm/mpi/mpi_handle.hpp"

#if defined(MUSTER_SANITIZED_ADDRESSES)
// MPI libraries leak at their end, from modules that are unloaded by then and so cannot be named in a list of
// suppressions: a program with MPI in it is not searched for leaks.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}
#endif

namespace muster {

namespace {

/// Root of a collection that every rank gets.
constexpr int everybody = -1;

/// What one round of a piecewise collection moves: of rank r, counts[r] bytes that land at offsets[r].
struct Round {
  std::vector<int> counts;
  std::vector<int> offsets;
  int total = 0;
};

Round plan_round(const std::vector<std::uint64_t>& lengths, std::uint64_t done, std::uint64_t piece) {
  Round round;
  for (const std::uint64_t length : lengths) {
    const std::uint64_t left = length > done ? length - done : 0;
    round.offsets.push_back(round.total);
    round.counts.push_back(static_cast<int>(std::min(left, piece)));
    round.total += round.counts.back();
  }
  return round;
}

}  // namespace

Result<void> checked(int code, const char* function) {
  if (code == MPI_SUCCESS) return {};
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  return fail(ErrorKind::system, function, length > 0 ? std::string(text, length) : "error " + std::to_string(code));
}

std::string_view mpi_flavor() {
#if defined(OPEN_MPI)
  static constexpr std::string_view mark = MUSTER_AGENT_MARK "openmpi>";
#elif defined(MPICH) || defined(MPICH_VERSION)
  static constexpr std::string_view mark = MUSTER_AGENT_MARK "mpich>";
#else
  static constexpr std::string_view mark = MUSTER_AGENT_MARK "other>";
#endif
  // Through a volatile pointer the whole mark stays in the program.
  const char* const volatile begin = mark.data();
  std::string_view flavor(begin, mark.size());
  flavor.remove_prefix(sizeof MUSTER_AGENT_MARK - 1);
  flavor.remove_suffix(1);
  return flavor;
}

std::string mpi_built_for() {
#if defined(OPEN_MPI)
  return "Open MPI " + std::to_string(OMPI_MAJOR_VERSION) + "." + std::to_string(OMPI_MINOR_VERSION) + "." +
         std::to_string(OMPI_RELEASE_VERSION);
#elif defined(I_MPI_VERSION)
  return "Intel MPI " I_MPI_VERSION;
#elif defined(MVAPICH2_VERSION)
  return "MVAPICH " MVAPICH2_VERSION;
#elif defined(MVAPICH_VERSION)
  return "MVAPICH " MVAPICH_VERSION;
#elif defined(MUSTER_CRAY_MPICH)
  return "Cray MPICH " MPICH_VERSION;
#elif defined(MPICH_VERSION)
  return "MPICH " MPICH_VERSION;
#else
  return {};
#endif
}

std::string mpi_library_text() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  return MPI_Get_library_version(text, &length) == MPI_SUCCESS ? text : "unknown MPI";
}

std::string mpi_library() {
  const std::string text = mpi_library_text();
  // MPICH adds its whole configure line by line; the first one is sufficient. Open MPI counts the final zero.
  const std::string_view all(text);
  return printable_line(trim(all.substr(0, all.find('\n'))), 200);
}

std::string mpi_settings_files() {
  if (mpi_flavor() != "openmpi") return {};
  // MPI_T knows them, but its start opens all modules that MPI_Init left closed, on each rank.
  constexpr std::size_t longest = 4096;
  if (const auto listed = environment_text("OMPI_MCA_mca_base_param_files"); !listed.empty())
    return listed.size() < longest ? printable_line(listed, longest) : "";
  std::vector<std::string> files;
  if (const auto home = environment_text("HOME"); !home.empty()) files.push_back(home + "/.openmpi/mca-params.conf");
  constexpr const char* of_the_site = "openmpi-mca-params.conf";
  if (const auto prefix = environment_text("OPAL_PREFIX"); !prefix.empty())
    files.push_back(fmt::format("{}/etc/{}", prefix, of_the_site));
  Dl_info library{};
  if (::dladdr(reinterpret_cast<const void*>(&MPI_Init), &library) != 0 && library.dli_fname != nullptr) {
    std::error_code problem;
    const fs::path path = fs::canonical(library.dli_fname, problem);
    if (!problem) files.push_back((path.parent_path().parent_path() / "etc" / of_the_site).string());
    // Where a distribution has its library below /usr, the file is in /etc.
    if (!problem && path.string().starts_with("/usr/lib")) files.push_back(fmt::format("/etc/openmpi/{}", of_the_site));
  }
  return printable_line(join(files, ","), longest);
}

Result<std::string> mpi_start(int& argc, char**& argv) {
  const HiddenGpuSupport hidden(mpi_library());
  if (auto done = checked(MPI_Init(&argc, &argv), "MPI_Init"); !done) return tl::unexpected(done.error());
  if (auto done = checked(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"); !done)
    return tl::unexpected(done.error());
  return hidden.reported();
}

Result<void> mpi_finish() {
  return checked(MPI_Finalize(), "MPI_Finalize");
}

void mpi_abort(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

MpiComm::MpiComm(std::unique_ptr<Handle> handle, std::size_t most_bytes)
    : handle_(std::move(handle)), most_bytes_(std::clamp<std::size_t>(most_bytes, 1, std::size_t{1} << 30)) {}

int MpiComm::Handle::wait_asleep(MPI_Request* request) {
  // Few looks are enough where the others are there already.
  constexpr int looks_awake = 10;
  constexpr timespec pause{0, 50'000};
  for (int looks = 0;; ++looks) {
    int is_done = 0;
    if (const int code = MPI_Test(request, &is_done, MPI_STATUS_IGNORE); code != MPI_SUCCESS || is_done != 0)
      return code;
    if (looks >= looks_awake) ::nanosleep(&pause, nullptr);
  }
}

int MpiComm::Handle::wait_awake_then_asleep(MPI_Request* request) {
  constexpr double awake_s = 1e-3;
  constexpr double longest_pause_s = 1e-3;
  const double began_s = monotonic_seconds();
  while (true) {
    int is_done = 0;
    if (const int code = MPI_Test(request, &is_done, MPI_STATUS_IGNORE); code != MPI_SUCCESS || is_done != 0)
      return code;
    const double waited_s = monotonic_seconds() - began_s;
    if (waited_s < awake_s) continue;
    const timespec pause{0, static_cast<long>(1e9 * std::min(waited_s / 20, longest_pause_s))};
    ::nanosleep(&pause, nullptr);
  }
}

bool must_be_patient() {
#if defined(OPEN_MPI)
  return false;  // mpi_yield_when_idle
#else
  return std::getenv(env_shared_cores) != nullptr;
#endif
}

Result<std::unique_ptr<MpiComm>> MpiComm::world(std::size_t most_bytes) {
  auto handle = std::make_unique<Handle>();
  handle->is_patient = must_be_patient();
  // The duplicate inherits the error handler that mpi_start set.
  if (auto done = checked(MPI_Comm_dup(MPI_COMM_WORLD, &handle->comm), "MPI_Comm_dup"); !done)
    return tl::unexpected(done.error());
  std::unique_ptr<MpiComm> made(new MpiComm(std::move(handle), most_bytes));
  if (auto counted = made->count_ranks(); !counted) return tl::unexpected(counted.error());
  return made;
}

Result<void> MpiComm::count_ranks() {
  if (auto done = checked(MPI_Comm_rank(handle_->comm, &rank_), "MPI_Comm_rank"); !done) return done;
  return checked(MPI_Comm_size(handle_->comm, &size_), "MPI_Comm_size");
}

Result<std::unique_ptr<Comm>> MpiComm::split(int group) {
  auto handle = std::make_unique<Handle>();
  handle->is_patient = handle_->is_patient;
  if (auto done = checked(MPI_Comm_split(handle_->comm, group, rank_, &handle->comm), "MPI_Comm_split"); !done)
    return tl::unexpected(done.error());
  std::unique_ptr<MpiComm> made(new MpiComm(std::move(handle), most_bytes_));
  if (auto counted = made->count_ranks(); !counted) return tl::unexpected(counted.error());
  return std::unique_ptr<Comm>(std::move(made));
}

MpiComm::~MpiComm() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized && handle_->comm != MPI_COMM_NULL) MPI_Comm_free(&handle_->comm);
}

Result<void> MpiComm::barrier() {
  const auto start = [&](MPI_Request* request) { return MPI_Ibarrier(handle_->comm, request); };
  return checked(handle_->is_patient ? handle_->patiently(start) : MPI_Barrier(handle_->comm), "MPI_Barrier");
}

Result<ByteVector> MpiComm::broadcast(std::span<const std::byte> bytes, int root) {
  const auto broadcast_of = [&](void* data, int count, MPI_Datatype type) {
    const auto start = [&](MPI_Request* request) {
      return MPI_Ibcast(data, count, type, root, handle_->comm, request);
    };
    return checked(handle_->is_patient ? handle_->patiently(start) : MPI_Bcast(data, count, type, root, handle_->comm),
                   "MPI_Bcast");
  };
  std::uint64_t length = bytes.size();
  if (auto done = broadcast_of(&length, 1, MPI_UINT64_T); !done) return tl::unexpected(done.error());
  ByteVector all(length);
  if (rank_ == root) std::copy(bytes.begin(), bytes.end(), all.begin());
  for (std::uint64_t at = 0; at < length; at += most_bytes_) {
    const int piece = static_cast<int>(std::min<std::uint64_t>(most_bytes_, length - at));
    if (auto done = broadcast_of(all.data() + at, piece, MPI_BYTE); !done) return tl::unexpected(done.error());
  }
  return all;
}

namespace {

/// One value of all ranks in the place of each.
template <class Handle>
Result<void> agree(void* value, MPI_Datatype type, MPI_Op operation, const Handle& handle) {
  const auto start = [&](MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, value, 1, type, operation, handle.comm, request);
  };
  return checked(
      handle.is_patient ? handle.patiently(start) : MPI_Allreduce(MPI_IN_PLACE, value, 1, type, operation, handle.comm),
      "MPI_Allreduce");
}

}  // namespace

Result<std::vector<std::uint64_t>> MpiComm::lengths(std::uint64_t mine, int root) {
  std::vector<std::uint64_t> all(root == everybody || rank_ == root ? static_cast<std::size_t>(size_) : 0);
  const MPI_Comm comm = handle_->comm;
  int code = MPI_SUCCESS;
  if (handle_->is_patient)
    code = handle_->patiently([&](MPI_Request* request) {
      return root == everybody ? MPI_Iallgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm, request)
                               : MPI_Igather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, root, comm, request);
    });
  else
    code = root == everybody ? MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm)
                             : MPI_Gather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, root, comm);
  if (auto done = checked(code, "MPI_Gather of lengths"); !done) return tl::unexpected(done.error());
  return all;
}

Result<std::vector<ByteVector>> MpiComm::collect(std::span<const std::byte> bytes, int root) {
  auto sizes = lengths(bytes.size(), root);
  if (!sizes) return tl::unexpected(sizes.error());
  // All of one round must fit into an int on the receiving side.
  const std::uint64_t piece = std::max<std::uint64_t>(1, most_bytes_ / static_cast<std::uint64_t>(size_));
  std::uint64_t longest = bytes.size();
  if (auto done = agree(&longest, MPI_UINT64_T, MPI_MAX, *handle_); !done) return tl::unexpected(done.error());

  std::vector<ByteVector> all(sizes->size());
  for (std::size_t from = 0; from < all.size(); ++from) all[from].reserve((*sizes)[from]);
  ByteVector arrived;
  for (std::uint64_t at = 0; at < longest; at += piece) {
    const Round round = plan_round(*sizes, at, piece);
    arrived.resize(static_cast<std::size_t>(round.total));
    const std::uint64_t left = bytes.size() > at ? bytes.size() - at : 0;
    const std::byte* from = left > 0 ? bytes.data() + at : bytes.data();
    const int count = static_cast<int>(std::min(left, piece));
    const MPI_Comm comm = handle_->comm;
    const int* counts = round.counts.data();
    const int* offsets = round.offsets.data();
    std::byte* to = arrived.data();
    int code = MPI_SUCCESS;
    if (handle_->is_patient)
      code = handle_->patiently([&](MPI_Request* request) {
        return root == everybody
                   ? MPI_Iallgatherv(from, count, MPI_BYTE, to, counts, offsets, MPI_BYTE, comm, request)
                   : MPI_Igatherv(from, count, MPI_BYTE, to, counts, offsets, MPI_BYTE, root, comm, request);
      });
    else
      code = root == everybody ? MPI_Allgatherv(from, count, MPI_BYTE, to, counts, offsets, MPI_BYTE, comm)
                               : MPI_Gatherv(from, count, MPI_BYTE, to, counts, offsets, MPI_BYTE, root, comm);
    if (auto done = checked(code, "MPI_Gatherv"); !done) return tl::unexpected(done.error());
    for (std::size_t source = 0; source < all.size(); ++source) {
      const auto begin = arrived.begin() + round.offsets[source];
      all[source].insert(all[source].end(), begin, begin + round.counts[source]);
    }
  }
  return all;
}

Result<std::vector<ByteVector>> MpiComm::gather(std::span<const std::byte> bytes, int root) {
  // MPI_Gather keeps a core of each rank until the last one comes, which then measures beside them.
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Ibarrier(handle_->comm, &request);
  if (code == MPI_SUCCESS) code = Handle::wait_awake_then_asleep(&request);
  if (auto met = checked(code, "MPI_Ibarrier before MPI_Gather"); !met) return tl::unexpected(met.error());
  return collect(bytes, root);
}

Result<std::vector<ByteVector>> MpiComm::all_gather(std::span<const std::byte> bytes) {
  return collect(bytes, everybody);
}

Result<bool> MpiComm::all_true(bool mine) {
  int agreed = mine ? 1 : 0;
  if (auto done = agree(&agreed, MPI_INT, MPI_MIN, *handle_); !done) return tl::unexpected(done.error());
  return agreed == 1;
}

}  // namespace muster
