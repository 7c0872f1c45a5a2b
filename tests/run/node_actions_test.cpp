// What may be done to nodes after a run, and above all what may not.
#include "run/node_actions.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <set>

#include "run/owner_tag.hpp"

namespace muster {
namespace {

const ActionRequest drain{true, false, 2};
const ActionRequest resume{false, true, 2};

Culprit node(const std::string& name) {
  return {CulpritKind::node, name, name, -1};
}

Finding fails(std::vector<Culprit> culprits, Subject subject = Subject::gpus) {
  return {Verdict::fail, "it is broken", std::move(culprits), "mend it", subject};
}

/// A run on nid001 to nid008 in which all is well, but for `findings` of check `devices`.
RunReport run_with(std::vector<Finding> findings) {
  RunReport report;
  report.run_id = "3f2a9c";
  report.started = "2026-11-22T02:00:00.000Z";
  CaseResult result;
  result.check = result.probe = "devices";
  result.verdict = findings.empty() ? Verdict::pass : findings.front().verdict;
  LaunchRecord launch;
  for (int i = 1; i <= 8; ++i) {
    launch.nodes.push_back("nid00" + std::to_string(i));
    NodeRow row;
    row.node = launch.nodes.back();
    row.ranks = 1;
    row.verdict = Verdict::pass;
    result.node_rows.push_back(row);
  }
  result.findings = std::move(findings);
  for (const auto& finding : result.findings)
    result.culprits.insert(result.culprits.end(), finding.culprits.begin(), finding.culprits.end());
  report.launches.push_back(std::move(launch));
  report.cases.push_back(std::move(result));
  return report;
}

std::vector<NodeService> all_idle() {
  std::vector<NodeService> nodes;
  for (int i = 1; i <= 8; ++i) {
    const auto name = "nid00" + std::to_string(i);
    nodes.push_back({name, name, "IDLE", false, false, "", "", ""});
  }
  return nodes;
}

/// nid00`number` as somebody has drained it.
std::vector<NodeService> with_drained(int number, const std::string& reason,
                                      std::vector<NodeService> nodes = all_idle()) {
  auto& one = nodes[static_cast<std::size_t>(number - 1)];
  one.state = "IDLE+DRAIN";
  one.is_drained = true;
  one.reason = reason;
  one.by = "root";
  one.since = "2026-11-21T02:00:05";
  return nodes;
}

const std::string own = write_tag({"aaaaaa", "devices", "GPU 3 is missing"});

TEST(Drain, TheNodeThatAFindingBlames) {
  const auto plan = plan_actions(run_with({fails({node("nid003")})}), all_idle(), drain);
  ASSERT_EQ(plan.actions.size(), 1u) << plan.refusal;
  EXPECT_EQ(plan.actions[0].kind, ActionKind::drain);
  EXPECT_EQ(plan.actions[0].node, "nid003");
  const auto tag = read_tag(plan.actions[0].reason);
  ASSERT_TRUE(tag.has_value()) << plan.actions[0].reason;
  EXPECT_EQ(*tag, (OwnerTag{"3f2a9c", "devices", "it is broken"}));
}

TEST(Drain, ByTheBatchSystemsNameForIt) {
  auto nodes = all_idle();
  nodes[2].node = "cn-3";
  EXPECT_EQ(plan_actions(run_with({fails({node("nid003")})}), nodes, drain).actions.at(0).node, "cn-3");
  nodes[3].host = "nid003";
  EXPECT_TRUE(plan_actions(run_with({fails({node("nid003")})}), nodes, drain).actions.empty()) << "two have that name";
  EXPECT_EQ(plan_actions(run_with({fails({node("nid003.alps.example")})}), all_idle(), drain).actions.at(0).node,
            "nid003");
  nodes = all_idle();
  nodes[2].node = "ALL";
  EXPECT_TRUE(plan_actions(run_with({fails({node("nid003")})}), nodes, drain).actions.empty());
}

TEST(Drain, NothingUnlessAsked) {
  EXPECT_TRUE(plan_actions(run_with({fails({node("nid003")})}), all_idle(), {}).actions.empty());
}

TEST(Drain, DevicesAndRanksStandForTheirNode) {
  const Culprit device{CulpritKind::device, "GPU 0000:c1:00.0", "nid003", -1};
  const Culprit rank{CulpritKind::rank, "rank 5", "nid003", 5};
  EXPECT_EQ(plan_actions(run_with({fails({device})}), all_idle(), drain).actions.size(), 1u);
  EXPECT_EQ(plan_actions(run_with({fails({rank}, Subject::data)}), all_idle(), drain).actions.size(), 1u);
  EXPECT_EQ(plan_actions(run_with({fails({rank, device}, Subject::sums)}), all_idle(), drain).actions.size(), 1u);
}

TEST(Drain, NotForWhatTheNodeMayNotHaveDone) {
  const Culprit rank{CulpritKind::rank, "rank 5", "nid003", 5};
  auto following = fails({node("nid003")});
  following.follows = "devices%1";
  auto unmeasured = fails({node("nid003")});
  unmeasured.verdict = Verdict::unmeasured;
  const std::vector<std::pair<Finding, const char*>> cases{
      {fails({rank}, Subject::none), "a rank that died"},
      {fails({{CulpritKind::setting, "OMP_NUM_THREADS", "nid003", -1}}), "a setting"},
      {fails({node("nid003"), {CulpritKind::program, "python3", "nid003", -1}}), "a program"},
      {fails({{CulpritKind::file, "/dev/nvidia0", "nid003", -1}}), "a file"},
      {fails({{CulpritKind::launcher, "srun", "nid003", -1}}), "the launcher"},
      {fails({{CulpritKind::link, "nid003 -> nid004", "", -1}}, Subject::links), "a link"},
      {fails({node("nid003"), node("nid004")}, Subject::links), "one of two"},
      {fails({node("nid003")}, Subject::masks), "masks"},
      {fails({node("nid003")}, Subject::mapping), "mapping"},
      {fails({node("nid003"), {CulpritKind::file, "/dev/shm", "nid003", -1}}), "space that any user may use up"},
      {following, "a consequence"},
      {unmeasured, "no evidence"},
  };
  for (const auto& [finding, name] : cases)
    EXPECT_TRUE(plan_actions(run_with({finding}), all_idle(), drain).actions.empty()) << name;
  auto report = run_with({fails({node("nid003")})});
  report.cases[0].verdict = Verdict::unmeasured;
  EXPECT_TRUE(plan_actions(report, all_idle(), drain).actions.empty()) << "a case that is no fail";
  report = run_with({fails({node("nid003")})});
  report.cases[0].probe = "command";
  EXPECT_TRUE(plan_actions(report, all_idle(), drain).actions.empty()) << "a program's own word";
  ASSERT_EQ(plan_actions(report, all_idle(), drain).left_alone.size(), 1u);
}

TEST(Drain, NeverWhatSomebodyElseDrainedOrNoted) {
  const auto report = run_with({fails({node("nid003")})});
  for (const auto* reason : {"fan is loud", "muster[3f2a9c-0000]: devices: made up", "Not responding"}) {
    const auto plan = plan_actions(report, with_drained(3, reason), drain);
    EXPECT_TRUE(plan.actions.empty()) << reason;
    EXPECT_NE(plan.left_alone.at(0).why.find("another user (root)"), std::string::npos) << plan.left_alone[0].why;
  }
  auto noted = all_idle();
  noted[2].reason = "watch this one";
  EXPECT_TRUE(plan_actions(report, noted, drain).actions.empty());
  auto down = all_idle();
  down[2].is_down = true;
  EXPECT_TRUE(plan_actions(report, down, drain).actions.empty());
  EXPECT_TRUE(plan_actions(report, with_drained(3, own), drain).actions.empty()) << "its own, already";
}

TEST(Drain, NeverMoreThanTheCap) {
  const auto report = run_with({fails({node("nid003")}), fails({node("nid004")}), fails({node("nid005")})});
  auto request = drain;
  const auto refused = plan_actions(report, all_idle(), request);
  EXPECT_TRUE(refused.actions.empty());
  EXPECT_NE(refused.refusal.find("3 would be, and --max-drain is 2"), std::string::npos) << refused.refusal;
  request.most_drained = 3;
  EXPECT_EQ(plan_actions(report, all_idle(), request).actions.size(), 3u);
  const auto with_one = plan_actions(report, with_drained(8, own), request);
  EXPECT_TRUE(with_one.actions.empty()) << "those that are out already count";
  EXPECT_NE(with_one.refusal.find("beside the 1 that muster has drained"), std::string::npos) << with_one.refusal;
  EXPECT_TRUE(plan_actions(report, with_drained(8, own + "; ticket 12"), request).actions.empty())
      << "edited ones, too";
  EXPECT_EQ(plan_actions(report, with_drained(8, "by hand"), request).actions.size(), 3u) << "others' do not";
}

TEST(Drain, NotMoreThanHalfOfThoseThatTookPart) {
  std::vector<Finding> findings;
  for (int i = 1; i <= 5; ++i) findings.push_back(fails({node("nid00" + std::to_string(i))}));
  auto request = drain;
  request.most_drained = 100;
  const auto plan = plan_actions(run_with(findings), all_idle(), request);
  EXPECT_TRUE(plan.actions.empty());
  EXPECT_NE(plan.refusal.find("more than half"), std::string::npos) << plan.refusal;
  findings.pop_back();
  EXPECT_EQ(plan_actions(run_with(findings), all_idle(), request).actions.size(), 4u);
}

TEST(Drain, ANodeByItselfMayBeDrained) {
  auto report = run_with({fails({node("nid003")})});
  report.launches[0].nodes = {"nid003"};
  report.cases[0].node_rows.erase(report.cases[0].node_rows.begin() + 3, report.cases[0].node_rows.end());
  report.cases[0].node_rows.erase(report.cases[0].node_rows.begin(), report.cases[0].node_rows.begin() + 2);
  EXPECT_EQ(plan_actions(report, all_idle(), drain).actions.size(), 1u);
}

TEST(Drain, NotForASimulatedMachineNorAnInterruptedRun) {
  auto report = run_with({fails({node("nid003")})});
  report.simulated = "lumi-g";
  EXPECT_TRUE(plan_actions(report, all_idle(), drain).actions.empty());
  EXPECT_NE(plan_actions(report, all_idle(), drain).refusal.find("lumi-g"), std::string::npos);
  report.simulated.clear();
  report.nodes.push_back({"nid003", {{"simulated", "lumi-g"}}});
  EXPECT_TRUE(plan_actions(report, all_idle(), drain).actions.empty()) << "also where only a node says it";
  report = run_with({fails({node("nid003")})});
  report.interrupted = "SIGTERM";
  EXPECT_TRUE(plan_actions(report, all_idle(), drain).actions.empty());
}

TEST(Resume, ItsOwnAfterANewerPassOfThatCheck) {
  const auto plan = plan_actions(run_with({}), with_drained(3, own), resume);
  ASSERT_EQ(plan.actions.size(), 1u);
  EXPECT_EQ(plan.actions[0], (WantedAction{ActionKind::resume, "nid003", "devices", own}));
}

TEST(Resume, NeverWhatIsNotItsOwn) {
  for (const auto& reason : {std::string("fan is loud"), own + "; ticket 12", std::string("muster: by hand"),
                             "muster[bbbbbb" + own.substr(13)})
    EXPECT_TRUE(plan_actions(run_with({}), with_drained(3, reason), resume).actions.empty()) << reason;
}

TEST(Resume, NotWithoutANewerPassOfTheSame) {
  const auto stays = [](const RunReport& report, const std::string& reason = own) {
    const auto plan = plan_actions(report, with_drained(3, reason), resume);
    return plan.actions.empty();
  };
  EXPECT_TRUE(stays(run_with({}), write_tag({"aaaaaa", "memory", "slow"}))) << "another check passed";
  EXPECT_TRUE(stays(run_with({}), write_tag({"3f2a9c", "devices", "x"}))) << "the same run";
  EXPECT_TRUE(stays(run_with({fails({node("nid003")})}))) << "it fails again";
  EXPECT_TRUE(stays(run_with({fails({node("nid004")})}))) << "the check did not pass as a whole";
  auto report = run_with({});
  report.cases[0].node_rows.erase(report.cases[0].node_rows.begin() + 2);
  EXPECT_TRUE(stays(report)) << "it took no part in that check";
  report = run_with({});
  report.started = "2026-11-21T02:00:00.000Z";
  EXPECT_TRUE(stays(report)) << "drained after this run began";
  report = run_with({});
  report.cases.push_back(report.cases[0]);
  report.cases[1].check = "memory";
  report.cases[1].verdict = Verdict::unmeasured;
  report.cases[1].culprits = {{CulpritKind::device, "DIMM 3", "nid003", -1}};
  EXPECT_TRUE(stays(report)) << "something else is wrong with it";
  report = run_with({});
  report.interrupted = "SIGINT";
  EXPECT_TRUE(stays(report));
  EXPECT_TRUE(plan_actions(run_with({}), with_drained(3, own), drain).actions.empty()) << "nobody asked";
}

TEST(Resume, NoNodeThatThisRunDidNotAskFor) {
  auto report = run_with({});
  std::erase(report.launches.front().nodes, "nid003");
  EXPECT_TRUE(plan_actions(report, with_drained(3, own), resume).actions.empty());
}

TEST(Resume, ANodeThatDidNotAnswerGoesBackWhenItDoes) {
  const auto lost = write_tag({"aaaaaa", "node", "nid003 did not answer"});
  EXPECT_EQ(plan_actions(run_with({}), with_drained(3, lost), resume).actions.size(), 1u);
}

TEST(OwnerTag, IsReadAsItWasWrittenAndOnlyThen) {
  const OwnerTag tag{"3f2a9c", "devices", "GPU 3 [c1] is missing: 7 of 8"};
  const auto text = write_tag(tag);
  EXPECT_EQ(read_tag(text), tag);
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto changed = text;
    changed[i] = changed[i] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(read_tag(changed).has_value()) << changed;
  }
  EXPECT_FALSE(read_tag(text + "!").has_value());
  for (const auto* other :
       {"", "muster", "muster[", "muster[]: ", "muster[a-b]: c: d", "muster[3f2a9c-", "x muster[1-2]: a: b"})
    EXPECT_FALSE(read_tag(other).has_value()) << other;
}

TEST(OwnerTag, IsOneLineOfPlainCharacters) {
  const auto text = write_tag({"3f2a9c", "de\"v", "a\nb\x1b[31m \xc3\xa4 " + std::string(1000, 'x')});
  EXPECT_TRUE(read_tag(text).has_value()) << text;
  EXPECT_LT(text.size(), 400u);
  for (const char letter : text) EXPECT_TRUE(letter >= ' ' && letter <= '~' && letter != '"') << text;
}

TEST(Drain, NoNodeThatThisRunDidNotAskFor) {
  auto report = run_with({fails({node("nid003")})});
  std::erase(report.launches.front().nodes, "nid003");
  const auto plan = plan_actions(report, all_idle(), drain);
  EXPECT_TRUE(plan.actions.empty());
  ASSERT_EQ(plan.left_alone.size(), 1u);
  EXPECT_EQ(plan.left_alone[0], (LeftAlone{"nid003", "this run launched nothing on a node of that name"}));
}

rc::Gen<std::string> any_name() {
  return rc::gen::element<std::string>("nid001", "nid002", "nid003", "nid004", "nid005", "nid006", "nid007", "nid008",
                                       "nid003.alps.example", "elsewhere", "ALL", "nid[001-004]", "");
}

Finding any_finding() {
  Finding finding = fails({});
  finding.verdict = *rc::gen::element(Verdict::fail, Verdict::error, Verdict::unmeasured);
  finding.subject = *rc::gen::element(Subject::gpus, Subject::node, Subject::masks, Subject::none);
  if (*rc::gen::arbitrary<bool>()) finding.follows = "other%1";
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left) {
    const auto name = *any_name();
    const std::vector<Culprit> culprits{node(name),
                                        {CulpritKind::device, "GPU 1", name, -1},
                                        {CulpritKind::rank, "rank 2", name, 2},
                                        {CulpritKind::launcher, "srun", "", -1},
                                        {CulpritKind::link, "a - b", name, -1}};
    finding.culprits.push_back(culprits[*rc::gen::inRange<std::size_t>(0, culprits.size())]);
  }
  return finding;
}

