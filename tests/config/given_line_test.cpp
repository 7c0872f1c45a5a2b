#include "config/given_line.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

#include "config/torchrun_options.hpp"

namespace muster {
namespace {

Argv argv_of(std::string_view text) {
  const auto line = parse_given_line(text);
  return line ? line->argv : Argv{line.error().what};
}

std::string refusal_of(std::string_view text) {
  const auto line = parse_given_line(text);
  return line ? "taken" : line.error().what;
}

TEST(GivenLine, IsSplitAsAShellDoes) {
  ::setenv("MUSTER_TEST_IMAGE", "/images/a b.sif", 1);
  EXPECT_EQ(argv_of("srun -N 2 --ntasks-per-node=8"), (Argv{"srun", "-N", "2", "--ntasks-per-node=8"}));
  EXPECT_EQ(argv_of("srun \\\n  -N 2\n --comment='two words; no more' \"$MUSTER_TEST_IMAGE\""),
            (Argv{"srun", "-N", "2", "--comment=two words; no more", "/images/a b.sif"}));
  EXPECT_EQ(argv_of("mpirun -x 'A=$HOME' bash -c 'X=$OMPI_COMM_WORLD_RANK exec \"$0\" \"$@\"'"),
            (Argv{"mpirun", "-x", "A=$HOME", "bash", "-c", "X=$OMPI_COMM_WORLD_RANK exec \"$0\" \"$@\""}));
  ::unsetenv("MUSTER_TEST_IMAGE");
}

TEST(GivenLine, CommentsAreLeftOutAsByAShell) {
  EXPECT_EQ(argv_of("srun -N 2 # on two nodes; see the guide's \"masks\""), (Argv{"srun", "-N", "2"}));
  EXPECT_EQ(argv_of("srun -N 2 \\\n  --label  # names\n"), (Argv{"srun", "-N", "2", "--label"}));
  EXPECT_EQ(argv_of("srun --comment=a#b '# no' \"# nor\" \\#"), (Argv{"srun", "--comment=a#b", "# no", "# nor", "#"}));
}

TEST(GivenLine, AssignmentsInFrontAreItsEnvironment) {
  const auto line = parse_given_line("FI_PROVIDER=cxi NCCL_DEBUG='INFO WARN' srun -N 2");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->env, (Environment{{"FI_PROVIDER", "cxi"}, {"NCCL_DEBUG", "INFO WARN"}}));
  EXPECT_EQ(line->argv, (Argv{"srun", "-N", "2"}));
}

TEST(GivenLine, IsCutBeforeTorchrun) {
  for (const char* tail : {"torchrun --nproc-per-node=4 train.py", "/opt/bin/torchrun --nnodes=2 train.py",
                           "python3 -m torch.distributed.run --nproc-per-node=4 train.py",
                           "python3 -u -W ignore -m torch.distributed.run --nproc-per-node=4 train.py"}) {
    const auto line = parse_given_line("srun -N 2 singularity exec a.sif " + std::string(tail));
    ASSERT_TRUE(line);
    EXPECT_EQ(line->argv, (Argv{"srun", "-N", "2", "singularity", "exec", "a.sif"})) << tail;
    EXPECT_GE(line->left_out.size(), 3u) << tail;
    EXPECT_EQ(line->torchrun, tail);
  }
}

TEST(GivenLine, IsCutBeforePython) {
  for (const char* tail : {"python train.py", "conda-python-distributed -u mnist_DDP.py --gpu",
                           "/opt/venv/bin/python3.11 -W ignore -u train.py --epochs 4", "python3 -m http.server",
                           "python3 -c 'import torch'"}) {
    const auto line = parse_given_line("srun -N 2 singularity exec a.sif " + std::string(tail));
    ASSERT_TRUE(line);
    EXPECT_EQ(line->argv, (Argv{"srun", "-N", "2", "singularity", "exec", "a.sif"})) << tail;
    EXPECT_GE(line->left_out.size(), 2u) << tail;
  }
  for (const char* text :
       {"srun singularity exec --bind /opt/python a.sif", "srun ./python3 wrapper", "srun python3 -u"})
    EXPECT_TRUE(parse_given_line(text)->left_out.empty()) << text;
}

TEST(GivenLine, SeveralProgramsAreRefused) {
  for (const char* text : {"mpirun -n 1 : -n 1", "mpirun -n 1 ./a : -n 1 ./b"})
    EXPECT_NE(refusal_of(text).find("starts several programs"), std::string::npos) << text;
  EXPECT_EQ(refusal_of("mpirun --host a:2"), "taken");
  EXPECT_EQ(refusal_of("srun -n 1 : -n 2"), "taken");
  EXPECT_NE(refusal_of("srun -n 1 python a.py : -n 2 python b.py").find("starts several programs"), std::string::npos);
}

TEST(GivenLine, WhatIsNoSingleCommandIsRefused) {
  EXPECT_NE(refusal_of("srun -N 2; rm -rf /").find("not a single command"), std::string::npos);
  EXPECT_NE(refusal_of("srun -N 2 > out").find("not a single command"), std::string::npos);
  EXPECT_NE(refusal_of("srun $(nproc)").find("command substitution"), std::string::npos);
  EXPECT_NE(refusal_of("srun `nproc`").find("command substitution"), std::string::npos);
  EXPECT_NE(refusal_of("srun 'a b").find("not closed"), std::string::npos);
  EXPECT_NE(refusal_of("srun -n $MUSTER_TEST_UNSET").find("not set"), std::string::npos);
  EXPECT_NE(refusal_of("").find("names no launcher"), std::string::npos);
  EXPECT_NE(refusal_of("A=b").find("names no launcher"), std::string::npos);
  EXPECT_NE(refusal_of("torchrun train.py").find("names no launcher"), std::string::npos);
  EXPECT_NE(refusal_of(std::string("srun\0-N", 7)).find("zero byte"), std::string::npos);
}

TEST(GivenLine, ExportWithoutAllIsRefused) {
  EXPECT_NE(refusal_of("srun --export=PATH,HOME -N 2").find("--export=ALL"), std::string::npos);
  EXPECT_NE(refusal_of("srun --export=NONE").find("--export=ALL"), std::string::npos);
  EXPECT_NE(refusal_of("srun --export NONE -N 2").find("--export=ALL"), std::string::npos);
  EXPECT_EQ(refusal_of("srun --export=ALL,FI_PROVIDER=cxi -N 2"), "taken");
  EXPECT_EQ(refusal_of("srun --export ALL -N 2"), "taken");
}

// F40: sbatch --export=NONE leaves it to every srun of the job.
TEST(GivenLine, AVariableThatExportsNothingIsRefused) {
  EXPECT_NE(refusal_of("SLURM_EXPORT_ENV=NONE srun -N 2").find("unset SLURM_EXPORT_ENV"), std::string::npos);
  ::setenv("SLURM_EXPORT_ENV", "NONE", 1);
  EXPECT_NE(refusal_of("srun -N 2").find("SLURM_EXPORT_ENV=NONE keeps muster's own variables"), std::string::npos);
  EXPECT_EQ(refusal_of("srun --export=ALL -N 2"), "taken");
  EXPECT_EQ(refusal_of("mpirun -n 2"), "taken");
  EXPECT_TRUE(parse_given_line("srun -N 2", {"f.toml:3:10", false}));
  ::setenv("SLURM_EXPORT_ENV", "ALL", 1);
  EXPECT_EQ(refusal_of("srun -N 2"), "taken");
  ::unsetenv("SLURM_EXPORT_ENV");
}

// bash would wait for the rest of the line.
TEST(GivenLine, AQuoteThatIsNotClosedIsRefused) {
  for (const char* line : {"srun -N 2 bash -c 'python train.py", "srun -N 2 bash -c \"python 'a\" 'b",
                           "srun -N 2 python train.py --name 'x", "srun -N 2 \"a"})
    EXPECT_NE(refusal_of(line).find("has a quote that is not closed"), std::string::npos) << line;
  for (const char* line :
       {"srun -N 2 bash -c 'python \"it'", "srun -N 2 python a.py \\'", "srun -N 2 python a.py # don't"})
    EXPECT_EQ(refusal_of(line), "taken") << line;
}

TEST(GivenLine, SignsOfPrintedTextAreRefused) {
  EXPECT_NE(refusal_of("srun -N 2 \u2013\u2013cpu-bind=none").find("begins with a dash or a quote of printed text"),
            std::string::npos);
  EXPECT_NE(refusal_of("srun -N 2 \u201csingularity exec\u201d").find("begins with a dash or a quote"),
            std::string::npos);
  EXPECT_EQ(refusal_of("srun -N 2 --job-name=caf\u00e9"), "taken");
  EXPECT_EQ(refusal_of("srun -N 2 python a.py \u201cx\u201d"), "taken") << "the program's own";
}

TEST(GivenLine, TorchrunInTheTextOfAShellIsCutWithTheShell) {
  const auto line = parse_given_line("srun -N 2 singularity exec a.sif bash -c 'source env; exec torchrun train.py'");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->argv, (Argv{"srun", "-N", "2", "singularity", "exec", "a.sif"}));
  EXPECT_EQ(line->left_out.front(), "bash");
  // A shell that starts what follows it stays, and so does one whose text only mentions it.
  EXPECT_TRUE(parse_given_line("srun bash -c 'exec \"$@\"' -")->left_out.empty());
  EXPECT_TRUE(parse_given_line("srun bash -c 'exec \"$@\"' no-torchrun")->left_out.empty());
}

