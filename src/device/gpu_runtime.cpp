#include "device/gpu_runtime.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "device/gpu_backend.hpp"

namespace muster {

GpuRuntime open_runtime(const RuntimeKind& kind, const CallWatch& watch) {
  const Library library =
      watch(fmt::format("dlopen {}", *kind.files.begin()), [&] { return Library::open(kind.files); });
  GpuRuntime runtime;
  runtime.vendor = kind.vendor;
  LibraryReport& report = runtime.library;
  report.name = library.name();
  report.file = library.file();
  if (library.is_absent()) return runtime;
  const auto broken = [&](std::string error, std::string_view remedy) {
    report.state = LibraryState::broken;
    report.error = std::move(error);
    runtime.remedy = remedy;
  };
  broken(library.error(), kind.reinstall);
  if (!library.is_open()) return runtime;
  auto table = std::make_unique<GpuTable>();
  kind.set_constants(library, *table);
  VendorCall<unsigned> init;
  bool all = init.fill(library, kind.init, report.missing);
  all &= kind.fill(library, *table, report.missing);
  if (init.function != nullptr) report.code = watch(init.name, init.function, 0U);
  if (report.code != 0) {
    broken(fmt::format("{} returned {}: {}", init.name, report.code, table->words(report.code)),
           kind.remedy(report.code));
    return runtime;
  }
  if (!all) {
    // Only a library that starts is asked for its version: an older driver's, or not the vendor's own.
    report.version = report.missing.front() == kind.init ? std::string() : kind.version(library);
    broken(fmt::format("it lacks {}; it is {}{}", human_list(report.missing), library.file(),
                       report.version.empty() ? ", which gives no version" : " of version " + report.version),
           "");
    runtime.remedy = fmt::format(
        "{}, or take {} out of the search path (LD_LIBRARY_PATH, /etc/ld.so.conf.d) where it is not {}'s own",
        kind.upgrade, library.file(), kind.vendor);
    return runtime;
  }
  report.version = kind.version(library);
  auto gpus = Gpus::start(std::move(table), watch);
  if (!gpus) {
    broken(gpus.error().what, kind.remedy(0));
    return runtime;
  }
  broken({}, {});
  report.state = LibraryState::working;
  runtime.gpus = std::move(*gpus);
  return runtime;
}

std::vector<GpuRuntime> open_gpu_runtimes(const CallWatch& watch) {
  std::vector<GpuRuntime> runtimes;
  for (const GpuBackend* backend : gpu_backends())
    if (backend->open_runtime != nullptr) runtimes.push_back(backend->open_runtime(watch));
  return runtimes;
}

}  // namespace muster
