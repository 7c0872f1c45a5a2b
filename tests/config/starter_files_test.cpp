#include "config/starter_files.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "config/given_line.hpp"

namespace muster {
namespace {

using Settings = std::map<std::string, std::string>;

/// Files of a folder that is gone with the test.
class StarterFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "muster starters XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file(folder_ / name, text));
    return (folder_ / name).string();
  }
  static std::string options(const std::string& program) {
    const auto line = parse_given_line("srun -n 2 " + program + " train.py");
    return line ? line->torchrun_options : "none";
  }

  fs::path folder_;
};

TEST_F(StarterFiles, SettingsOfYaml) {
  EXPECT_EQ(yaml_settings("# made by accelerate config\ncompute_environment: LOCAL_MACHINE\nnum_machines: 2\r\n"
                          "num_processes: '16'  # all\nmain_process_ip: null\nmachine_rank: ~\ngpu_ids: \"0,1\"\n"
                          "deepspeed_config:\n  num_machines: 7\nurl:x\n- a: b\n: c\nfsdp_config: {}\n"),
            (Settings{{"compute_environment", "LOCAL_MACHINE"},
                      {"num_machines", "2"},
                      {"num_processes", "16"},
                      {"gpu_ids", "0,1"},
                      {"fsdp_config", "{}"}}));
  EXPECT_TRUE(yaml_settings("").empty());
  EXPECT_TRUE(yaml_settings(":").empty());
}

TEST_F(StarterFiles, HostsOfDeepspeed) {
  const auto two = deepspeed_hosts("# job\nnid001 slots=8\n\n  nid002\tslots=8 # fast\n");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->nodes, 2);
  EXPECT_EQ(two->slots, 8);
  EXPECT_EQ(deepspeed_hosts("a slots=8\nb slots=4\n")->slots, std::nullopt);
  for (const char* refused : {"", "# none\n", "nid001\n", "nid001 slots=x\n", "a slots=8\na slots=8\n"})
    EXPECT_FALSE(deepspeed_hosts(refused)) << refused;
}

TEST_F(StarterFiles, WhatTheCommandLineLeavesToAccelerateItsFileHas) {
  const auto path = file("c.yaml",
                         "num_machines: 2\nnum_processes: 16\nmachine_rank: 0\nmain_process_ip: nid001\n"
                         "rdzv_backend: c10d\ngpu_ids: 2,3\n");
  EXPECT_EQ(options("accelerate launch --config_file '" + path + "'"),
            "starter=accelerate|nnodes=2|node-rank=0|num-processes=16|master-addr=nid001|devices=2,3");
  EXPECT_EQ(options("accelerate launch --num_processes 8 --config_file='" + path + "' --machine_rank 1 --gpu_ids all"),
            "starter=accelerate|num-processes=8|node-rank=1|nnodes=2|master-addr=nid001");
  // Where the command line names none.
  fs::create_directories(folder_ / "accelerate");
  (void)file("accelerate/default_config.yaml", "num_machines: 1\nnum_processes: 4\n");
  const char* before = std::getenv("HF_HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("HF_HOME", folder_.c_str(), 1);
  EXPECT_EQ(options("accelerate launch"), "starter=accelerate|nnodes=1|num-processes=4");
  before == nullptr ? ::unsetenv("HF_HOME") : ::setenv("HF_HOME", kept.c_str(), 1);
  const auto json = file("c.json", "{}");
  const std::string unknown =
      "starter=accelerate|nnodes?the value in the file of --config_file|num-processes?the value "
      "in the file of --config_file";
  for (const std::string& other : {json, std::string("no_such.yaml"), std::string("$CONFIG")})
    EXPECT_EQ(options("accelerate launch --config_file '" + other + "'"), unknown) << other;
}

TEST_F(StarterFiles, TheHostfileOfDeepspeedCountsNodesAndProcesses) {
  const auto path = "'" + file("hosts", "nid001 slots=4\nnid002 slots=4\n") + "'";
  EXPECT_EQ(options("deepspeed -H " + path), "starter=deepspeed|nproc-per-node=4");
  EXPECT_EQ(options("deepspeed --no_ssh --node_rank 1 --hostfile " + path),
            "starter=deepspeed|node-rank=1|nnodes=2|nproc-per-node=4");
  EXPECT_EQ(options("deepspeed --no_ssh --num_nodes 1 --node_rank 0 --num_gpus 2 --hostfile=" + path),
            "starter=deepspeed|nnodes=1|node-rank=0|nproc-per-node=2");
  EXPECT_EQ(options("deepspeed --hostfile '" + file("odd", "a slots=4\nb slots=2\n") + "'"),
            "starter=deepspeed|nproc-per-node?the number of slots in the hostfile|devices?the number of slots in the "
            "hostfile");
  EXPECT_EQ(options("deepspeed --no_ssh --node_rank 1 --hostfile no_such_file"),
            "starter=deepspeed|node-rank=1|nnodes?the number of nodes in the hostfile|nproc-per-node?the number of "
            "slots in the hostfile|devices?the number of slots in the hostfile");
}

}  // namespace
}  // namespace muster