// A training would begin, with the agent for an argument. The second is NERSC's own line.
TEST(GivenLine, AShellWhoseTextTakesNoArgumentsIsTheProgram) {
  for (const char* tail :
       {"bash -c 'cd /tmp; python train.py'", "bash -c 'source export_DDP_vars.sh; python train_multi_gpu.py'",
        "bash -l -c 'exec ./train --epochs 3'", "sh -ec './train'", "accelerate launch train.py",
        "deepspeed train.py --config a.json"}) {
    const auto line = parse_given_line("srun -N 2 shifter " + std::string(tail));
    ASSERT_TRUE(line);
    EXPECT_EQ(line->argv, (Argv{"srun", "-N", "2", "shifter"})) << tail;
    EXPECT_GE(line->left_out.size(), 3u) << tail;
    const bool is_shell = std::string_view(tail).find("bash") == 0 || std::string_view(tail).find("sh ") == 0;
    EXPECT_EQ(line->torchrun, is_shell ? "" : tail);
  }
  for (const char* text :
       {"srun bash -c 'ROCR_VISIBLE_DEVICES=$SLURM_LOCALID exec \"$0\" \"$@\"'", "srun bash -c 'exec $0'",
        "srun bash -lc 'module load x; exec \"$@\"' -", "srun bash", "srun bash wrapper.sh", "srun accelerate"})
    EXPECT_TRUE(parse_given_line(text)->left_out.empty()) << text;
}