std::vector<NodeService> any_services() {
  auto nodes = all_idle();
  for (auto& one : nodes) {
    one.is_drained = *rc::gen::weightedElement<bool>({{3, false}, {1, true}});
    one.is_down = *rc::gen::weightedElement<bool>({{5, false}, {1, true}});
    if (one.is_drained) one.reason = *rc::gen::element(std::string(own), std::string("broken fan"), std::string());
  }
  return nodes;
}

/// Whatever the report says: actions are on asked nodes alone; drained are those in service, no more than the cap with
/// what is drained already; resumed are those that muster drained; and nothing is done on simulated evidence.
RC_GTEST_PROP(Drain, NeverBeyondWhatWasAskedFor, ()) {
  std::vector<Finding> findings;
  for (int left = *rc::gen::inRange(0, 6); left > 0; --left) findings.push_back(any_finding());
  auto report = run_with(std::move(findings));
  report.cases.front().verdict = *rc::gen::element(Verdict::fail, Verdict::pass, Verdict::error);
  auto& asked = report.launches.front().nodes;
  asked.resize(*rc::gen::inRange<std::size_t>(0, asked.size() + 1));
  const bool is_simulated = *rc::gen::weightedElement<bool>({{4, false}, {1, true}});
  if (is_simulated && *rc::gen::arbitrary<bool>())
    report.simulated = "frontier";
  else if (is_simulated)
    report.nodes.push_back({"nid001", {{"simulated", "frontier"}}});
  const auto nodes = any_services();
  const ActionRequest request{*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>(), *rc::gen::inRange(0, 9)};

  const auto plan = plan_actions(report, nodes, request);
  std::set<std::string> drained;
  for (const auto& action : plan.actions) {
    RC_ASSERT(std::find(asked.begin(), asked.end(), action.node) != asked.end());
    const auto found =
        std::find_if(nodes.begin(), nodes.end(), [&](const auto& one) { return one.node == action.node; });
    if (action.kind == ActionKind::resume) {
      RC_ASSERT(request.resume_passed && found != nodes.end() && found->is_drained &&
                read_tag(found->reason).has_value());
      continue;
    }
    RC_ASSERT(drained.insert(action.node).second);
    RC_ASSERT(found != nodes.end() && !found->is_drained && !found->is_down && found->reason.empty());
  }
  RC_ASSERT(drained.empty() || request.drain_failed);
  RC_ASSERT(drained.empty() || static_cast<int>(drained.size()) + drained_by_muster(nodes) <= request.most_drained);
  RC_ASSERT(plan.actions.empty() || !is_simulated);
}

}  // namespace
}  // namespace muster
