#include "run/agent.hpp"

#include <atomic>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <stdlib.h>

#include "run/agent_world.hpp"
#include "run/fake_driver.hpp"
#include "run/messages.hpp"
#include "run/thread_comm.hpp"
#include "run/wire_client.hpp"
#include "system/meminfo.hpp"

namespace muster {
namespace {

/// A variable for the time of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// A folder for recorder files that goes away.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "agent-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

/// Exit statuses of `size` ranks run against the driver whose address is in the environment.
std::vector<int> run_agents(int size, const AgentHooks& hooks = {}, int failing_rank = -1, int calls = 0) {
  const Folder folder;
  std::vector<int> statuses(static_cast<std::size_t>(size), -1);
  run_ranks(size, [&](ThreadComm& comm) {
    auto recorder = FlightRecorder::create(folder.path, "t" + std::to_string(comm.rank()));
    if (!recorder) return;
    if (comm.rank() == failing_rank) comm.calls_left = calls;
    statuses[static_cast<std::size_t>(comm.rank())] = run_agent(comm, **recorder, hooks);
  });
  return statuses;
}

JobItem hello(int index) {
  return {index, "hello%1", "hello", R"({"repetitions":"3","warmups":"1"})"};
}

std::vector<Observation> observations_of(const FakeDriver& driver, int item) {
  std::vector<Observation> all;
  for (const Frame& frame : driver.of(MessageType::case_part)) {
    auto part = decode_case_part(frame.payload);
    EXPECT_TRUE(part);
    if (part && part->item == item) all.insert(all.end(), part->observations.begin(), part->observations.end());
  }
  return all;
}

std::vector<int> types(const FakeDriver& driver) {
  std::vector<int> all;
  for (const Frame& frame : driver.frames) all.push_back(frame.type);
  return all;
}

TEST(Agent, RunsEveryCaseAndTellsAllRanksObservations) {
  AgentHooks hooks;
  hooks.key = LaunchKey::random();
  FakeDriver driver({{hello(0), hello(7)}}, 1, hooks.key);
  const Variable wire(env_wire, driver.address());
  const Variable world(env_world, "3");
  EXPECT_EQ(run_agents(3, hooks), (std::vector<int>{0, 0, 0}));
  driver.stop();
  EXPECT_EQ(types(driver), (std::vector<int>{2, 4, 5, 6, 7, 5, 6, 7, 8}));
  const auto message = decode_hello(driver.frames.at(0).payload);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->world_size, 3);
  EXPECT_EQ(message->muster_version, MUSTER_VERSION);
  for (const int item : {0, 7}) {
    const auto seen = observations_of(driver, item);
    ASSERT_EQ(seen.size(), 3u);
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(seen[static_cast<std::size_t>(rank)].rank, rank);
      EXPECT_EQ(seen[static_cast<std::size_t>(rank)].state, ObservationState::measured);
      ASSERT_NE(seen[static_cast<std::size_t>(rank)].fact("answers"), nullptr);
      EXPECT_EQ(*seen[static_cast<std::size_t>(rank)].fact("answers"), "3 of 3");
    }
  }
}

/// A driver with another key, or with none, that answers whatever comes with work.
void expect_work_is_refused(const LaunchKey& key_of_driver) {
  AgentHooks hooks;
  hooks.key = LaunchKey::random();
  const auto job = FrameSealer(key_of_driver, FrameSender::driver).seal(1, encode(JobMessage{{hello(0)}}));
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ASSERT_EQ(::write(ends[1], job.data(), job.size()), static_cast<ssize_t>(job.size()));
  ::shutdown(ends[1], SHUT_WR);
  WireClient wire(ends[0], ends[0], true, hooks.key);
  const auto received = wire.receive();
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().what, "ended; what came was not sealed with the key of this launch");
  ::close(ends[1]);
}

TEST(Agent, WorkFromAnotherSenderIsRefused) {
  expect_work_is_refused(LaunchKey::random());
  expect_work_is_refused(LaunchKey());
}

TEST(Agent, ARankAnswersForItselfAlone) {
  Observation first, forged;
  first.rank = 0;
  forged.rank = 3;
  std::vector<ByteVector> gathered{
      muster::encode(first), muster::encode(forged), {}, muster::encode(forged), ByteVector(7)};
  hold_to_sender(gathered);
  EXPECT_EQ(gathered[0], muster::encode(first));
  EXPECT_TRUE(gathered[2].empty());
  EXPECT_EQ(gathered[3], muster::encode(forged));
  for (const auto& [rank, error] :
       {std::pair{1, "sent an observation in the name of rank 3"}, {4, "sent an observation that can't be read: "}}) {
    const auto seen = decode_observation(gathered[static_cast<std::size_t>(rank)]);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->rank, rank);
    EXPECT_EQ(seen->state, ObservationState::failed);
    EXPECT_EQ(seen->error.rfind(error, 0), 0U) << seen->error;
  }
}