TEST(GivenLine, OptionsOfTorchrunThatCount) {
  const auto options = [](const std::string& tail) {
    const auto line = parse_given_line("srun -N 2 " + tail);
    return line ? line->torchrun_options : line.error().what;
  };
  EXPECT_EQ(options("torchrun --standalone --nproc_per_node=2 train.py --nnodes=4"), "standalone=1|nproc-per-node=2");
  EXPECT_EQ(options("python3 -u -m torch.distributed.run --nnodes 2 --max-restarts 3 -m mypkg --node-rank=1"),
            "nnodes=2");
  EXPECT_EQ(options("torchrun --nnodes=1:4 --rdzv-backend=c10d --rdzv-endpoint=a:1 --rdzv-id=7 train.py"),
            "nnodes=1:4|rdzv-backend=c10d|rdzv-endpoint=a:1|rdzv-id=7");
  EXPECT_EQ(options("numactl -l bash -c 'source env; exec torchrun --node-rank=$SLURM_PROCID --nnodes=${N} "
                    "--master-addr=$(hostname) --rdzv-id=${A%%,*} train.py'"),
            "node-rank=$SLURM_PROCID|nnodes=${N}|master-addr=$MUSTER_HOST|rdzv-id?${A%%,*}");
  EXPECT_EQ(options("torchrun '--nnodes=$N' '--rdzv-id=$N' train.py"), "nnodes!$N|rdzv-id=$N")
      << "no shell of the rank sees it";
  EXPECT_EQ(options("torchrun --nnodes=$MUSTER_TEST_UNSET --rdzv-endpoint=$(hostname):1 train.py"),
            "nnodes?$MUSTER_TEST_UNSET|rdzv-endpoint?$(hostname):1")
      << "put in once, by the shell of the batch script";
  EXPECT_EQ(options("bash -c 'torchrun --rdzv-endpoint=$(hostname):1 --rdzv-id=$RANDOM --master-addr=$HOSTNAME a.py'"),
            "rdzv-endpoint=$MUSTER_HOST:1|rdzv-id*$RANDOM|master-addr=$HOSTNAME");
  EXPECT_EQ(options("bash -c 'T=\"torchrun --nnodes=3\"; $T a.py'"), "nnodes=3");
  EXPECT_EQ(options("python3 /opt/venv/bin/torchrun --nnodes=2 train.py"), "nnodes=2");
  EXPECT_EQ(options("python train.py --nnodes=2"), "");
}

