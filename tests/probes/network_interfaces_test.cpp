// Made-up nodes, read as the probe reads them, and the judge's word on each.
#include <cstdlib>
#include <fstream>
#include <functional>

#include "device/interfaces.hpp"
#include "device/inventory.hpp"
#include "device/machine_tree.hpp"
#include "probes/judging.hpp"
#include "probes/network_interfaces/node_view.hpp"
#include "probes/network_interfaces/selection.hpp"
#include "run/thread_comm.hpp"

namespace muster {
namespace {

using network::Grammar;
using Change = std::function<void(std::vector<Interface>&)>;
using Extra = std::vector<Fact>;

const ProbeSpec& network_interfaces() {
  return *find_probe("network_interfaces");
}

/// What a healthy node tells: hsnN have 10.253.NODE.N/16 and MTU 9000.
std::vector<Fact> facts_of(std::string_view machine, int node = 1, const Change& change = {}) {
  const MadeMachine made(machine);
  const auto nics = read_nics(made.root().string());
  EXPECT_TRUE(nics);
  std::vector<Fact> facts = nics ? to_facts(*nics) : std::vector<Fact>();
  facts.push_back({"speaks", "yes"});
  auto interfaces = read_interfaces(made.root());
  for (Interface& one : interfaces) {
    one.mtu = one.name == "lo" ? 65536 : 9000;
    if (one.name == "lo") {
      one.addresses = {{"127.0.0.1", 8}};
      one.is_up = true;
    }
    if (one.name.rfind("hsn", 0) == 0)
      one.addresses = {{fmt::format("10.253.{}.{}", node, std::stoi(one.name.substr(3)) + 1), 16}};
  }
  if (change) change(interfaces);
  for (const Interface& one : interfaces) facts.push_back({"interface", to_text(one)});
  return facts;
}

class World {
 public:
  explicit World(std::string every = "nics 4", std::vector<std::pair<std::string, std::string>> params = {})
      : made_(network_interfaces(), std::move(params)), every_(std::move(every)) {}

  World& node(const std::string& machine = "", const Change& change = {}, const Extra& extra = {}) {
    ++nodes_;
    auto facts = facts_of(every_ + "; " + machine, nodes_, change);
    facts.insert(facts.end(), extra.begin(), extra.end());
    made_.rank(fmt::format("nid{:03}", nodes_), std::move(facts));
    return *this;
  }
  World& promise(int count, const std::string& name = {}, double rate = 0) {
    promised_.nics = NicExpectation{count, name, rate};
    return *this;
  }
  ProbeJudgement judge() { return made_.node(promised_).judge(); }

 private:
  MadeCase made_;
  std::string every_;
  ExpectedNode promised_;
  int nodes_ = 0;
};

void expect_only(const ProbeJudgement& judgement, const std::string& reason, const std::string& culprit,
                 const std::string& remedy) {
  ASSERT_EQ(judgement.findings.size(), 1u)
      << (judgement.findings.empty() ? "" : judgement.findings[0].reason + " / " + judgement.findings.back().reason);
  const Finding& first = judgement.findings[0];
  EXPECT_EQ(first.verdict, Verdict::fail);
  EXPECT_EQ(first.reason, reason);
  ASSERT_FALSE(first.culprits.empty());
  EXPECT_EQ(first.culprits[0].name, culprit);
  EXPECT_NE(first.remedy.find(remedy), std::string::npos) << first.remedy;
}

void expect_note(const ProbeJudgement& judgement, const std::string& reason) {
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::pass);
  EXPECT_EQ(judgement.findings[0].reason, reason);
}

void expect_well(const ProbeJudgement& judgement) {
  EXPECT_TRUE(judgement.findings.empty()) << judgement.findings[0].reason;
  EXPECT_FALSE(judgement.evidence.empty());
}

Extra setting(const std::string& name, const std::string& value) {
  return {{"env." + name, value}};
}

/// On Slingshot NCCL is told where to start, as it should be.
World nodes(const std::vector<std::string>& machines, const std::string& every = "nics 4") {
  World world(every);
  const bool is_slingshot = every.find("hsn") != std::string::npos;
  for (const std::string& machine : machines)
    world.node(machine, {}, is_slingshot ? setting("NCCL_SOCKET_IFNAME", "hsn") : Extra());
  return world;
}

Interface* named(std::vector<Interface>& interfaces, const std::string& name) {
  for (Interface& one : interfaces)
    if (one.name == name) return &one;
  return nullptr;
}

TEST(NetworkInterfaces, GoodNodesPassWithEvidence) {
  const auto judgement = nodes({"", ""}).judge();
  expect_well(judgement);
  EXPECT_EQ(judgement.evidence.at(0), "8 NICs on 2 nodes (8x ConnectX-7): 8 ports at 400 Gbit/s");
  const auto slingshot = nodes({"", ""}, "nics 4 hsn").promise(4, "^hsn", 200).judge();
  expect_well(slingshot);
  EXPECT_EQ(slingshot.evidence.at(1), "hsn0, hsn1, hsn2 and hsn3 are up with an address on 2 nodes");
  EXPECT_EQ(slingshot.evidence.at(2), "NCCL_SOCKET_IFNAME=hsn names what is up");
}

TEST(NetworkInterfaces, LoopbackAloneIsSkipped) {
  const auto judgement = nodes({""}, "gpus 1").judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::skip);
  EXPECT_EQ(judgement.findings[0].reason,
            "no network interface beside loopback and containers' on 1 node, and none expected");
  EXPECT_EQ(nodes({""}, "gpus 1").promise(4).judge().findings.at(0).reason,
            "no NIC on nid001, 4 expected by the profile");
}

