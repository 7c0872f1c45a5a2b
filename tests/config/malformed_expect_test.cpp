// Check files with a mistake in an expectation.
#include "config/malformed.hpp"

namespace muster::fake {

namespace {

const Malformed table[] = {
    {"expect_table",
     R"([check.a]
probe = "bandwidth"
[check.a.expect]
metric = "busbw"
)",
     {R"(f.toml:3:10: "expect" in [check.a] must be an array of tables, written [[check.a.expect]])"}},
    {"expect_number",
     R"([check.a]
probe = "bandwidth"
expect = [4]
)",
     {R"(f.toml:3:11: "expect" in [check.a] must be an array of tables, written [[check.a.expect]], not 4)"}},
    {"expect_empty",
     R"([check.a]
probe = "bandwidth"
expect = []
)",
     {R"(f.toml:3:10: "expect" in [check.a] must be an array of tables, written [[check.a.expect]])"}},
    {"expect_no_metric",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
limit = { at_least = 0.5 }
)",
     {R"(f.toml:3:1: [[check.a.expect]] has no "metric"; write for example metric = "busbw")"}},
    {"expect_metric",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "buswb"
limit = { at_least = 0.5 }
)",
     {R"(f.toml:4:10: probe bandwidth has no metric "buswb"; did you mean "busbw"?)"}},
    {"expect_metric_number",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = 4
limit = { at_least = 0.5 }
)",
     {R"(f.toml:4:10: "metric" in [[check.a.expect]] must be text, not 4)"}},
    {"expect_no_bound",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
)",
     {R"(f.toml:3:1: [[check.a.expect]] has no bound; add "reference", "limit", "peers" or "history")"}},
    {"expect_key",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
were = { size = "8B" }
)",
     {R"(f.toml:6:1: unknown key "were" in [[check.a.expect]]; did you mean "where"?)"}},
    {"where_text",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = "8B"
)",
     {R"(f.toml:6:9: "where" must be a table such as { size = "16MiB" })"}},
    {"where_empty",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = {}
)",
     {R"(f.toml:6:9: "where" must be a table such as { size = "16MiB" })"}},
    {"where_key",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = { sise = "8B" }
)",
     {R"(f.toml:6:11: "sise" is not a label or parameter of probe bandwidth; did you mean "size"?)"}},
    {"where_value",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = { size = "1MiB" }
)",
     {R"(f.toml:6:18: no case matches "1MiB": sizes is 8B and 16MiB here)"}},
    {"history_few_runs",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
history = { min_runs = 3 }
)",
     {R"(f.toml:5:24: "min_runs" in "history" of [[check.a.expect]] must be a whole number from 5 to 50, not 3)"}},
    {"history_values",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
history = { max_z = 1, least = 5, noise = 0 }
)",
     {R"(f.toml:5:21: "max_z" is a number from 2 to 10)", R"(f.toml:5:32: "least" is a fraction above 0, below 1)",
      R"(f.toml:5:43: "noise" is a fraction above 0, below 1)"}},
    {"where_value_given",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = { size = "8B" }
[check.a.params]
sizes = ["1KiB", "2KiB"]
)",
     {R"(f.toml:6:18: no case matches "8B": sizes is 1KiB and 2KiB here)"}},
    {"where_value_swept",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = { type = "float" }
[check.a.sweep]
type = ["half"]
)",
     {R"(f.toml:6:18: no case matches "float": type is half here)"}},
    {"where_bad_value",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = { size = "big" }
)",
     {R"(f.toml:6:18: sizes: expected a number of bytes such as 16MiB, not "big")"}},
    {"where_array",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = { size = ["8B"] }
)",
     {R"(f.toml:6:18: "size" in "where" must be one value such as "16MiB" or 4, not an array)"}},
    {"where_empty_value",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = { link = "" }
)",
     {R"(f.toml:6:18: "link" in "where" must be one value such as "16MiB" or 4, not empty text)"}},
    {"where_nodes",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = { nodes = 0 }
)",
     {R"(f.toml:6:19: "nodes" must be a whole number from 1, not "0")"}},
    {"where_ranks",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = { ranks = "all" }
)",
     {R"(f.toml:6:19: "ranks" must be a whole number from 1, not "all")"}},
    {"where_choice",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = { type = "double" }
)",
     {R"(f.toml:6:18: type: "double" is not one of float, half)"}},
    {"where_whole_list",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.5 }