// As TACC's guide of Vista has it, started by `mpirun -np 2 --map-by ppr:1:node run.sh c123-456 2`.
TEST(GivenLine, OptionsOfTorchrunInAScriptWithArguments) {
  EXPECT_EQ(torchrun_options_of_script("#!/bin/bash\nexport LOCAL_RANK=${OMPI_COMM_WORLD_RANK}\nPORT=29500\n"
                                       "torchrun --nproc_per_node 1 --nnodes $2 --node_rank=${LOCAL_RANK} "
                                       "--master_addr=$1 --master_port=$PORT train.py\n",
                                       {"c123-456", "2"}),
            "nproc-per-node=1|nnodes=2|node-rank=${OMPI_COMM_WORLD_RANK}|master-addr=c123-456|master-port=29500");
  const std::string by_argument = "NODES=$2\nexport PORT=${1}\ntorchrun --nnodes=$NODES --master-port=$PORT train.py\n";
  EXPECT_EQ(torchrun_options_of_script(by_argument, {"29501", "4"}), "nnodes=4|master-port=29501");
  EXPECT_EQ(torchrun_options_of_script(by_argument), "nnodes=$2|master-port=${1}");
  EXPECT_EQ(torchrun_options_of_script("N=4; torchrun --nnodes=$N train.py"), "nnodes=4");
  EXPECT_EQ(torchrun_options_of_script("if true; then N=2; fi\ntorchrun --nnodes=$N train.py\nN=3\n"), "nnodes=$N");
}

// What the program alone needs is not demanded.
TEST(GivenLine, VariablesBehindTheProgramMayBeMissing) {
  const auto line = parse_given_line("srun -N 2 python train.py --port $MUSTER_TEST_UNSET --seed=$RANDOM");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->argv, (Argv{"srun", "-N", "2"}));
  EXPECT_EQ(line->left_out[3], "$MUSTER_TEST_UNSET");
}

