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
          {{"49-55", "0xfe000000000000", 0}, {"57-63", "0xfe00000000000000", 1}},
          {},
          selects_gpus};
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
};

std::ostream& operator<<(std::ostream& out, const BindingCase& one) {
  return out << one.launcher << " " << one.flavor << ": " << one.name;
}

class Binding : public testing::TestWithParam<BindingCase> {};

TEST_P(Binding, IsAskedInTheLaunchersOwnWords) {
  const BindingCase& item = GetParam();
  const LauncherSpec& launcher = *find_launcher(item.launcher);
  LauncherIdentity identity{"/bin/x", item.flavor, "4.1.4", "", {}, {}};
  JobShape job = shape({"n1"}, 2, 0, item.oversubscribed);
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
    {"masks that no mapping gives",
     "mpirun",
     "openmpi",
     masks(),
     {},
     " --map-by ppr:2:node --bind-to none ",
     "core",
     Binder::agent},
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
    {"whole node", "mpiexec", "mpich", of_kind(BindKind::node), {}, " -bind-to none ", "core"},
    {"nothing", "mpiexec", "mpich", of_kind(BindKind::none), {}, " -ppn 2 ", "bind-to"},
    {"masks", "flux", "", masks(), {}, " --setopt=cpu-affinity=off ", "per-task", Binder::agent},
    {"affinity of the user",
     "flux",
     "",
     masks(),
     {"-ocpu-affinity=on"},
     " -ocpu-affinity=on ",
     "--setopt",
     Binder::options},
    {"whole node", "flux", "", of_kind(BindKind::node), {}, " --setopt=cpu-affinity=off ", ""},
    {"cores", "flux", "", of_kind(BindKind::cores), {}, " --setopt=cpu-affinity=per-task ", ""},
    {"masks", "ibrun", "", masks(), {}, " -n 2 ", "bind", Binder::agent},
};
INSTANTIATE_TEST_SUITE_P(Table, Binding, testing::ValuesIn(cases));

TEST(SrunBinding, VariablesOfTheScriptAroundDoNotReachTheStep) {
  const auto hidden = find_launcher("srun")->hidden_variables;
  for (const std::string_view name : {"SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_CPU_BIND"})
    EXPECT_NE(std::find(hidden.begin(), hidden.end(), name), hidden.end()) << name;
}

}  // namespace
}  // namespace muster
