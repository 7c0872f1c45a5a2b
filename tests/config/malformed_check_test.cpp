// Check files with a mistake in [check.NAME], its keys or the TOML itself.
#include "config/malformed.hpp"

namespace muster::fake {

namespace {

const Malformed table[] = {
    {"syntax_equals",
     R"([check.a]
probe "x"
)",
     {"f.toml:2:7: not TOML: ..."}},
    {"syntax_bracket",
     R"([check.a
)",
     {"f.toml:1:9: not TOML: ..."}},
    {"syntax_string",
     R"([check.a]
probe = "x
)",
     {"f.toml:2:11: not TOML: ..."}},
    {"syntax_value",
     R"([check.a]
probe =
)",
     {"f.toml:2:8: not TOML: ..."}},
    {"duplicate_key",
     R"([check.a]
probe = "bandwidth"
probe = "bandwidth"
)",
     {"f.toml:3:9: not TOML: ..."}},
    {"duplicate_check",
     R"([check.a]
probe = "bandwidth"
[check.a]
)",
     {"f.toml:3:1: not TOML: ..."}},
    {"ranks_per_node",
     R"([check.a]
probe = "bandwidth"
ranks_per_node = 4
)",
     {"f.toml:3:1: unknown key \"ranks_per_node\" in [check.a]; write ranks = { per_node = 4 }"}},
    {"control_character",
     "[check.a]\n"
     "summary = \"\001\"\n",
     {"f.toml:2:12: not TOML: ..."}},
    {"unknown_top",
     R"([chekc.a]
probe = "bandwidth"
)",
     {R"(f.toml:1:2: unknown key "chekc"; did you mean "check"?)"}},
    {"unknown_top_beside",
     R"(title = "x"
[check.a]
probe = "bandwidth"
)",
     {R"(f.toml:1:1: unknown key "title"; known: check)"}},
    {"key_beside_profile",
     R"(title = "x"
[system]
name = "s"
[check.a]
probe = "bandwith"
)",
     {R"(f.toml:5:9: unknown probe "bandwith"; did you mean "bandwidth"?)"}},
    {"array_check",
     R"([[check]]
name = "a"
)",
     {R"(f.toml:1:3: "check" must be a table with a name, written [check.NAME])"}},
    {"scalar_check",
     R"(check = 4
)",
     {R"(f.toml:1:1: "check" must be a table with a name, written [check.NAME])"}},
    {"no_table_check",
     R"([check]
a = 4
)",
     {R"(f.toml:2:1: "a" must be a table, written [check.NAME])"}},
    {"empty_check_table",
     R"([check]
)",
     {"f.toml:1:2: there is no check in this file; write for example [check.hello]"}},
    {"launch_two_commands",
     R"([check.a]
probe = "bandwidth"
launch = "srun -N 2; ls"
)",
     {R"(f.toml:3:10: launch: "srun -N 2; ls" is not a single command: ...)"}},
    {"launch_export",
     R"([check.a]
probe = "bandwidth"
launch = "srun --export=NONE"
)",
     {R"(f.toml:3:10: launch: --export=NONE keeps muster's own variables from the ranks; write --export=ALL,... instead)"}},
    {"launch_empty",
     R"([check.a]
probe = "bandwidth"
launch = ""
)",
     {R"(f.toml:3:10: launch: names no launcher; write for example ...)"}},
    {"launch_number",
     R"([check.a]
probe = "bandwidth"
launch = 2
)",
     {R"(f.toml:3:10: "launch" in [check.a] must be a launch line, such as "srun -N 2 --ntasks-per-node=8", not ...)"}},
    {"launch_beside",
     R"([check.a]
probe = "bandwidth"
launch = "srun -N 2"
ranks = "one-per-node"
bind = "cores"
nodes = 2
)",
     {R"(f.toml:4:1: "ranks" has no effect beside "launch" in [check.a]: the line starts the ranks; leave one out)",
      R"(f.toml:5:1: "bind" has no effect beside "launch" in [check.a]: the line starts the ranks; leave one out)",
      R"(f.toml:6:1: "nodes" has no effect beside "launch" in [check.a]: the line starts the ranks; leave one out)"}},
    {"bad_name",
     R"([check."a b"]
probe = "bandwidth"
)",
     {R"(f.toml:1:8: the name "a b" must be at most 64 letters, digits, _ and -, beginning with a letter)"}},
    {"name_begins_with_digit",
     R"([check.1a]
probe = "bandwidth"
)",
     {R"(f.toml:1:8: the name "1a" must be at most 64 letters, digits, _ and -, beginning with a letter)"}},
    {"long_name",
     R"([check.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]
probe = "bandwidth"
)",
     {R"(f.toml:1:8: the name "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..." must be at most 64 letters, digits, _ and -, beginning with a letter)"}},
    {"no_probe",
     R"([check.a]
summary = "x"
)",
     {R"(f.toml:1:8: [check.a] has no "probe"; write for example probe = "hello")"}},
    {"unknown_probe",
     R"([check.a]
probe = "bandwith"
params = 4
)",
     {R"(f.toml:2:9: unknown probe "bandwith"; did you mean "bandwidth"?)"}},
    {"far_probe",
     R"([check.a]
probe = "x"
)",
     {R"(f.toml:2:9: unknown probe "x"; known: bandwidth, program)"}},
    {"probe_number",
     R"([check.a]
probe = 4
)",
     {R"(f.toml:2:9: "probe" in [check.a] must be text, not 4)"}},
    {"probe_empty",
     R"([check.a]
probe = ""
)",
     {R"(f.toml:2:9: "probe" in [check.a] must be text, not "")"}},
    {"unknown_key",
     R"([check.a]
probe = "bandwidth"
rank = "one-per-node"
)",
     {R"(f.toml:3:1: unknown key "rank" in [check.a]; did you mean "ranks"?)"}},
    {"unknown_far_key",
     R"([check.a]
probe = "bandwidth"
qqqqqqqqq = 1
)",
     {R"(f.toml:3:1: unknown key "qqqqqqqqq" in [check.a]; known: probe, summary, tags, ranks, bind, launch, nodes, timeout, params, sweep, metrics, expect)"}},
    {"summary_array",
     R"([check.a]
probe = "bandwidth"
summary = ["x"]
)",
     {R"(f.toml:3:11: "summary" in [check.a] must be text, not an array)"}},
    {"tags_text",
     R"([check.a]
probe = "bandwidth"
tags = "default"
)",
     {R"(f.toml:3:8: "tags" in [check.a] must be an array of texts, not "default")"}},
    {"tags_number",
     R"([check.a]
probe = "bandwidth"
tags = ["a", 4]
)",
     {R"(f.toml:3:14: "tags" in [check.a] must be an array of texts, not 4)"}},
    {"tag_name",
     R"([check.a]
probe = "bandwidth"
tags = ["a b"]
)",
     {R"(f.toml:3:9: tag "a b" must be at most 64 letters, digits, _ and -, beginning with a letter)"}},
    {"tag_twice",
     R"([check.a]
probe = "bandwidth"
tags = ["a", "b", "a"]
)",
     {R"(f.toml:3:19: tag "a" is named twice)"}},
    {"bind_word",
     R"([check.a]
probe = "bandwidth"
bind = "core"
)",
     {R"(f.toml:3:8: "bind" in [check.a] must be "none", "profile", "auto" or "cores", not "core")"}},
    {"ranks_word",
     R"([check.a]
probe = "bandwidth"
ranks = "one-per-socket"
)",
     {R"(f.toml:3:9: "ranks" in [check.a] must be "one-per-node", "one-per-core", "one-per-numa", "one-per-gpu" or { per_node = 4 }, not "one-per-socket")"}},
    {"ranks_number",
     R"([check.a]
probe = "bandwidth"
ranks = 4
)",
     {R"(f.toml:3:9: "ranks" in [check.a] must be "one-per-node", "one-per-core", "one-per-numa", "one-per-gpu" or { per_node = 4 }, not 4)"}},
    {"ranks_zero",
     R"([check.a]
probe = "bandwidth"
ranks = { per_node = 0 }
)",
     {R"(f.toml:3:22: "per_node" in "ranks" of [check.a] must be a whole number from 1 to 65536, not 0)"}},
    {"ranks_real",
     R"([check.a]
probe = "bandwidth"
ranks = { per_node = 1.5 }
)",
     {R"(f.toml:3:22: "per_node" in "ranks" of [check.a] must be a whole number from 1 to 65536, not 1.5)"}},
    {"ranks_unknown_key",
     R"([check.a]
probe = "bandwidth"
ranks = { pernode = 2 }
)",
     {R"(f.toml:3:11: unknown key "pernode" in "ranks" of [check.a]; did you mean "per_node"?)",
      R"(f.toml:3:1: "ranks" of [check.a] has no "per_node"; write for example ranks = { per_node = 4 })"}},
    {"nodes_zero",
     R"([check.a]
probe = "bandwidth"
nodes = 0
)",
     {R"(f.toml:3:9: "nodes" in [check.a] must be a whole number from 1 to 1000000, not 0)"}},
    {"nodes_text",
     R"([check.a]
probe = "bandwidth"
nodes = "2"
)",
     {R"(f.toml:3:9: "nodes" in [check.a] must be a whole number from 1 to 1000000, not "2")"}},
    {"timeout_zero",
     R"([check.a]
probe = "bandwidth"
timeout = 0
)",
     {R"(f.toml:3:11: "timeout" in [check.a] must be a duration of 10ms to 168h, such as "60s", not 0)"}},
    {"timeout_negative",
     R"([check.a]
probe = "bandwidth"
timeout = -1.5
)",
     {R"(f.toml:3:11: "timeout" in [check.a] must be a duration of 10ms to 168h, such as "60s", not -1.5)"}},
    {"timeout_nan",
     R"([check.a]
probe = "bandwidth"
timeout = nan
)",
     {R"(f.toml:3:11: "timeout" in [check.a] must be a duration of 10ms to 168h, such as "60s", not nan)"}},
    {"timeout_word",
     R"([check.a]
probe = "bandwidth"
timeout = "soon"
)",
     {R"(f.toml:3:11: "timeout" in [check.a] must be a duration of 10ms to 168h, such as "60s", not "soon")"}},
    {"timeout_long",
     R"([check.a]
probe = "bandwidth"
timeout = "169h"
)",
     {R"(f.toml:3:11: "timeout" in [check.a] must be a duration of 10ms to 168h, such as "60s", not "169h")"}},
    {"timeout_table",
     R"([check.a]
probe = "bandwidth"
timeout = { s = 1 }
)",
     {R"(f.toml:3:11: "timeout" in [check.a] must be a duration of 10ms to 168h, such as "60s", not a table)"}},
    {"timeout_date",
     R"([check.a]
probe = "bandwidth"
timeout = 2020-01-01
)",
     {R"(f.toml:3:11: "timeout" in [check.a] must be a duration of 10ms to 168h, such as "60s", not a date or time)"}},
    {"timeout_true",
     R"([check.a]
probe = "bandwidth"
timeout = true
)",
     {R"(f.toml:3:11: "timeout" in [check.a] must be a duration of 10ms to 168h, such as "60s", not true)"}},
    {"all_at_once",
     R"([check.b]
probe = "bandwidth"
rank = 4
timeout = "x"
[check.a]
probe = "program"
nodes = 0
tags = [4]
[[check.a.expect]]
metric = "second"
)",
     {R"(f.toml:3:1: unknown key "rank" in [check.b]; did you mean "ranks"?)",
      R"(f.toml:4:11: "timeout" in [check.b] must be a duration of 10ms to 168h, such as "60s", not "x")",
      R"(f.toml:5:8: probe program needs the parameter "argv"; give it in [check.a.params])",
      R"(f.toml:7:9: "nodes" in [check.a] must be a whole number from 1 to 1000000, not 0)",
      R"(f.toml:8:9: "tags" in [check.a] must be an array of texts, not 4)",
      R"(f.toml:9:1: [[check.a.expect]] has no bound; add "reference", "limit", "peers" or "history")",
      R"(f.toml:10:10: probe program has no metric "second"; did you mean "seconds"?)"}},
    // Causes before what follows from them.
    {"cause_is_the_key_of_the_probe",
     R"([check.a]
prob = "bandwidth"
[check.b]
timeout = "x"
)",
     {R"(f.toml:2:1: unknown key "prob" in [check.a]; did you mean "probe"?)",
      R"(f.toml:1:8: [check.a] has no "probe"; write for example probe = "hello")",
      R"(f.toml:3:8: [check.b] has no "probe"; write for example probe = "hello")",
      R"(f.toml:4:11: "timeout" in [check.b] must be a duration of 10ms to 168h, such as "60s", not "x")"}},
    {"cause_is_the_name_of_a_parameter",
     R"([check.a]
probe = "program"
[check.a.params]
argvv = ["true"]
)",
     {R"(f.toml:4:1: unknown parameter "argvv" of probe program; did you mean "argv"?)",
      R"(f.toml:1:8: probe program needs the parameter "argv"; give it in [check.a.params])"}},
    {"cause_is_the_table_of_parameters",
     R"([check.a]
probe = "program"
[check.a.parms]
argv = ["true"]
)",
     {R"(f.toml:3:10: unknown key "parms" in [check.a]; did you mean "params"?)",
      R"(f.toml:1:8: probe program needs the parameter "argv"; give it in [check.a.params])"}},
    {"cause_is_a_key_of_the_expectation",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metrc = "busbw"
referense = "profile"
)",
     {R"(f.toml:4:1: unknown key "metrc" in [[check.a.expect]]; did you mean "metric"?)",
      R"(f.toml:5:1: unknown key "referense" in [[check.a.expect]]; did you mean "reference"?)",
      R"(f.toml:3:1: [[check.a.expect]] has no "metric"; write for example metric = "busbw")",
      R"(f.toml:3:1: [[check.a.expect]] has no bound; add "reference", "limit", "peers" or "history")"}},
    {"cause_is_the_declaration_of_a_metric",
     R"([check.a]
probe = "program"
[[check.a.expect]]
metric = "triad"
peers = {}
[check.a.params]
argv = ["true"]
[[check.a.params.metrics]]
name = "triad"
)",
     {R"(f.toml:8:18: unknown parameter "metrics" of probe program; did you mean "metric"?)",
      R"(f.toml:4:10: probe program has no metric "triad"; known: seconds)"}},
    {"a_faulty_metric_is_declared",
     R"([check.a]
probe = "program"
[check.a.params]
argv = ["true"]
[[check.a.params.metric]]
name = "triad"
pattern = "Triad"
unti = "GB/s"
[[check.a.expect]]
metric = "triad"
reference = { value = 1.0, lower = -0.1, unit = "GB/s" }
)",
     {R"(f.toml:7:11: pattern "Triad" has no group for the number: write for example ([0-9.]+))",
      R"(f.toml:8:1: unknown key "unti" in [[check.a.params.metric]]; did you mean "unit"?)",
      R"(f.toml:5:1: [[check.a.params.metric]] has no "unit"; write for example unit = "GB/s")"}},
};

class MalformedCheck : public testing::TestWithParam<Malformed> {};

}  // namespace

TEST_P(MalformedCheck, IsRefusedWithItsPlace) {
  expect_errors(GetParam().errors, errors_of_checks(GetParam().document));
}

INSTANTIATE_TEST_SUITE_P(Documents, MalformedCheck, testing::ValuesIn(table), name_of);

}  // namespace muster::fake
