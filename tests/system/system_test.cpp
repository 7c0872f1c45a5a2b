#include "system/system.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <set>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/small_disk.hpp"
#include "system/child.hpp"

namespace muster {
namespace {

std::string value_of(const NodeProvenance& provenance, std::string_view key) {
  for (const Fact& fact : provenance.facts)
    if (fact.key == key) return fact.value;
  return {};
}

TEST(TopologyTest, AgreesWithTheKernel) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  const auto topology = read_topology();
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->cpus, CPU_COUNT(&set));
  EXPECT_EQ(topology->allowed, *CpuMask::of_this_thread());
  EXPECT_EQ(topology->cores, cores_of(topology->allowed).count());
  EXPECT_GE(topology->cores * topology->cpus_per_core, topology->cpus);
  EXPECT_GE(topology->numa_domains, 1);
  EXPECT_GE(topology->packages, 1);
  // Not the sum of the NUMA nodes: where memory was added after the start, the kernel's figures of these can lack it.
  const auto meminfo = read_file("/proc/meminfo");
  ASSERT_TRUE(meminfo);
  EXPECT_EQ(topology->memory_bytes, std::strtoull(meminfo->c_str() + sizeof "MemTotal:", nullptr, 10) * 1024);
}

TEST(TopologyTest, EveryAllowedCpuIsInExactlyOneCore) {
  const auto topology = read_topology();
  ASSERT_TRUE(topology);
  EXPECT_EQ(static_cast<int>(topology->core_masks.size()), topology->cores);
  for (const int cpu : topology->allowed.cpus()) {
    const auto holds = [&](const CpuMask& core) { return core.has(cpu); };
    EXPECT_EQ(std::count_if(topology->core_masks.begin(), topology->core_masks.end(), holds), 1) << cpu;
  }
}

TEST(TopologyTest, ABoundThreadSeesOnlyItsOwn) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const int first = CpuMask::of_this_thread()->lowest();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const auto topology = read_topology();
  const CpuMask node = node_cpus();
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->cores, 1);
  EXPECT_EQ(topology->cpus, 1);
  // The node is as large as ever.
  EXPECT_GE(node.count(), CPU_COUNT(&before));
}

TEST(CoresOf, ACpuThatTheKernelDoesNotKnowIsACore) {
  CpuMask mask;
  mask.add(40000);
  EXPECT_EQ(cores_of(mask), mask);
  EXPECT_TRUE(cores_of(CpuMask()).empty());
}

TEST(Provenance, NamesTheNodeAndItsKernel) {
  const NodeProvenance provenance = node_provenance();
  char name[256] = {};
  ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
  EXPECT_EQ(provenance.node, name);
  EXPECT_EQ(value_of(provenance, "kernel").rfind("Linux ", 0), 0u);
  EXPECT_FALSE(value_of(provenance, "limit.nofile").empty());
  EXPECT_EQ(value_of(provenance, "cores"), std::to_string(cores_of(node_cpus()).count()));
  std::set<std::string> keys;
  for (const Fact& fact : provenance.facts) EXPECT_TRUE(keys.insert(fact.key).second) << fact.key;
}

TEST(Provenance, NamesTheHypervisorOfAVirtualMachine) {
  const std::string cpus = read_file("/proc/cpuinfo", 1u << 20).value_or("");
  if (cpus.find("flags") == std::string::npos) GTEST_SKIP() << "the kernel lists no flags of CPUs";
  const bool is_virtual = cpus.find(" hypervisor") != std::string::npos;
  EXPECT_EQ(!value_of(node_provenance(), "hypervisor").empty(), is_virtual);
}

TEST(Provenance, OnlyVariablesThatMatterAndNeverSecrets) {
  const char* const environment[] = {"OMP_NUM_THREADS=4",
                                     "HOME=/home/me",
                                     "SLURM_JWT=abc",
                                     "SLURM_AUTH_TOKEN=abc",
                                     "NCCL_SECRET=abc",
                                     "UCX_KEY=abc",
                                     "FI_password=abc",
                                     "OMPI_MCA_orte_precondition_transports=abc",
                                     "MUSTER_KEY=abc",
                                     "ROCR_VISIBLE_DEVICES=0,1",
                                     "NCCL_DEBUG=a\x1b[31mb",
                                     "=x",
                                     "broken",
                                     nullptr};
  EXPECT_EQ(environment_facts(environment),
            (std::vector<Fact>{
                {"env.NCCL_DEBUG", "a\\x1b[31mb"}, {"env.OMP_NUM_THREADS", "4"}, {"env.ROCR_VISIBLE_DEVICES", "0,1"}}));
}

