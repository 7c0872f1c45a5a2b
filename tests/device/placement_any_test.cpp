// Any request on any node: CPUs come from the allowed set, none twice, and a refusal has a reason that holds. 10,000
// cases from a fixed seed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "device/bind_lines.hpp"
#include "device/core_assignment.hpp"
#include "device/placement.hpp"

namespace muster {
namespace {

#ifdef MUSTER_SANITIZED
constexpr int cases = 3000;
#else
constexpr int cases = 10000;
#endif

class Chance {
 public:
  explicit Chance(unsigned seed) : source_(seed) {}
  int below(int most) { return static_cast<int>(source_() % static_cast<unsigned>(std::max(1, most))); }
  bool one_in(int most) { return below(most) == 0; }
  CpuMask some_of(const CpuMask& all, int one_in_most) {
    CpuMask mask;
    for (const int cpu : all.cpus())
      if (one_in(one_in_most)) mask.add(cpu);
    return mask;
  }

 private:
  std::mt19937 source_;
};

/// Domains that follow each other, or overlap, or leave cores out.
Layout any_layout(Chance& chance) {
  Layout layout;
  const int cores = 1 + chance.below(24);
  const int threads = 1 + chance.below(2);
  for (int core = 0; core < cores; ++core) {
    CpuMask cpus;
    for (int thread = 0; thread < threads; ++thread) cpus.add(core + thread * cores);
    layout.cores.push_back(cpus);
  }
  const int domains = chance.below(5);
  for (int i = 0; i < domains; ++i) {
    const bool overlaps = chance.one_in(3);
    const int from = overlaps ? chance.below(cores) : i * cores / domains;
    const int to = overlaps ? std::min(cores, from + 1 + chance.below(cores)) : (i + 1) * cores / domains;
    CpuMask cpus;
    for (int core = from; core < to; ++core) cpus = cpus | layout.cores[static_cast<std::size_t>(core)];
    if (!cpus.empty()) layout.domains[i] = cpus;
  }
  const int width = 1 + chance.below(8);
  if (chance.one_in(2))
    for (int from = 0; from < cores; from += width) {
      CpuMask cpus;
      for (int core = from; core < std::min(cores, from + width); ++core)
        cpus = cpus | layout.cores[static_cast<std::size_t>(core)];
      layout.caches.push_back(cpus);
    }
  return layout;
}

void give_gpus(Chance& chance, NodeParts& node) {
  const int gpus = chance.below(9);
  const int partitions = chance.one_in(4) ? 1 + chance.below(8) : 1;
  for (int i = 0; i < gpus; ++i) {
    CpuMask near;
    const int kind = chance.below(4);
    if (kind == 1) near = node.layout.cpus();
    if (kind > 1) near = chance.some_of(node.layout.cpus(), 4);
    for (int part = 0; part < partitions; ++part)
      node.gpus.push_back({fmt::format("0000:{:02x}:00.0", 16 + i), "", near, 0});
  }
}

void restrict_cpus(Chance& chance, NodeParts& node) {
  if (chance.one_in(2)) node.may = chance.some_of(node.layout.cpus(), 2);
  if (chance.one_in(2)) node.reserved = chance.some_of(node.layout.cpus(), 6);
}

PlacementRequest any_wish(Chance& chance, const NodeParts& node) {
  PlacementRequest request;
  request.ranks = 1 + chance.below(14);
  request.policy = static_cast<BindPolicy>(chance.below(4));
  request.cores = chance.one_in(2) ? 0 : chance.below(4);
  request.smt = chance.one_in(2);
  if (chance.one_in(4)) request.gpus_per_rank = 1 + chance.below(static_cast<int>(node.gpus.size()) + 1);
  return request;
}

bool takes_gpus(const NodeParts& node, const PlacementRequest& request) {
  return !node.gpus.empty() && (request.policy == BindPolicy::gpu || request.policy == BindPolicy::cores);
}

/// The first number behind `before`; -1: there is none.
int number_behind(const std::string& text, const std::string& before) {
  const auto at = text.find(before);
  return at == text.npos ? -1 : std::atoi(text.c_str() + at + before.size());
}

/// `... of CPUs 0-3, 2 cores can be used, for 3 ranks; ...`: as many, and too few.
void expect_crowded(const NodeParts& node, const std::string& what, const std::string& place) {
  const auto from = what.find(" left near ");
  ASSERT_NE(from, what.npos) << what << place;
  const auto of = what.find(": of CPU", from);
  const auto list = what.find(' ', of + 6) + 1;
  const auto mask = CpuMask::parse_list(what.substr(list, what.find(", ", list) - list));
  ASSERT_TRUE(mask) << what << place;
  const int cores = static_cast<int>(free_cores(node.layout, *mask & node.usable()).size());
  EXPECT_EQ(number_behind(what.substr(list), ", "), cores) << what << place;
  EXPECT_LT(cores, number_behind(what, ", for ")) << what << place;
}

void expect_reason(const NodeParts& node, const PlacementRequest& request, const std::string& what,
                   const std::string& place) {
  const auto cores = static_cast<int>(free_cores(node.layout, node.usable()).size());
  if (cores == 0 || request.ranks > cores || request.ranks * request.cores > cores) return;
  ASSERT_TRUE(takes_gpus(node, request)) << what << place;
  if (request.gpus_per_rank * request.ranks > static_cast<int>(node.gpus.size()) && request.gpus_per_rank > 1) return;
  expect_crowded(node, what, place);
}

void expect_spread(const NodeParts& node, const PlacementRequest& request, const Placement& placement,
                   const std::string& place) {
  std::set<std::string> addresses;
  for (const NearDevice& gpu : node.gpus) addresses.insert(gpu.address);
  std::map<int, int> users;
  std::map<std::string, int> of_address;
  for (const RankPlacement& rank : placement.ranks) {
    const auto gpus = gpus_of(rank);
    EXPECT_EQ(static_cast<int>(gpus.size()), takes_gpus(node, request) ? request.gpus_per_rank : 0) << place;
    for (const int gpu : gpus) ++users[gpu], ++of_address[node.gpus.at(static_cast<std::size_t>(gpu)).address];
  }
  if (request.ranks * request.gpus_per_rank <= static_cast<int>(node.gpus.size()))
    for (const auto& [gpu, count] : users) EXPECT_EQ(count, 1) << "GPU " << gpu << place;
  if (request.gpus_per_rank == 1 && request.ranks <= static_cast<int>(addresses.size()))
    for (const auto& [address, count] : of_address) EXPECT_EQ(count, 1) << address << place;
}

void expect_right(const NodeParts& node, const PlacementRequest& request, const Placement& placement,
                  const std::string& place) {
  ASSERT_EQ(placement.ranks.size(), static_cast<std::size_t>(request.ranks)) << place;
  CpuMask taken;
  const CpuMask allowed = node.may.empty() ? node.layout.cpus() : node.may;
  for (const RankPlacement& rank : placement.ranks) {
    EXPECT_FALSE(rank.cpus.empty()) << place;
    EXPECT_TRUE(rank.cpus.is_subset_of(allowed)) << place;
    const CpuMask whole = node.layout.whole_cores(rank.cpus);
    EXPECT_FALSE(whole.intersects(node.layout.whole_cores(node.reserved))) << place;
    EXPECT_FALSE(whole.intersects(taken)) << place;
    if (request.cores > 0) EXPECT_EQ(core_numbers(node.layout, rank.cpus).count(), request.cores) << place;
    if (request.smt) EXPECT_EQ(rank.cpus, whole & node.usable()) << place;
    if (!request.smt) EXPECT_EQ(rank.cpus.count(), core_numbers(node.layout, rank.cpus).count()) << place;
    taken = taken | whole;
  }
  // A line that counts cores by itself is offered only where it may count all.
  if (node.usable() != node.layout.cpus()) EXPECT_EQ(mpirun_mapping(node, placement), "") << place;
  expect_spread(node, request, placement, place);
}

void expect_one(Chance& chance, const NodeParts& node, const std::string& place) {
  const PlacementRequest request = any_wish(chance, node);
  const auto placement = place_ranks(node, request);
  if (placement)
    expect_right(node, request, *placement, place);
  else
    expect_reason(node, request, placement.error().what, place);
}

TEST(PlacementAny, NodesThatAreMadeUp) {
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
    Chance chance(static_cast<unsigned>(i));
    NodeParts node;
    node.layout = any_layout(chance);
    give_gpus(chance, node);
    restrict_cpus(chance, node);
    expect_one(chance, node, fmt::format(" (case {})", i));
  }
}

/// Of all captured topologies together: 1,400 by default, as many as MUSTER_PLACEMENT_CASES has.
int captured_cases() {
  const char* text = std::getenv("MUSTER_PLACEMENT_CASES");
  return text == nullptr ? 1400 : std::max(1, std::atoi(text));
}

/// A copy that hwloc 2 reads: it refuses files of hwloc 3, which has added nothing that is used here.
fs::path of_hwloc_2(const fs::path& file) {
  std::string text = *read_file(file, 64u << 20);
  const std::string version = "topology version=\"3.0\"";
  if (const auto at = text.find(version); at != text.npos) text.replace(at, version.size(), "topology version=\"2.0\"");
  const fs::path copy = fs::temp_directory_path() / fmt::format("muster-topology-{}.xml", ::getpid());
  std::ofstream(copy) << text;
  return copy;
}

TEST(PlacementAny, CapturedTopologies) {
  const char* folder = std::getenv("MUSTER_CAPTURES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
  std::map<std::string, NodeParts> nodes;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(folder) / "hwloc")) {
    const fs::path readable = of_hwloc_2(file.path());
    if (const auto layout = read_layout(readable.string()))
      nodes[file.path().filename().string()] = parts_of(*layout, *read_topology_devices(readable.string()));
    fs::remove(readable);
  }
  EXPECT_GE(nodes.size(), 7u);
  int placed = 0;
  for (int i = 0; i < captured_cases() && !testing::Test::HasFailure(); ++i)
    for (const auto& [name, whole] : nodes) {
      if (placed++ >= captured_cases()) break;
      Chance chance(static_cast<unsigned>(i));
      NodeParts node = whole;
      restrict_cpus(chance, node);
      expect_one(chance, node, fmt::format(" ({}, case {})", name, i));
    }
  std::printf("%d cases on %zu topologies\n", captured_cases(), nodes.size());
}

