// Check files with a mistake in parameters, sweeps or declared metrics.
#include "config/malformed.hpp"

namespace muster::fake {

namespace {

const Malformed table[] = {
    {"params_text",
     R"([check.a]
probe = "bandwidth"
params = "x"
)",
     {R"(f.toml:3:10: "params" in [check.a] must be a table, not "x")"}},
    {"metric_lookahead",
     R"x([check.a]
probe = "program"
params.argv = ["x"]
[[check.a.params.metric]]
name = "load"
pattern = 'load: (?=x)([0-9]+)'
unit = "1"
)x",
     {R"x(f.toml:6:11: pattern "load: (?=x)([0-9]+)" is not a valid regular expression: "(?=": RE2 has no lookahead)x"}},
    {"expansion",
     R"x([check.a]
probe = "program"
params.argv = ["cat", "$HOME/data.txt"]
)x",
     {R"x(f.toml:3:15: "$HOME/data.txt" in argv is passed on as it is, as no shell reads it; write the path in full, "{check}/" for a file beside the check file, or argv = ["sh", "-c", "cat $HOME/data.txt"])x"}},
    {"no_such_metric",
     R"x([check.a]
probe = "program"
params.argv = ["cat"]
expect = [{ metric = "triad", peers = {} }]
)x",
     {R"x(f.toml:4:22: probe program has no metric "triad"...)x"}},
    {"placeholders",
     R"x([check.a]
probe = "program"
params.argv = ["sh", "{chek}/x.sh", "--in={Check}/y", "{python3}",
               "{here}/z", "-c{python}"]
sweep.arguments = [["{check}"], ["{cheek}/w"]]
[[check.a.params.metric]]
name = "load"
file = "{chek}/out"
pattern = "([0-9.]+)"
unit = "1"
)x",
     {"f.toml:3:22: unknown placeholder {chek}; did you mean {check}?",
      "f.toml:3:37: unknown placeholder {Check}; did you mean {check}?",
      "f.toml:3:55: unknown placeholder {python3}; did you mean {python}?",
      "f.toml:4:16: unknown placeholder {here}; known: {check}, {python}",
      "f.toml:4:28: {python} is filled in only as a word of its own, as in argv = [\"{python}\", ...]",
      "f.toml:5:34: unknown placeholder {cheek}; did you mean {check}?",
      "f.toml:8:8: unknown placeholder {chek}; did you mean {check}?"}},
    {"metric_keys",
     R"x([check.a]
probe = "program"
params.argv = ["x"]
[[check.a.params.metric]]
name = "load"
patern = "([0-9]+)"
unit = "MBs"
better = "more"
[[check.a.params.metric]]
name = "seconds"
pattern = "s"
unit = "s"
)x",
     {R"x(f.toml:6:1: unknown key "patern" in [[check.a.params.metric]]; did you mean "pattern"?)x",
      R"x(f.toml:4:1: [[check.a.params.metric]] has no "pattern"; write for example pattern = 'Triad: *([0-9.]+)')x",
      R"x(f.toml:7:8: unknown unit "MBs"; did you mean ...)x",
      R"x(f.toml:8:10: "better" in [[check.a.params.metric]] must be "higher", "lower" or "neither", not "more")x",
      R"x(f.toml:10:8: probe program already has a metric "seconds")x",
      R"x(f.toml:11:11: pattern "s" has no group for the number: write for example ([0-9.]+))x"}},
    {"metric_group_twice",
     R"x([check.a]
probe = "program"
params.argv = ["x"]
[[check.a.params.metric]]
name = "load"
pattern = '(?P<value>[0-9]+) (?P<value>[0-9]+)'
unit = "1"
[[check.a.params.metric]]
name = "rate"
pattern = '([0-9]+) (?P<size>[0-9]+) (?P<size>[0-9]+)'
unit = "1"
)x",
     {R"x(f.toml:6:11: pattern "(?P<value>[0-9]+) (?P<value>[0-9]+)" has several groups called value: keep the name of one)x",
      R"x(f.toml:10:11: pattern "([0-9]+) (?P<size>[0-9]+) (?P<size>[0-9]+)" has several groups called size: give each label a name of its own)x"}},
    {"metric_as_text",
     R"x([check.a]
probe = "program"
params = { argv = ["x"], metric = "load: ([0-9]+)" }
)x",
     {R"x(f.toml:3:26: "metric" is written as tables, [[check.a.params.metric]], each with name, pattern and unit)x"}},
    {"must_print",
     R"x([check.a]
probe = "program"
params = { argv = ["x"], must_print = ["fine", "("] }
)x",
     {R"x(f.toml:3:39: "(" in "must_print" is not a valid regular expression: missing ): ()x"}},
    {"pipe",
     R"x([check.a]
probe = "program"
params.argv = ["bash", "-c", "stream | awk '{print $2}'"]
[check.b]
probe = "program"
params.argv = ["bash", "-c", "set -o pipefail; stream | awk '{print $2}'"]
[check.c]
probe = "program"
params.argv = ["sh", "-c", "a || echo 'b | c'"]
[check.d]
probe = "program"
params.argv = ["timeout", "5", "sh", "-c", "stream | cat"]
[check.e]
probe = "program"
params.argv = ["sh", "-c", "case $(hostname) in a|b) exit $((1|2));; esac"]
)x",
     {R"x(f.toml:3:15: the exit status of a pipe is that of its last command, and a failure before it would be lost;...)x",
      R"x(f.toml:12:15: the exit status of a pipe is that of its last command, and a failure before it would be lost;...)x"}},
    {"operator",
     R"x([check.a]
probe = "program"
params.argv = ["stream", "-n", "3", "|", "tee", "out.txt"]
[check.b]
probe = "program"
params.argv = ["stream", ">", "out.txt"]
)x",
     {R"x(f.toml:3:15: "|" in argv is an argument of the program, as no shell reads it; write argv = ["bash", "-c", "set -o pipefail; stream -n 3 | tee out.txt"], or move it to "arguments" if the program takes it)x",
      R"x(f.toml:6:15: ">" in argv is an argument of the program, as no shell reads it; write argv = ["sh", "-c", "stream > out.txt"], or move it to "arguments" if the program takes it)x"}},
    {"unknown_param",
     R"([check.a]
probe = "bandwidth"
params.size = "8B"
)",
     {R"(f.toml:3:8: unknown parameter "size" of probe bandwidth; did you mean "sizes"?)"}},
    {"param_type",
     R"([check.a]
probe = "bandwidth"
params.repetitions = "many"
)",
     {R"(f.toml:3:22: parameter "repetitions" of probe bandwidth is wrong: expected a whole number, not "many")"}},
    {"param_real_for_integer",
     R"([check.a]
probe = "bandwidth"
params.repetitions = 1.5
)",
     {R"(f.toml:3:22: parameter "repetitions" of probe bandwidth is wrong: expected a whole number, not "1.5")"}},
    {"param_least",
     R"([check.a]
probe = "bandwidth"
params.repetitions = 0
)",
     {R"(f.toml:3:22: parameter "repetitions" of probe bandwidth is wrong: 0 is below the least allowed, 1)"}},
    {"param_most",
     R"([check.a]
probe = "bandwidth"
params.cap = "2h"
)",
     {R"(f.toml:3:14: parameter "cap" of probe bandwidth is wrong: 2h is above the most allowed, 1h)"}},
    {"param_choice",
     R"([check.a]
probe = "bandwidth"
params.type = "double"
)",
     {R"(f.toml:3:15: parameter "type" of probe bandwidth is wrong: "double" is not one of float, half)"}},
    {"param_text_number",
     R"([check.a]
probe = "bandwidth"
params.type = 4
)",
     {R"(f.toml:3:15: parameter "type" of probe bandwidth is of type text, not a whole number)"}},
    {"param_boolean",
     R"([check.a]
probe = "bandwidth"
params.verify = "yes"
)",
     {R"(f.toml:3:17: parameter "verify" of probe bandwidth is wrong: expected true or false, not "yes")"}},
    {"param_array",
     R"([check.a]
probe = "bandwidth"
params.repetitions = [1, 2]
)",
     {R"(f.toml:3:22: parameter "repetitions" of probe bandwidth takes one integer, not an array; [check.a.sweep] makes one case per value)"}},
    {"param_table",
     R"([check.a]
probe = "bandwidth"
params.repetitions = { a = 1 }
)",
     {R"(f.toml:3:22: parameter "repetitions" of probe bandwidth is of type integer, not a table)"}},
    {"param_date",
     R"([check.a]
probe = "bandwidth"
params.repetitions = 2020-01-01
)",
     {R"(f.toml:3:22: parameter "repetitions" of probe bandwidth is of type integer, not a date or time)"}},
    {"param_nested",
     R"([check.a]
probe = "bandwidth"
params.sizes = ["8B", ["8B"]]
)",
     {R"(f.toml:3:23: parameter "sizes" of probe bandwidth is of type list of bytes, not an array)"}},
    {"param_bytes",
     R"([check.a]
probe = "bandwidth"
params.sizes = ["8B", "8X"]
)",
     {R"(f.toml:3:16: parameter "sizes" of probe bandwidth is wrong: expected a number of bytes such as 16MiB, not "8X")"}},
    {"param_empty_list",
     R"([check.a]
probe = "bandwidth"
params.sizes = []
)",
     {R"(f.toml:3:16: parameter "sizes" of probe bandwidth is wrong: an empty list has no effect)"}},
    {"param_missing",
     R"([check.a]
probe = "program"
)",
     {R"(f.toml:1:8: probe program needs the parameter "argv"; give it in [check.a.params])"}},
    {"param_argv_number",
     R"([check.a]
probe = "program"
params.argv = ["sleep", 1]
)",
     {R"(f.toml:3:25: parameter "argv" of probe program is of type list of texts, not a whole number)"}},
    {"sweep_scalar",
     R"([check.a]
probe = "bandwidth"
sweep.repetitions = 4
)",
     {R"(f.toml:3:21: parameter "repetitions" of probe bandwidth is swept by an array with at least one value)"}},
    {"sweep_empty",
     R"([check.a]
probe = "bandwidth"
sweep.repetitions = []
)",
     {R"(f.toml:3:21: parameter "repetitions" of probe bandwidth is swept by an array with at least one value)"}},
    {"sweep_unknown",
     R"([check.a]
probe = "bandwidth"
sweep.repetition = [1]
)",
     {R"(f.toml:3:7: unknown parameter "repetition" of probe bandwidth; did you mean "repetitions"?)"}},
    {"sweep_and_param",
     R"([check.a]
probe = "bandwidth"
params.repetitions = 4
sweep.repetitions = [4]
)",
     {R"(f.toml:4:7: parameter "repetitions" of probe bandwidth is both given and swept; remove one of them)"}},
    {"sweep_twice",
     R"([check.a]
probe = "bandwidth"
sweep.sizes = ["16MiB", "16777216B"]
)",
     {R"(f.toml:3:25: parameter "sizes" of probe bandwidth is swept over 16MiB twice)"}},
    {"sweep_value",
     R"([check.a]
probe = "bandwidth"
sweep.repetitions = [1, "x"]
)",
     {R"(f.toml:3:25: parameter "repetitions" of probe bandwidth is wrong: expected a whole number, not "x")"}},
    {"metrics_not_declared",
     R"([check.a]
probe = "bandwidth"
metrics.x = { unit = "s" }
)",
     {"f.toml:3:1: probe bandwidth has metrics of its own; only programs declare them (probe command)"}},
    {"metric_no_unit",
     R"([check.a]
probe = "program"
params.argv = ["true"]
metrics.x = { better = "lower" }
)",
     {R"(f.toml:4:9: metric "x" has no "unit"; write for example unit = "GB/s")"}},
    {"metric_unit",
     R"([check.a]
probe = "program"
params.argv = ["true"]
metrics.x = { unit = "sec" }
)",
     {R"(f.toml:4:22: unknown unit "sec"; known: s, ms, us, ns, B, KB, MB, GB, TB, KiB, MiB, GiB, ...)"}},
    {"metric_maximum",
     R"([check.a]
probe = "program"
params.argv = ["true"]
metrics.x = { unit = "s", maximum = -3 }
metrics.y = { unit = "s", maximum = "fast" }
metrics.z = { unit = "s", maximum = 3, better = "lower" }
)",
     {R"(f.toml:4:37: "maximum" is what the hardware can do at most, a number above 0)",
      R"(f.toml:5:37: "maximum" in metric "y" must be a number, not "fast")",
      R"(f.toml:6:37: "maximum" is for a metric that the hardware limits from above, not one with better = "lower")"}},
    {"metric_better",
     R"([check.a]
probe = "program"
params.argv = ["true"]
metrics.x = { unit = "s", better = "more" }
)",
     {R"(f.toml:4:36: "better" in metric "x" must be "higher", "lower" or "neither", not "more")"}},
    {"metric_key",
     R"([check.a]
probe = "program"
params.argv = ["true"]
metrics.x = { unit = "s", bettr = "lower" }
)",
     {R"(f.toml:4:27: unknown key "bettr" in metric "x"; did you mean "better"?)"}},
    {"metric_text",
     R"([check.a]
probe = "program"
params.argv = ["true"]
metrics.x = "s"
)",
     {R"(f.toml:4:13: "x" in [check.a] must be a table such as { unit = "GB/s", better = "higher" }, not "s")"}},
    {"metric_name",
     R"([check.a]
probe = "program"
params.argv = ["true"]
metrics."a b" = { unit = "s" }
)",
     {R"(f.toml:4:9: metric "a b" must be at most 64 letters, digits, _ and -, beginning with a letter)"}},
    {"metric_own",
     R"([check.a]
probe = "program"
params.argv = ["true"]
metrics.seconds = { unit = "s" }
)",
     {R"(f.toml:4:9: probe program already has a metric "seconds")"}},
    {"metrics_text",
     R"([check.a]
probe = "program"
params.argv = ["true"]
metrics = "s"
)",
     {R"(f.toml:4:11: "metrics" in [check.a] must be a table, not "s")"}},
};

class MalformedParams : public testing::TestWithParam<Malformed> {};

}  // namespace

TEST_P(MalformedParams, IsRefusedWithItsPlace) {
  expect_errors(GetParam().errors, errors_of_checks(GetParam().document));
}

INSTANTIATE_TEST_SUITE_P(Documents, MalformedParams, testing::ValuesIn(table), name_of);

}  // namespace muster::fake
