#include "launchers/retarget/retarget.hpp"

#include <gtest/gtest.h>
#include <map>
#include <ostream>

#include "base/text.hpp"

namespace muster {
namespace {

const Destination four{{"nid001", "nid002", "nid004", "nid006"}, "/runs/1/hosts"};

Argv words(const std::string& line) {
  return split(line, ' ');
}

struct AimCase {
  const char* what;
  const char* given;
  const char* retargeted;  ///< what it becomes, or what the refusal says
  const char* flavor = "openmpi";
};
std::ostream& operator<<(std::ostream& out, const AimCase& item) {
  return out << item.what;
}

class Aim : public testing::TestWithParam<AimCase> {};

TEST_P(Aim, CommandsAreAsWritten) {
  const AimCase& item = GetParam();
  const auto command = words(item.given);
  const auto made = retargeted(command, starter_of(command), item.flavor, four);
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(join(*made, " "), item.retargeted);
}

const AimCase aim_cases[] = {
    {"srun", "srun hostname", "srun --nodelist=nid[001-002,004,006] --nodes=4 hostname"},
    {"by its path", "/opt/slurm/bin/srun -n 8 ./a",
     "/opt/slurm/bin/srun --nodelist=nid[001-002,004,006] --nodes=4 -n 8 ./a"},
    {"the same number of nodes", "srun -N4 ./a", "srun --nodelist=nid[001-002,004,006] --nodes=4 -N4 ./a"},
    {"options of the program", "srun --label -n 4 ./a -w x --nodes=9",
     "srun --nodelist=nid[001-002,004,006] --nodes=4 --label -n 4 ./a -w x --nodes=9"},
    {"flags stand together", "srun -lun4 ./a -x", "srun --nodelist=nid[001-002,004,006] --nodes=4 -lun4 ./a -x"},
    {"optional values are attached", "srun -K1 --cpu-bind none --pty ./a --exclude all",
     "srun --nodelist=nid[001-002,004,006] --nodes=4 -K1 --cpu-bind none --pty ./a --exclude all"},
    {"Open MPI", "mpirun -n 4 ./a", "mpirun --hostfile /runs/1/hosts -n 4 ./a"},
    {"Debian's name for it", "mpiexec.openmpi -np 4 ./a", "mpiexec.openmpi --hostfile /runs/1/hosts -np 4 ./a"},
    {"options of two values", "mpirun --mca btl tcp --oversubscribe ./a --host b",
     "mpirun --hostfile /runs/1/hosts --mca btl tcp --oversubscribe ./a --host b"},
    {"MPICH", "mpiexec -n 4 ./a -f b", "mpiexec -f /runs/1/hosts -n 4 ./a -f b", "mpich"},
    {"Flux", "flux run -n 8 -c 7 --label-io ./a --requires b",
     "flux run --requires=host:nid001,nid002,nid004,nid006 --nodes=4 -n 8 -c 7 --label-io ./a --requires b"},
    {"a job of Flux", "flux submit -n 8 ./a", "flux submit -n 8 ./a"},
    {"a script", "./job.sh -w nid003", "./job.sh -w nid003"},
    {"a program that is called alike", "./my-srun -w x", "./my-srun -w x"},
};
INSTANTIATE_TEST_SUITE_P(All, Aim, testing::ValuesIn(aim_cases));

class AimRefusal : public testing::TestWithParam<AimCase> {};

TEST_P(AimRefusal, SaysWhatToLeaveOut) {
  const AimCase& item = GetParam();
  const auto command = words(item.given);
  const auto made = retargeted(command, starter_of(command), item.flavor, four);
  ASSERT_FALSE(made) << join(*made, " ");
  EXPECT_EQ(made.error().kind, ErrorKind::usage);
  EXPECT_NE(to_string(made.error()).find(item.retargeted), std::string::npos) << to_string(made.error());
}

const AimCase refusals[] = {
    {"a list of its own", "srun -w nid003 ./a", "srun: -w chooses nodes, and so does the gate; leave it out"},
    {"attached", "srun -n4 -wnid003 ./a", "-w chooses nodes"},
    {"spelt out", "srun --nodelist=nid003 ./a", "--nodelist chooses nodes"},
    {"in the next word", "srun --nodelist nid003 ./a", "--nodelist chooses nodes"},
    {"nodes left out", "srun --exclude=nid003 ./a", "--exclude chooses nodes"},
    {"behind an option that nobody knows", "srun --brand-new -w nid003 ./a", "-w chooses nodes"},
    {"another number", "srun -N 8 ./a", "-N 8 is another number of nodes than --need 4"},
    {"a range", "srun --nodes=2-8 ./a", "--nodes 2-8 is another number"},
    {"several programs", "srun -n 1 ./a : -n 2 ./b", "several programs"},
    {"hosts of Open MPI", "mpirun -n 2 --host a,b ./a", "-host chooses nodes"},
    {"with one dash", "mpirun -hostfile mine ./a", "-hostfile chooses nodes"},
    {"several for mpirun", "mpirun -n 1 ./a : -n 2 ./b", "--hostfile $MUSTER_HOSTFILE"},
    {"hosts of Flux", "flux run -n 8 --requires=host:a ./a", "flux: --requires chooses nodes"},
    {"another number for Flux", "flux run -N8 ./a", "-N 8 is another number of nodes than --need 4"},
    {"hosts of MPICH", "mpiexec -f mine ./a", "-f chooses nodes", "mpich"},
};
INSTANTIATE_TEST_SUITE_P(All, AimRefusal, testing::ValuesIn(refusals));

TEST(Aim, StartersAreKnownByName) {
  EXPECT_EQ(starter_of({"srun"}), Starter::srun);
  EXPECT_EQ(starter_of({"/a/b/mpirun.mpich"}), Starter::mpirun);
  EXPECT_EQ(starter_of({"prterun"}), Starter::mpirun);
  EXPECT_EQ(starter_of({"/usr/bin/flux", "run"}), Starter::flux);
  EXPECT_EQ(starter_of({"flux"}), Starter::other);
  EXPECT_EQ(starter_of({"python3"}), Starter::other);
  EXPECT_EQ(starter_of({}), Starter::other);
}

std::map<std::string, std::string> rewritten(std::map<std::string, std::string> variables,
                                             const std::vector<std::string>& nodes) {
  const LookUp look_up = [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const std::vector<std::string> job{"nid001", "nid002", "nid003", "nid004", "nid005", "nid006"};
  std::map<std::string, std::string> changed;
  for (const auto& [name, value] : slurm_variables(look_up, job, nodes)) changed[name] = value;
  return changed;
}

TEST(SlurmVariables, AreThoseOfTheNodesThatAreLeft) {
  using Variables = std::map<std::string, std::string>;
  const Variables job{{"SLURM_JOB_ID", "7"},
                      {"SLURM_JOB_NODELIST", "nid[001-006]"},
                      {"SLURM_NODELIST", "nid[001-006]"},
                      {"SLURM_JOB_NUM_NODES", "6"},
                      {"SLURM_NNODES", "6"},
                      {"SLURM_NTASKS", "12"},
                      {"SLURM_NPROCS", "12"},
                      {"SLURM_TASKS_PER_NODE", "2(x6)"},
                      {"SLURM_GPUS", "24"},
                      {"SLURM_JOB_CPUS_PER_NODE", "64(x5),32"}};
  const Variables wanted{{"SLURM_JOB_NODELIST", "nid[001-002,004,006]"},
                         {"SLURM_NODELIST", "nid[001-002,004,006]"},
                         {"SLURM_JOB_NUM_NODES", "4"},
                         {"SLURM_NNODES", "4"},
                         {"SLURM_NTASKS", "8"},
                         {"SLURM_NPROCS", "8"},
                         {"SLURM_TASKS_PER_NODE", "2(x4)"},
                         {"SLURM_GPUS", "16"},
                         {"SLURM_JOB_CPUS_PER_NODE", "64(x3),32"}};
  EXPECT_EQ(rewritten(job, four.nodes), wanted);
}

TEST(SlurmVariables, WhatIsNotSetOrNotUnderstoodStays) {
  EXPECT_TRUE(rewritten({{"PATH", "/bin"}}, four.nodes).empty());
  const std::map<std::string, std::string> odd{{"SLURM_TASKS_PER_NODE", "2(x99)"},
                                               {"SLURM_NTASKS", "12"},
                                               {"SLURM_JOB_CPUS_PER_NODE", "many"},
                                               {"SLURM_GPUS", "a100:7"}};
  EXPECT_TRUE(rewritten(odd, four.nodes).empty());
  EXPECT_EQ(rewritten({{"SLURM_TASKS_PER_NODE", "3(x2),1(x4)"}, {"SLURM_NTASKS", "10"}}, {"nid002", "nid003"}),
            (std::map<std::string, std::string>{{"SLURM_TASKS_PER_NODE", "3,1"}, {"SLURM_NTASKS", "4"}}));
}

}  // namespace
}  // namespace muster
