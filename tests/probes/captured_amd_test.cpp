// What device_visibility makes of what Debian's ROCm SMI shows of recorded nodes with GPUs of AMD's.
#include "device/captured_amd.hpp"

#include "base/text.hpp"
#include "probes/judging.hpp"

namespace muster {
namespace {

class JudgedCapture : public CapturedSys {
 protected:
  /// Without device files: the namespace has none.
  [[nodiscard]] static ProbeJudgement judged(Inventory inventory) {
    inventory.files.clear();
    for (Device& device : inventory.devices) device.files.clear();
    return MadeCase(*find_probe("device_visibility")).rank("nid001", to_facts(inventory)).judge();
  }
  static std::string words(const ProbeJudgement& judgement) {
    std::vector<std::string> reasons;
    for (const Finding& finding : judgement.findings)
      reasons.push_back(fmt::format("{}: {}", to_string(finding.verdict), finding.reason));
    return join(reasons, "; ");
  }
};

TEST_F(JudgedCapture, ANodeThatTheRealLibraryKnowsPasses) {
  unpack("kfd-mi210-xgmi-pcie.tar.gz");
  write_cards();
  const auto judgement = judged(seen());
  EXPECT_EQ(words(judgement), "");
  ASSERT_FALSE(judgement.evidence.empty());
  EXPECT_NE(judgement.evidence[0].find("8 GPUs on 1 node"), std::string::npos) << judgement.evidence[0];
  EXPECT_NE(judgement.evidence[0].find("rocm_smi"), std::string::npos) << judgement.evidence[0];
}

TEST_F(JudgedCapture, AGpuThatTheRealLibraryMissesIsNamed) {
  unpack("kfd-mi210-xgmi-pcie.tar.gz");
  write_cards("0000:43:00.0");
  const auto judgement = judged(seen());
  ASSERT_FALSE(judgement.findings.empty());
  for (const Finding& finding : judgement.findings) {
    EXPECT_EQ(finding.verdict, Verdict::fail);
    ASSERT_EQ(finding.culprits.size(), 1u) << words(judgement);
    EXPECT_EQ(finding.culprits[0].node, "nid001");
  }
  EXPECT_NE(words(judgement).find("ROCm SMI lists 7 of 8 GPUs that amdgpu offers on nid001; it misses 0000:43:00.0"),
            std::string::npos)
      << words(judgement);
}

/// The library is older than partitions.
TEST_F(JudgedCapture, PartitionedGpusOfAnOldLibraryDoNotFail) {
  unpack("kfd-mi308-partitioned.tar.gz");
  write_cards();
  const auto judgement = judged(seen());
  for (const Finding& finding : judgement.findings) EXPECT_EQ(finding.verdict, Verdict::pass) << words(judgement);
  ASSERT_FALSE(judgement.evidence.empty());
  EXPECT_NE(judgement.evidence[0].find("8 GPUs on 1 node"), std::string::npos) << judgement.evidence[0];
}

}  // namespace
}  // namespace muster
