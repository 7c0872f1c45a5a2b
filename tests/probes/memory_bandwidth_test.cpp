#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

#include "base/clock.hpp"
#include "measure/domains.hpp"
#include "probes/judging.hpp"
#include "probes/memory_bandwidth/stream.hpp"
#include "probes/memory_bandwidth/targets.hpp"
#include "probes/memory_bandwidth/turns.hpp"
#include "run/thread_comm.hpp"
#include "system/meminfo.hpp"

namespace muster::memory_bandwidth {
namespace {

constexpr std::uint64_t mib = 1u << 20;
constexpr std::uint64_t gib = 1u << 30;

const ProbeSpec& probe() {
  return *find_probe("memory_bandwidth");
}

/// A node whose /sys and /proc the test writes.
class Machine {
 public:
  Machine() = default;
  Machine(const Machine&) = delete;
  ~Machine() { fs::remove_all(root_); }
  Machine& file(const fs::path& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    EXPECT_TRUE(write_file(root_ / path, text));
    return *this;
  }
  Machine& cpu(int number, const std::string& siblings, const std::string& shares_l3, const std::string& l3) {
    const fs::path folder = fs::path("sys/devices/system/cpu") / ("cpu" + std::to_string(number));
    file(folder / "topology/thread_siblings_list", siblings + "\n");
    file(folder / "cache/index0/level", "1\n").file(folder / "cache/index0/type", "Data\n");
    file(folder / "cache/index0/size", "32K\n").file(folder / "cache/index0/shared_cpu_list", siblings + "\n");
    file(folder / "cache/index1/level", "3\n").file(folder / "cache/index1/type", "Unified\n");
    return file(folder / "cache/index1/size", l3).file(folder / "cache/index1/shared_cpu_list", shares_l3 + "\n");
  }
  [[nodiscard]] const fs::path& root() const { return root_; }