// The part of the shell's text before the program is carried out by the shell of each task.
TEST(GivenLine, WhatAShellDoesBeforeItsProgramIsKept) {
  struct Row {
    std::string_view shell;
    Argv kept;
    std::string_view not_run;
  };
  for (const Row& row : {
           Row{"bash -c 'export ROCR_VISIBLE_DEVICES=0; export RANK=$SLURM_PROCID; taskset -c 9 python train.py'",
               {"bash", "-c", "export ROCR_VISIBLE_DEVICES=0; export RANK=$SLURM_PROCID; exec taskset -c 9 \"$@\"",
                "bash"},
               ""},
           Row{"bash -lc 'RANK=$SLURM_PROCID exec numactl -C 3 ./train a' x b",
               {"bash", "-l", "-c", "shift 1; RANK=$SLURM_PROCID exec numactl -C 3 \"$@\"", "x", "b"},
               ""},
           Row{"sh -c 'ulimit -s unlimited && cd /tmp && singularity exec a.sif python a.py | tee log'",
               {"sh", "-c", "ulimit -s unlimited; exec singularity exec a.sif \"$@\"", "sh"},
               ""},
           Row{"bash -c 'LOCAL_RANK=$((SLURM_PROCID % 4)) MASTER_ADDR=$(hostname) python a.py; rm -rf tmp'",
               {"bash", "-c", "LOCAL_RANK=$((SLURM_PROCID % 4)) MASTER_ADDR=$(hostname) exec \"$@\"", "bash"},
               ""},
           Row{"bash -c 'source no_such_file; export A=$B; export C=$SLURM_LOCALID; python a.py'",
               {"bash", "-c", "export C=$SLURM_LOCALID; exec \"$@\"", "bash"},
               "source no_such_file; export A=$B"},
           Row{"bash -c 'export CUDA_VISIBLE_DEVICES=$(./choose); python a.py'",
               {},
               "export CUDA_VISIBLE_DEVICES=$(./choose)"},
           Row{"bash -c 'if [ $SLURM_LOCALID = 0 ]; then export A=b; fi; module load x; python a.py'",
               {},
               "then export A=b; module load x"},
           Row{"bash -c 'f() { export A=b; }; ./prepare; taskset 0x3 ./train'",
               {"bash", "-c", "exec taskset 0x3 \"$@\"", "bash"},
               "{ export A=b; ./prepare"},
           Row{"bash -c '$MUSTER_TEST_UNSET --epochs 3'", {}, "$MUSTER_TEST_UNSET --epochs 3"},
           Row{"bash -c 'bash train.sh'", {}, "bash train.sh"},
       }) {
    const auto line = parse_given_line("srun -N 2 " + std::string(row.shell));
    ASSERT_TRUE(line) << row.shell << ": " << line.error().what;
    EXPECT_EQ(Argv(line->argv.begin() + 3, line->argv.end()), row.kept) << row.shell;
    EXPECT_EQ(line->not_run, row.not_run) << row.shell;
  }
}

// In double quotes the shell of the batch script puts in its own number.
TEST(GivenLine, AVariableInDoubleQuotesHasOneValue) {
  ::unsetenv("SLURM_PROCID");
  const auto line = parse_given_line("srun bash -c \"RANK=$SLURM_PROCID A=$MUSTER_TEST_UNSET python a.py\"");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->argv, (Argv{"srun", "bash", "-c", "RANK=0 exec \"$@\"", "bash"}));
  EXPECT_EQ(line->not_run, "A=$MUSTER_TEST_UNSET");
  const auto escaped = parse_given_line("srun bash -c \"RANK=\\$SLURM_PROCID python a.py\"");
  ASSERT_TRUE(escaped);
  EXPECT_EQ(escaped->argv[3], "RANK=$SLURM_PROCID exec \"$@\"");
}

TEST(GivenLine, VariablesThatAreNotSetAreNamed) {
  EXPECT_NE(refusal_of("srun -n $MUSTER_TEST_UNSET").find("bash -c '...', in single quotes"), std::string::npos);
  EXPECT_NE(refusal_of("srun --cpu-bind=$MUSTER_TEST_MASKS '$QUOTED' ${MUSTER_TEST_IMAGE}")
                .find("MUSTER_TEST_MASKS and MUSTER_TEST_IMAGE"),
            std::string::npos);
}

