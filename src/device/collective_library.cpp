#include <fmt/format.h>

#include "base/text.hpp"
#include "device/collective_table.hpp"
#include "device/gpu_backend.hpp"

namespace muster {

namespace {

bool fill_collectives(const Library& library, CollectiveTable& table, std::vector<std::string>& missing) {
  bool all = table.new_id.fill(library, "ncclGetUniqueId", missing);
  all &= table.init.fill(library, "ncclCommInitRank", missing);
  all &= table.async_error.fill(library, "ncclCommGetAsyncError", missing);
  all &= table.abort.fill(library, "ncclCommAbort", missing);
  all &= table.destroy.fill(library, "ncclCommDestroy", missing);
  all &= table.all_reduce.fill(library, "ncclAllReduce", missing);
  all &= table.send.fill(library, "ncclSend", missing);
  all &= table.receive.fill(library, "ncclRecv", missing);
  all &= table.group_start.fill(library, "ncclGroupStart", missing);
  all &= table.group_end.fill(library, "ncclGroupEnd", missing);
  std::vector<std::string> unimportant;  // there since 2.14
  static_cast<void>(table.meet.fill(library, "ncclCommInitRankConfig", unimportant));
  static_cast<void>(table.finalize.fill(library, "ncclCommFinalize", unimportant));
  static_cast<void>(library.fill(table.words, "ncclGetErrorString"));
  static_cast<void>(library.fill(table.last_error, "ncclGetLastError"));
  return all;
}

}  // namespace

std::string version_of_collectives(int code) {
  // Up to 2.8 a thousand counted for the major number.
  const int major = code < 10'000 ? 1000 : 10'000;
  return fmt::format("{}.{}.{}", code / major, code % major / 100, code % 100);
}

CollectiveLibrary open_collective_library(std::initializer_list<const char*> names, std::string_view label,
                                          const CallWatch& watch) {
  const Library library = watch(fmt::format("dlopen {}", *names.begin()), [&] { return Library::open(names); });
  CollectiveLibrary opened;
  LibraryReport& report = opened.report;
  report.name = library.name();
  report.file = library.file();
  if (library.is_absent()) return opened;
  report.state = LibraryState::broken;
  report.error = library.error();
  if (!library.is_open()) return opened;
  auto table = std::make_shared<CollectiveTable>();
  VendorCall<int*> version;
  bool all = version.fill(library, "ncclGetVersion", report.missing);
  all &= fill_collectives(library, *table, report.missing);
  if (!all) {
    report.error = fmt::format("it lacks {}", human_list(report.missing));
    return opened;
  }
  int number = 0;
  report.code = watch(version.name, version.function, &number);
  if (report.code != 0) {
    const char* words = table->words == nullptr ? nullptr : table->words(report.code);
    report.error = fmt::format("ncclGetVersion returned {}: {}", report.code,
                               printable_line(words == nullptr ? "a code without words" : words, 160));
    return opened;
  }
  report.version = version_of_collectives(number);
  report.state = LibraryState::working;
  table->label = fmt::format("{} {}", label, report.version);
  opened.table = std::move(table);
  return opened;
}

CollectiveLibrary open_collectives(std::string_view vendor, const CallWatch& watch) {
  const GpuBackend* backend = find_gpu_backend(vendor);
  return backend == nullptr || backend->open_collectives == nullptr ? CollectiveLibrary()
                                                                    : backend->open_collectives(watch);
}

}  // namespace muster
