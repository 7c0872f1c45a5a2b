#include "system/openmp_team.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <system_error>
#include <thread>

namespace muster {

namespace {

// GNU's entry points; LLVM's runtime has them, too, for programs that GCC compiled.
using ParallelFunction = void (*)(void (*)(void*), void*, unsigned, unsigned);
using NumberFunction = int (*)();

struct Runtime {
  const char* name = nullptr;
  ParallelFunction parallel = nullptr;
  NumberFunction thread_number = nullptr;
  NumberFunction team_size = nullptr;
};

template <class Function>
Function look_up(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

Runtime open_runtime() {
  for (const char* name : {"libgomp.so.1", "libomp.so", "libomp.so.5", "libiomp5.so"}) {
    // Never closed: a runtime that has had threads does not survive being unloaded.
    void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    Runtime runtime{name, look_up<ParallelFunction>(library, "GOMP_parallel"),
                    look_up<NumberFunction>(library, "omp_get_thread_num"),
                    look_up<NumberFunction>(library, "omp_get_num_threads")};
    if (runtime.parallel != nullptr && runtime.thread_number != nullptr && runtime.team_size != nullptr) return runtime;
  }
  return {};
}

constexpr std::size_t most_threads = 4096;

struct Team {
  Runtime runtime;
  std::vector<CpuMask> masks = std::vector<CpuMask>(most_threads);  ///< each thread writes its own
  std::size_t size = 0;                                             ///< written by thread 0
};

void note_mask(void* data) {
  Team& team = *static_cast<Team*>(data);
  const auto number = static_cast<std::size_t>(team.runtime.thread_number());
  if (number == 0) team.size = static_cast<std::size_t>(team.runtime.team_size());
  if (number >= most_threads) return;
  if (auto mask = CpuMask::of_this_thread()) team.masks[number] = std::move(*mask);
}

}  // namespace

Result<OpenMpTeam> measure_openmp_team() {
  Team team;
  try {
    std::thread([&team] {
      team.runtime = open_runtime();
      if (team.runtime.parallel != nullptr) team.runtime.parallel(note_mask, &team, 0, 0);
    }).join();
  } catch (const std::system_error&) {
    return fail(ErrorKind::system, "thread", "the system allows no further thread");
  }
  if (team.runtime.parallel == nullptr)
    return fail(ErrorKind::system, "OpenMP", "no runtime found (libgomp, libomp, libiomp5)");
  team.masks.resize(std::min(team.size, most_threads));
  return OpenMpTeam{team.runtime.name, std::move(team.masks)};
}

}  // namespace muster
