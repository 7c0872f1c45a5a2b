// Each call of a management library that fails with each code that its vendor's header has: the kernel's data of every
// GPU stays, and every code but those that mean "I have none of that" is reported with its call.
#include <fmt/format.h>
#include <functional>
#include <set>

#include "base/text.hpp"
#include "device/nvml_machine.hpp"

namespace muster {
namespace {

using Codes = std::vector<int>;

Codes range(int first, int last) {
  Codes codes;
  for (int code = first; code <= last; ++code) codes.push_back(code);
  return codes;
}

Codes with(Codes codes, const Codes& more) {
  codes.insert(codes.end(), more.begin(), more.end());
  return codes;
}

struct TriedLibrary {
  const char* machine;
  std::string prefix;  ///< of its calls
  Codes codes;
  std::set<int> quiet;  ///< that it also answers where it is well, and has nothing to give
  void (*add)(Inventory&, const CallWatch&);
};

std::set<std::string> calls_of(const TriedLibrary& library, const Inventory& base) {
  std::set<std::string> calls;
  Inventory inventory = base;
  library.add(inventory, CallWatch([&](std::string_view name) {
                if (name.substr(0, library.prefix.size()) == library.prefix) calls.emplace(name);
              }));
  return calls;
}

std::size_t gpus_in(const Inventory& inventory) {
  return static_cast<std::size_t>(
      std::count_if(inventory.devices.begin(), inventory.devices.end(),
                    [](const Device& device) { return device.kind == DeviceKind::gpu && device.sources.size() > 1; }));
}

bool is_reported(const Inventory& inventory, const std::string& call, int code) {
  const std::string words = fmt::format("{} returned {}", call, code);
  const auto names = [&](const std::string& text) { return text.find(words) != text.npos; };
  for (const LibraryReport& report : inventory.libraries)
    if (names(report.error)) return true;
  for (const Device& device : inventory.devices)
    for (const auto& [key, value] : device.values)
      if (names(value)) return true;
  return false;
}

/// What was lost, in sentences; `said` collects codes that were reported, by call.
std::string try_all(const TriedLibrary& library, const Inventory& base, std::size_t& tried) {
  std::string complaints;
  const std::size_t gpus = gpus_in(base);
  std::map<std::string, std::set<int>> message;
  for (const std::string& call : calls_of(library, base))
    for (const int code : library.codes) {
      ::setenv("MUSTER_DRIVER_FAILS", fmt::format("{} {}", call, code).c_str(), 1);
      Inventory inventory = base;
      library.add(inventory, CallWatch());
      ++tried;
      std::vector<std::string> faults;
      const Inventory back = parse_inventory(to_facts(inventory), faults);
      if (gpus_in(back) < gpus || back.libraries.size() != inventory.libraries.size() || !faults.empty())
        complaints += fmt::format("{} {}: {} of {} GPUs, {}\n", call, code, gpus_in(back), gpus, join(faults, "; "));
      if (is_reported(back, call, code)) message[call].insert(code);
    }
  ::unsetenv("MUSTER_DRIVER_FAILS");
  // A call whose failures are reported at all has them reported for every code that is one.
  for (const auto& [call, codes] : message)
    for (const int code : library.codes)
      if (codes.count(code) == 0 && library.quiet.count(code) == 0)
        complaints += fmt::format("{} {} is not reported, other codes are\n", call, code);
  return complaints + (message.size() < 5 ? "hardly any call is reported\n" : "");
}

void expect_well(const TriedLibrary& library) {
  char name[] = "/tmp/muster-codes-XXXXXX";
  const fs::path folder = fs::path(::mkdtemp(name)) / "m";
  ASSERT_TRUE(write_machine(shipped_machine(library.machine), "nid001", folder));
  EXPECT_EXIT(
      {
        ::setenv("MUSTER_DRIVERS", MUSTER_STAND_INS "/drivers", 1);
        if (!simulate(folder, {})) std::exit(2);
        const auto base = read_inventory(root_of("/"));
        if (!base) std::exit(3);
        std::size_t tried = 0;
        const std::string complaints = try_all(library, *base, tried);
        std::fprintf(stderr, "%zu tried\n%s", tried, complaints.c_str());
        std::exit(complaints.empty() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "[0-9]{3,} tried");
  fs::remove_all(folder.parent_path());
}

TEST(EveryCode, OfNvml) {
  expect_well({"gb200-nvl72", "nvml", with(range(1, 30), {999}), {2, 3, 4, 6, 13, 21, 22, 25, 26, 27}, add_nvml});
}

TEST(EveryCode, OfRocmSmi) {
  expect_well({"mi300x", "rsmi_", with(range(1, 20), {-1}), {2, 3, 4, 9, 10, 14}, add_rocm_smi});
}

TEST(EveryCode, OfAmdSmi) {
  expect_well({"mi300x", "amdsmi_", with(range(1, 60), {-2, -1}), {2, 3, 10, 14, 31, 40, 52, 55}, add_amd_smi});
}

}  // namespace
}  // namespace muster
