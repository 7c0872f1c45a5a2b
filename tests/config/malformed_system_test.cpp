// Profiles with a mistake.
#include "config/malformed.hpp"

namespace muster::fake {

namespace {

const Malformed table[] = {
    {"empty", "", {"f.toml:1:1: the file is empty"}},
    {"no_system",
     R"([[partition]]
name = "p"
)",
     {"f.toml:1:1: a profile begins with [system] and its name"}},
    {"no_partition",
     R"([system]
name = "s"
)",
     {"f.toml:1:1: a profile needs at least one [[partition]]"}},
    {"system_text",
     R"(system = "s"
[[partition]]
name = "p"
)",
     {R"(f.toml:1:10: "system" must be a table, not "s")"}},
    {"no_name",
     R"([system]
[[partition]]
name = "p"
)",
     {R"(f.toml:1:2: [system] has no "name"; write for example name = "lumi")"}},
    {"bad_name",
     R"([system]
name = "a:b"
[[partition]]
name = "p"
)",
     {R"(f.toml:2:8: the name "a:b" must be at most 64 letters, digits, _ and -, beginning with a letter)"}},
    {"system_key",
     R"([system]
names = "s"
[[partition]]
name = "p"
)",
     {R"(f.toml:1:2: [system] has no "name"; write for example name = "lumi")",
      R"(f.toml:2:1: unknown key "names" in [system]; did you mean "name"?)"}},
    {"top_key",
     R"([system]
name = "s"
[[partitions]]
name = "p"
)",
     {"f.toml:1:1: a profile needs at least one [[partition]]",
      R"(f.toml:3:3: unknown key "partitions"; did you mean "partition"?)"}},
    {"detect_text",
     R"([system]
name = "s"
detect = "X"
[[partition]]
name = "p"
)",
     {R"(f.toml:3:10: "detect" in [system] must be a table, not "X")"}},
    {"detect_no_env",
     R"([system]
name = "s"
detect = { matches = "x" }
[[partition]]
name = "p"
)",
     {R"(f.toml:3:1: "detect" of [system] has no "env"; write for example env = "LUMI_STACK_NAME")"}},
    {"detect_env_name",
     R"([system]
name = "s"
detect = { env = "A B" }
[[partition]]
name = "p"
)",
     {R"(f.toml:3:18: "A B" is no name of an environment variable)"}},
    {"detect_regex",
     R"([system]
name = "s"
detect = { env = "X", matches = "(" }
[[partition]]
name = "p"
)",
     {R"(f.toml:3:33: "(" is no regular expression: ...)"}},
    {"detect_key",
     R"([system]
name = "s"
detect = { env = "X", match = "x" }
[[partition]]
name = "p"
)",
     {R"(f.toml:3:23: unknown key "match" in "detect" of [system]; known: env, matches)"}},
    {"environment_table",
     R"([system]
name = "s"
[environment]
name = "e"
[[partition]]
name = "p"
)",
     {R"(f.toml:3:2: "environment" must be an array of tables, written [[environment]])"}},
    {"environment_no_name",
     R"([system]
name = "s"
[[environment]]
modules = ["a"]
[[partition]]
name = "p"
)",
     {R"(f.toml:3:1: [[environment]] has no "name"; write for example name = "container")"}},
    {"environment_twice",
     R"([system]
name = "s"
[[environment]]
name = "e"
[[environment]]
name = "e"
[[partition]]
name = "p"
)",
     {R"(f.toml:6:8: there already is an environment "e"; give one of them another name)"}},
    {"environment_key",
     R"([system]
name = "s"
[[environment]]
name = "e"
module = ["a"]
[[partition]]
name = "p"
)",
     {R"(f.toml:5:1: unknown key "module" in [[environment]]; did you mean "modules"?)"}},
    {"modules_text",
     R"([system]
name = "s"
[[environment]]
name = "e"
modules = "a"
[[partition]]
name = "p"
)",
     {R"(f.toml:5:11: "modules" in [[environment]] must be an array of texts, not "a")"}},
    {"wrapper_brace",
     R"([system]
name = "s"
[[environment]]
name = "e"
wrapper = ["run", "{image"]
[[partition]]
name = "p"
)",
     {R"(f.toml:5:19: the braces in "{image" are not balanced; a placeholder is written {image})"}},
    {"wrapper_nested",
     R"([system]
name = "s"
[[environment]]
name = "e"
wrapper = ["{a{b}}", "}{"]
[[partition]]
name = "p"
)",
     {R"(f.toml:5:22: the braces in "}{" are not balanced; a placeholder is written {image})"}},
    {"env_number",
     R"([system]
name = "s"
[[environment]]
name = "e"
env = { A = 1 }
[[partition]]
name = "p"
)",
     {R"(f.toml:5:13: "A" must be text, such as "1", not a whole number)"}},
    {"env_name",
     R"([system]
name = "s"
[[environment]]
name = "e"
env = { "A=B" = "1" }
[[partition]]
name = "p"
)",
     {R"(f.toml:5:9: "A=B" is no name of an environment variable)"}},
    {"env_brace",
     R"([system]
name = "s"
[[environment]]
name = "e"
env = { A = "{local_rank" }
[[partition]]
name = "p"
)",
     {R"(f.toml:5:13: the braces in "{local_rank" are not balanced; a placeholder is written {image})"}},
    {"partition_table",
     R"([system]
name = "s"
[partition]
name = "p"
)",
     {R"(f.toml:3:2: "partition" must be an array of tables, written [[partition]])"}},
    {"partition_no_name",
     R"([system]
name = "s"
[[partition]]
launcher = "srun"
)",
     {R"(f.toml:3:1: [[partition]] has no "name"; write for example name = "standard-g")"}},
    {"partition_twice",
     R"([system]
name = "s"
[[partition]]
name = "p"
[[partition]]
name = "p"
)",
     {R"(f.toml:6:8: there already is a partition "p"; give one of them another name)"}},
    {"partition_key",
     R"([system]
name = "s"
[[partition]]
name = "p"
luncher = "srun"
)",
     {R"(f.toml:5:1: unknown key "luncher" in [[partition]]; did you mean "launcher"?)"}},
    {"launcher_number",
     R"([system]
name = "s"
[[partition]]
name = "p"
launcher = 4
)",
     {R"(f.toml:5:12: "launcher" in [[partition]] must be text, not 4)"}},
    {"options_text",
     R"([system]
name = "s"
[[partition]]
name = "p"
scheduler_options = "-A x"
)",
     {R"(f.toml:5:21: "scheduler_options" in [[partition]] must be an array of texts, not "-A x")"}},
    {"options_brace",
     R"([system]
name = "s"
[[partition]]
name = "p"
scheduler_options = ["-A{account"]
launcher_options = ["}"]
)",
     {R"(f.toml:5:22: the braces in "-A{account" are not balanced; a placeholder is written {image})",
      R"(f.toml:6:21: the braces in "}" are not balanced; a placeholder is written {image})"}},
    {"node_key",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
core = 4
)",
     {R"(f.toml:6:1: unknown key "core" in [partition.node]; did you mean "cores"?)"}},
    {"cores_zero",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
cores = 0
)",
     {R"(f.toml:6:9: "cores" in [partition.node] must be a whole number from 1 to 65536, not 0)"}},
    {"reserved_text",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
reserved_cores = "0-3"
)",
     {R"(f.toml:6:18: "reserved_cores" in [partition.node] must be an array of core numbers, not "0-3")"}},
    {"reserved_range",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
cores = 4
reserved_cores = [0, 4, -1, 0]
)",
     {R"(f.toml:7:22: "reserved_cores" in [partition.node] must be an array of core numbers from 0 to 3, not 4)",
      R"(f.toml:7:25: "reserved_cores" in [partition.node] must be an array of core numbers from 0 to 3, not -1)",
      "f.toml:7:29: core 0 is reserved twice"}},
    {"reserved_all",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
cores = 2
reserved_cores = [0, 1]
)",
     {"f.toml:7:18: all cores are reserved; none is left to run on"}},
    {"gpus_number",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
gpus = 8
)",
     {R"(f.toml:6:8: "gpus" in [partition.node] must be a table, not 8)"}},
    {"gpus_no_count",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
gpus = { vendor = "amd" }
)",
     {R"(f.toml:6:1: "gpus" of [partition.node] has no "count"; write for example count = 8)"}},
    {"gpus_count",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
gpus = { count = 0 }
)",
     {R"(f.toml:6:18: "count" in "gpus" of [partition.node] must be a whole number from 1 to 1024, not 0)"}},
    {"gpus_vendor",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
gpus = { count = 8, vendor = "nvida" }
)",
     {R"(f.toml:6:30: unknown vendor "nvida"; did you mean "nvidia"?)"}},
    {"bind_policy",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
bind = { policy = "core", smt = "yes", select = "wraper", near = 1 }
)",
     {R"(f.toml:6:19: unknown policy "core"; did you mean "cores"?)",
      R"(f.toml:6:33: "smt" in "bind" of [partition.node] must be true or false, not "yes")",
      R"(f.toml:6:49: unknown select "wraper"; did you mean "wrapper"?)",
      R"(f.toml:6:59: unknown key "near" in "bind" of [partition.node]; known: policy, smt, select)"}},
    {"bind_empty",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
machine = 3
bind = {}
)",
     {R"(f.toml:6:11: "machine" in [partition.node] must be text, not 3)",
      R"(f.toml:7:1: "bind" of [partition.node] has no "policy"; write for example policy = "gpu")"}},
    {"gpus_regex",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
gpus = { count = 8, name = "[" }
)",
     {R"(f.toml:6:28: "[" is no regular expression: ...)"}},
    {"gpus_key",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
gpus = { count = 8, model = "x" }
)",
     {R"(f.toml:6:21: unknown key "model" in "gpus" of [partition.node]; known: count, vendor, name)"}},
    {"reference_no_check",
     R"([system]
name = "s"
[[partition]]
name = "p"
[[partition.reference]]
busbw = { value = 85.0, lower = -0.05, unit = "GB/s" }
)",
     {R"(f.toml:5:1: [[partition.reference]] has no "check"; write for example check = "allreduce")"}},
    {"reference_no_metric",
     R"([system]
name = "s"
[[partition]]
name = "p"
[[partition.reference]]
check = "a"
)",
     {R"(f.toml:5:1: [[partition.reference]] has no metric; write for example busbw = { value = 85.0, lower = -0.05, unit = "GB/s" })"}},
    {"reference_two_metrics",
     R"([system]
name = "s"
[[partition]]
name = "p"
[[partition.reference]]
check = "a"
busbw = { value = 85.0, lower = -0.05, unit = "GB/s" }
latency = { value = 85.0, lower = -0.05, unit = "GB/s" }
)",
     {R"(f.toml:8:1: a reference is about one metric; "latency" needs a [[partition.reference]] of its own)"}},
    {"reference_key",
     R"([system]
name = "s"
[[partition]]
name = "p"
[[partition.reference]]
check = "a"
were = 4
busbw = { value = 85.0, lower = -0.05, unit = "GB/s" }
)",
     {R"(f.toml:7:1: unknown key "were" in [[partition.reference]]; did you mean "where"?)"}},
    {"reference_where",
     R"([system]
name = "s"
[[partition]]
name = "p"
[[partition.reference]]
check = "a"
where = 4
busbw = { value = 85.0, lower = -0.05, unit = "GB/s" }
)",
     {R"(f.toml:7:9: "where" must be a table such as { size = "16MiB" })"}},
    {"reference_no_unit",
     R"([system]
name = "s"
[[partition]]
name = "p"
[[partition.reference]]
check = "a"
busbw = { value = 1, lower = -0.1 }
)",
     {R"(f.toml:7:1: metric "busbw" of [[partition.reference]] has no "unit"; write for example unit = "GB/s")"}},
    {"reference_unknown_unit",
     R"([system]
name = "s"
[[partition]]
name = "p"
[[partition.reference]]
check = "a"
busbw = { value = 1, lower = -0.1, unit = "Gb/s" }
)",
     {R"(f.toml:7:43: unknown unit "Gb/s"; did you mean "GB/s"?)"}},
    {"reference_no_tolerance",
     R"([system]
name = "s"
[[partition]]
name = "p"
[[partition.reference]]
check = "a"
busbw = { value = 1, unit = "GB/s" }
)",
     {R"(f.toml:7:1: a reference needs "lower" or "upper"; without them nothing is outside)"}},
    {"reference_misplaced",
     R"([system]
name = "s"
[[reference]]
check = "a"
[[partition]]
name = "p"
)",
     {R"(f.toml:3:3: unknown key "reference"; known: system, environment, partition)"}},
    {"syntax",
     R"([system]
name = "s"
[[partition]
)",
     {"f.toml:3:13: not TOML: ..."}},
};

class MalformedSystem : public testing::TestWithParam<Malformed> {};

}  // namespace

TEST_P(MalformedSystem, IsRefusedWithItsPlace) {
  expect_errors(GetParam().errors, errors_of_system(GetParam().document));
}

INSTANTIATE_TEST_SUITE_P(Documents, MalformedSystem, testing::ValuesIn(table), name_of);

}  // namespace muster::fake
