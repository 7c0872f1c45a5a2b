// What carries data between GPUs of different nodes, by the log of NCCL and RCCL, as p2p and allreduce judge it.
#include "probes/judging.hpp"

namespace muster {
namespace {

MadeCase two_nodes(const std::string& provider, const std::string& sockets = "fallback") {
  MadeCase made(*find_probe("p2p"), {{"sockets", sockets}});
  for (const char* host : {"n1", "n2"}) {
    std::vector<Fact> facts = {{"checked", "2 readings, 1 GB of 1 GB"},
                               {"data.device", "GPU 0000:c1:00.0"},
                               {"data.carrier", "RCCL 2.20.5"},
                               {"data.connections", "1 NET/AWS Libfabric (network AWS Libfabric)"}};
    if (!provider.empty()) facts.push_back({"data.provider", provider});
    made.rank(host, facts);
  }
  return made;
}

TEST(GpuNetwork, AnotherProviderThanSlingshots) {
  const auto judgement = two_nodes("tcp").judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  const Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_EQ(
      finding.reason,
      "data between GPUs of different nodes goes through libfabric's provider tcp, though the node has Slingshot's cxi "
      "(all 2 ranks, from the library's own log)");
  EXPECT_EQ(finding.culprits.size(), 2u);
  EXPECT_NE(finding.remedy.find("libcxi.so.1"), std::string::npos);
}

TEST(GpuNetwork, SlingshotsOwnAndAnotherThatIsAllowed) {
  EXPECT_TRUE(two_nodes("").judge().findings.empty());
  EXPECT_TRUE(two_nodes("tcp", "allowed").judge().findings.empty());
}

}  // namespace
}  // namespace muster