 private:
  fs::path root_ = fs::temp_directory_path() / ("muster-memory-" + random_hex(8));
};

CpuMask mask(const char* list) {
  return *CpuMask::parse_list(list);
}

TEST(Domains, OneCpuOfEachCoreAndEveryCacheOnce) {
  Machine machine;
  // Two domains of two cores with two threads each; the second has a cache per core.
  machine.file("sys/devices/system/node/has_cpu", "0-1\n");
  machine.file("sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
  machine.file("sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
  for (const int cpu : {0, 4}) machine.cpu(cpu, "0,4", "0-1,4-5", "32768K\n");
  for (const int cpu : {1, 5}) machine.cpu(cpu, "1,5", "0-1,4-5", "32768K\n");
  for (const int cpu : {2, 6}) machine.cpu(cpu, "2,6", "2,6", "16384K\n");
  for (const int cpu : {3, 7}) machine.cpu(cpu, "3,7", "3,7", "16384K\n");
  const auto all = read_domains(mask("0-7"), machine.root());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "0");
  EXPECT_EQ(all[0].cpus.list(), "0-1");
  EXPECT_EQ(all[0].cache, 32 * mib);
  EXPECT_EQ(all[1].cpus.list(), "2-3");
  EXPECT_EQ(all[1].cache, 32 * mib);
  const auto bound = read_domains(mask("6-7"), machine.root());
  ASSERT_EQ(bound.size(), 1u);
  EXPECT_EQ(bound[0].name, "1") << "the kernel's number, though it is the only one that we may use";
  EXPECT_EQ(bound[0].cpus.list(), "6-7");
  EXPECT_TRUE(bound[0].closed.empty()) << "a thread of each of its cores is open";
  machine.file("sys/devices/system/cpu/online", "0-7\n");
  EXPECT_EQ(closed_cores(mask("6-7"), machine.root()).list(), "0-1") << "the cores of the other domain";
  EXPECT_EQ(read_domains(mask("2"), machine.root())[0].closed.list(), "3");
  EXPECT_TRUE(closed_cores(mask("0-7"), machine.root()).empty());
}

TEST(Domains, AKernelThatKnowsNoneHasOne) {
  Machine machine;
  const auto domains = read_domains(mask("0-1"), machine.root());
  ASSERT_EQ(domains.size(), 1u);
  EXPECT_EQ(domains[0].name, "0");
  EXPECT_EQ(domains[0].cpus.list(), "0-1");
  EXPECT_EQ(domains[0].cache, 0u);
}

/// Two domains of two cores each.
std::vector<Domain> two_domains() {
  return {{"0", mask("0-1"), {}, 0}, {"1", mask("2-3"), {}, 0}};
}

TEST(Cover, AWholeNodeHasItsName) {
  const Cover cover = cover_of(two_domains(), {});
  EXPECT_EQ(cover.lacking, "");
  ASSERT_EQ(cover.targets.size(), 3u);
  EXPECT_EQ(cover.targets[1].where, (std::vector<Labels>{{{"domain", "1"}, {"threads", "2"}}}));
  EXPECT_EQ(cover.targets[2].where, (std::vector<Labels>{{{"domain", "node"}, {"threads", "4"}}}));
  EXPECT_EQ(cover.targets[2].cpus.list(), "0-3");
  const Cover one = cover_of({{"0", mask("0-1"), {}, 0}}, {});
  ASSERT_EQ(one.targets.size(), 1u);
  EXPECT_EQ(one.targets[0].where,
            (std::vector<Labels>{{{"domain", "0"}, {"threads", "2"}}, {{"domain", "node"}, {"threads", "2"}}}));
}

TEST(Cover, LessThanADomainSaysWhichCpus) {
  const Cover cover = cover_of({{"0", mask("0"), mask("1"), 0}}, {mask("1")});
  EXPECT_EQ(cover.lacking, "CPUs 0 of 0-1 are open to it");
  ASSERT_EQ(cover.targets.size(), 1u);
  EXPECT_EQ(cover.targets[0].where, (std::vector<Labels>{{{"cpus", "0"}, {"domain", "0"}, {"threads", "1"}}}));
}

TEST(Cover, ADomainThatIsClosedMakesNoNode) {
  const Cover cover = cover_of(two_domains(), {mask("4-5")});
  EXPECT_EQ(cover.lacking, "CPUs 0-3 of 0-5 are open to it");
  EXPECT_EQ(cover.targets[0].where, (std::vector<Labels>{{{"domain", "0"}, {"threads", "2"}}}));
  EXPECT_EQ(cover.targets[2].where, (std::vector<Labels>{{{"cpus", "0-3"}, {"domain", "open"}, {"threads", "4"}}}));
}

TEST(Cover, CoresThatTheProfileReservesAreNotMissed) {
  EXPECT_EQ(cover_of({{"0", mask("1-3"), mask("0"), 0}}, {mask("")}).lacking, "");
}

TEST(Cover, RanksThatShareANodeMeasureNone) {
  const Cover cover = cover_of({{"0", mask("0-1"), {}, 0}}, {{}, 2});
  EXPECT_EQ(cover.lacking, "2 ranks share the node, and each measures its own CPUs (0-1) in its turn");
  EXPECT_EQ(cover.targets[0].where, (std::vector<Labels>{{{"cpus", "0-1"}, {"domain", "0"}, {"threads", "2"}}}));
}

TEST(Cover, MemoryOfAnotherDomainIsSaid) {
  const Cover cover = cover_of(two_domains(), {{}, 1, {"0", "0"}});
  EXPECT_EQ(cover.lacking, "memory of domain 1 lies in domain 0");
  EXPECT_EQ(cover.targets[0].where, (std::vector<Labels>{{{"domain", "0"}, {"threads", "2"}}}));
  EXPECT_EQ(cover.targets[1].where, (std::vector<Labels>{{{"domain", "1"}, {"pages", "0"}, {"threads", "2"}}}));
}

TEST(Cover, ThreadsThatAQuotaHoldsBackAreNoWholeNode) {
  const Cover cover = cover_of(two_domains(), {{}, 1, {}, 3});
  EXPECT_EQ(cover.lacking, "control groups allow 3 CPUs at a time, and 4 threads share them");
  EXPECT_EQ(cover.targets[0].where, (std::vector<Labels>{{{"domain", "0"}, {"threads", "2"}}}));
  EXPECT_EQ(cover.targets[2].where,
            (std::vector<Labels>{{{"cpus", "0-3"}, {"domain", "open"}, {"quota", "3"}, {"threads", "4"}}}));
  const Cover one = cover_of({{"0", mask("0-1"), {}, 0}}, {{}, 1, {}, 1.5});
  EXPECT_EQ(one.targets[0].where, (std::vector<Labels>{{{"domain", "0"}, {"quota", "1.5"}, {"threads", "2"}}}));
  EXPECT_EQ(cover_of(two_domains(), {{}, 1, {}, 4}).lacking, "");
}

TEST(Cover, ArraysThatCachesMayServeAreCalledSo) {
  const std::vector<Domain> domains{{"0", mask("0-1"), {}, 32 * mib}, {"1", mask("2-3"), {}, 32 * mib}};
  const Cover cover = cover_of(domains, {{}, 1, {}, 0, {128 * mib, 127 * mib}});
  EXPECT_EQ(cover.targets[0].where, (std::vector<Labels>{{{"domain", "0"}, {"threads", "2"}}}));
  EXPECT_EQ(cover.targets[1].where, (std::vector<Labels>{{{"cached", "yes"}, {"domain", "1"}, {"threads", "2"}}}));
  EXPECT_EQ(cover.targets[2].where, (std::vector<Labels>{{{"cached", "yes"}, {"domain", "node"}, {"threads", "4"}}}));
  const Cover unknown = cover_of(two_domains(), {{}, 1, {}, 0, {mib, mib}});
  EXPECT_EQ(unknown.targets[2].where, (std::vector<Labels>{{{"domain", "node"}, {"threads", "4"}}}));
}

TEST(AvailableMemory, IsWhatTheTightestLimitLeaves) {
  EXPECT_EQ(parse_meminfo("MemTotal: 9 kB\nMemAvailable:    2048 kB\n", "MemAvailable:"), 2 * mib);
  EXPECT_EQ(parse_meminfo("MemTotal: 9 kB\n", "MemAvailable:"), 0u);
  Machine machine;
  machine.file("proc/meminfo", "MemAvailable: 1048576 kB\n");
  EXPECT_EQ(read_available_memory(machine.root()), gib);
  machine.file("proc/self/cgroup", "0::/job/step\n");
  machine.file("sys/fs/cgroup/job/step/memory.max", "max\n").file("sys/fs/cgroup/job/step/memory.current", "5\n");
  EXPECT_EQ(read_available_memory(machine.root()), gib);
  machine.file("sys/fs/cgroup/job/memory.max", "10485760\n").file("sys/fs/cgroup/job/memory.current", "4194304\n");
  EXPECT_EQ(read_available_memory(machine.root()), 6 * mib) << "the parent's limit";
  machine.file("proc/self/cgroup", "4:memory:/old\n");
  machine.file("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "3145728\n");
  machine.file("sys/fs/cgroup/memory/old/memory.usage_in_bytes", "1048576\n");
  EXPECT_EQ(read_available_memory(machine.root()), 2 * mib) << "version 1";
}

TEST(Sizes, FourCachesUnlessSomethingForbids) {
  EXPECT_EQ(choose_size(0, 32 * mib, 4, 64 * gib)->bytes, 128 * mib);
  EXPECT_EQ(choose_size(0, 32 * mib, 4, 64 * gib)->why, "4 x the last-level cache of 32MiB");
  EXPECT_EQ(choose_size(0, 300 * mib, 2, 64 * gib)->bytes, 512 * mib);
  EXPECT_EQ(choose_size(0, 300 * mib, 2, 64 * gib)->why,
            "bounded by time, less than 4 x the last-level cache of 300MiB");
  EXPECT_EQ(choose_size(0, 32 * mib, 4, 1 * gib)->bytes, 42 * mib);
  EXPECT_EQ(choose_size(0, 32 * mib, 4, 1 * gib)->why,
            "bounded by free memory, less than 4 x the last-level cache of 32MiB");
  EXPECT_EQ(choose_size(0, 0, 4, 64 * gib)->bytes, 128 * mib);
  EXPECT_EQ(choose_size(0, 0, 4, 64 * gib)->why, "a guess: last-level cache, whose size is unknown");
  EXPECT_EQ(choose_size(64 * mib, 32 * mib, 4, 1 * gib)->bytes, 64 * mib);
  EXPECT_EQ(to_string(choose_size(gib, 32 * mib, 4, 2 * gib).error()),
            "memory: three arrays of 1GiB don't fit into 2 GiB of free memory");
  EXPECT_EQ(to_string(choose_size(0, 32 * mib, 4, 23 * mib).error()), "memory: less than 24 MiB are free");
}

std::unique_ptr<Stream> small_stream() {
  // Two domains on this machine's first CPU: the threads take turns, the data does not mind.
  const CpuMask one = mask(std::to_string(CpuMask::of_this_thread()->lowest()).c_str());
  auto stream = Stream::start({{one, 64u << 10}, {one, 32u << 10}});
  EXPECT_TRUE(stream);
  return std::move(*stream);
}

TEST(StreamTest, KeepsItsData) {
  const auto stream = small_stream();
  EXPECT_EQ(stream->verify(), std::nullopt);
  EXPECT_EQ(stream->elements(0), 8192u);
  EXPECT_EQ(stream->elements(Stream::everywhere), 8192u + 4096u);
  for (int turn = 0; turn < 5; ++turn) {
    for (const int domain : {0, 1, Stream::everywhere}) {
      for (int i = 0; i < 20; ++i) EXPECT_GT(stream->pass(Kernel::copy, domain), 0);
      EXPECT_EQ(stream->verify(), std::nullopt);
      for (int i = 0; i < 20; ++i) EXPECT_GT(stream->pass(Kernel::triad, domain), 0);
      EXPECT_EQ(stream->verify(), std::nullopt);
    }
  }
}

TEST(StreamTest, DoesWhatItsKernelsSay) {
  const auto stream = small_stream();
  const std::vector<double> a(stream->array(0, 0).begin(), stream->array(0, 0).end());
  const std::vector<double> b(stream->array(0, 1).begin(), stream->array(0, 1).end());
  stream->pass(Kernel::copy, 0);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), stream->array(0, 2).begin()));
  stream->pass(Kernel::triad, 0);
  const double scalar = (stream->array(0, 0)[7] - b[7]) / a[7];
  EXPECT_GT(scalar, 1);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(stream->array(0, 0)[i], b[i] + scalar * a[i]) << i;
  EXPECT_EQ(stream->array(1, 2)[0], 0) << "the other domain was left alone";
}

TEST(StreamTest, OneFlippedBitIsSeenWhereverItIs) {
  for (const int which : {0, 1, 2}) {
    const auto stream = small_stream();
    for (const Kernel kernel : {Kernel::copy, Kernel::triad}) stream->pass(kernel, Stream::everywhere);
    double& victim = stream->array(1, which)[4095];
    victim = std::bit_cast<double>(std::bit_cast<std::uint64_t>(victim) ^ 1u);
    const auto fault = stream->verify();
    ASSERT_TRUE(fault) << which;
    EXPECT_EQ(fault->find(std::string("element 4095 of array ") + "abc"[which]), 0u) << *fault;
    EXPECT_NE(fault->find("bits 0x1 differ"), std::string::npos) << *fault;
  }
}

TEST(StreamTest, WhatFlipsBetweenPassesIsSeenAfterThem) {
  const auto stream = small_stream();
  stream->pass(Kernel::copy, 0);
  stream->array(0, 2)[100] += 1;
  stream->pass(Kernel::triad, 0);
  EXPECT_NE(stream->verify(), std::nullopt) << "it went into the sum";
}

TEST(StreamTest, MemoryThatCantBeHadIsAnError) {
  const auto stream = Stream::start({{*CpuMask::of_this_thread(), std::size_t{1} << 60}});
  ASSERT_FALSE(stream);
  EXPECT_NE(to_string(stream.error()).find("Cannot allocate memory"), std::string::npos) << to_string(stream.error());
}

TEST(StreamTest, ACpuThatIsNotThereIsAnError) {
  const auto stream = Stream::start({{mask("5000"), 1u << 20}});
  ASSERT_FALSE(stream);
  EXPECT_EQ(to_string(stream.error()), "CPU 5000: a thread can't be pinned to it");
}

TEST(MemoryBandwidth, RightDataOnAllNodes) {
  MadeCase made(probe());
  made.rank("a", {{"verified_passes", "80"}}).rank("b", {{"verified_passes", "80"}});
  expect_evidence(made.judge(), "all data of copy and triad was right on 2 nodes");
}

TEST(MemoryBandwidth, WrongDataNamesTheNode) {
  MadeCase made(probe());
  made.rank("a", {{"verified_passes", "80"}});
  made.rank("b", {{"wrong", "after copy in 0: element 3 of array c is 5 instead of 7"}, {"verified_passes", "80"}});
  const auto judgement = made.judge();
  expect_finding(judgement, Verdict::fail,
                 "memory of b gave back wrong data after copy in 0: element 3 of array c is 5 instead of 7");
  EXPECT_EQ(judgement.findings[0].culprits.at(0), (Culprit{CulpritKind::node, "b", "b", 1}));
}

TEST(MemoryBandwidth, ADisturbedNodeIsUnmeasured) {
  MadeCase made(probe());
  made.rank("a",
            {{"disturbed", "copy in 0: others used 59 % of the CPU time, 0 % was stolen"}, {"verified_passes", "80"}});
  expect_finding(made.judge(), Verdict::unmeasured,
                 "too few undisturbed samples on a: copy in 0: others used 59 % of the CPU time, 0 % was stolen");
}

TEST(MemoryBandwidth, LessThanTheNodeIsNotTheNode) {
  const std::vector<Fact> facts{{"not_node", "CPUs 0 of 0-1 are open to it"}, {"verified_passes", "80"}};
  MadeCase made(probe());
  made.rank("a", facts);
  expect_finding(made.judge(), Verdict::unmeasured, "domain=node is not measured on a: CPUs 0 of 0-1 are open to it");
  MadeCase untimed(probe());
  untimed.rank("a", facts).doubt("simulated machine x");
  expect_evidence(untimed.judge(), "all data of copy and triad was right on 1 node");
}

TEST(MemoryBandwidth, SilenceIsNoEvidence) {
  MadeCase made(probe());
  made.rank("a", std::nullopt);
  EXPECT_TRUE(made.judge().evidence.empty());
  made.rank("b", std::vector<Fact>{});
  expect_finding(made.judge(), Verdict::unmeasured, "rank 1 on b did not report whether its data was right");
}

TEST(MemoryBandwidth, AsksForMoreThanThereIs) {
  const MadeCase made(probe(), {{"bytes", "1000TiB"}});
  SilentRecorder recorder;
  const RankPlace place{.host = "a"};
  const auto state = probe().prepare({made.params(), place, recorder});
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().kind, ErrorKind::usage) << "a refusal: no node is at fault";
  EXPECT_EQ(state.error().where, "bytes");
  EXPECT_NE(state.error().what.find("three arrays of 1000TiB are more than all memory of the node"), std::string::npos);
}

