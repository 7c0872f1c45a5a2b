#include "config/launch_script.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

namespace muster {
namespace {

bool is_srun(std::string_view name) {
  return name == "srun" || name == "mpirun";
}

std::vector<std::pair<int, std::string>> commands_of(std::string_view script) {
  std::vector<std::pair<int, std::string>> all;
  for (const auto& command : launch_commands(script, is_srun)) all.emplace_back(command.number, command.text);
  return all;
}

using Commands = std::vector<std::pair<int, std::string>>;

TEST(LaunchScript, TheLineOfABatchScript) {
  EXPECT_EQ(commands_of("#!/bin/bash\n"
                        "#SBATCH --ntasks-per-node=2\n"
                        "# srun in a comment\n"
                        "module load srun\n"
                        "export A=$(srun hostname) B='srun x'\n"
                        "FI_PROVIDER=cxi srun -N 2 \\\n"
                        "  --cpu-bind=$MASKS python train.py > out 2>&1\n"
                        "echo srun is over\n"),
            (Commands{{6, "FI_PROVIDER=cxi srun -N 2 \\\n  --cpu-bind=$MASKS python train.py"}}));
}

TEST(LaunchScript, WhereverACommandMayBegin) {
  EXPECT_EQ(commands_of("if true; then srun a; else /opt/bin/mpirun b | tee log; fi\n"
                        "time srun c && exec srun d &\n"
                        "(srun e)\n"
                        "for i in 1 2; do srun f \"x; y\" >log; done"),
            (Commands{{1, "srun a"},
                      {1, "/opt/bin/mpirun b"},
                      {2, "srun c"},
                      {2, "srun d"},
                      {3, "srun e"},
                      {4, "srun f \"x; y\""}}));
}

TEST(LaunchScript, TheLineThatTheGateStarts) {
  EXPECT_EQ(commands_of("#SBATCH --nodes=66\n"
                        "export NCCL_DEBUG=WARN\n"
                        "MASTER_PORT=29500 muster gate --need 64 --launch 'srun -n 1' \\\n"
                        "  -- srun -N 64 ./train --epochs 90 >log\n"
                        "if /opt/muster/bin/muster gate --need 1 -- mpirun python train.py; then echo done; fi\n"),
            (Commands{{3, "MASTER_PORT=29500 srun -N 64 ./train --epochs 90"}, {5, "mpirun python train.py"}}));
  // No launcher is started by these.
  EXPECT_EQ(
      commands_of("muster\nmuster gate --need 4 -- ./train.sh\nmuster gate --print hosts srun\nmuster run -- srun a\n"
                  "echo muster gate --\nmuster gate --\nmastered gate -- srun a\n"),
      Commands{});
}

TEST(LaunchScript, VariablesThatHoldEachOther) {
  EXPECT_EQ(
      batch_value("MUSTER_TEST_A", {{"MUSTER_TEST_A", "$MUSTER_TEST_B-${MUSTER_TEST_B}"}, {"MUSTER_TEST_B", "x"}}),
      "x-x");
  // Its value before, which is not known: the sign stands for the dollar.
  EXPECT_EQ(batch_value("MUSTER_TEST_A", {{"MUSTER_TEST_A", "$MUSTER_TEST_A:/opt"}}),
            std::string(1, unknown_expansion) + "MUSTER_TEST_A:/opt");
  // 40 to the power of 12 copies, if they were written out.
  std::map<std::string, std::string> many;
  for (char name = 'a'; name < 'm'; ++name) {
    std::string& text = many[std::string("MUSTER_TEST_") + name];
    for (int i = 0; i < 40; ++i) text += std::string("$MUSTER_TEST_") + static_cast<char>(name + 1);
  }
  many["MUSTER_TEST_m"] = "0123456789";
  const auto value = batch_value("MUSTER_TEST_a", many);
  ASSERT_TRUE(value);
  EXPECT_LT(value->size(), 300'000U);
}

TEST(LaunchScript, HereDocumentsHoldNone) {
  EXPECT_EQ(commands_of("cat > wrapper <<'EOF'\nsrun inside\nEOF\nsrun outside\n"), (Commands{{4, "srun outside"}}));
  EXPECT_EQ(commands_of("cat <<-END >x\n\tsrun inside\n\tEND\nwc <<< text\nsrun outside\n"),
            (Commands{{5, "srun outside"}}));
}

TEST(LaunchScript, WhatIsNotClosedEndsWithTheScript) {
  for (const char* script : {"srun 'a", "srun \"a", "srun $(a", "srun ${a", "srun a\\", "srun a <<", "srun a <<EOF"})
    EXPECT_EQ(launch_commands(script, is_srun).size(), 1u) << script;
}

GivenLine line_of(const std::string& text) {
  const auto line = line_of_command({1, text}, {});
  return line ? *line : GivenLine{{}, {line.error().what}, {}};
}

TEST(LaunchScript, TheLineEndsBeforeTheProgram) {
  const Argv srun{"srun", "-N", "2"};
  EXPECT_EQ(line_of("srun -N 2 python3 -u train.py --port=$UNSET_1 $(hostname)").argv, srun);
  EXPECT_EQ(line_of("srun -N 2 ./train --epochs 3").argv, srun);
  EXPECT_EQ(line_of("srun -N 2 bash -c 'source env; python train.py'").argv, srun);
  EXPECT_EQ(line_of("srun -N 2 torchrun --nproc-per-node=2 python.py").left_out.front(), "torchrun");
  EXPECT_EQ(line_of("A=b srun -N 2 ./select_gpu python train.py").argv, (Argv{"srun", "-N", "2", "./select_gpu"}));
  EXPECT_EQ(line_of("A=b srun -N 2 ./select_gpu python train.py").env, (Environment{{"A", "b"}}));
  EXPECT_EQ(line_of("srun -N 2 singularity exec a.sif python train.py").argv,
            (Argv{"srun", "-N", "2", "singularity", "exec", "a.sif"}));
  EXPECT_EQ(line_of("srun -N 2 python -m torch.distributed.run --nproc-per-node=2 train.py").left_out.size(), 5u);
}

TEST(LaunchScript, AShellThatStartsWhatFollowsIsKept) {
  const std::string wrapper = "srun -N 2 bash -c 'A=$SLURM_LOCALID exec \"$0\" \"$@\"' ";
  EXPECT_EQ(line_of(wrapper + "./train --epochs 3").left_out, (Argv{"./train", "--epochs", "3"}));
  EXPECT_EQ(line_of(wrapper + "python train.py").argv.size(), 6u);
}

// As the shell of the batch script would: what single quotes or a backslash keep from it is of each rank.
TEST(LaunchScript, OptionsOfTorchrunHaveTheirValues) {
  ::setenv("MUSTER_TEST_NODES", "4", 1);
  const auto options = [](const std::string& text) { return line_of("srun -N 2 " + text).torchrun_options; };
  EXPECT_EQ(options("torchrun --nnodes=$MUSTER_TEST_NODES --rdzv-endpoint=$UNSET_3:29500 a.py"),
            "nnodes=4|rdzv-endpoint?$UNSET_3:29500");
  EXPECT_EQ(options("bash -c \"torchrun --nnodes=${MUSTER_TEST_NODES} --node-rank=\\$SLURM_PROCID a.py\""),
            "nnodes=4|node-rank=$SLURM_PROCID");
  EXPECT_EQ(options("bash -c 'torchrun --nnodes=$MUSTER_TEST_NODES a.py'"), "nnodes=$MUSTER_TEST_NODES");
  ::unsetenv("MUSTER_TEST_NODES");
}

// As the scripts of many trainings have it.
TEST(LaunchScript, VariablesOfTheScriptItself) {
  const std::string script =
      "N=2\nLAUNCHER=\"torchrun --nnodes=$N --rdzv-endpoint=$(hostname):1\"\nsrun bash -c \"$LAUNCHER --node-rank "
      "\\$SLURM_PROCID a.py\"\n";
  const auto commands = launch_commands(script, is_srun);
  ASSERT_EQ(commands.size(), 1u);
  const auto line = line_of_command(commands.front(), {});
  ASSERT_TRUE(line) << line.error().what;
  EXPECT_EQ(line->torchrun_options, "nnodes=2|rdzv-endpoint?$(hostname):1|node-rank=$SLURM_PROCID");
}

// LUMI's user guide: written by the script itself.
TEST(LaunchScript, AWrapperThatIsThereIsNotTheProgram) {
  EXPECT_NE(line_of("srun ./select_gpu ./train").argv.front().find("may be ./select_gpu or ./train"),
            std::string::npos);
  const auto folder = std::filesystem::temp_directory_path() / "muster-wrapper";
  std::filesystem::create_directories(folder);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  std::ofstream("select_gpu") << "#!/bin/bash\nexport ROCR_VISIBLE_DEVICES=$SLURM_LOCALID\nexec $*\n";
  EXPECT_EQ(line_of("srun ./select_gpu ./train").argv, (Argv{"srun", "./select_gpu"}));
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

TEST(LaunchScript, AProgramThatCanNotBeToldIsRefused) {
  EXPECT_NE(line_of("srun -n 2 hostname").argv.front().find("where its program begins can't be seen"),
            std::string::npos);
  EXPECT_NE(line_of("srun ./wrap ./train").argv.front().find("its program may be ./wrap or ./train"),
            std::string::npos);
  EXPECT_NE(line_of("srun -n $UNSET_2 ./train").argv.front().find("not set (UNSET_2)"), std::string::npos);
}

TEST(LaunchScript, TorchrunOfAScriptThatTheLineStarts) {
  const auto found = torchrun_command(
      "#!/bin/bash\n# torchrun\necho torchrun\nsource env\nOMP_NUM_THREADS=7 exec numactl -l \\\n  torchrun "
      "--standalone train.py >log\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->number, 5);
  EXPECT_EQ(found->text, "OMP_NUM_THREADS=7 exec numactl -l \\\n  torchrun --standalone train.py");
  EXPECT_TRUE(torchrun_command("if true; then python -u -m torch.distributed.run train.py; fi"));
  EXPECT_FALSE(torchrun_command("which torchrun\npython train.py  # torchrun\n"));
}

TEST(LaunchScript, AWrapperUsesItsArguments) {
  for (const char* wrapper :
       {"exec \"$@\"", "exec $*", "exec \"${@}\"", "$1", "shift 2; A=b exec \"${@:2}\"", "A=b exec \"$1\""})
    EXPECT_TRUE(uses_arguments(wrapper)) << wrapper;
  // The second is as TACC has it.
  for (const char* program : {"#!/bin/bash\ntorchrun --nproc-per-node=2 train.py $SIZE\n",
                              "#!/bin/bash\ntorchrun --nnodes $2 --master_addr $1 train.py\n", "python $1"})
    EXPECT_FALSE(uses_arguments(program)) << program;
}

}  // namespace
}  // namespace muster