TEST(NetworkInterfaces, AContainersAddressIsEnough) {
  const auto judgement = World("gpus 1")
                             .node("",
                                   [](std::vector<Interface>& all) {
                                     all.push_back({"eth0", 2, true, "up", 1500, 1, {}, {{"172.18.0.2", 16}}});
                                   })
                             .judge();
  expect_well(judgement);
  EXPECT_EQ(judgement.evidence.at(0), "eth0 is up with an address on 1 node");
}

TEST(NetworkInterfaces, ANicIsMissing) {
  expect_only(nodes({"nic 2 gone"}, "nics 4 hsn").promise(4, "^hsn").judge(),
              "3 NICs (hsn0, hsn1 and hsn3) on nid001, 4 expected by the profile: hsn2 is missing", "NIC hsn2",
              "lspci");
  // By the other nodes alone; the interface that went with it is not told again.
  expect_only(nodes({"", "nic 3 gone", ""}, "nics 4 hsn").judge(),
              "the set of NICs is 3x Cassini 1 (Slingshot 200Gb) on nid002, but 4x Cassini 1 (Slingshot 200Gb) on 2 "
              "other nodes",
              "nid002", "card");
  EXPECT_TRUE(nodes({"", ""}).promise(3).judge().findings.empty()) << "more than promised harms nobody";
}

TEST(NetworkInterfaces, ANicWithoutDriverOrFallenOff) {
  expect_only(nodes({"nic 1 driver=none"}).judge(), "NIC 0000:25:00.0 on nid001 has no driver bound",
              "NIC 0000:25:00.0", "load the driver");
  expect_only(nodes({"nic 1 driver=none"}).promise(4).judge(), "NIC 0000:25:00.0 on nid001 has no driver bound",
              "NIC 0000:25:00.0", "load the driver");
  // The interface that is gone with it is not told again.
  expect_only(nodes({"", "", "nic 1 driver=none", ""}, "nics 4 hsn").judge(),
              "NIC 0000:25:00.0 on nid003 has no driver bound", "NIC 0000:25:00.0", "load the driver");
  expect_only(nodes({"nic 1 lost portless"}, "nics 2").judge(),
              "NIC 0000:25:00.0 on nid001 has fallen off the bus: PCI configuration space reads 0xffff",
              "NIC 0000:25:00.0", "power-cycle");
}

TEST(NetworkInterfaces, ANicThatShowsNoPortIsNamed) {
  expect_only(nodes({"nic 1 portless"}).judge(),
              "NIC 0000:25:00.0 on nid001 is bound to mlx5_core but shows no port, others like it do",
              "NIC 0000:25:00.0", "dmesg: mlx5_core");
  // The whole class of one node.
  EXPECT_EQ(nodes({"", "nic 0 portless; nic 1 portless; nic 2 portless; nic 3 portless"}).judge().findings.size(), 4u);
  expect_well(nodes({"nic 0 portless"}, "nics 1").judge());  // nobody shows that it should
}

