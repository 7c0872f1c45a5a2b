// Nodes that tried to load NCCL's network plugin, and the judge's word on each.
#include <cstdlib>
#include <fmt/format.h>

#include "probes/judging.hpp"
#include "probes/network_plugin/plugin.hpp"
#include "run/thread_comm.hpp"

namespace muster {
namespace {

using Extra = std::vector<Fact>;
using Given = std::vector<std::pair<std::string, std::string>>;

const std::string absent =
    "libnccl-net.so||libnccl-net.so: cannot open shared object file: No such file or directory|0|no";
const std::string loaded = "libnccl-net.so|/opt/libnccl-net.so||3|yes";

/// One rank on each of these nodes.
ProbeJudgement judge(const std::vector<Extra>& nodes, const ExpectedNode& promised = {}, Given params = {}) {
  MadeCase made(*find_probe("network_plugin"), std::move(params));
  made.node(promised);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Extra facts = nodes[i];
    facts.push_back({"speaks", "yes"});
    made.rank(fmt::format("nid{:03}", i + 1), facts);
  }
  return made.judge();
}

ExpectedNode ofi(const std::string& from = {}, std::vector<std::string> in = {}) {
  ExpectedNode node;
  node.plugins = {"ofi"};
  node.plugins_from = from;
  node.plugins_in = std::move(in);
  return node;
}

Extra plugin(const std::string& text, Extra others = {}) {
  others.push_back({"plugin", text});
  return others;
}

}  // namespace

TEST(NetworkPlugin, OneThatTheProfileAsksFor) {
  const auto judgement = judge({plugin(absent)}, ofi("module load aws-ofi"));
  ASSERT_EQ(judgement.findings.size(), 1u);
  const Finding& finding = judgement.findings[0];
  EXPECT_EQ(finding.verdict, Verdict::fail);
  EXPECT_EQ(
      finding.reason,
      "NCCL's network plugin (OFI), which the profile requests, can't be loaded on nid001: libnccl-net.so: cannot "
      "open shared object file: No such file or directory");
  EXPECT_EQ(finding.culprits.at(0).name, "LD_LIBRARY_PATH");
  EXPECT_EQ(finding.remedy, "module load aws-ofi");
  EXPECT_TRUE(judgement.evidence.empty());
}

TEST(NetworkPlugin, WhatSaysMoreGoesFirst) {
  Extra both = plugin(absent);
  both.push_back({"plugin", "librccl-net.so||libfabric.so.1: cannot open shared object file|0|no"});
  EXPECT_NE(judge({both}, ofi()).findings.at(0).reason.find(": libfabric.so.1: cannot open"), std::string::npos);
  EXPECT_EQ(
      judge({plugin("libnccl-net.so|/x/libnccl-net.so||0|no")}, ofi()).findings.at(0).reason,
      "NCCL's network plugin (OFI), which the profile requests, can't be loaded on nid001: /x/libnccl-net.so has no "
      "entry point of a network plugin");
}

TEST(NetworkPlugin, OneThatACheckOrAVariableAsksFor) {
  EXPECT_EQ(judge({plugin(absent)}, {}, {{"plugins", "ofi"}}).findings.at(0).verdict, Verdict::fail);
  const auto culprit = [](const Fact& variable, const ExpectedNode& node = {}) {
    return judge({plugin(absent, {variable})}, node).findings.at(0).culprits.at(0).name;
  };
  EXPECT_EQ(culprit({"env.NCCL_NET_PLUGIN", "nothing"}), "NCCL_NET_PLUGIN");
  EXPECT_EQ(culprit({"env.NCCL_NET", "AWS Libfabric"}), "NCCL_NET");
  EXPECT_EQ(culprit({"env.NCCL_NET_PLUGIN", "none"}, ofi()), "NCCL_NET_PLUGIN");
}

