// Where data lies: what all ranks come to, and what the judges of p2p and allreduce say of it.
#include "measure/gpu_data.hpp"

#include <algorithm>

#include "probes/judging.hpp"

namespace muster::p2p {
namespace {

TEST(GpuData, AllOrNone) {
  const auto gpu = Sight::gpu;
  const auto host = Sight::host;
  const auto lacking = Sight::lacking;
  EXPECT_EQ(decide({gpu, gpu}, false), Decision::device);
  EXPECT_EQ(decide({host, host}, false), Decision::host);
  EXPECT_EQ(decide({gpu, host}, false), Decision::refused) << "one rank without a GPU is no reason to measure the host";
  EXPECT_EQ(decide({gpu, lacking}, false), Decision::refused);
  EXPECT_EQ(decide({lacking, lacking}, false), Decision::refused);
  EXPECT_EQ(decide({gpu, host}, true), Decision::refused);
  EXPECT_EQ(decide({host, host}, true), Decision::refused);
  EXPECT_EQ(decide({gpu, Sight::broken}, false), Decision::refused);
}

/// A GPU of AMD's in four partitions, which its driver numbers as functions, and a whole one.
TEST(GpuData, OneRankReadsTheCountersOfAGpuAndItsPartitions) {
  Inventory node;
  node.seen(DeviceKind::gpu, {0, 5, 0, 0}, "pci").partitions = 4;
  static_cast<void>(node.seen(DeviceKind::gpu, {0, 6, 0, 0}, "pci"));
  std::vector<GpuPlace> places;
  for (std::uint32_t part : {1u, 0u, 3u}) places.push_back({0, true, {0, 5, 0, part}});
  places.push_back({0, true, {0, 6, 0, 0}});
  places.push_back({1, true, {0, 5, 0, 2}});
  places.push_back({0, false, {}});
  places.push_back({0, true, {0, 6, 0, 1}});
  std::string counted;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (const Device* gpu = counted_by(node, places, rank))
      counted += std::to_string(rank) + ":" + to_string(gpu->address) + " ";
  EXPECT_EQ(counted, "0:0000:05:00.0 3:0000:06:00.0 4:0000:05:00.0 ");
}

MadeCase case_of(const char* probe) {
  return MadeCase(*find_probe(probe));
}

TEST(GpuData, WhoRefusesIsNamedWithTheLibrarysWords) {
  for (const char* probe : {"allreduce", "p2p"}) {
    auto made = case_of(probe);
    made.rank("n1", {{"data.stopped", "others refused"}})
        .rank("n2", {{"data.refused", "ncclCommInitRank returned 2: unhandled system error"}, {"data.remedy", "see"}});
    const auto judgement = made.judge();
    ASSERT_EQ(judgement.findings.size(), 1u) << probe;
    const Finding& finding = judgement.findings[0];
    EXPECT_EQ(finding.verdict, Verdict::error);
    EXPECT_EQ(finding.reason, "no data on GPUs: ncclCommInitRank returned 2: unhandled system error (rank 1 on n2)");
    EXPECT_EQ(finding.culprits, (std::vector<Culprit>{{CulpritKind::rank, "rank 1", "n2", 1}}));
    EXPECT_EQ(finding.remedy, "see; on=host measures host memory");
    EXPECT_TRUE(judgement.evidence.empty());
  }
}

TEST(GpuData, ASettingThatHidesEveryGpuIsTheCulpritWithTheRankThatAloneHasIt) {
  const std::vector<Fact> hidden{
      {"data.refused", "cuInit returned 100"}, {"data.remedy", "see"}, {"data.setting", "CUDA_VISIBLE_DEVICES"}};
  auto made = case_of("allreduce");
  made.rank("n1", hidden).rank("n1", hidden).rank("n2", {{"data.stopped", "others refused"}}).rank("n2", hidden);
  const auto findings = made.judge().findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "CUDA_VISIBLE_DEVICES", "n1", -1},
                                                        {CulpritKind::setting, "CUDA_VISIBLE_DEVICES", "n2", 3}}));
}

TEST(GpuData, WhoLostAPeerIsNamedAfterTheOneThatFailed) {
  const auto refused = [](const char* why) { return std::vector<Fact>{{"data.refused", why}, {"data.remedy", "see"}}; };
  auto made = case_of("allreduce");
  for (const char* why : {"ncclCommInitRank returned 6: remote process exited", "ncclCommInitRank returned 2: broken",
                          "ncclCommInitRank returned 2: broken"})
    made.rank("n1", refused(why));
  const auto findings = made.judge().findings;
  ASSERT_EQ(findings.size(), 2u);
  ASSERT_EQ(findings[0].culprits.size(), 2u);
  EXPECT_EQ(findings[0].culprits[0].name, "rank 1");
  EXPECT_EQ(findings[1].culprits[0].name, "rank 0");
}

std::vector<Fact> on_gpu(const char* gpu) {
  return {{"checked", "8"}, {"data.device", gpu}, {"data.carrier", "NCCL 2.21.5"}, {"data.connections", "1 P2P/CUMEM"}};
}

TEST(GpuData, EvidenceNamesMemoryCarrierAndVersion) {
  auto made = case_of("allreduce");
  made.rank("n1", on_gpu("GPU 0000:1b:00.0")).rank("n1", on_gpu("GPU 0000:2b:00.0"));
  const auto judgement = made.judge();
  EXPECT_TRUE(judgement.findings.empty());
  ASSERT_FALSE(judgement.evidence.empty());
  EXPECT_EQ(judgement.evidence.back(), "memory of 2 GPUs over NCCL 2.21.5; connections of a rank: 1 P2P/CUMEM");
}

TEST(GpuData, HostMemoryInsteadIsSaid) {
  auto made = case_of("allreduce");
  for (int rank = 0; rank < 2; ++rank)
    made.rank("n1", {{"checked", "8"}, {"data.host", "the GPUs of the node are closed to this job"}});
  EXPECT_EQ(made.judge().evidence.back(), "on host memory: the GPUs of the node are closed to this job (all 2 ranks)");
}

TEST(GpuData, WithoutGpusNothingIsSaid) {
  auto made = case_of("allreduce");
  made.rank("n1", {{"checked", "8"}}).rank("n1", {{"checked", "8"}});
  for (const std::string& sentence : made.judge().evidence)
    EXPECT_EQ(sentence.find("memory of"), std::string::npos) << sentence;
}

TEST(GpuData, SocketsWhereThereIsAFabric) {
  for (const bool is_allowed : {false, true}) {
    MadeCase made(*find_probe("p2p"), {{"sockets", is_allowed ? "allowed" : "fallback"}});
    for (const char* host : {"n1", "n2"}) {
      auto facts = on_gpu("GPU 0000:1b:00.0");
      facts[0].value = "2 readings, 1 GB";
      facts.push_back({"data.sockets", "mlx5_0/1"});
      made.rank(host, facts);
    }
    const auto findings = made.judge().findings;
    EXPECT_EQ(std::count_if(findings.begin(), findings.end(),
                            [](const Finding& one) {
                              return one.reason.find("goes through sockets, though mlx5_0/1 is there") !=
                                     std::string::npos;
                            }),
              is_allowed ? 0 : 1);
  }
}

}  // namespace
}  // namespace muster::p2p
