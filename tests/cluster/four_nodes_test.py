"""Four virtual nodes of which one is missing at the start, dies in the middle, hangs, or has a wrong clock: it is named,
and the others are measured and judged; also with --per-node, where each node is judged by itself."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_nodes import OnNodes  # noqa: E402
from support import check, ten_cases  # noqa: E402

DEADLINE = 3
NODES = ("nid001", "nid002", "nid003", "nid004")
BAD = "nid003"
GOOD = tuple(node for node in NODES if node != BAD)
WRONG_CLOCK = support.BIN / "wrong_clock.so"
CLOCKS = """[check.clocks]
probe = "clock_skew"
summary = "A test."
ranks = "one-per-node"
nodes = 2
timeout = "20s"
[check.clocks.params]
max_offset = "100ms"
"""


SPEEDS = """[check.speed]
probe = "command"
summary = "A test."
ranks = { per_node = 2 }
timeout = "20s"
[check.speed.params]
argv = ["sh", "-c", 'test $(hostname) = nid003 && echo "{\\"metric\\": \\"speed\\", \\"value\\": 50, \\"unit\\": \\"GB/s\\"}" || echo "{\\"metric\\": \\"speed\\", \\"value\\": 100, \\"unit\\": \\"GB/s\\"}"']
[check.speed.metrics]
speed = { unit = "GB/s", better = "higher" }
[[check.speed.expect]]
metric = "speed"
peers = { max_z = 5.0 }
"""


class PerNode:
    """What --per-node reports, for any test case that runs it."""

    def by_node(self, run, name):
        """Verdict of each case of a check, by node; of swept ones the worst."""
        found = {}
        for case in run.cases(name):
            self.assertEqual(case["id"].rpartition("@")[2], case["node"], run.story())
            self.assertEqual(case["nodes"], 1)
            for row in case["node_rows"]:
                self.assertEqual(row["node"], case["node"], "its rows are of its own node")
            found.setdefault(case["node"], set()).add(case["verdict"])
        return {node: "pass" if verdicts == {"pass"} else "/".join(sorted(verdicts - {"pass"}))
                for node, verdicts in found.items()}

    def of_node(self, run, name, node):
        found = [case for case in run.cases(name) if case["node"] == node]
        self.assertEqual(len(found), 1, run.story())
        return found[0]

    def assert_by_node(self, run, name, bad=(), verdict="fail"):
        expected = {node: verdict if node in bad else "pass" for node in NODES}
        self.assertEqual(self.by_node(run, name), expected, run.story())


class OnFourNodes(OnNodes, PerNode):
    NODES = NODES

    def rows(self, case):
        return [(row["node"], row["ranks"], row["verdict"]) for row in case["node_rows"]]

    # All well.

    def test_per_node_all_well(self):
        run = self.new_run(check("hello", probe="hello") + check("together", probe="hello").replace(
            "[check.together.params]", "nodes = 2\n[check.together.params]") + ten_cases(how="none"), "--per-node", "--repeat", "2")
        run.start()
        self.assertEqual(run.wait(60), 0, run.story())
        for name in ("hello", "a", "bad", "c"):
            self.assert_by_node(run, name)
        hello = self.of_node(run, "hello", BAD)
        self.assertEqual(hello["ranks"], 2)
        self.assertIn("2 of 2 ranks", hello["reason"])
        self.assertEqual(len(hello["repetitions"]), 2)
        self.assertEqual([(case["verdict"], case["reason"]) for case in run.cases("together")],
                         [("skip", "needs 2 nodes together, and --per-node asks each node by itself")])
        self.assertEqual([launch["ranks"] for launch in run.report()["launches"]], [8], "one launch")
        self.assertRegex(run.stdout, r"pass +hello%\w+ .* 4 nodes: nid\[001-004\]")
        self.assert_clean(run)
        self.assert_nodes_clean(NODES)
        print(f"  {run.seconds:.1f} s for 11 cases x 4 nodes x 2", flush=True)

    def test_per_node_a_failure_is_that_of_its_node(self):
        run = self.new_run(ten_cases(how="fail_run", rank=1, node=BAD, timeout="5s"), "--per-node")
        run.start()
        self.assertEqual(run.wait(60), 1, run.story())
        self.assert_by_node(run, "bad", [BAD])
        for name in ("a", "c"):
            self.assert_by_node(run, name)
        case = self.of_node(run, "bad", BAD)
        self.tell(run, case)
        self.assert_blames(run, case, 1, BAD)
        self.assertEqual(len(run.report()["launches"]), 1)
        again = [str(support.DRIVER), *case["rerun"][1:]]
        done = self.cluster.execute(vc.LOGIN, again, env=run.env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("1 node x 2 ranks", done.stdout)

    def test_per_node_one_that_can_not_prepare_keeps_no_other(self):
        run = self.new_run(ten_cases(how="fail_prepare", rank=0, node=BAD, timeout="5s"), "--per-node")
        run.start()
        self.assertEqual(run.wait(60), 1, run.story())
        self.assert_by_node(run, "bad", [BAD])
        self.assertIn("can't prepare, on purpose", self.of_node(run, "bad", BAD)["reason"])
        self.assertEqual(len(run.report()["launches"]), 1)

    def test_per_node_the_odd_one_is_named_among_its_peers(self):
        for node in NODES:
            self.cluster.set_apart(node)  # or ranks would share cores, and speeds mean nothing
        run = self.new_run(SPEEDS, "--per-node")
        run.start()
        self.assertEqual(run.wait(60), 1, run.story())
        self.assert_by_node(run, "speed", [BAD])
        case = self.of_node(run, "speed", BAD)
        self.tell(run, case)
        self.assertIn("peers: median 100 GB/s of 8 readings", case["reason"], run.story())
        self.assertEqual(case["metrics"][0]["n"], 2, "its own readings")
        self.assertNotIn("@", " ".join(case["rerun"]), "again on all nodes: one alone has no peers")

    # Missing at the start.

    def missing(self, *options):
        self.cluster.cut(BAD)
        run = self.new_run(check("hello", probe="hello") + ten_cases(how="none"), *options)
        run.start()
        self.assertEqual(run.wait(60), 1, run.story())
        lost = [one for one in run.report()["cases"] if one["id"] == f"node%{BAD}"]
        self.assertEqual([(one["verdict"], one["culprits"][0]["node"]) for one in lost], [("fail", BAD)], run.story())
        self.tell(run, lost[0])
        self.assert_nodes_clean(GOOD)
        self.assertLess(run.seconds, 30 * support.SLOWNESS, run.story())
        return run

    def test_missing_at_start(self):
        run = self.missing()
        hello = run.case("hello")
        self.assertEqual((hello["verdict"], self.rows(hello)), ("pass", [(node, 2, "pass") for node in GOOD]), run.story())
        self.assert_nine_passed(run)

    def test_per_node_missing_at_start(self):
        run = self.missing("--per-node")
        for name in ("hello", "a", "bad", "c"):
            self.assert_by_node(run, name, [BAD])
        self.assertIn(f"node lost: {BAD}", self.of_node(run, "hello", BAD)["reason"])

    # Dying in the middle.

    def dying(self, fault, *options, **bad):
        run = self.new_run(ten_cases(how="slow", seconds=f"{DEADLINE - 1}s", timeout=f"{DEADLINE}s", rank=0, marker="MARKER",
                                     **bad), *options)
        run.until_marker(30)
        fault(BAD)
        self.assertEqual(run.wait(DEADLINE + 60), 1, run.story())
        self.assertEqual(run.leftovers(), [], run.story())
        self.assert_nodes_clean(GOOD)
        self.assertLess(run.seconds, (DEADLINE + 25) * support.SLOWNESS, run.story())
        return run

    def test_dying_in_the_middle(self):
        run = self.dying(self.cluster.remove)
        case = run.case("bad")
        self.tell(run, case)
        self.assertIn(BAD, [culprit["node"] for culprit in case["culprits"]], run.story())
        self.assertIn(BAD, case["reason"])
        self.assert_nine_passed(run)
        self.assertEqual(self.rows(run.cases("c")[0]), [(node, 2, "pass") for node in GOOD])

    def per_node_dying(self, fault):
        run = self.dying(fault, "--per-node", node="nid001")
        self.assert_by_node(run, "a")  # before it died
        for name in ("bad", "c"):
            self.assert_by_node(run, name, [BAD])
        case = self.of_node(run, "bad", BAD)
        self.tell(run, case)
        self.assertIn(BAD, [culprit["node"] for culprit in case["culprits"]], run.story())
        self.assertIn(f"node lost: {BAD}", run.cases("c")[NODES.index(BAD)]["reason"], run.story())

    def test_per_node_dying_in_the_middle(self):
        self.per_node_dying(self.cluster.remove)

    def test_per_node_cut_in_the_middle(self):
        self.per_node_dying(self.cluster.cut)

    # Hanging: the node lives.

    def test_per_node_a_stopped_rank(self):
        run = self.new_run(ten_cases(how="stop", rank=1, node=BAD, timeout=f"{DEADLINE}s"), "--per-node")
        run.start()
        self.assertEqual(run.wait(DEADLINE + 60), 1, run.story())
        for name in ("a", "c"):
            self.assert_by_node(run, name)
        self.assert_by_node(run, "bad", [BAD])
        case = self.of_node(run, "bad", BAD)
        self.tell(run, case)
        self.assertIn(f"rank 5 on {BAD} is stopped in work", case["reason"], run.story())
        self.assertEqual(len(run.report()["launches"]), 2, run.story())
        self.assert_clean(run)
        self.assert_nodes_clean(NODES)

    def test_per_node_two_nodes_that_hang_in_the_same_place(self):
        """All ranks of both wait forever: as one world nobody would stand out."""
        checks = (check("good", number=1) + check("bad", how="hang", node=BAD, timeout=f"{DEADLINE}s") +
                  check("worse", how="hang", node="nid002", timeout=f"{DEADLINE}s") + check("after", number=2))
        run = self.new_run(checks, "--per-node")
        run.start()
        self.assertEqual(run.wait(2 * DEADLINE + 60), 1, run.story())
        self.assert_by_node(run, "bad", [BAD])
        self.assert_by_node(run, "worse", ["nid002"])
        for name in ("good", "after"):
            self.assert_by_node(run, name)
        self.tell(run, self.of_node(run, "bad", BAD))

    # A wrong clock.

    def wrong_clock(self, *options):
        shim = [f"-J={word}" for variable in (f"LD_PRELOAD={WRONG_CLOCK}", f"WRONG_CLOCK_HOST={BAD}", "WRONG_CLOCK_S=10")
                for word in ("-x", variable)]
        run = self.new_run(CLOCKS + check("hello", probe="hello"), *options, *shim)
        run.start()
        run.wait(60)
        return run

    def test_a_clock_ten_seconds_off(self):
        run = self.wrong_clock()
        self.assertEqual(run.status, 1, run.story())
        case = run.case("clocks")
        self.tell(run, case)
        self.assertEqual([culprit.get("node") for culprit in case["culprits"]], [BAD], run.story())
        self.assertRegex(case["reason"], f"clock of {BAD} is (10|9\\.99\\d*|10\\.0\\d*) s ahead of the median")
        self.assertEqual([row for row in self.rows(case) if row[2] == "fail"], [(BAD, 2, "fail")], run.story())
        self.assertEqual(run.case("hello")["verdict"], "pass")

    def test_per_node_clocks_are_not_compared(self):
        run = self.wrong_clock("--per-node")
        self.assertEqual(run.status, 0, run.story())
        self.assertEqual([case["verdict"] for case in run.cases("clocks")], ["skip"])
        self.assert_by_node(run, "hello")


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
