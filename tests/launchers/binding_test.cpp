// How each launcher is asked for masks, for the whole node, and for nothing; and which part binds.
#include <algorithm>
#include <gtest/gtest.h>
#include <ostream>

#include "base/text.hpp"
#include "launchers/launching.hpp"
#include "muster/launcher.hpp"

namespace muster {
namespace {

/// The first two masks of LUMI: rank 0 on the cores of GPU 0.
JobBinding masks(bool selects_gpus = false) {
  return {BindKind::masks,
          "profile lumi",
          {{"49-55", "0xfe000000000000", 0, "hsn0"}, {"57-63", "0xfe00000000000000", 1, "hsn0"}},
          {},
          selects_gpus};
}

/// Both threads of the cores 0-1 and 2-3 of a node whose siblings are 64 apart.
JobBinding whole_cores() {
  return {
      BindKind::masks,
      "auto",
      {{"0-1,64-65", "0x30000000000000003", 0, "ib0", "0-1"}, {"2-3,66-67", "0xc000000000000000c", 1, "ib0", "2-3"}},
      {},
      false};
}

JobBinding mapped() {
  JobBinding binding = masks();
  binding.openmpi_mapping = "--map-by ppr:1:numa:PE=8 --bind-to core";
  return binding;
}

JobBinding of_kind(BindKind kind) {
  return {kind, {}, {}, {}, false};
}

struct BindingCase {
  std::string name;
  std::string launcher;
  std::string flavor;
  JobBinding binding;
  Argv options;
  std::string wanted;    ///< part of the line, with a blank at each end
  std::string unwanted;  ///< likewise; empty: nothing
  Binder binder = Binder::launcher;
  bool oversubscribed = false;
  std::string version = "4.1.4";
  int cores = 0;            ///< for each rank
  int cpus_per_core = 1;    ///< as the scheduler counts
  bool one_thread = false;  ///< of each core
};

std::ostream& operator<<(std::ostream& out, const BindingCase& one) {
  return out << one.launcher << " " << one.flavor << ": " << one.name;
}

class Binding : public testing::TestWithParam<BindingCase> {};

TEST_P(Binding, IsAskedInTheLaunchersOwnWords) {
  const BindingCase& item = GetParam();
  const LauncherSpec& launcher = *find_launcher(item.launcher);
  LauncherIdentity identity{"/bin/x", item.flavor, item.version, "", {}, {}};
  JobShape job = shape({"n1"}, 2, item.cores, item.oversubscribed);
  job.cpus_per_core = item.cpus_per_core;
  job.one_thread_per_core = item.one_thread;
  job.binding = item.binding;
  const std::string line = " " + join(launcher.command(identity, job, agent, item.options).argv, " ") + " ";
  EXPECT_NE(line.find(item.wanted), line.npos) << line;
  if (!item.unwanted.empty()) {
    EXPECT_EQ(line.find(item.unwanted), line.npos) << line;
  }
  if (item.binding.kind == BindKind::masks) {
    EXPECT_EQ(binder_of(launcher, identity, job, item.options), item.binder) << line;
  }
}

const BindingCase cases[] = {
    {"masks",
     "srun",
     "cray-mpich",
     masks(),
     {},
     " --cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000 ",
     "--cpus-per-task"},
    {"masks and GPUs", "srun", "cray-mpich", masks(true), {}, " --gpus-per-node=2 --gpu-bind=map_gpu:0,1 ", ""},
    {"GPUs chosen by the user", "srun", "cray-mpich", masks(true), {"--gpu-bind=none"}, " --gpu-bind=none ", "map_gpu"},
    {"-c of the user, whose CPUs need not include the masks",
     "srun",
     "cray-mpich",
     masks(),
     {"-c", "7"},
     " --cpu-bind=cores ",
     "mask_cpu",
     Binder::options},
    {"-c of the user in one word",
     "srun",
     "cray-mpich",
     masks(),
     {"-c7"},
     " --cpu-bind=cores ",
     "mask_cpu",
     Binder::options},
    {"binding of the user",
     "srun",
     "cray-mpich",
     masks(),
     {"--cpu-bind=none"},
     " --cpu-bind=none ",
     "mask_cpu",
     Binder::options},
    {"whole node", "srun", "cray-mpich", of_kind(BindKind::node), {}, " --cpu-bind=none ", "cores"},
    {"nothing", "srun", "cray-mpich", of_kind(BindKind::none), {}, " --ntasks=2 ", "cpu-bind"},
    {"cores", "srun", "cray-mpich", of_kind(BindKind::cores), {}, " --cpu-bind=cores ", ""},
    {"masks of a node that has not the cores",
     "srun",
     "cray-mpich",
     masks(),
     {},
     " --cpu-bind=none ",
     "mask_cpu",
     Binder::launcher,
     true},
    {"share of the cores, counted in hardware threads",
     "srun",
     "cray-mpich",
     of_kind(BindKind::cores),
     {},
     " --cpus-per-task=32 --cpu-bind=cores ",
     "mask_cpu",
     Binder::launcher,
     false,
     "",
     16,
     2},
    {"share of the cores, one hardware thread of each",
     "srun",
     "cray-mpich",
     of_kind(BindKind::cores),
     {},
     " --cpus-per-task=7 --threads-per-core=1 --cpu-bind=threads ",
     "--cpu-bind=cores",
     Binder::launcher,
     false,
     "",
     7,
     1,
     true},
    {"one hardware thread of each core, and threads of the user",
     "srun",
     "cray-mpich",
     of_kind(BindKind::cores),
     {"--threads-per-core=2"},
     " --cpus-per-task=7 --cpu-bind=cores ",
     "--threads-per-core=1",
     Binder::launcher,
     false,
     "",
     7,
     1,
     true},
    {"share of the cores, and -c of the user",
     "srun",
     "cray-mpich",
     of_kind(BindKind::cores),
     {"-c", "4"},
     " -c 4 ",
     "--cpus-per-task",
     Binder::launcher,
     false,
     "",
     16},
    {"masks that no mapping gives",
     "mpirun",
     "openmpi",
     masks(),
     {},
     " --use-hwthread-cpus --mca rmaps_rank_file_physical 1 --rankfile {files}/rankfile ",
     "--bind-to"},
    {"masks of a node that has not the cores",
     "mpirun",
     "openmpi",
     masks(),
     {},
     " --map-by ppr:2:node --oversubscribe --bind-to none ",
     "rankfile",
     Binder::agent,
     true},
    {"whole cores, Open MPI 5",
     "mpirun",
     "openmpi",
     whole_cores(),
     {},
     " --map-by rankfile:file={files}/rankfile ",
     "--bind-to",
     Binder::launcher,
     false,
     "5.0.5"},
    {"parts of cores, which Open MPI 5 has no words for",
     "mpirun",
     "openmpi",
     masks(),
     {},
     " --map-by ppr:2:node --bind-to none ",
     "rankfile",
     Binder::agent,
     false,
     "5.0.5"},
    {"share of the cores",
     "mpirun",
     "openmpi",
     of_kind(BindKind::cores),
     {},
     " --map-by ppr:2:node:PE=7 --bind-to core ",
     "",
     Binder::launcher,
     false,
     "4.1.4",
     7},
    {"masks that a mapping gives",
     "mpirun",
     "openmpi",
     mapped(),
     {},
     " --map-by ppr:1:numa:PE=8 --bind-to core ",
     "ppr:2:node"},
    {"mapping of the user",
     "mpirun",
     "openmpi",
     mapped(),
     {"--map-by", "slot"},
     " --map-by slot ",
     "ppr:1",
     Binder::options},
    {"whole node", "mpirun", "openmpi", of_kind(BindKind::node), {}, " --bind-to none ", "core"},
    {"nothing", "mpirun", "openmpi", of_kind(BindKind::none), {}, " --map-by ppr:2:node ", "bind-to"},
    {"masks", "mpiexec", "mpich", masks(), {}, " -bind-to user:49+50+51+52+53+54+55,57+58+59+60+61+62+63 ", ""},
    {"binding of the user",
     "mpiexec",
     "mpich",
     masks(),
     {"-bind-to", "none"},
     " -bind-to none ",
     "user:",
     Binder::options},
    {"binding of the user in one word",
     "mpiexec",
     "mpich",
     masks(),
     {"-bind-to=none"},
     " -bind-to=none ",
     "user:",
     Binder::options},
    {"a variable named like an option",
     "mpirun",
     "openmpi",
     of_kind(BindKind::node),
     {"-x", "N"},
     " -x N --host n1:2 -n 2 --map-by ppr:2:node ",
     ""},
    {"whole node", "mpiexec", "mpich", of_kind(BindKind::node), {}, " -bind-to none ", "core"},
    {"nothing", "mpiexec", "mpich", of_kind(BindKind::none), {}, " -ppn 2 ", "bind-to"},
    {"masks",
     "flux",
     "",
     masks(),
     {},
     " --requires=host:n1 --exclusive --setopt=cpu-affinity=map:49-55;57-63 ",
     "per-task"},
    {"share of the cores",
     "flux",
     "",
     of_kind(BindKind::cores),
     {},
     " --cores-per-task=7 --requires=host:n1 --setopt=cpu-affinity=per-task ",
     "",
     Binder::launcher,
     false,
     "",
     7},
    {"affinity of the user",
     "flux",
     "",
     masks(),
     {"-ocpu-affinity=on"},
     " -ocpu-affinity=on ",
     "--setopt",
     Binder::options},
    {"whole node", "flux", "", of_kind(BindKind::node), {}, " --exclusive --setopt=cpu-affinity=off ", ""},
    {"cores", "flux", "", of_kind(BindKind::cores), {}, " --setopt=cpu-affinity=per-task ", "--exclusive"},
    {"masks", "ibrun", "", masks(), {}, " -n 2 ", "bind", Binder::agent},
    {"masks, and TACC's script", "ibrun", "", masks(), {"task_affinity"}, " task_affinity -n 2 ", "", Binder::options},
    {"masks", "local", "", masks(), {}, " /opt/muster-rank ", "bind", Binder::agent},
};
INSTANTIATE_TEST_SUITE_P(Table, Binding, testing::ValuesIn(cases));

TEST(IntelBinding, IsThatOfItsVariablesForItIgnoresBindTo) {
  const LauncherIdentity identity{"/x/mpiexec", "mpich", "2021.18.1", "Intel MPI 2021.18.1", {}, {}};
  const LauncherSpec& mpiexec = *find_launcher("mpiexec");
  const auto line = [&](const JobBinding& binding, const Argv& options = {}, int cores = 0) {
    JobShape job = shape({"n1"}, 2, cores);
    job.binding = binding;
    return " " + join(mpiexec.command(identity, job, agent, options).argv, " ") + " ";
  };
  const std::string pin = " -genv I_MPI_PIN 1 -genv I_MPI_PIN_DOMAIN ";
  const std::pair<std::string, std::string> lines[] = {
      {line(masks()), pin + "[0xfe000000000000,0xfe00000000000000] "},
      {line(of_kind(BindKind::cores), {}, 7), pin + "auto:compact "},
      {line(of_kind(BindKind::cores)), pin + "core "},
      {line(of_kind(BindKind::node)), " -genv I_MPI_PIN 0 "},
      {line(of_kind(BindKind::none)), " -ppn 2 -genvall "},
      {line(masks(), {"-genv", "I_MPI_PIN_DOMAIN=socket"}), " -ppn 2 -genvall "}};
  for (const auto& [made, wanted] : lines) {
    EXPECT_NE(made.find(wanted), std::string::npos) << made;
    EXPECT_EQ(made.find("-bind-to"), std::string::npos) << made;
  }
  JobShape job = shape({"n1"}, 2);
  job.binding = masks();
  EXPECT_EQ(binder_of(mpiexec, identity, job, {}), Binder::launcher);
  EXPECT_EQ(binder_of(mpiexec, identity, job, {"-bind-to", "core"}), Binder::launcher);
  EXPECT_EQ(binder_of(mpiexec, identity, job, {"-genv", "I_MPI_PIN_DOMAIN", "socket"}), Binder::options);
}

TEST(Rankfile, HasALineForEachRankOfTheJob) {
  JobShape job = shape({"n1", "n2"}, 2);
  job.binding = whole_cores();
  const LauncherSpec& mpirun = *find_launcher("mpirun");
  const auto four = mpirun.command({"mpirun", "openmpi", "4.1.4", "", {}, {}}, job, agent, {});
  ASSERT_EQ(four.files.size(), 1u);
  EXPECT_EQ(four.files[0].name, "rankfile");
  EXPECT_EQ(four.files[0].text,
            "rank 0=n1 slot=0-1,64-65\nrank 1=n1 slot=2-3,66-67\nrank 2=n2 slot=0-1,64-65\nrank 3=n2 slot=2-3,66-67\n");
  const auto five = mpirun.command({"mpirun", "openmpi", "5.0.5", "", {}, {}}, job, agent, {});
  ASSERT_EQ(five.files.size(), 1u);
  EXPECT_EQ(five.files[0].text, "rank 0=n1 slot=0-1\nrank 1=n1 slot=2-3\nrank 2=n2 slot=0-1\nrank 3=n2 slot=2-3\n");
}

TEST(IbrunBinding, TheLibrariesItStartsDoNotBind) {
  const LauncherSpec& ibrun = *find_launcher("ibrun");
  const auto variable = [&](const JobBinding& binding, const std::string& name) {
    JobShape job = shape({"n1"}, 2);
    job.binding = binding;
    for (const auto& [key, value] : ibrun.command({"ibrun", "", "", "", {}, {}}, job, agent, {}).env)
      if (key == name) return value;
    return std::string("not set");
  };
  for (const JobBinding& binding : {masks(), of_kind(BindKind::node)}) {
    EXPECT_EQ(variable(binding, "PRTE_MCA_hwloc_default_binding_policy"), "none");
    EXPECT_EQ(variable(binding, "OMPI_MCA_hwloc_base_binding_policy"), "none");
    EXPECT_EQ(variable(binding, "MV2_ENABLE_AFFINITY"), "0");
  }
  EXPECT_EQ(variable(of_kind(BindKind::none), "MV2_ENABLE_AFFINITY"), "not set");
}

TEST(NodeBinding, IsLeftToTheAgentWhereTheLauncherHasNoWordForIt) {
  JobShape job = shape({"n1"}, 1);
  job.binding = of_kind(BindKind::node);
  const auto by = [&](const char* name) {
    return binder_of(*find_launcher(name), {name, "openmpi", "4.1.4", "", {}, {}}, job, {});
  };
  EXPECT_EQ(by("ibrun"), Binder::agent);
  for (const char* name : {"srun", "mpirun", "flux", "local"}) EXPECT_EQ(by(name), Binder::launcher) << name;
}

TEST(EnvironmentOfALaunch, IsTheAgentsWhereTheLauncherHasOptionsForTheBinding) {
  for (const char* name : {"srun", "mpirun", "mpiexec", "flux", "local"})
    for (const JobBinding& binding :
         {masks(), whole_cores(), of_kind(BindKind::node), of_kind(BindKind::cores), of_kind(BindKind::none)}) {
      JobShape job = shape({"n1"}, 2);
      job.binding = binding;
      const LauncherIdentity identity{name, std::string(name) == "mpiexec" ? "mpich" : "openmpi", "4.1.4", "", {}, {}};
      Environment wanted = agent.env;
      if (name == std::string("mpirun"))
        wanted.insert(wanted.end(), {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
      EXPECT_EQ(find_launcher(name)->command(identity, job, agent, {}).env, wanted) << name;
    }
}

TEST(WordsOfABinding, EveryLauncherOfSeveralRanksHasThem) {
  for (const LauncherSpec* launcher : all_launchers()) {
    if (launcher->most_ranks == 1) continue;
    ASSERT_NE(launcher->words, nullptr) << launcher->name;
    const std::vector<int> numbers{0, 1};
    EXPECT_NE(launcher->words->masks, nullptr) << launcher->name;
    EXPECT_FALSE(launcher->words->masks(whole_cores(), numbers, "n1").empty()) << launcher->name;
    for (const std::string_view words : {launcher->words->cores, launcher->words->whole_cores, launcher->words->width,
                                         launcher->words->unbound, launcher->words->local_rank})
      EXPECT_FALSE(words.empty()) << launcher->name;
  }
}

TEST(SilentEnd, OfOpenMpiIsExplainedByItsRankfile) {
  const LauncherSpec& mpirun = *find_launcher("mpirun");
  const auto four = mpirun.explain_silence({"mpirun", "-n", "2", "--rankfile", "/runs/1/rankfile", "muster-rank"});
  EXPECT_NE(four.sentence.find("by the rankfile /runs/1/rankfile"), std::string::npos) << four.sentence;
  EXPECT_NE(four.remedy.find("lscpu"), std::string::npos) << four.remedy;
  const auto five = mpirun.explain_silence({"mpirun", "--map-by", "rankfile:file=/runs/1/rankfile", "muster-rank"});
  EXPECT_EQ(five.sentence, four.sentence);
  EXPECT_TRUE(mpirun.explain_silence({"mpirun", "--map-by", "ppr:2:node", "muster-rank"}).sentence.empty());
}

TEST(GpuChoice, IsThatOfSrunsOption) {
  const LauncherSpec& srun = *find_launcher("srun");
  EXPECT_EQ(srun.gpu_choice({"srun", "--gpu-bind=closest"}), "closest");
  EXPECT_EQ(srun.gpu_choice({"--gpu-bind", "map_gpu:0"}), "map_gpu:0");
  EXPECT_EQ(srun.gpu_choice({"--gpus-per-node=8"}), "");
}

TEST(SrunBinding, VariablesOfTheScriptAroundDoNotReachTheStep) {
  const auto hidden = find_launcher("srun")->hidden_variables;
  for (const std::string_view name : {"SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_CPU_BIND"})
    EXPECT_NE(std::find(hidden.begin(), hidden.end(), name), hidden.end()) << name;
}

}  // namespace
}  // namespace muster
