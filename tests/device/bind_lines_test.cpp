// Options to paste, character by character.
#include "device/bind_lines.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr const char* blade = "synthetic:pack:1 numa:4 l3:2 core:8 pu:2(indexes=2*64:64*1)";

CpuMask set(const std::string& list) {
  return *CpuMask::parse_list(list);
}

NodeParts blade_with(std::size_t gpus) {
  NodeParts node;
  node.layout = *read_layout(blade);
  for (std::size_t i = 0; i < gpus; ++i)
    node.gpus.push_back(
        {"0000:0" + std::to_string(i) + ":00.0", "", node.layout.domains.at(static_cast<int>(3 - i)), 0});
  return node;
}

TEST(BindLines, Srun) {
  const auto placement = *place_ranks(blade_with(4), {.ranks = 4, .policy = BindPolicy::cores, .smt = true});
  EXPECT_EQ(srun_masks(placement),
            "--cpu-bind=mask_cpu:0xffff000000000000ffff,0xffff000000000000ffff0000,0xffff000000000000ffff00000000,"
            "0xffff000000000000ffff000000000000");
  EXPECT_EQ(srun_gpus(placement), "--gpu-bind=map_gpu:3,2,1,0");
  EXPECT_EQ(gpu_wrapper(placement, "CUDA_VISIBLE_DEVICES", "SLURM_LOCALID"),
            "bash -c 'gpus=(3 2 1 0); CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=${gpus[$SLURM_LOCALID]} exec "
            "\"$0\" \"$@\"'");
  const auto straight = *place_ranks(blade_with(4), {.ranks = 4, .policy = BindPolicy::gpu});
  EXPECT_EQ(gpu_wrapper(straight, visible_variable("amd"), "SLURM_LOCALID"),
            "bash -c 'ROCR_VISIBLE_DEVICES=$SLURM_LOCALID exec \"$0\" \"$@\"'");
  EXPECT_EQ(gpu_wrapper(straight, visible_variable("intel"), "SLURM_LOCALID"),
            "bash -c 'ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE ZE_ENABLE_PCI_ID_DEVICE_ORDER=1 "
            "ZE_AFFINITY_MASK=$SLURM_LOCALID exec \"$0\" \"$@\"'");
  EXPECT_EQ(gpu_wrapper(straight, visible_variable("nobody"), "SLURM_LOCALID"), "");
  const auto none = *place_ranks(blade_with(4), {.ranks = 4, .policy = BindPolicy::spread});
  EXPECT_EQ(srun_gpus(none), "");
  EXPECT_EQ(gpu_wrapper(none, "CUDA_VISIBLE_DEVICES", "SLURM_LOCALID"), "");
}

TEST(BindLines, OpenMpiGetsAMappingWhereItSaysTheSame) {
  NodeParts node = blade_with(0);
  const auto mapping = [&](PlacementRequest request) { return mpirun_mapping(node, *place_ranks(node, request)); };
  EXPECT_EQ(mapping({.ranks = 8, .policy = BindPolicy::spread}), "--map-by ppr:2:numa:PE=8 --bind-to core");
  EXPECT_EQ(mapping({.ranks = 4, .policy = BindPolicy::spread, .cores = 3}), "--map-by ppr:1:numa:PE=3 --bind-to core");
  // mpirun would put the second rank of a domain beside the first, not into the next cache.
  EXPECT_EQ(mapping({.ranks = 8, .policy = BindPolicy::spread, .cores = 3}), "");
  EXPECT_EQ(mapping({.ranks = 2, .policy = BindPolicy::spread}), "");
  node.reserved = set("0");
  EXPECT_EQ(mapping({.ranks = 8, .policy = BindPolicy::spread}), "");
}

TEST(BindLines, OneRankAsLaunchersAreAskedForIt) {
  // What mpirun would map by itself knows nothing of GPUs.
  const NodeParts reversed = blade_with(4);
  const auto by_cores = *place_ranks(reversed, {.ranks = 4, .policy = BindPolicy::cores});
  EXPECT_EQ(mpirun_mapping(reversed, by_cores), "");
  EXPECT_EQ(rank_binding(reversed, by_cores.ranks.at(1)), (RankBinding{"16-31", "0xffff0000", 2, "", "16-31"}));
}

TEST(BindLines, ARankfileCountsCores) {
  NodeParts node = blade_with(0);
  node.reserved = set("0,8,16,24,32,40,48,56");
  const auto placement = *place_ranks(node, {.ranks = 2, .policy = BindPolicy::spread, .smt = true});
  EXPECT_EQ(rankfile(node.layout, placement, {8, 9}, "+n0"),
            (std::vector<std::string>{"rank 8=+n0 slot=1-7,9-15", "rank 9=+n0 slot=33-39,41-47"}));
}

TEST(BindLines, PlacesOfOpenMp) {
  const Layout layout = *read_layout(blade);
  EXPECT_EQ(omp_places(layout, set("1-7")), "{1}:7");
  EXPECT_EQ(omp_places(layout, set("48-63,112-127")), "{48,112}:16");
  EXPECT_EQ(omp_places(layout, set("3")), "{3}");
  EXPECT_EQ(omp_places(layout, set("1,9,73")), "{1},{9,73}");
  EXPECT_EQ(omp_places(layout, set("1,9,17")), "{1}:3:8");
  EXPECT_EQ(omp_places(layout, set("1,9,11")), "{1},{9},{11}");
  EXPECT_EQ(omp_places(layout, {}), "");
}

}  // namespace
}  // namespace muster