TEST(NetworkInterfaces, PortsThatAreDown) {
  expect_only(nodes({"nic 2 state=DOWN phys=Polling"}).judge(),
              "port mlx5_2/1 of NIC mlx5_2 (0000:35:00.0) on nid001 is DOWN, link Polling", "NIC mlx5_2 (0000:35:00.0)",
              "cable");
  expect_only(nodes({"nic 2 state=INIT"}).judge(),
              "port mlx5_2/1 of NIC mlx5_2 (0000:35:00.0) on nid001 is INIT, link LinkUp", "NIC mlx5_2 (0000:35:00.0)",
              "subnet manager");
  expect_only(nodes({"nic 0 state=DOWN phys=Disabled"}, "nics 1").judge(),
              "port mlx5_0/1 of NIC mlx5_0 (0000:15:00.0) on nid001 is DOWN, link Disabled",
              "NIC mlx5_0 (0000:15:00.0)", "enable");
  expect_only(nodes({"nic 2 state=down"}, "nics 4 hsn").judge(),
              "port hsn2 of NIC hsn2 (0000:35:00.0) on nid001 is down", "NIC hsn2 (0000:35:00.0)", "cable");
}

TEST(NetworkInterfaces, ADownPortThatAVariableNamesIsToldOnce) {
  for (const char* value : {"hsn0,hsn1,hsn2,hsn3", "hsn", "=hsn2"})
    expect_only(World("nics 4 hsn").node("nic 2 state=down", {}, setting("NCCL_SOCKET_IFNAME", value)).judge(),
                "port hsn2 of NIC hsn2 (0000:35:00.0) on nid001 is down", "NIC hsn2 (0000:35:00.0)", "cable");
}

TEST(NetworkInterfaces, PortsThatNobodyUsesAreNotMissed) {
  expect_well(nodes({"nic 1 state=down"}, "nics 2 eth").judge());
  expect_only(nodes({"nic 1 state=down"}, "nics 2 eth").promise(2, "^eth").judge(),
              "port eth1 of NIC eth1 (0000:25:00.0) on nid001 is down", "NIC eth1 (0000:25:00.0)", "cable");
  auto facts = facts_of("nics 2");
  Fact* last = nullptr;
  for (Fact& fact : facts)
    if (fact.key == "nic") {
      fact.value += "; port mlx5_9/2 InfiniBand DOWN Polling 10";
      last = &fact;
    }
  MadeCase made(network_interfaces());
  made.rank("nid001", facts);
  EXPECT_TRUE(made.judge().findings.empty()) << "the second port of every card";
  ASSERT_NE(last, nullptr);
  last->value.replace(last->value.rfind("DOWN Polling"), 12, "ACTIVE LinkUp");
  MadeCase odd(network_interfaces());
  odd.rank("nid001", facts);
  EXPECT_EQ(odd.judge().findings.size(), 1u) << "one card uses it";
}

TEST(NetworkInterfaces, SlowPorts) {
  expect_only(nodes({"nic 2 rate=200", ""}).judge(),
              "port mlx5_2/1 of NIC mlx5_2 (0000:35:00.0) on nid001 runs at 200 Gbit/s, others like it at 400",
              "NIC mlx5_2 (0000:35:00.0)", "cable");
  expect_only(nodes({"nic 0 rate=100"}, "nics 1 hsn").promise(1, "^hsn", 200).judge(),
              "port hsn0 of NIC hsn0 (0000:15:00.0) on nid001 runs at 100 Gbit/s, the profile promises 200",
              "NIC hsn0 (0000:15:00.0)", "lanes");
  expect_well(nodes({"nic 1 rate=10"}, "nics 1 hsn; nics 1 eth").promise(1, "^hsn", 200).judge());
}

TEST(NetworkInterfaces, OneLaneOfALink) {
  auto facts = facts_of("nics 1");
  for (Fact& fact : facts)
    if (const auto at = fact.value.find(" 400 4"); at != std::string::npos) fact.value.replace(at, 6, " 100 1");
  MadeCase made(network_interfaces());
  made.rank("nid001", facts);
  expect_only(made.judge(), "port mlx5_0/1 of NIC mlx5_0 (0000:15:00.0) on nid001 runs on one lane, at 100 Gbit/s",
              "NIC mlx5_0 (0000:15:00.0)", "lanes");
}