TEST(Agent, CallsAgainWhereTheDriverClosedItsConnection) {
  AgentHooks hooks;
  hooks.key = LaunchKey::random();
  FakeDriver driver({{hello(0)}}, 2, hooks.key);
  driver.closes_first = true;
  const Variable wire(env_wire, driver.address());
  EXPECT_EQ(run_agents(2, hooks), (std::vector<int>{0, 0}));
  driver.stop();
  EXPECT_EQ(types(driver), (std::vector<int>{2, 4, 5, 6, 7, 8}));
}

TEST(Agent, IntroducesTheWorld) {
  FakeDriver driver({});
  const Variable wire(env_wire, driver.address());
  EXPECT_EQ(run_agents(2), (std::vector<int>{0, 0}));
  driver.stop();
  ASSERT_EQ(driver.of(MessageType::world).size(), 1u);
  const auto world = decode_world(driver.of(MessageType::world)[0].payload);
  ASSERT_TRUE(world);
  EXPECT_EQ(world->library, "threads v1, of this process");
  ASSERT_EQ(world->ranks.size(), 2u);
  EXPECT_EQ(world->pids, (std::vector<int>{::getpid(), ::getpid()}));
  EXPECT_EQ(world->ranks[1].local_rank, 1);
  EXPECT_EQ(world->ranks[1].local_size, 2);
  ASSERT_EQ(world->nodes.size(), 1u);
  EXPECT_EQ(world->nodes[0].node, world->ranks[0].host);
}

JobItem on_each_node(JobItem item, std::vector<std::string> not_on = {}) {
  item.is_per_node = true;
  item.not_on = std::move(not_on);
  return item;
}

AgentHooks on_two_nodes() {
  AgentHooks hooks;
  hooks.host = [](int rank) { return std::string(rank % 2 == 0 ? "nid001" : "nid002.cluster"); };
  return hooks;
}

TEST(Agent, EachNodeByItselfSeesItsOwnRanksOnly) {
  FakeDriver driver({{on_each_node(hello(0)), hello(1)}});
  const Variable wire(env_wire, driver.address());
  EXPECT_EQ(run_agents(5, on_two_nodes()), (std::vector<int>{0, 0, 0, 0, 0}));
  driver.stop();
  const auto apart = observations_of(driver, 0);
  const auto together = observations_of(driver, 1);
  ASSERT_EQ(apart.size(), 5u);
  ASSERT_EQ(together.size(), 5u);
  for (std::size_t rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(apart[rank].rank, static_cast<int>(rank)) << "as the launch counts";
    ASSERT_NE(apart[rank].fact("answers"), nullptr) << apart[rank].error;
    EXPECT_EQ(*apart[rank].fact("answers"), rank % 2 == 0 ? "3 of 3" : "2 of 2");
    EXPECT_EQ(*together[rank].fact("answers"), "5 of 5");
  }
}

TEST(Agent, ANodeThatIsLeftOutOfAnItemSaysNothingOfIt) {
  FakeDriver driver({{on_each_node(hello(0), {"nid002"}), on_each_node(hello(1))}});
  const Variable wire(env_wire, driver.address());
  EXPECT_EQ(run_agents(4, on_two_nodes()), (std::vector<int>{0, 0, 0, 0}));
  driver.stop();
  const auto seen = observations_of(driver, 0);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].rank, 0);
  EXPECT_EQ(seen[1].rank, 2);
  EXPECT_EQ(observations_of(driver, 1).size(), 4u);
}

TEST(Agent, UnknownProbeAndBadParametersFailTheirItemAlone) {
  FakeDriver driver({{{0, "x", "no_such_probe", "{}"},
                      {1, "x", "hello", "{nonsense"},
                      {2, "x", "hello", R"({"repetitions":"many"})"},
                      hello(3)}});
  const Variable wire(env_wire, driver.address());
  EXPECT_EQ(run_agents(2), (std::vector<int>{0, 0}));
  driver.stop();
  for (const int item : {0, 1, 2}) {
    const auto seen = observations_of(driver, item);
    ASSERT_EQ(seen.size(), 2u) << item;
    EXPECT_EQ(seen[1].state, ObservationState::unable) << item;
    EXPECT_FALSE(seen[1].error.empty()) << item;
  }
  EXPECT_NE(observations_of(driver, 0)[0].error.find("no_such_probe"), std::string::npos);
  EXPECT_EQ(observations_of(driver, 3).at(1).state, ObservationState::measured);
}