TEST(Provenance, RealEnvironmentIsFiltered) {
  ::setenv("NCCL_MY_TOKEN", "sesame", 1);
  ::setenv("NCCL_DEBUG", "INFO", 1);
  const NodeProvenance provenance = node_provenance();
  ::unsetenv("NCCL_MY_TOKEN");
  ::unsetenv("NCCL_DEBUG");
  EXPECT_EQ(value_of(provenance, "env.NCCL_DEBUG"), "INFO");
  for (const Fact& fact : provenance.facts) EXPECT_EQ(fact.value.find("sesame"), std::string::npos) << fact.key;
}

TEST(ChildTest, AMissingProgramIsAnError) {
  ChildOptions options;
  options.argv = {"no-such-program-here"};
  EXPECT_FALSE(run_child(options));
  options.argv = {};
  EXPECT_FALSE(run_child(options));
}

TEST(ChildTest, AMissingInterpreterIsNamed) {
  const ScratchFolder folder;
  ChildOptions options;
  options.argv = {(folder / "script").string()};
  std::ofstream(folder / "script") << "#! /no/such/interpreter -x\n";
  fs::permissions(folder / "script", fs::perms::owner_all);
  const auto end = run_child(options);
  ASSERT_FALSE(end);
  EXPECT_EQ(to_string(end.error()),
            options.argv[0] + ": names /no/such/interpreter in its first line, which does not exist");
}

TEST(ChildTest, AProgramThatASignalHasStoppedIsEnded) {
  if (!fs::exists(fmt::format("/proc/self/task/{}/children", ::getpid())))
    GTEST_SKIP() << "this kernel does not list the children of a thread";
  // Also behind a wrapper that waits for it.
  for (const char* script : {"kill -STOP $$", "sh -c 'kill -STOP $$'; exit 3"}) {
    ChildOptions options;
    options.argv = {"/bin/sh", "-c", script};
    options.deadline_s = 60;
    options.stopped_s = 1;
    const auto end = run_child(options);
    ASSERT_TRUE(end);
    EXPECT_TRUE(end->was_stopped) << script;
    EXPECT_FALSE(end->timed_out) << script;
    EXPECT_EQ(end->signal, SIGKILL) << script;
    EXPECT_LT(end->seconds, 20) << script;
  }
}

TEST(ChildTest, AProgramThatIsStoppedForAMomentGoesOn) {
  ChildOptions options;
  options.argv = {"/bin/sh", "-c", "(sleep 1.2; kill -CONT $$)& kill -STOP $$; exit 3"};
  options.deadline_s = 60;
  options.stopped_s = 5;
  const auto end = run_child(options);
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->was_stopped);
  EXPECT_EQ(end->status, 3);
}

TEST(ChildTest, DoesNotOutliveItsParent) {
  // A parent that starts a child and is killed: the child must go, too, and close the pipe that it holds.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    ::close(ends[0]);
    ChildOptions options;
    options.argv = {"/bin/sh", "-c", "echo $$; exec sleep 60"};
    options.deadline_s = 60;
    options.on_output = [&](std::string_view chunk) { (void)!::write(ends[1], chunk.data(), chunk.size()); };
    (void)run_child(options);
    ::_exit(0);
  }
  ::close(ends[1]);
  char text[32] = {};
  ASSERT_GT(::read(ends[0], text, sizeof text - 1), 0);
  const int child = std::atoi(text);
  ASSERT_GT(child, 1);
  ::kill(parent, SIGKILL);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  ::close(ends[0]);
  // Reaped by init, or a zombie where there is none that reaps.
  bool is_gone = false;
  for (int i = 0; i < 5000 && !is_gone; ++i) {
    const std::string stat = "/proc/" + std::to_string(child) + "/stat";
    char line[512] = {};
    FILE* file = std::fopen(stat.c_str(), "r");
    is_gone = file == nullptr || std::fgets(line, sizeof line, file) == nullptr ||
              std::string_view(line).find(") Z") != std::string_view::npos;
    if (file != nullptr) std::fclose(file);
    if (!is_gone) ::usleep(1000);
  }
  EXPECT_TRUE(is_gone);
}

}  // namespace
}  // namespace muster