TEST(NetworkInterfaces, CountersThatGrow) {
  expect_only(World().node("", {}, {{"counter", "mlx5_1/1 symbol_error 7 3"}}).judge(),
              "symbol_error of mlx5_1/1 on nid001 grew by 3 within 200ms", "NIC mlx5_1 (0000:25:00.0)", "cable");
  expect_note(World().node("", {}, {{"counter", "mlx5_1/1 link_downed 2 0"}}).judge(),
              "counted since the drivers were loaded, and not now: link_downed of mlx5_1/1 on nid001 is 2");
  expect_note(World("nics 1 eth").node("", {}, {{"counter", "eth0 rx_errors 7 3"}}).judge(),
              "rx_errors of eth0 on nid001 grew by 3 within 200ms");
  expect_well(World().node("", {}, {{"counter", "nobody/1 symbol_error 7 3"}}).judge());
}

TEST(NetworkInterfaces, NamesThatAreSwapped) {
  const Change swap = [](std::vector<Interface>& all) {
    std::swap(named(all, "hsn0")->behind, named(all, "hsn2")->behind);
  };
  const auto extra = setting("NCCL_SOCKET_IFNAME", "hsn");
  const auto judgement = World("nics 4 hsn").node("", {}, extra).node("", swap, extra).node("", {}, extra).judge();
  expect_only(judgement,
              "the names of NICs on nid002 are not those of other nodes: hsn0 is 0000:35:00.0 instead of 0000:15:00.0 "
              "and hsn2 is 0000:15:00.0 instead of 0000:35:00.0",
              "interface hsn0", "udev");
  EXPECT_EQ(judgement.findings[0].culprits[1].node, "nid002");
  // Other slots on every node are no swap.
  const Change elsewhere = [](std::vector<Interface>& all) { named(all, "hsn0")->behind = "0000:99:00.0"; };
  expect_well(World("nics 4 hsn").node("", {}, extra).node("", elsewhere, extra).judge());
}

TEST(NetworkInterfaces, NetworksThatDiffer) {
  const auto extra = setting("NCCL_SOCKET_IFNAME", "hsn");
  const Change other = [](std::vector<Interface>& all) { named(all, "hsn1")->addresses = {{"10.9.0.5", 16}}; };
  expect_only(World("nics 4 hsn").node("", {}, extra).node("", {}, extra).node("", other, extra).judge(),
              "the network of hsn1 is 10.9.0.0/16 on nid003, but 10.253.0.0/16 on 2 other nodes", "interface hsn1",
              "subnets");
  expect_well(
      World("nics 4 hsn", {{"subnets", "any"}}).node("", {}, extra).node("", {}, extra).node("", other, extra).judge());
  // A network for each node may be meant so.
  expect_note(World("nics 4 hsn").node("", {}, extra).node("", other, extra).judge(),
              "the network of hsn1 differs: 10.253.0.0/16 on nid001 and 10.9.0.0/16 on nid002: right only where these "
              "networks are routed to each other");
  const Change alone = [](std::vector<Interface>& all) { named(all, "hsn1")->addresses = {{"10.9.0.5", 31}}; };
  expect_well(World("nics 4 hsn").node("", {}, extra).node("", {}, extra).node("", alone, extra).judge());
}

TEST(NetworkInterfaces, CablesThatAreExchanged) {
  const auto rails = [](int node, bool is_exchanged) {
    return [=](std::vector<Interface>& all) {
      named(all, "hsn0")->addresses = {{fmt::format("10.{}.0.{}", is_exchanged ? 2 : 1, node), 16}};
      named(all, "hsn1")->addresses = {{fmt::format("10.{}.0.{}", is_exchanged ? 1 : 2, node), 16}};
    };
  };
  const auto extra = setting("NCCL_SOCKET_IFNAME", "hsn");
  const auto judgement = World("nics 2 hsn").node("", rails(1, false), extra).node("", rails(2, true), extra).judge();
  ASSERT_EQ(judgement.findings.size(), 2u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::fail);
  EXPECT_EQ(judgement.findings[0].reason,
            "the network of hsn0 differs: 10.1.0.0/16 on nid001 and 10.2.0.0/16 on nid002");
  expect_well(World("nics 2 hsn").node("", rails(1, false), extra).node("", rails(2, false), extra).judge());
}