TEST(Agent, AProbeThatCanNotPrepareIsNotRunAnywhere) {
  // All memory of the node, of which some is always in use; more is a mistake of the request.
  const std::uint64_t mebibytes = read_meminfo("MemTotal:") / 3 / (1u << 20);
  const auto parameters = fmt::format(R"({{"bytes":"{}MiB","cap":"1s"}})", mebibytes);
  FakeDriver driver({{{0, "x", "memory_bandwidth", parameters}, hello(1)}});
  const Variable wire(env_wire, driver.address());
  EXPECT_EQ(run_agents(2), (std::vector<int>{0, 0}));
  driver.stop();
  const auto seen = observations_of(driver, 0);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].state, ObservationState::not_prepared);
  EXPECT_FALSE(seen[0].error.empty());
  EXPECT_EQ(observations_of(driver, 1).at(0).state, ObservationState::measured);
}

TEST(Agent, RefusesAWorldThatWasNotAskedFor) {
  FakeDriver driver({});
  const Variable wire(env_wire, driver.address());
  const Variable world(env_world, "4");
  EXPECT_EQ(run_agents(1), (std::vector<int>{1}));
  driver.stop();
  EXPECT_EQ(types(driver), (std::vector<int>{2, 3}));
  const auto payload = driver.frames.at(1).payload;
  const std::string why(reinterpret_cast<const char*>(payload.data()), payload.size());
  EXPECT_NE(why.find("the world has 1 rank, 4 were requested"), std::string::npos) << why;
}

TEST(Agent, ADriverThatHangsUpEndsAllRanksTogether) {
  FakeDriver driver({});
  driver.hangs_up_after_hello = true;
  const Variable wire(env_wire, driver.address());
  EXPECT_EQ(run_agents(3), (std::vector<int>{1, 1, 1}));
}

TEST(Agent, ACommThatFailsInACaseIsOutOfStep) {
  FakeDriver driver({{hello(0)}});
  const Variable wire(env_wire, driver.address());
  // all_gather, gather, broadcast of the job; the next one is the agreement in the case.
  EXPECT_EQ(run_agents(1, {}, 0, 3), (std::vector<int>{2}));
}

TEST(Agent, ACommThatFailsBeforeTheJobIsStatusOne) {
  FakeDriver driver({});
  const Variable wire(env_wire, driver.address());
  EXPECT_EQ(run_agents(1, {}, 0, 0), (std::vector<int>{1}));
}

std::mutex points_mutex;
std::map<std::string, int> points;

TEST(Agent, HooksAreCalledAtEveryPointOnEveryRank) {
  FakeDriver driver({{hello(0), hello(1)}});
  const Variable wire(env_wire, driver.address());
  AgentHooks hooks;
  hooks.at = [](std::string_view point, int) {
    const std::lock_guard lock(points_mutex);
    ++points[std::string(point)];
  };
  EXPECT_EQ(run_agents(2, hooks), (std::vector<int>{0, 0}));
  const std::map<std::string, int> expected{{"startup", 2}, {"connected", 2}, {"gap", 4}, {"finish", 2}};
  EXPECT_EQ(points, expected);
}

TEST(Agent, WrongWorldSaysWhoIsToBlame) {
  EXPECT_EQ(wrong_world("Open MPI v4.1.4, package: x", "MPICH", 1, 4),
            "agent built for Open MPI, launched by MPICH: the world has 1 rank, 4 were requested");
  EXPECT_EQ(wrong_world("MPICH Version: 4.0.2", "Open MPI", 2, 1),
            "agent built for MPICH, launched by Open MPI: the world has 2 ranks, 1 was requested");
  EXPECT_EQ(wrong_world("Open MPI v5.0", "Open MPI", 2, 4), "Open MPI: the world has 2 ranks, 4 were requested");
  EXPECT_EQ(wrong_world("Open MPI v5.0", "", 1, 4),
            "agent built for Open MPI, launched by an unknown launcher: the world has 1 rank, 4 were requested");
}

