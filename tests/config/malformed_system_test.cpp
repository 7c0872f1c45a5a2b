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
     {R"(f.toml:2:1: unknown key "names" in [system]; did you mean "name"?)",
      R"(f.toml:1:2: [system] has no "name"; write for example name = "lumi")"}},
    {"top_key",
     R"([system]
name = "s"
[[partitions]]
name = "p"
)",
     {R"(f.toml:3:3: unknown key "partitions"; did you mean "partition"?)",
      "f.toml:1:1: a profile needs at least one [[partition]]"}},
    {"detect_text",
     R"([system]
name = "s"
detect = "X"
[[partition]]
name = "p"
)",
     {R"(f.toml:3:10: "detect" in [system] must be a table, or an array of tables, not "X")"}},
    {"detect_no_env",
     R"([system]
name = "s"
detect = { matches = "x" }
[[partition]]
name = "p"
)",
     {R"(f.toml:3:1: "detect" of [system] has neither "env" nor "file"; write for example env = "LUMI_STACK_NAME")"}},
    {"detect_env_name",
     R"([system]
name = "s"
detect = { env = "A B" }
[[partition]]
name = "p"
)",
     {R"(f.toml:3:18: "A B" is not a name of an environment variable)"}},
    {"detect_regex",
     R"([system]
name = "s"
detect = { env = "X", matches = "(" }
[[partition]]
name = "p"
)",
     {R"(f.toml:3:33: "(" is not a valid regular expression: ...)"}},
    {"detect_lookahead",
     R"x([system]
name = "s"
detect = { env = "X", matches = '^a(?!b)' }
[[partition]]
name = "p"
)x",
     {R"x(f.toml:3:33: "^a(?!b)" is not a valid regular expression: "(?!": RE2 has no lookahead)x"}},
    {"gpus_back_reference",
     R"x([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
gpus = { count = 8, name = '(H)\1' }
)x",
     {R"x(f.toml:6:28: "(H)\1" is not a valid regular expression: "\1": RE2 has no back-references)x"}},
    {"detect_key",
     R"([system]
name = "s"
detect = { env = "X", match = "x" }
[[partition]]
name = "p"
)",
     {R"(f.toml:3:23: unknown key "match" in "detect" of [system]; known: env, matches, file, host)"}},
    {"detect_host_alone",
     R"([system]
name = "s"
detect = [{ env = "X" }, { host = "^nid" }]
[[partition]]
name = "p"
)",
     {R"(f.toml:3:26: a host name alone detects no system, since others name their nodes alike; add env = "LUMI_STACK_NAME" or file = "/appl/lumi")"}},
    {"detect_file",
     R"([system]
name = "s"
detect = [{ file = "appl", matches = "x" }, 3]
[[partition]]
name = "p"
)",
     {R"(f.toml:3:20: "appl" is not an absolute path)",
      R"(f.toml:3:28: "matches" is about the value of "env", which is missing here)",
      R"(f.toml:3:45: "detect" in [system] must be a table, or an array of tables, not 3)"}},
    {"login",
     R"([system]
name = "s"
login = { gpus = -1, hosts = "x" }
[[partition]]
name = "p"
)",
     {R"(f.toml:3:18: "gpus" in "login" of [system] must be a whole number from 0 to 1024, not -1)",
      R"(f.toml:3:22: unknown key "hosts" in "login" of [system]; did you mean "host"?)",
      R"(f.toml:3:1: "login" of [system] has no "host"; write for example host = "^login")"}},
    {"variable_empty",
     R"([system]
name = "s"
[[variable]]
[[partition]]
name = "p"
)",
     {R"(f.toml:3:1: [[variable]] has no "name"; write for example name = "NCCL_SOCKET_IFNAME")",
      R"(f.toml:3:1: [[variable]] has no "must"; write for example must = "set")",
      R"(f.toml:3:1: [[variable]] has no "why"; write for example why = "RCCL else takes an interface that reaches no other node")",
      R"(f.toml:3:1: [[variable]] has no "source"; write for example source = "the site's user guide, page on RCCL")"}},
    {"variable_values",
     R"([system]
name = "s"
[[variable]]
name = "A B"
must = "equals"
why = "w"
source = "s"
verdict = "warn"
nodes = 0
[[variable]]
name = "A"
must = "equal"
why = "w"
source = "s"
[[variable]]
name = "A"
must = "set"
value = "1"
why = "w"
source = "s"
[[variable]]
name = "A"
must = "set"
why = "w"
source = "s"
values = ["1"]
[[partition]]
name = "p"
)",
     {R"(f.toml:4:8: "A B" is not a name of an environment variable)",
      R"(f.toml:5:8: unknown must "equals"; did you mean "equal"?)",
      R"(f.toml:8:11: unknown verdict "warn"; known: fail, note)",
      R"(f.toml:9:9: "nodes" in [[variable]] must be a whole number from 1 to 1000000, not 0)",
      R"(f.toml:12:8: must = "equal" needs a value; write for example value = "hsn")",
      R"(f.toml:18:1: must = "set" has no value; write must = "equal" or "differ")",
      R"(f.toml:22:8: A already must be set here; write it once)",
      R"(f.toml:26:1: unknown key "values" in [[variable]]; did you mean "value"?)"}},
    {"unverified",
     R"([system]
name = "s"
[[unverified]]
key = "gpu"
why = "w"
[[unverified]]
key = "cores"
[[unverified]]
key = "gpus"
why = "w"
[[unverified]]
key = "gpus"
why = "w"
[[partition]]
name = "p"
[partition.node]
gpus = { count = 8 }
)",
     {R"(f.toml:4:7: this profile does not set "gpu"; did you mean "gpus"?)",
      R"(f.toml:6:1: [[unverified]] has no "why"; write for example why = "not documented")",
      R"(f.toml:12:7: "gpus" occurs twice; write it once)"}},
    {"like",
     R"([system]
name = "s"
[[partition]]
name = "p"
like = "q"
default = true
[[partition]]
name = "q"
like = "P"
default = true
[[partition]]
name = "r"
default = "yes"
)",
     {R"(f.toml:5:8: there is no partition "q" above)",
      R"(f.toml:9:8: there is no partition "P" above; did you mean "p"?)",
      R"(f.toml:10:1: partition p already is the default)",
      R"(f.toml:13:11: "default" in [[partition]] must be true or false, not "yes")"}},
    {"scheduler_refuses",
     R"([system]
name = "s"
[[partition]]
name = "p"
scheduler_options = ["--time=5", "--mem=4G"]
scheduler_refuses = ["--mem"]
)",
     {R"(f.toml:5:34: --mem is among what this partition's scheduler refuses)"}},
    {"cpu",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
cpu = { architecture = "arm", model = "(", smt = 0, numa = 4 }
)",
     {R"(f.toml:6:24: unknown architecture "arm"; known: x86_64, aarch64, ppc64le)",
      R"(f.toml:6:39: "(" is not a valid regular expression: ...)",
      R"(f.toml:6:50: "smt" in "cpu" of [partition.node] must be a whole number from 1 to 8, not 0)",
      R"(f.toml:6:53: unknown key "numa" in "cpu" of [partition.node]; known: architecture, model, smt, domains)"}},
    {"masks",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
reserved_cores = [0]
bind = { policy = "gpu", masks = ["0xff", "0xf0", "x", "0"] }
)",
     {R"(f.toml:7:35: the mask 0xff holds core 0, which is reserved)",
      R"(f.toml:7:43: the mask 0xf0 holds CPU 4-7, which another one has)",
      R"(f.toml:7:51: "x" is not a mask of CPUs; write for example "0xfe00")",
      R"(f.toml:7:56: "0" is not a mask of CPUs; write for example "0xfe00")"}},
    {"variable_address",
     R"([system]
name = "s"
[[variable]]
name = "NCCL_X"
must = "address"
why = "w"
source = "s"
[[variable]]
name = "MASTER_ADDR"
must = "address"
value = ["bond0", "ib0"]
why = "w"
source = "s"
[[partition]]
name = "p"
ranks_per_node = 0
[partition.node]
plugins_in = ["e"]
)",
     {R"(f.toml:5:8: must = "address" is about MASTER_ADDR alone)",
      R"(f.toml:5:8: must = "address" needs a value; write for example value = "bond0")",
      R"(f.toml:11:9: must = "address" takes one interface, such as value = "bond0")",
      R"(f.toml:16:18: "ranks_per_node" in [[partition]] must be a whole number from 1 to 65536, not 0)",
      R"(f.toml:18:14: "plugins_in" needs "plugins")"}},
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
     {R"(f.toml:5:9: "A=B" is not a name of an environment variable)"}},
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
    {"gpu_links_wrong",
     R"([system]
name = "x"
[[partition]]
name = "gpu"
[partition.node]
gpus = { count = 4 }
gpu_links = ["all x4", "0-1 x2", "0-4 x1", "2-2 x1", "0-1", 3])",
     {R"(f.toml:7:24: GPUs 0 and 1 have their links twice)",
      R"(f.toml:7:34: "gpu_links" in [partition.node] must be an array of texts: "0-1 x4" for four links between GPUs 0 and 1 (of 0 to 3), or "all x4", not "0-4 x1")",
      R"(f.toml:7:44: "gpu_links" in [partition.node] must be an array of texts: "0-1 x4" for four links between GPUs 0 and 1 (of 0 to 3), or "all x4", not "2-2 x1")",
      R"(f.toml:7:54: "gpu_links" in [partition.node] must be an array of texts: "0-1 x4" for four links between GPUs 0 and 1 (of 0 to 3), or "all x4", not "0-1")",
      R"(f.toml:7:61: "gpu_links" in [partition.node] must be an array of texts: "0-1 x4" for four links between GPUs 0 and 1 (of 0 to 3), or "all x4", not 3)"}},
    {"gpu_links_no_gpus",
     R"([system]
name = "x"
[[partition]]
name = "gpu"
[partition.node]
gpu_links = ["all x4"])",
     {R"(f.toml:6:1: "gpu_links" needs "gpus" with a count of 2 or more)"}},
    {"gpus_count",
     R"([system]
name = "s"
[[partition]]
name = "p"
[partition.node]
gpus = { count = 0 }
)",
     {R"(f.toml:6:18: "count" is at least 1: leave "gpus" out for nodes without GPUs)"}},
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
      R"(f.toml:6:59: unknown key "near" in "bind" of [partition.node]; known: policy, smt, select, masks, far)"}},
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
     {R"(f.toml:6:28: "[" is not a valid regular expression: ...)"}},
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
     {R"(f.toml:3:3: unknown key "reference"; known: system, variable, unverified, environment, partition, check)"}},
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