TEST(NetworkPlugin, OneThatLoadsIsEvidence) {
  const auto judgement = judge({plugin(loaded), plugin(loaded)}, ofi());
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.evidence,
            std::vector<std::string>{"NCCL's network plugin /opt/libnccl-net.so can be loaded on 2 nodes"});
  const auto strange = judge({plugin("libnccl-net.so|/opt/libnccl-net.so||3|no")}, ofi());
  ASSERT_EQ(strange.findings.size(), 1u);
  EXPECT_EQ(strange.findings[0].verdict, Verdict::pass);
  EXPECT_EQ(strange.findings[0].reason, "NCCL's network plugin on nid001 does not load libfabric: it may not be OFI's");
  EXPECT_FALSE(strange.evidence.empty());
  const auto others = judge({plugin(loaded), plugin("librccl-net.so|/lib/librccl-net.so||1|yes")}, ofi());
  EXPECT_NE(others.findings.at(0).reason.find("differs between nodes"), std::string::npos);
}

TEST(NetworkPlugin, OutsideOfTheContainerItIsSkipped) {
  const auto node = ofi("use a container", {"laifs", "container"});
  const auto outside = judge({plugin(absent), plugin(absent)}, node);
  ASSERT_EQ(outside.findings.size(), 1u);
  EXPECT_EQ(outside.findings[0].verdict, Verdict::skip);
  EXPECT_EQ(
      outside.findings[0].reason,
      "by the profile NCCL's network plugin is in the container of the job, and the ranks on nid001 and nid002 run "
      "outside of one");
  EXPECT_NE(outside.findings[0].remedy.find("--environment laifs or --environment container"), std::string::npos);
  EXPECT_TRUE(outside.evidence.empty()) << "a skip with evidence would owe its metrics";
  EXPECT_TRUE(outside.findings[0].culprits.empty());

  const auto inside = judge({plugin(absent, {{"container", "Singularity"}})}, node);
  ASSERT_EQ(inside.findings.size(), 1u);
  EXPECT_EQ(inside.findings[0].verdict, Verdict::fail) << "there it is judged";
  EXPECT_TRUE(judge({plugin(loaded, {{"container", "Singularity"}})}, node).findings.empty());
  EXPECT_TRUE(judge({plugin(loaded)}, node).findings.empty()) << "a node that has it all the same";
  EXPECT_EQ(judge({plugin(absent)}, node, {{"plugins", "ofi"}}).findings.at(0).verdict, Verdict::fail)
      << "a check that requests it asks here";
}

TEST(NetworkPlugin, WhereNoneIsAskedForItDoesNotApply) {
  const auto judgement = judge({plugin(absent)});
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::skip);
  EXPECT_FALSE(judge({plugin(loaded)}).evidence.empty()) << "one that is there is told";
}

TEST(NetworkPlugin, WhatIsDamagedIsUnmeasured) {
  const auto judgement = judge({plugin("nonsense")}, ofi());
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::unmeasured);
  EXPECT_EQ(judgement.findings[0].reason, "nid001 reported a malformed fact: nonsense");
}

TEST(NetworkPlugin, NamesOfFiles) {
  using network_plugin::file_names;
  EXPECT_EQ(file_names("").front(), "libnccl-net.so");
  EXPECT_EQ(file_names("ofi").front(), "libnccl-net-ofi.so");
  EXPECT_EQ(file_names("/opt/x/librccl-net.so"), (std::vector<std::string>{"/opt/x/librccl-net.so"}));
  EXPECT_TRUE(file_names("none").empty());
}

TEST(NetworkPlugin, OneRankOfANodeTriesIt) {
  ::setenv("NCCL_NET_PLUGIN", "/nonexistent/libx.so", 1);
  MadeCase made(*find_probe("network_plugin"));
  std::vector<Result<Observation>> seen(2);
  run_ranks(2, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    const RankPlace place{
        .rank = comm.rank(), .world_size = 2, .local_rank = comm.rank(), .local_size = 2, .host = "a"};
    RunContext context{made.params(), place, recorder, comm, nullptr, {}, {}};
    seen[static_cast<std::size_t>(comm.rank())] = find_probe("network_plugin")->run(context);
  });
  ::unsetenv("NCCL_NET_PLUGIN");
  ASSERT_TRUE(seen[0] && seen[1]);
  ASSERT_NE(seen[0]->fact("plugin"), nullptr);
  EXPECT_NE(seen[0]->fact("plugin")->find("libx.so"), std::string::npos);
  EXPECT_EQ(*seen[0]->fact("env.NCCL_NET_PLUGIN"), "/nonexistent/libx.so");
  EXPECT_TRUE(seen[1]->facts.empty());
}

}  // namespace muster