TEST(NetworkInterfaces, OneAddressTwice) {
  const auto extra = setting("NCCL_SOCKET_IFNAME", "hsn");
  const Change twin = [](std::vector<Interface>& all) { named(all, "hsn1")->addresses = {{"10.253.1.1", 16}}; };
  expect_only(World("nics 2 hsn").node("", {}, extra).node("", twin, extra).judge(),
              "hsn0 on nid001 and hsn1 on nid002 have the same address 10.253.1.1", "interface hsn0", "of its own");
  // Bridges of containers are alike everywhere, and so is a machine under two names.
  const Change bridge = [](std::vector<Interface>& all) {
    all.push_back({"docker0", 9, true, "up", 1500, 1, {}, {{"172.17.0.1", 16}}});
  };
  expect_well(World("nics 2 hsn").node("", bridge, extra).node("", bridge, extra).judge());
  Extra same = extra;
  same.push_back({"machine", "boot x"});
  expect_well(World("nics 2 hsn").node("", {}, same).node("", twin, same).judge());
}

TEST(NetworkInterfaces, MtuAndAddressesThatAreMissing) {
  const auto extra = setting("NCCL_SOCKET_IFNAME", "hsn0");
  const Change small = [](std::vector<Interface>& all) { named(all, "hsn1")->mtu = 1500; };
  expect_only(World("nics 2 hsn").node("", {}, extra).node("", small, extra).node("", {}, extra).judge(),
              "MTU of hsn1 is 1500 on nid002, but 9000 on 2 other nodes", "interface hsn1", "MTU");
  const Change bare = [](std::vector<Interface>& all) { named(all, "hsn1")->addresses.clear(); };
  expect_only(World("nics 2 hsn").node("", {}, extra).node("", bare, extra).judge(),
              "hsn1 on nid002 is up without an address, on 1 other node it has one", "interface hsn1", "DHCP");
}

TEST(NetworkInterfaces, AnInterfaceThatANodeDoesNotHave) {
  const auto with = [](const std::string& variable, const std::string& first, const std::string& second) {
    const auto add = [](const std::string& name, const std::string& address) {
      return [=](std::vector<Interface>& all) { all.push_back({name, 9, true, "up", 1500, 1, {}, {{address, 24}}}); };
    };
    return World("gpus 1")
        .node("", add("eth0", "10.0.0.1"), setting(variable, first))
        .node("", add("ens3", "10.0.0.2"), setting(variable, second))
        .judge();
  };
  expect_only(
      with("NCCL_SOCKET_IFNAME", "eth0", "eth0"),
      "NCCL_SOCKET_IFNAME is \"eth0\" on nid002 and chooses no network interface that is up: nid002 has lo and ens3",
      "NCCL_SOCKET_IFNAME", "ip -br addr");
  expect_only(
      with("NCCL_SOCKET_IFNAME", "=e", "=ens3"),
      "NCCL_SOCKET_IFNAME is \"=e\" on nid001 and chooses no network interface that is up: nid001 has lo and eth0",
      "NCCL_SOCKET_IFNAME", "unset");
  for (const char* good : {"e", "^docker,lo", "eth0,ens3"}) {
    const auto judgement = with("NCCL_SOCKET_IFNAME", good, good);
    EXPECT_EQ(judgement.findings.size(), good[1] == 't' ? 2u : 0u) << good;
  }
  EXPECT_EQ(with("GLOO_SOCKET_IFNAME", "eth0,ens3", "ens3").findings.at(0).reason,
            "GLOO_SOCKET_IFNAME is \"eth0,ens3\" and names ens3, which does not exist on nid001");
}

TEST(NetworkInterfaces, AnInterfaceThatIsNamedAndDown) {
  const Change bond = [](std::vector<Interface>& all) {
    all.push_back({"bond0", 9, false, "down", 1500, 1, {}, {{"10.1.0.1", 16}}});
  };
  const auto judgement = World("nics 2 hsn").node("", bond, setting("NCCL_SOCKET_IFNAME", "hsn0,bond0")).judge();
  expect_only(judgement, "NCCL_SOCKET_IFNAME is \"hsn0,bond0\" and names bond0, which is not up on nid001",
              "NCCL_SOCKET_IFNAME", "up on every node");
}

