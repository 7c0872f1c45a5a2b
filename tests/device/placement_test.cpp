// Which cores and which GPU each rank should have: machines that are made up, captured ones, and any at all.
#include "device/placement.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.hpp"

#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster {
namespace {

constexpr const char* blade = "synthetic:pack:1 numa:4 l3:2 core:8 pu:2(indexes=2*64:64*1)";

CpuMask set(const std::string& list) {
  return *CpuMask::parse_list(list);
}

const CpuMask first_of_each_cache = set("0,8,16,24,32,40,48,56");

/// A blade as in LUMI-G and Frontier.
NodeParts trento() {
  NodeParts node;
  node.layout = *read_layout(blade);
  const char* const gpus[] = {"c1", "c6", "c9", "ce", "d1", "d6", "d9", "de"};
  const std::size_t cache_of[] = {6, 7, 2, 3, 0, 1, 4, 5};
  for (std::size_t i = 0; i < 8; ++i)
    node.gpus.push_back({std::string("0000:") + gpus[i] + ":00.0", "", node.layout.caches[cache_of[i]], 0});
  const char* const nics[] = {"c5", "cd", "d5", "dd"};
  const std::size_t cache_of_nic[] = {7, 3, 1, 5};
  for (std::size_t i = 0; i < 4; ++i)
    node.nics.push_back({std::string("0000:") + nics[i] + ":00.0", "hsn" + std::to_string(i),
                         node.layout.caches[cache_of_nic[i]], 200});
  // For administration: nearer to the first cache than any other card.
  node.nics.push_back({"0000:94:00.0", "ens2", node.layout.caches[0], 1});
  node.reserved = first_of_each_cache;
  return node;
}

/// As in Perlmutter: the GPUs hang on the domains in reverse.
NodeParts reversed() {
  NodeParts node;
  node.layout = *read_layout(blade);
  for (int i = 0; i < 4; ++i)
    node.gpus.push_back({"0000:0" + std::to_string(i) + ":00.0", "", node.layout.domains.at(3 - i), 0});
  return node;
}

std::vector<std::string> hex_of(const Placement& placement) {
  std::vector<std::string> masks;
  for (const RankPlacement& seat : placement.ranks) masks.push_back(seat.cpus.hex());
  return masks;
}

std::vector<int> gpus_of(const Placement& placement) {
  std::vector<int> gpus;
  for (const RankPlacement& seat : placement.ranks) gpus.push_back(seat.gpu);
  return gpus;
}

Placement placed(const NodeParts& node, const PlacementRequest& request) {
  auto placement = place_ranks(node, request);
  EXPECT_TRUE(placement) << placement.error().what;
  return placement ? *placement : Placement();
}

std::string refusal(const NodeParts& node, const PlacementRequest& request) {
  const auto placement = place_ranks(node, request);
  EXPECT_FALSE(placement);
  if (placement) return {};
  EXPECT_EQ(placement.error().kind, ErrorKind::usage);
  return placement.error().what;
}

using Strings = std::vector<std::string>;
const Strings published{"0xfe000000000000", "0xfe00000000000000", "0xfe0000",      "0xfe000000", "0xfe",
                        "0xfe00",           "0xfe00000000",       "0xfe0000000000"};

TEST(Placement, RanksFollowTheGpusOfABlade) {
  const auto placement = placed(trento(), {.ranks = 8, .policy = BindPolicy::gpu});
  EXPECT_EQ(hex_of(placement), published);
  EXPECT_EQ(gpus_of(placement), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(placement.remarks.empty());
  const auto both = placed(trento(), {.ranks = 8, .policy = BindPolicy::gpu, .smt = true});
  EXPECT_EQ(both.ranks[0].cpus.hex(), "0xfe00000000000000fe000000000000");
}

TEST(Placement, RanksFollowTheCoresOfABlade) {
  const auto placement = placed(trento(), {.ranks = 8, .policy = BindPolicy::cores});
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(placement.ranks[i].cpus, set(std::to_string(8 * i + 1) + "-" + std::to_string(8 * i + 7)));
  EXPECT_EQ(gpus_of(placement), (std::vector<int>{4, 5, 2, 3, 6, 7, 0, 1}));
  // The card of each domain; not the one for administration, which is nearer.
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(placement.ranks[i].nic, (std::vector<int>{2, 1, 3, 0}[i / 2])) << i;
}

TEST(Placement, SomeRanksOfABlade) {
  EXPECT_EQ(gpus_of(placed(trento(), {.ranks = 4, .policy = BindPolicy::cores})), (std::vector<int>{4, 5, 2, 3}));
  const auto four = placed(trento(), {.ranks = 4, .policy = BindPolicy::gpu});
  EXPECT_EQ(gpus_of(four), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(four.remarks,
            Strings{"no rank uses GPUs 4-7, nor any core of NUMA domains 0,2; --gpus-per-rank 2 assigns all of them"});
  const auto sixteen = placed(trento(), {.ranks = 16, .policy = BindPolicy::gpu});
  EXPECT_EQ(sixteen.ranks[0].cpus, set("49-51"));
  EXPECT_EQ(sixteen.ranks[1].cpus, set("52-54"));
  ASSERT_EQ(sixteen.remarks.size(), 8u);
  EXPECT_EQ(sixteen.remarks[0], "ranks 0 and 1 share GPU 0 (0000:c1:00.0)");
}

TEST(Placement, GpusInReverse) {
  const Strings masks{"0xffff000000000000ffff000000000000", "0xffff000000000000ffff00000000",
                      "0xffff000000000000ffff0000", "0xffff000000000000ffff"};
  const auto by_gpu = placed(reversed(), {.ranks = 4, .policy = BindPolicy::gpu, .smt = true});
  EXPECT_EQ(hex_of(by_gpu), masks);
  EXPECT_EQ(gpus_of(by_gpu), (std::vector<int>{0, 1, 2, 3}));
  const auto by_cores = placed(reversed(), {.ranks = 4, .policy = BindPolicy::cores, .smt = true});
  EXPECT_EQ(hex_of(by_cores), Strings(masks.rbegin(), masks.rend()));
  EXPECT_EQ(gpus_of(by_cores), (std::vector<int>{3, 2, 1, 0}));
}

TEST(Placement, RanksOfOnePlaceShareItWithoutCrossingCaches) {
  NodeParts node = reversed();
  node.reserved = first_of_each_cache;
  const auto placement = placed(node, {.ranks = 8, .policy = BindPolicy::gpu});
  EXPECT_EQ(placement.ranks[0].cpus, set("49-55"));
  EXPECT_EQ(placement.ranks[1].cpus, set("57-63"));
  EXPECT_EQ(placed(node, {.ranks = 12, .policy = BindPolicy::gpu}).ranks[1].cpus, set("53-55,57"))
      << "but with four cores for each";
}

TEST(Placement, MoreCoresThanAreNearAreTakenFromTheDomainFirst) {
  const auto inside = placed(trento(), {.ranks = 1, .policy = BindPolicy::gpu, .cores = 14});
  EXPECT_EQ(inside.ranks[0].cpus, set("49-55,57-63"));
  EXPECT_EQ(inside.remarks,
            Strings{"no rank uses GPUs 1-7, nor any core of NUMA domains 0-2; --gpus-per-rank 8 assigns all of them"});
  const auto beyond = placed(trento(), {.ranks = 1, .policy = BindPolicy::gpu, .cores = 15});
  EXPECT_EQ(beyond.ranks[0].cpus, set("1,49-55,57-63"));
  ASSERT_EQ(beyond.remarks.size(), 2u);
  EXPECT_EQ(beyond.remarks[0],
            "rank 0 leaves NUMA domain 3, where GPU 0 (0000:c1:00.0) is: it gets cores of NUMA domain 0 too");
}

TEST(Placement, AGpuWhoseCoresAreAllReservedTakesItsNeighbours) {
  NodeParts node = trento();
  node.reserved = set("0-7");
  const auto placement = placed(node, {.ranks = 8, .policy = BindPolicy::gpu});
  EXPECT_TRUE(placement.ranks[4].cpus.is_subset_of(set("8-15"))) << placement.ranks[4].cpus.list();
  EXPECT_FALSE(placement.ranks[4].cpus.empty());
  EXPECT_EQ(placement.ranks[0].cpus.count(), placement.ranks[4].cpus.count()) << "alike";
  node.reserved = set("0-15");
  EXPECT_EQ(refusal(node, {.ranks = 8, .policy = BindPolicy::gpu}),
            "GPU 4 (0000:d1:00.0) has no core left near it: of CPUs 0-15,64-79, 0 cores can be used, for 2 ranks; "
            "request fewer ranks per node, reserve fewer cores, or assign no GPUs: --policy spread");
  EXPECT_NE(refusal(node, {.ranks = 8, .policy = BindPolicy::gpu, .cores = 2}).find("GPU 4"), std::string::npos);
  EXPECT_TRUE(place_ranks(node, {.ranks = 4, .policy = BindPolicy::gpu}));
}

TEST(Placement, WhatNoBindingCanGiveIsRefused) {
  EXPECT_EQ(refusal(trento(), {.ranks = 57, .policy = BindPolicy::gpu}),
            "57 ranks need a core each, but 56 of its 64 cores can be used (the others are reserved, or not ours); "
            "request at most 56 ranks per node");
  EXPECT_EQ(refusal(trento(), {.ranks = 8, .policy = BindPolicy::gpu, .cores = 8}),
            "8 ranks of 8 cores are 64 cores, but 56 of its 64 cores can be used (the others are reserved, or not "
            "ours); request at most 7 cores per rank, or for at most 7 ranks");
  NodeParts node = trento();
  node.reserved = node.layout.cpus();
  EXPECT_NE(refusal(node, {.ranks = 1}).find("no core is left on this node"), std::string::npos);
}

TEST(Placement, SpreadAndCompact) {
  NodeParts node;
  node.layout = *read_layout(blade);
  EXPECT_EQ(usual_policy(node), BindPolicy::spread);
  EXPECT_EQ(usual_ranks(node), 4);
  const auto spread = placed(node, {.ranks = 2, .policy = BindPolicy::spread});
  EXPECT_EQ(hex_of(spread), (Strings{"0xffff", "0xffff00000000"}));
  const auto compact = placed(node, {.ranks = 3, .policy = BindPolicy::compact, .cores = 6});
  EXPECT_EQ(compact.ranks[1].cpus, set("8-13")) << "a rank inside one cache, as long as there are enough";
  const auto narrow = placed(node, {.ranks = 10, .policy = BindPolicy::compact, .cores = 5});
  EXPECT_EQ(narrow.ranks[2].cpus, set("10-14")) << "else inside one domain";
  const auto wide = placed(node, {.ranks = 7, .policy = BindPolicy::compact});
  EXPECT_EQ(wide.ranks[1].cpus, set("9-17"));
  ASSERT_FALSE(wide.remarks.empty());
  EXPECT_EQ(wide.remarks[0], "rank 1 spans NUMA domains 0-1");
}

TEST(Placement, DomainsOfDifferentSize) {
  NodeParts node;
  node.layout = *read_layout(blade);
  node.reserved = set("0-14");  // one core of the first domain is left
  const auto placement = placed(node, {.ranks = 8, .policy = BindPolicy::spread, .cores = 3});
  EXPECT_FALSE(placement.ranks[0].cpus.intersects(set("0-15")));
  EXPECT_TRUE(placement.remarks.empty());
}

TEST(Placement, GpusThatAreSettledStay) {
  const auto placement = placed(trento(), {.ranks = 3, .gpu_of_rank = {7, 0, -1}});
  EXPECT_EQ(gpus_of(placement), (std::vector<int>{7, 0, -1}));
  EXPECT_TRUE(placement.ranks[0].cpus.is_subset_of(set("41-47")));
  EXPECT_TRUE(placement.ranks[1].cpus.is_subset_of(set("49-55")));
  EXPECT_FALSE(placement.ranks[2].cpus.empty());
}

TEST(Placement, NobodyKnowsWhereTheGpusAre) {
  NodeParts node = trento();
  for (NearDevice& gpu : node.gpus) gpu.near = {};
  const auto placement = placed(node, {.ranks = 8, .policy = BindPolicy::gpu});
  EXPECT_EQ(placement.ranks[7].cpus, set("57-63"));
  EXPECT_EQ(nearest_gpu(node, set("1")), -1);
  EXPECT_EQ(nearest_gpu(trento(), set("1")), 4);
}

TEST(Placement, WhereAMaskIs) {
  EXPECT_EQ(nearness_of(set("1-2"), set("0-7")), Nearness::inside);
  EXPECT_EQ(nearness_of(set("7-8"), set("0-7")), Nearness::touching);
  EXPECT_EQ(nearness_of(set("8"), set("0-7")), Nearness::apart);
  EXPECT_EQ(nearness_of(set("8"), {}), Nearness::unknown);
  EXPECT_EQ(nearness_of({}, set("8")), Nearness::unknown);
}

TEST(Placement, PoliciesHaveNames) {
  for (const auto policy : {BindPolicy::gpu, BindPolicy::cores, BindPolicy::spread, BindPolicy::compact})
    EXPECT_EQ(parse_bind_policy(to_string(policy)), policy);
  EXPECT_FALSE(parse_bind_policy("near"));
}

TEST(Placement, PartsOfAnInventory) {
  Inventory inventory;
  Device& lost = inventory.seen(DeviceKind::gpu, *parse_pci_address("0000:01:00.0"), "pci");
  lost.is_lost = true;
  Device& second = inventory.seen(DeviceKind::gpu, *parse_pci_address("0000:02:00.0"), "pci");
  second.numa_node = 1;
  second.compute_order = 2;
  Device& first = inventory.seen(DeviceKind::gpu, *parse_pci_address("0000:03:00.0"), "pci");
  first.compute_order = 1;
  Device& card = inventory.seen(DeviceKind::nic, *parse_pci_address("0000:04:00.0"), "pci");
  card.ports.push_back({"mlx5_0/1", "", "", "", 400});
  card.numa_node = 2;
  const NodeParts node = parts_of(*read_layout(blade), inventory);
  ASSERT_EQ(node.gpus.size(), 2u);
  EXPECT_EQ(node.gpus[0].address, "0000:03:00.0") << "as KFD counts";
  EXPECT_TRUE(node.gpus[0].near.empty());
  EXPECT_EQ(node.gpus[1].near, set("16-31,80-95"));
  ASSERT_EQ(node.nics.size(), 1u);
  EXPECT_EQ(node.nics[0].name, "mlx5_0");
  EXPECT_EQ(node.nics[0].near, set("32-47,96-111"));
}

TEST(Placement, ACapturedBladeGivesThePublishedMasks) {
  const char* folder = std::getenv("MUSTER_CAPTURES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
  const std::string file = std::string(folder) + "/hwloc/eas-tioga.xml";
  NodeParts node = parts_of(*read_layout(file), *read_topology_devices(file));
  node.reserved = first_of_each_cache;
  ASSERT_EQ(node.gpus.size(), 8u);
  EXPECT_EQ(node.vendor, "amd");
  EXPECT_EQ(hex_of(placed(node, {.ranks = 8, .policy = BindPolicy::gpu})), published);
  const auto by_cores = placed(node, {.ranks = 8, .policy = BindPolicy::cores});
  EXPECT_EQ(gpus_of(by_cores), (std::vector<int>{4, 5, 2, 3, 6, 7, 0, 1}));
  std::string cards;
  for (const RankPlacement& seat : by_cores.ranks) cards += node.nics.at(static_cast<std::size_t>(seat.nic)).name + " ";
  EXPECT_EQ(cards, "hsi2 hsi2 hsi1 hsi1 hsi3 hsi3 hsi0 hsi0 ");
}

TEST(Placement, EveryCapturedMachineGetsAPlacement) {
  const char* folder = std::getenv("MUSTER_CAPTURES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
  struct Expected {
    const char* file;
    std::size_t gpus, with_card;
    std::vector<std::string> masks;  // of the first ranks
  };
  const Expected all[] = {{"coral-lassen", 4, 4, {}},
                          {"cts1-pascal", 2, 2, {}},
                          {"epyc-corona", 4, 0, {}},             // its card is on a domain of its own
                          {"g4dnmetal", 8, 4, {"0-5", "6-11"}},  // cards on one of its sockets only
                          {"tuo.SPX", 4, 4, {"0-23"}}};
  for (const auto& [name, gpus, cards, masks] : all) {
    const std::string file = std::string(folder) + "/hwloc/" + name + ".xml";
    const NodeParts node = parts_of(*read_layout(file), *read_topology_devices(file));
    EXPECT_EQ(node.gpus.size(), gpus) << name;
    const auto placement = placed(node, {.ranks = usual_ranks(node), .policy = usual_policy(node)});
    EXPECT_TRUE(placement.remarks.empty()) << name << placement.remarks[0];
    for (std::size_t i = 0; i < masks.size(); ++i) EXPECT_EQ(placement.ranks[i].cpus.list(), masks[i]) << name;
    std::size_t with_card = 0;
    for (const RankPlacement& seat : placement.ranks) with_card += seat.nic >= 0;
    EXPECT_EQ(with_card, cards) << name;
  }
}

/// Cut down to two cores of each package by who recorded it, in a form that hwloc 2 does not take.
TEST(Placement, ACapturedMachineOfALaterHwloc) {
  const char* folder = std::getenv("MUSTER_CAPTURES");
  if (folder == nullptr || *folder == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
  std::string text = *read_file(fs::path(folder) / "hwloc" / "nvidiaDGX2.xml");
  const std::string version = "topology version=\"3.0\"";
  ASSERT_NE(text.find(version), text.npos);
  text.replace(text.find(version), version.size(), "topology version=\"2.0\"");
  const fs::path file = fs::temp_directory_path() / fmt::format("muster-dgx2-{}.xml", ::getpid());
  std::ofstream(file) << text;
  const auto layout = read_layout(file.string());
  const auto devices = read_topology_devices(file.string());
  fs::remove(file);
  ASSERT_TRUE(layout) << to_string(layout.error());
  ASSERT_TRUE(devices) << to_string(devices.error());
  const NodeParts node = parts_of(*layout, *devices);
  EXPECT_EQ(node.gpus.size(), 16u);
  EXPECT_EQ(node.vendor, "nvidia");
  const auto placement = place_ranks(node, {.ranks = 16, .policy = BindPolicy::gpu});
  ASSERT_FALSE(placement);
  EXPECT_NE(placement.error().what.find("16 ranks need a core each, but 4 of its 4 cores can be used"),
            std::string::npos)
      << placement.error().what;
}

TEST(Placement, PartsOfADescription) {
  MachineDescription machine;
  machine.cores = 16;
  machine.smt = 2;
  machine.domains = {{0, set("0-7,16-23"), 0}, {1, set("8-15,24-31"), 0}, {2, {}, 0}};
  machine.gpus.vendor = "nvidia";
  DescribedGpu gpu;
  gpu.address = "0000:01:00.0";
  gpu.domain = 1;
  machine.gpus.devices = {gpu, gpu, gpu};
  machine.gpus.devices[1].is_lost = true;
  machine.gpus.devices[2].address = "0000:02:00.0";
  machine.gpus.devices[2].near = set("0-3,16-19");
  machine.reserved = set("8");
  const NodeParts node = parts_of(machine);
  ASSERT_EQ(node.gpus.size(), 2u);
  EXPECT_EQ(node.gpus[0].near, set("8-15,24-31"));
  EXPECT_EQ(node.gpus[1].near, set("0-3,16-19"));
  EXPECT_EQ(node.layout.domains.size(), 2u);
  EXPECT_EQ(placed(node, {.ranks = 2, .policy = BindPolicy::gpu}).ranks[0].cpus, set("9-15"));
}

#ifdef MUSTER_HAVE_RAPIDCHECK

/// Any machine: packages, domains, caches, cores and threads, some of it reserved, GPUs anywhere or nowhere.
NodeParts any_node() {
  NodeParts node;
  const int shape[] = {*rc::gen::inRange(1, 3), *rc::gen::inRange(1, 4), *rc::gen::inRange(1, 4),
                       *rc::gen::inRange(2, 9), *rc::gen::inRange(1, 3)};
  node.layout = *read_layout("synthetic:pack:" + std::to_string(shape[0]) + " numa:" + std::to_string(shape[1]) +
                             " l3:" + std::to_string(shape[2]) + " core:" + std::to_string(shape[3]) +
                             " pu:" + std::to_string(shape[4]));
  const int cpus = node.layout.cpus().count();
  for (const int cpu : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, cpus)))
    if (*rc::gen::inRange(0, 6) == 0) node.reserved.add(cpu);
  const int gpus = *rc::gen::inRange(0, 9);
  for (int i = 0; i < gpus; ++i) {
    const auto& places = *rc::gen::inRange(0, 2) == 0 ? node.layout.caches : node.layout.cores;
    NearDevice gpu{"0000:" + std::to_string(10 + i) + ":00.0", "", {}, 0};
    const int kind = *rc::gen::inRange(0, 4);
    if (kind == 1) gpu.near = node.layout.cpus();
    if (kind > 1) gpu.near = places[static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(places.size())))];
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

TEST(PlacementProperty, WhoIsSeatedIsSeatedRight) {
  int seated = 0;
  rc::check([&] {
    const NodeParts node = any_node();
    PlacementRequest request;
    request.ranks = *rc::gen::inRange(1, 10);
    request.policy = static_cast<BindPolicy>(*rc::gen::inRange(0, 4));
    request.cores = *rc::gen::inRange(0, 4);
    request.smt = *rc::gen::arbitrary<bool>();
    const auto placement = place_ranks(node, request);
    if (!placement) {
      RC_ASSERT(!placement.error().what.empty());
      return;
    }
    ++seated;
    RC_ASSERT(placement->ranks.size() == static_cast<std::size_t>(request.ranks));
    CpuMask taken;
    std::vector<int> users(node.gpus.size() + 1, 0);
    for (const RankPlacement& rank : placement->ranks) {
      RC_ASSERT(!rank.cpus.empty());
      RC_ASSERT(rank.cpus.is_subset_of(node.usable()));
      RC_ASSERT(!node.layout.whole_cores(rank.cpus).intersects(node.layout.whole_cores(node.reserved)));
      RC_ASSERT(!node.layout.whole_cores(rank.cpus).intersects(taken));
      if (request.cores > 0) RC_ASSERT(core_numbers(node.layout, rank.cpus).count() == request.cores);
      if (request.smt) RC_ASSERT(rank.cpus == (node.layout.whole_cores(rank.cpus) & node.usable()));
      taken = taken | node.layout.whole_cores(rank.cpus);
      ++users[static_cast<std::size_t>(rank.gpu + 1)];
      // Something of it is in the domains of its GPU.
      if (rank.gpu < 0) continue;
      const CpuMask& near = node.gpus[static_cast<std::size_t>(rank.gpu)].near;
      if (!near.empty()) RC_ASSERT(!(node.layout.domains_of(near) & node.layout.domains_of(rank.cpus)).empty());
    }
    const bool takes_gpus = request.policy == BindPolicy::gpu || request.policy == BindPolicy::cores;
    const auto gpus = static_cast<int>(node.gpus.size());
    if (takes_gpus && gpus > 0) RC_ASSERT(users[0] == 0);
    for (std::size_t i = 1; i < users.size(); ++i)
      if (request.ranks <= gpus) RC_ASSERT(users[i] <= 1);
  });
  EXPECT_GT(seated, 20);
}

TEST(PlacementProperty, AsManyRanksAsCoresAlwaysFitWithoutGpus) {
  rc::check([] {
    NodeParts node = any_node();
    node.gpus.clear();
    const int cores = core_numbers(node.layout, node.usable()).count();
    RC_PRE(cores > 0);
    for (const auto policy : {BindPolicy::spread, BindPolicy::compact}) {
      RC_ASSERT(place_ranks(node, {.ranks = cores, .policy = policy}).has_value());
      RC_ASSERT(place_ranks(node, {.ranks = 1, .policy = policy, .cores = cores}).has_value());
      RC_ASSERT(!place_ranks(node, {.ranks = cores + 1, .policy = policy}).has_value());
    }
  });
}

#endif

}  // namespace
}  // namespace muster