TEST(GivenLine, VariablesMayBeMissingWhereFilesAreOnlyRead) {
  const auto line = parse_given_line("srun -n $MUSTER_TEST_UNSET -N 2", {"f.toml:3:10", false});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->argv, (Argv{"srun", "-n", "-N", "2"}));
  EXPECT_EQ(parse_given_line("a; b", {"f.toml:3:10", false}).error().where, "f.toml:3:10");
}

// They start processes as torchrun does: one in each of several tasks is a job of its own.
TEST(GivenLine, AccelerateAndDeepspeedAreLikeTorchrun) {
  struct Row {
    std::string_view program, options;
  };
  for (const Row& row :
       {Row{"accelerate launch train.py", "starter=accelerate"},
        Row{"accelerate launch --num_machines 2 --machine_rank=1 --main_process_ip a train.py --num_machines 9",
            "starter=accelerate|nnodes=2|node-rank=1|master-addr=a"},
        Row{"accelerate launch --num-processes 16 --rdzv_backend=c10d train.py",
            "starter=accelerate|num-processes=16|rdzv-backend=c10d"},
        Row{"accelerate-launch --num_processes=4 train.py", "starter=accelerate|num-processes=4"},
        Row{"python3 -u -m accelerate.commands.launch --num_processes 8 train.py",
            "starter=accelerate|num-processes=8"},
        Row{"accelerate launch --config_file c.yaml train.py",
            "starter=accelerate|nnodes?the value in the file of --config_file|num-processes?the value in the file of "
            "--config_file"},
        Row{"deepspeed --num_nodes 2 --num_gpus 4 train.py", "starter=deepspeed|nproc-per-node=4"},
        Row{"python -m deepspeed.launcher.runner --num_accelerators 4 train.py", "starter=deepspeed|nproc-per-node=4"},
        Row{"deepspeed --include localhost:0,1,2 train.py", "starter=deepspeed|nproc-per-node=3|devices=0,1,2"},
        Row{"deepspeed -H hosts train.py",
            "starter=deepspeed|nproc-per-node?the number of slots in the hostfile|devices?the number of slots in the "
            "hostfile"},
        Row{"deepspeed --no_ssh --num_nodes 2 --node_rank 1 train.py", "starter=deepspeed|nnodes=2|node-rank=1"},
        Row{"python -m torch.distributed.launch --nproc_per_node=4 train.py", "nproc-per-node=4"}}) {
    const auto line = parse_given_line("srun -n 2 " + std::string(row.program));
    ASSERT_TRUE(line) << row.program;
    EXPECT_EQ(line->torchrun, row.program);
    EXPECT_EQ(line->torchrun_options, row.options);
  }
}

TEST(GivenLine, AccelerateAndDeepspeedInAShell) {
  const auto options = [](const std::string& text) {
    const auto line = parse_given_line("srun -N 2 bash -c '" + text + "'");
    return line && !line->torchrun.empty() ? line->torchrun_options : "none";
  };
  EXPECT_EQ(options("source env.sh; accelerate launch --num_processes 16 --num_machines 2 --machine_rank $SLURM_NODEID "
                    "--main_process_ip $MASTER_ADDR train.py"),
            "starter=accelerate|num-processes=16|nnodes=2|node-rank=$SLURM_NODEID|master-addr=$MASTER_ADDR");
  EXPECT_EQ(options("exec deepspeed --num_gpus 8 train.py"), "starter=deepspeed|nproc-per-node=8");
  EXPECT_EQ(options("conda run -n train python -m torch.distributed.run --nnodes=2 train.py"), "nnodes=2");
  for (const char* text : {"module load deepspeed; python train.py", "conda activate deepspeed && python train.py",
                           "cd /opt/deepspeed; ./train", "HOME=/opt/deepspeed python train.py",
                           "python train.py --backend deepspeed x", "pip install deepspeed; python train.py"})
    EXPECT_EQ(options(text), "none") << text;
}

}  // namespace
}  // namespace muster