/// Twelve cores, three domains that overlap: the GPU of the first may take only what is its own.
TEST(PlacementAny, DomainsThatOverlap) {
  NodeParts node;
  for (int core = 0; core < 12; ++core) node.layout.cores.push_back(*CpuMask::parse_list(std::to_string(core)));
  const char* domains[] = {"0-7", "4-11", "2-5"};
  for (int i = 0; i < 3; ++i) node.layout.domains[i] = *CpuMask::parse_list(domains[i]);
  const char* nears[] = {"6-9", "0-3", "4-5", "2-3", "10-11"};
  for (int i = 0; i < 5; ++i)
    node.gpus.push_back({fmt::format("0000:0{}:00.0", i + 1), "", *CpuMask::parse_list(nears[i]), 0});
  for (int ranks = 1; ranks <= 12; ++ranks) {
    const auto placement = place_ranks(node, {.ranks = ranks, .policy = BindPolicy::gpu});
    EXPECT_TRUE(placement) << ranks << (placement ? "" : placement.error().what);
  }
}

NodeParts four_in_eight_parts() {
  NodeParts node;
  node.layout = *read_layout("synthetic:numa:4 core:8 pu:1");
  for (int gpu = 0; gpu < 4; ++gpu)
    for (int part = 0; part < 8; ++part)
      node.gpus.push_back({fmt::format("0000:{}0:00.0", gpu + 1), "", node.layout.domains.at(gpu), 0});
  return node;
}