/// What the ranks of all nodes do, in the order in which they do it.
class SharedRecorder final : public Recorder {
 public:
  SharedRecorder(int rank, std::mutex& mutex, std::vector<std::pair<int, std::string>>& steps)
      : rank_(rank), mutex_(mutex), steps_(steps) {}
  void step(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    steps_.emplace_back(rank_, std::string(name));
  }
  void iteration(std::uint64_t) override {}
  void peer(int) override {}
  void child_group(int) override {}

 private:
  int rank_;
  std::mutex& mutex_;
  std::vector<std::pair<int, std::string>>& steps_;
};

// Beside each other they would measure each other's traffic under labels that name their own CPUs alone.
TEST(MemoryBandwidth, RanksOfANodeMeasureOneAfterTheOther) {
  const MadeCase made(probe(), {{"bytes", "1MiB"}, {"cap", "100ms"}});
  std::mutex mutex;
  std::vector<std::pair<int, std::string>> steps;
  run_ranks(4, [&](ThreadComm& comm) {
    SharedRecorder recorder(comm.rank(), mutex, steps);
    RankPlace place;
    place.rank = comm.rank();
    place.world_size = 4;
    place.local_rank = comm.rank() % 2;
    place.local_size = 2;
    place.node_index = comm.rank() / 2;
    place.host = place.node_index == 0 ? "a" : "b";
    const auto state = probe().prepare({made.params(), place, recorder});
    ASSERT_TRUE(state) << to_string(state.error());
    RunContext context{made.params(), place, recorder, comm, state->get()};
    ASSERT_TRUE(probe().run(context));
  });
  for (const int first : {0, 2}) {
    std::vector<std::pair<int, std::string>> of_node;
    for (const auto& step : steps)
      if (step.first / 2 == first / 2 && step.second != "allocate") of_node.push_back(step);
    const auto is_last = [&](const auto& step) { return step.first == first && step.second == "verify"; };
    const auto end = std::find_if(of_node.rbegin(), of_node.rend(), is_last).base();
    ASSERT_NE(end, of_node.begin());
    EXPECT_TRUE(
        std::none_of(of_node.begin(), end,
                     [&](const auto& step) { return step.first != first && step.second != "other ranks of the node"; }))
        << "rank " << first + 1 << " measures beside rank " << first;
  }
}