TEST(NetworkInterfaces, AdaptersThatAreChosen) {
  const auto with = [](const std::string& variable, const std::string& value) {
    return World("nics 2").node("", {}, setting(variable, value)).judge();
  };
  for (const char* good : {"mlx5", "=mlx5_0:1,mlx5_1", "^mlx5_1", "mlx5_0:1"}) expect_well(with("NCCL_IB_HCA", good));
  expect_only(with("NCCL_IB_HCA", "mlx4"),
              "NCCL_IB_HCA is \"mlx4\" on nid001 and chooses no RDMA device that is up: "
              "nid001 has mlx5_0 and mlx5_1",
              "NCCL_IB_HCA", "ibstat");
  expect_only(with("NCCL_IB_HCA", "^mlx5"),
              "NCCL_IB_HCA is \"^mlx5\" on nid001 and leaves no network device that is up", "NCCL_IB_HCA", "ibstat");
  for (const char* good : {"all", "mlx5_0:1", "mlx5_[01]:1"}) expect_well(with("UCX_NET_DEVICES", good));
  EXPECT_EQ(with("UCX_NET_DEVICES", "mlx5_4:1").findings.size(), 1u);
  expect_note(with("NCCL_IB_HCA", "mlx5_0,mlx5_7"), "NCCL_IB_HCA names mlx5_7, which exists on no node");
}

TEST(NetworkInterfaces, NothingIsSetOnSlingshot) {
  expect_note(
      World("nics 2 hsn").node().node().judge(),
      "NCCL_SOCKET_IFNAME is not set: NCCL and RCCL may start on a network that does not reach all nodes; export "
      "NCCL_SOCKET_IFNAME=hsn0,hsn1, or hsn0 alone if that hangs");
  expect_well(World("nics 2 hsn").node().judge());
}

World mixed(bool second_has_ib) {
  const auto with = [](int node, bool has_ib) {
    return [=](std::vector<Interface>& all) {
      all.push_back({"bond0", 5, true, "up", 1500, 1, {}, {{fmt::format("10.1.0.{}", node), 16}}});
      all.push_back(
          {"ib0", 6, has_ib, has_ib ? "up" : "down", 2044, 32, {}, {{fmt::format("192.168.0.{}", node), 16}}});
    };
  };
  World world("nics 1");
  world.node("", with(1, true)).node("", with(2, second_has_ib));
  return world;
}

TEST(NetworkInterfaces, NodesThatWouldStartOnDifferentNetworks) {
  expect_note(
      mixed(false).judge(),
      "NCCL_SOCKET_IFNAME is not set, and NCCL would start on different networks: bond0 (10.1.0.0/16) on nid002 "
      "and ib0 (192.168.0.0/16) on nid001; export NCCL_SOCKET_IFNAME=bond0");
}

TEST(NetworkInterfaces, NodesThatWouldStartOnOneNetwork) {
  expect_well(mixed(true).judge());
}

TEST(NetworkInterfaces, LoopbackThatAnExclusionLeaves) {
  const auto extra = setting("NCCL_SOCKET_IFNAME", "^docker");
  expect_note(World("nics 1 hsn").node("", {}, extra).node("", {}, extra).judge(),
              "NCCL_SOCKET_IFNAME=^docker permits NCCL to start on lo: exclude it as well (^lo,...)");
}

TEST(NetworkInterfaces, TheGrammarOfNccl) {
  using network::chosen;
  using network::parse_selection;
  const std::vector<std::string> names{"lo", "eth0", "eth1", "ib0", "docker0"};
  const auto pick = [&](Grammar grammar, const char* text) { return chosen(parse_selection(grammar, text), names); };
  using Names = std::vector<std::string>;
  EXPECT_EQ(pick(Grammar::nccl, "eth"), (Names{"eth0", "eth1"}));
  EXPECT_EQ(pick(Grammar::nccl, "=eth0"), (Names{"eth0"}));
  EXPECT_EQ(pick(Grammar::nccl, "=eth"), (Names{}));
  EXPECT_EQ(pick(Grammar::nccl, "=eth0,ib0"), (Names{"eth0", "ib0"}));
  EXPECT_EQ(pick(Grammar::nccl, "^docker,lo"), (Names{"eth0", "eth1", "ib0"}));
  EXPECT_EQ(pick(Grammar::nccl, "^=eth0"), (Names{"lo", "eth1", "ib0", "docker0"}));
  EXPECT_EQ(pick(Grammar::exact, "eth"), (Names{}));
  EXPECT_EQ(pick(Grammar::exact, "eth1,ib0"), (Names{"eth1", "ib0"}));
  EXPECT_EQ(pick(Grammar::ucx, "all"), names);
  EXPECT_EQ(pick(Grammar::ucx, "ib0:1"), (Names{"ib0"}));
}