where = { sizes = "8B" }
)",
     {R"(f.toml:6:19: no case matches "8B": sizes is 8B,16MiB here)"}},
    {"reference_word",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = "lumi"
)",
     {R"(f.toml:5:13: "reference" in [[check.a.expect]] must be "profile" or a table such as { value = 150.0, lower = -0.1, unit = "GB/s" }, not "lumi")"}},
    {"reference_number",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = 4
)",
     {R"(f.toml:5:13: "reference" in [[check.a.expect]] must be "profile" or a table such as { value = 150.0, lower = -0.1, unit = "GB/s" }, not 4)"}},
    {"reference_no_value",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = { unit = "GB/s", lower = -0.1 }
)",
     {R"(f.toml:5:1: "reference" of [[check.a.expect]] has no "value"; write for example value = 150.0)"}},
    {"reference_no_unit",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = { value = 4, lower = -0.1 }
)",
     {R"(f.toml:5:1: "reference" of [[check.a.expect]] has no "unit"; write for example unit = "GB/s")"}},
    {"reference_unit",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = { value = 4, lower = -0.1, unit = "GBs" }
)",
     {R"(f.toml:5:47: unknown unit "GBs"; did you mean "GB/s"?)"}},
    {"reference_unit_kind",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = { value = 4, lower = -0.1, unit = "us" }
)",
     {R"(f.toml:5:47: "us" can't be converted to GB/s, the unit of busbw)"}},
    {"reference_no_tolerance",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = { value = 4, unit = "GB/s" }
)",
     {R"(f.toml:5:1: a reference needs "lower" or "upper"; without them nothing is outside)"}},
    {"reference_lower",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = { value = 4, lower = 0.1, unit = "GB/s" }
)",
     {R"(f.toml:5:34: "lower" is a fraction from -1 to 0, not 0.1; write -0.05 for 5 % below)"}},
    {"reference_lower_percent",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = { value = 4, lower = -5, unit = "GB/s" }
)",
     {R"(f.toml:5:34: "lower" is a fraction from -1 to 0, not -5; write -0.05 for 5 % below)"}},
    {"reference_upper",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = { value = 4, upper = -0.1, unit = "GB/s" }
)",
     {R"(f.toml:5:34: "upper" is a fraction from 0 to 10, not -0.1; write 0.05 for 5 % above)"}},
    {"reference_inf",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = { value = inf, lower = -0.1, unit = "GB/s" }
)",
     {R"(f.toml:5:23: "value" in "reference" of [[check.a.expect]] must be a number, not inf)"}},
    {"reference_text",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = { value = "4", lower = -0.1, unit = "GB/s" }
)",
     {R"(f.toml:5:23: "value" in "reference" of [[check.a.expect]] must be a number, not "4")"}},
    {"reference_key",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
reference = { value = 4, lower = -0.1, unit = "GB/s", soruce = "x" }
)",
     {R"(f.toml:5:55: unknown key "soruce" in "reference" of [[check.a.expect]]; did you mean "source"?)"}},
    {"limit_empty",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = {}
)",
     {R"(f.toml:5:1: "limit" needs "at_least" or "at_most")"}},
    {"limit_without_maximum",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "latency"
limit = { at_most = 0.5 }
)",
     {R"(f.toml:5:1: "limit" needs a metric with a hardware maximum, and "latency" has none (of probe bandwidth: busbw); judge it by "reference", "peers" or "history")"}},
    {"limit_of_a_program",
     R"([check.a]
probe = "program"
params.argv = ["x"]
metrics = { load = { unit = "1" } }
[[check.a.expect]]
metric = "load"
limit = { at_most = 0.5 }
)",
     {R"(f.toml:7:1: "limit" needs the hardware's maximum: give metric "load" one in 1 (maximum = NUMBER), or judge it by "reference", "peers" or "history")"}},
    {"limit_number",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = 0.5
)",
     {R"(f.toml:5:9: "limit" in [[check.a.expect]] must be a table, not 0.5)"}},
    {"limit_key",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { atleast = 0.5 }
)",
     {R"(f.toml:5:11: unknown key "atleast" in "limit" of [[check.a.expect]]; did you mean "at_least"?)",
      R"(f.toml:5:1: "limit" needs "at_least" or "at_most")"}},
    {"limit_zero",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0 }
)",
     {R"(f.toml:5:22: "at_least" is a fraction above 0, at most 10, not 0; write 0.25 for 25 %)"}},
    {"limit_percent",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_most = 105 }
)",
     {R"(f.toml:5:21: "at_most" is a fraction above 0, at most 10, not 105; write 0.25 for 25 %)"}},
    {"limit_crossed",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
limit = { at_least = 0.9, at_most = 0.5 }
)",
     {R"(f.toml:5:37: "at_most" is below "at_least"; nothing could pass)"}},
    {"peers_true",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
peers = true
)",
     {R"(f.toml:5:9: "peers" in [[check.a.expect]] must be a table, not true)"}},
    {"peers_z",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
peers = { max_z = 0 }
)",
     {R"(f.toml:5:19: "max_z" must be above 0)"}},
    {"peers_floor",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
peers = { floor = 1 }
)",
     {R"(f.toml:5:19: "floor" is a fraction from 0 to below 1)"}},
    {"peers_items",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
peers = { min_items = 2 }
)",
     {R"(f.toml:5:23: "min_items" in "peers" of [[check.a.expect]] must be a whole number from 3 to 1000000, not 2)"}},
    {"peers_key",
     R"([check.a]
probe = "bandwidth"
[[check.a.expect]]
metric = "busbw"
peers = { z = 5 }
)",
     {R"(f.toml:5:11: unknown key "z" in "peers" of [[check.a.expect]]; known: max_z, floor, min_items)"}},
};

class MalformedExpect : public testing::TestWithParam<Malformed> {};

}  // namespace

TEST_P(MalformedExpect, IsRefusedWithItsPlace) {
  expect_errors(GetParam().errors, errors_of_checks(GetParam().document));
}

INSTANTIATE_TEST_SUITE_P(Documents, MalformedExpect, testing::ValuesIn(table), name_of);

}  // namespace muster::fake