TEST(MemoryBandwidth, RanksOfANodeShareTheTimeOfADomain) {
  EXPECT_DOUBLE_EQ(share_of_cap(Seconds{0.4}, 1).value, 0.4);
  EXPECT_DOUBLE_EQ(share_of_cap(Seconds{0.4}, 4).value, 0.1);
  EXPECT_DOUBLE_EQ(share_of_cap(Seconds{0.4}, 128).value, 0.05) << "a few passes";
  EXPECT_DOUBLE_EQ(share_of_cap(Seconds{0.02}, 4).value, 0.02);
}

TEST(MemoryBandwidth, RunsHere) {
  const MadeCase made(probe(), {{"bytes", "1MiB"}, {"cap", "50ms"}});
  run_ranks(1, [&](ThreadComm& comm) {
    SilentRecorder recorder;
    // With two ranks on the node nobody is watched, so that this machine's other work does not decide.
    const RankPlace place{.local_size = 2, .host = "a"};
    const auto state = probe().prepare({made.params(), place, recorder});
    ASSERT_TRUE(state) << to_string(state.error());
    RunContext context{made.params(), place, recorder, comm, state->get()};
    const auto seen = probe().run(context);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->fact("wrong"), nullptr);
    EXPECT_NE(seen->fact("arrays")->find("1MiB each, as asked"), std::string::npos) << *seen->fact("arrays");
    EXPECT_GE(std::stoi(*seen->fact("verified_passes")), 2);
    ASSERT_NE(seen->fact("sampling"), nullptr);
    ASSERT_GE(seen->readings.size(), 2u);
    const Labels& where = seen->readings[0].where;
    EXPECT_TRUE(std::any_of(where.begin(), where.end(), [](const auto& label) { return label.first == "cpus"; }));
    EXPECT_NE(seen->fact("not_node")->find("2 ranks share the node"), std::string::npos);
    for (const Reading& reading : seen->readings) {
      EXPECT_GT(reading.summary.median, 0.01) << reading.metric;
      EXPECT_LT(reading.summary.median, 10'000) << reading.metric;
    }
  });
}

}  // namespace
}  // namespace muster::memory_bandwidth