TEST(NetworkInterfaces, DamageAndSilenceAreNoPass) {
  MadeCase damaged(network_interfaces());
  damaged.rank("nid001", std::vector<Fact>{{"speaks", "yes"}, {"interface", "lo; nonsense"}});
  EXPECT_EQ(damaged.judge().findings.at(0).verdict, Verdict::unmeasured);
  MadeCase nothing(network_interfaces());
  nothing.rank("nid001", std::vector<Fact>{{"speaks", "yes"}});
  expect_finding(nothing.judge(), Verdict::unmeasured, "nid001 shows no network interface, not even lo");
  MadeCase silent(network_interfaces());
  silent.rank("nid001", std::nullopt);
  EXPECT_TRUE(silent.judge().evidence.empty());
}

Observation observe(const MadeCase& made, SilentRecorder& recorder) {
  Observation found;
  run_ranks(1, [&](ThreadComm& comm) {
    const RankPlace place{.host = "a"};
    RunContext context{made.params(), place, recorder, comm, nullptr};
    auto seen = network_interfaces().run(context);
    ASSERT_TRUE(seen);
    found = std::move(*seen);
  });
  return found;
}

TEST(NetworkInterfaces, AWrongRootIsTheSettingsFault) {
  MadeCase made(network_interfaces(), {{"root", "/nonexistent/of/a/test"}});
  SilentRecorder recorder;
  const Observation seen = observe(made, recorder);
  const auto judgement = made.rank("a", seen.facts).judge();
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].verdict, Verdict::error);
  EXPECT_EQ(judgement.findings[0].culprits, (std::vector<Culprit>{{CulpritKind::setting, "root", "", -1}}));
}

TEST(NetworkInterfaces, ReadsTheMachineItIsPointedAt) {
  const MadeMachine machine("nics 2");
  const auto counter = machine.root() / "sys/class/infiniband/mlx5_1/ports/1/counters/symbol_error";
  std::filesystem::create_directories(counter.parent_path());
  std::ofstream(counter) << "12\n";
  MadeCase made(network_interfaces(), {{"root", machine.root().string()}, {"interval", "1ms"}});
  SilentRecorder recorder;
  const Observation seen = observe(made, recorder);
  ASSERT_EQ(seen.readings.size(), 4u);
  EXPECT_EQ(seen.readings[0].summary.median, 2);
  EXPECT_EQ(seen.readings[1].summary.median, 400);
  EXPECT_EQ(seen.readings[3].metric, "port_errors");
  EXPECT_EQ(seen.readings[3].summary.median, 12);
  expect_note(made.rank("a", seen.facts).judge(),
              "counted since the drivers were loaded, and not now: symbol_error of mlx5_1/1 on a is 12");
}

/// A captured node's ports in the place of the made-up ones.
TEST(NetworkInterfaces, TheCapturedPortsOfAnH100Node) {
  const char* captures = std::getenv("MUSTER_CAPTURES");
  if (captures == nullptr || *captures == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
  const auto archive = std::filesystem::path(captures) / "infiniband/sys-class-infiniband-h100.tar.gz";
  if (!std::filesystem::exists(archive)) GTEST_SKIP() << "no captured ports there";
  const MadeMachine machine("nics 9");
  const auto folder = machine.root() / "capture";
  std::filesystem::create_directories(folder);
  ASSERT_EQ(
      std::system(fmt::format("tar xzf '{}' -C '{}' --strip-components=2", archive.string(), folder.string()).c_str()),
      0);
  for (int i = 0; i < 9; ++i) {
    const auto from = folder / fmt::format("mlx5_{}", i);
    if (std::filesystem::exists(from))
      std::filesystem::copy(
          from, machine.root() / fmt::format("sys/class/infiniband/mlx5_{}", i),
          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  }
  MadeCase made(network_interfaces(), {{"root", machine.root().string()}, {"interval", "1ms"}});
  SilentRecorder recorder;
  const Observation seen = observe(made, recorder);
  const auto judgement = made.rank("a", seen.facts).judge();
  for (const Finding& finding : judgement.findings) EXPECT_EQ(finding.verdict, Verdict::pass) << finding.reason;
  ASSERT_FALSE(judgement.evidence.empty());
  EXPECT_NE(judgement.evidence[0].find("9 NICs on 1 node"), std::string::npos);
}

}  // namespace
}  // namespace muster