// As Open MPI 4.1.4 named it for a job whose id its launcher exported so.
TEST(LaunchedByTest, SharedMemoryOfOpenMpi) {
  ::unsetenv("OMPI_MCA_ess_base_jobid");
  EXPECT_TRUE(shared_memory_of_open_mpi("nid001", 0).empty());
  const Variable job("OMPI_MCA_ess_base_jobid", "1213136897");
  const std::string user = std::to_string(::geteuid());
  EXPECT_EQ(shared_memory_of_open_mpi("nid001", 1), std::vector{"vader_segment.nid001." + user + ".484f0001.1"});
  EXPECT_EQ(shared_memory_of_open_mpi("nid001.cluster", 0).back(), "vader_segment.nid001." + user + ".484f0001.0");
  EXPECT_TRUE(shared_memory_of_open_mpi("nid001", -1).empty());
}

TEST(LaunchedByTest, SlurmComesLast) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"})
    ::unsetenv(name);
  EXPECT_EQ(launched_by().rank, -1);
  const Variable procid("SLURM_PROCID", "0");
  const Variable tasks("SLURM_STEP_NUM_TASKS", "1");
  const Variable step("SLURM_STEP_ID", "0");
  EXPECT_EQ(launched_by().who, "Slurm");
  {
    const Variable rank("PMI_RANK", "3");
    const Variable size("PMI_SIZE", "4");
    EXPECT_EQ(launched_by().who, "Slurm");
    EXPECT_EQ(launched_by().rank, 3);
    const Variable local("MPI_LOCALRANKID", "1");
    EXPECT_EQ(launched_by().who, "MPICH");
    EXPECT_EQ(launched_by().local_rank, 1);
  }
  const Variable rank("OMPI_COMM_WORLD_RANK", "5");
  const Variable size("OMPI_COMM_WORLD_SIZE", "8");
  EXPECT_EQ(launched_by().who, "Open MPI");
  EXPECT_EQ(launched_by().world_size, 8);
  const Variable nonsense("OMPI_COMM_WORLD_RANK", "5x");
  EXPECT_EQ(launched_by().who, "Slurm");
}

TEST(LaunchedByTest, LaunchersThatMusterDoesNotUse) {
  {
    const Variable rank("JSM_NAMESPACE_RANK", "6");
    const Variable size("JSM_NAMESPACE_SIZE", "12");
    const Variable local("JSM_NAMESPACE_LOCAL_RANK", "0");
    EXPECT_EQ(launched_by().who, "jsrun");
    EXPECT_EQ(launched_by().rank, 6);
    EXPECT_EQ(launched_by().local_rank, 0);
  }
  // Its launcher sets PMI's, too.
  const Variable pmi("PMI_RANK", "1");
  const Variable pmi_size("PMI_SIZE", "2");
  const Variable rank("MV2_COMM_WORLD_RANK", "1");
  const Variable size("MV2_COMM_WORLD_SIZE", "2");
  EXPECT_EQ(launched_by().who, "MVAPICH2");
}

Introduction on(const std::string& host, const std::string& cores, const std::string& boot = {}) {
  return {1, host, boot.empty() ? host : boot, *CpuMask::parse_list(cores), {}};
}

TEST(AgentWorld, PlacesFollowHostNames) {
  const auto places = place_ranks({on("b", "0"), on("a", "0"), on("b", "1"), on("a", "1"), on("b", "2")});
  ASSERT_EQ(places.size(), 5u);
  EXPECT_EQ(places[4].rank, 4);
  EXPECT_EQ(places[4].local_rank, 2);
  EXPECT_EQ(places[4].local_size, 3);
  EXPECT_EQ(places[4].node_index, 0);
  EXPECT_EQ(places[3].node_index, 1);
  EXPECT_EQ(places[3].node_count, 2);
  EXPECT_EQ(places[3].host, "a");
}

TEST(AgentWorld, MachinesOfOneNameAreNodesOfTheirOwn) {
  const auto as = [](const std::string& boot, int local_rank) {
    Introduction rank = on("a", "0", boot);
    rank.local_rank = local_rank;
    return rank;
  };
  const auto places = place_ranks({as("x", 0), as("x", 1), as("y", 0), as("y", 1)});
  EXPECT_EQ(places[1].node_index, 0);
  EXPECT_EQ(places[2].node_index, 1);
  EXPECT_EQ(places[3].local_rank, 1);
  EXPECT_EQ(places[3].node_count, 2);
  // Each rank in a virtual machine of its own, of one node for the launcher.
  EXPECT_EQ(place_ranks({as("x", 0), as("y", 1)})[1].node_index, 0);
  EXPECT_EQ(place_ranks({as("x", -1), as("y", -1)})[1].node_index, 0) << "the launcher does not tell nodes apart";
}