std::vector<int> firsts(const Placement& placement) {
  std::vector<int> gpus;
  for (const RankPlacement& rank : placement.ranks) gpus.push_back(rank.gpu);
  return gpus;
}

TEST(PlacementAny, PartitionsAreSpreadOverGpus) {
  const NodeParts node = four_in_eight_parts();
  EXPECT_EQ(firsts(*place_ranks(node, {.ranks = 4})), (std::vector<int>{0, 8, 16, 24}));
  EXPECT_EQ(firsts(*place_ranks(node, {.ranks = 8})), (std::vector<int>{0, 1, 8, 9, 16, 17, 24, 25}));
  EXPECT_EQ(firsts(*place_ranks(node, {.ranks = 32})).back(), 31);
}

TEST(PlacementAny, SeveralGpusForEachRank) {
  NodeParts node;
  node.layout = *read_layout("synthetic:numa:4 core:4 pu:1");
  for (int gpu = 0; gpu < 8; ++gpu)
    node.gpus.push_back({fmt::format("0000:{}0:00.0", gpu + 1), "", node.layout.domains.at(gpu / 2), 0});
  const auto placement = *place_ranks(node, {.ranks = 2, .gpus_per_rank = 4});
  EXPECT_EQ(gpus_of(placement.ranks[1]), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(placement.ranks[1].cpus.list(), "8-15");
  EXPECT_TRUE(placement.remarks.empty()) << placement.remarks[0];
  EXPECT_EQ(srun_gpus(placement), "--gpu-bind=mask_gpu:0xf,0xf0");
  EXPECT_EQ(gpu_wrapper(placement, "ROCR_VISIBLE_DEVICES", "R"),
            "bash -c 'gpus=(0,1,2,3 4,5,6,7); ROCR_VISIBLE_DEVICES=${gpus[$R]} exec \"$0\" \"$@\"'");
  const auto refused = place_ranks(node, {.ranks = 3, .gpus_per_rank = 4});
  ASSERT_FALSE(refused);
  EXPECT_NE(
      refused.error().what.find("3 ranks with 4 GPUs each are 12, but this node has 8; request at most 2 GPUs per "
                                "rank, or for 2 ranks"),
      std::string::npos)
      << refused.error().what;
  const auto idle = *place_ranks(node, {.ranks = 2});
  ASSERT_EQ(idle.remarks.size(), 1u);
  EXPECT_EQ(idle.remarks[0],
            "no rank uses GPUs 2-7, nor any core of NUMA domains 1-3; --gpus-per-rank 4 assigns all of them");
}

}  // namespace
}  // namespace muster