TEST(AgentWorld, TimingIsDoubtedWhereRanksShareCores) {
  EXPECT_EQ(find_timing_doubt({on("a", "0"), on("a", "1")}), "");
  EXPECT_EQ(find_timing_doubt({on("a", "0-1"), on("a", "0-1"), on("a", "0-1"), on("a", "0-1")}),
            "4 ranks share 2 cores on a");
  EXPECT_EQ(find_timing_doubt({on("a", "3"), on("a", "3")}), "2 ranks share 1 core on a");
  EXPECT_EQ(find_timing_doubt({on("a", "0", "k"), on("b", "0", "k")}),
            "2 ranks on a and b share 1 core of one machine");
  EXPECT_EQ(find_timing_doubt({on("a", "0"), on("a", "0"), on("b", "0"), on("b", "0")}),
            "2 ranks share 1 core on a; the same on 1 more");
  EXPECT_EQ(find_timing_doubt({on("a", ""), on("a", "")}), "");
  Introduction pretends = on("a", "0");
  pretends.simulated = "lumi-g with nic_down";
  EXPECT_EQ(find_timing_doubt({on("b", "1"), pretends}), "simulated machine lumi-g with nic_down");
}

TEST(AgentWorld, TimingOfANodeIsDoubtedForItsOwnRanks) {
  EXPECT_TRUE(find_node_doubts({on("a", "0"), on("b", "0")}).empty());
  EXPECT_EQ(find_node_doubts({on("b", "0"), on("a", "0"), on("b", "1"), on("a", "0")}),
            (std::vector<std::string>{"", "2 ranks share 1 core on a"}));
  const std::string shared = "2 ranks on a and b share 1 core of one machine";
  EXPECT_EQ(find_node_doubts({on("a", "0", "k"), on("b", "0", "k"), on("c", "0")}),
            (std::vector<std::string>{shared, shared, ""}));
  // Two machines of one name: each is a node, and so is the next one.
  const auto as = [](const std::string& name, const std::string& cores, const std::string& boot, int local_rank) {
    Introduction rank = on(name, cores, boot);
    rank.local_rank = local_rank;
    return rank;
  };
  EXPECT_EQ(find_node_doubts({as("a", "0", "k", 0), as("a", "0", "l", 0), as("b", "0", "m", 0), as("b", "0", "m", 1)}),
            (std::vector<std::string>{"", "", "2 ranks share 1 core on b"}));
}

TEST(AgentWorld, IntroductionsComeBackAsTheyWere) {
  Introduction mine = on("nid001", "0-3,9", "boot");
  mine.pid = 4711;
  mine.simulated = "lumi-g";
  mine.local_rank = 3;
  const auto back = decode_introduction(encode(mine));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, mine);
  for (const std::string text :
       {"", "1\na\nb", "x\na\nb\n0\n", "0\na\nb\n0\n", "1\na\nb\n9-\n", "1\na\nb\n0", "1\na\nb\n0\nm\nmore"}) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    EXPECT_FALSE(decode_introduction(std::span(bytes, text.size()))) << text;
  }
}

TEST(WireClientTest, AddressesAreRead) {
  EXPECT_EQ(parse_wire_addresses("a:1, [::1]:22,bad,:3,x:,y:z"), (std::vector<WireAddress>{{"a", "1"}, {"::1", "22"}}));
  EXPECT_TRUE(parse_wire_addresses("").empty());
}

TEST(WireClientTest, TheFirstAddressThatAnswersIsTaken) {
  FakeDriver driver({});
  // Port 1 on loopback refuses at once.
  const WireClient wire = WireClient::open("127.0.0.1:1," + driver.address(), {});
  EXPECT_FALSE(wire.is_stdio());
}

TEST(WireClientTest, WithoutAnAnswerItIsStandardOutput) {
  EXPECT_TRUE(WireClient::open("127.0.0.1:1", {}).is_stdio());
  EXPECT_TRUE(WireClient::open("", {}).is_stdio());
}

TEST(WireClientTest, AStreamThatEndsEarlyIsAnError) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto frame = encode_frame(1, std::vector<std::byte>(10));
  ASSERT_EQ(::write(ends[1], frame.data(), frame.size() - 1), static_cast<ssize_t>(frame.size()) - 1);
  ::close(ends[1]);
  WireClient wire(ends[0], ends[0], true, {});
  const auto got = wire.receive();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::protocol);
}

TEST(WireClientTest, ADriverThatIsGoneIsAnErrorAndNotASignal) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ::close(ends[1]);
  WireClient wire(ends[0], ends[0], true, {});
  EXPECT_FALSE(wire.send(MessageType::finish, {}));
}

}  // namespace
}  // namespace muster
