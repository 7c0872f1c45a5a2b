"""Two virtual nodes with two ranks each: all well, a rank stopped on the second, a link cut, a node gone."""
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_nodes import OnNodes  # noqa: E402
from support import check, ten_cases  # noqa: E402
from wire_test import HALF  # noqa: E402

DEADLINE = 3
NODES = ("nid001", "nid002")


class OnTwoNodes(OnNodes):
    NODES = NODES

    def test_all_well(self):
        run = self.new_run(check("hello", probe="hello") + ten_cases(how="none"))
        run.start()
        self.assertEqual(run.wait(30), 0, run.story())
        hello = run.case("hello")
        self.assertEqual((hello["verdict"], hello["nodes"], hello["ranks"]), ("pass", 2, 4), run.story())
        self.assertEqual([(row["node"], row["ranks"]) for row in hello["node_rows"]], [("nid001", 2), ("nid002", 2)])
        self.assert_nine_passed(run)
        self.assertEqual([node["node"] for node in run.report()["nodes"]], list(NODES))
        self.assertEqual(len(run.report()["launches"]), 1)
        self.assert_clean(run)
        self.assert_nodes_clean()
        print(f"  {run.seconds:.1f} s for 11 cases")

    def test_two_ranks_of_a_node_measure_its_memory_in_turn(self):
        """No label is wider than the CPUs of its rank."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("this machine has one CPU")
        run = self.new_run(check("memory", ranks=2, probe="memory_bandwidth", timeout="60s", bytes="4MiB", cap="50ms"))
        run.argv[run.argv.index("--nodes") + 1] = NODES[0]
        run.start()
        self.assertEqual(run.wait(60), 2, run.story())
        case = run.case("memory")
        reasons = " ".join(finding["reason"] for finding in case["findings"])
        self.assertIn(f"domain=node is not measured on {NODES[0]}: 2 ranks share the node, and each measures its own CPUs (", reasons)
        self.assertIn(") in its turn", reasons)
        labels = {(metric["where"]["cpus"], metric["where"]["threads"], metric["where"]["domain"] != "node") for metric in case["metrics"]}
        self.assertEqual({(threads, is_part) for _, threads, is_part in labels}, {("1", True)}, case["metrics"])
        self.assertEqual(len({cpus for cpus, *_ in labels}), 2, case["metrics"])

    def test_the_key_of_the_launch_is_in_no_argument(self):
        """Neither of the launcher nor of what it starts on the nodes: all processes are seen from each of them."""
        run = self.new_run(check("look", ranks=2, probe="command", timeout="20s", argv=["sh", "SCRIPT"]))
        agent, script, seen = (run.folder / name for name in ("agent", "script", "seen"))
        agent.write_text(f'#!/bin/sh\n[ $# = 0 ] && echo $MUSTER_KEY > {run.folder}/key\n'
                         f'[ $# = 0 ] && echo $MUSTER_TAG_SECRET > {run.folder}/secret\nexec {support.AGENT} "$@"\n')
        agent.chmod(0o755)
        script.write_text(f"cat /proc/[0-9]*/cmdline > {seen}.$(hostname) 2> /dev/null\nexit 0\n")
        run.checks.write_text(run.checks.read_text().replace("SCRIPT", str(script)))
        run.argv[run.argv.index("--agent") + 1] = str(agent)
        run.start()
        self.assertEqual(run.wait(30), 0, run.story())
        for name in ("key", "secret"):
            secret = (run.folder / name).read_text().strip()
            self.assertRegex(secret, "^[0-9a-f]{64}$")
            for node in NODES:
                arguments = (run.folder / f"seen.{node}").read_text(errors="replace")
                self.assertIn("orted", arguments)
                self.assertNotIn(secret, arguments)
            found = [path for path in run.output.rglob("*") if path.is_file() and secret in path.read_text(errors="replace")]
            self.assertEqual(found, [])

    def test_the_place_of_open_mpis_folder_is_taken_on_the_second_node(self):
        """By a file of another user: an error that names the node, and blames none."""
        self.cluster.is_as_made = False
        self.cluster.execute("nid002", ["sh", "-c", "touch $TMPDIR/ompi.nid002.0 && chown 65534 $TMPDIR/ompi.nid002.0"], check=True)
        run = self.new_run(check("hello", probe="hello"))
        run.start()
        self.assertEqual(run.wait(60), 2, run.story())
        case = run.case("hello")
        self.assertEqual(case["verdict"], "error", run.story())
        self.assertRegex(case["reason"], "Open MPI can't make its folder /.*/ompi.nid002.0 on nid002: Not a directory")
        self.assertRegex(case["remedy"], "^on nid002, remove .* if it belongs to another user")
        self.assertEqual([culprit["kind"] for culprit in case["culprits"]], ["launcher"])

    def test_an_incomplete_handshake_on_every_port_of_the_second_node(self):
        """Of another user there, to Open MPI's daemon, which waits for the rest: an error with that user, which blames no node."""
        run = self.called_by_half(check("hello", probe="hello"))
        self.assertEqual(run.status, 2, run.story())
        case = run.case("hello")
        self.tell(run, case)
        self.assertEqual(case["verdict"], "error", run.story())
        self.assertRegex(case["reason"], "^user 65534 is connected to port [0-9]+ of mpirun's daemon or of a rank on nid002$")
        self.assertRegex(case["remedy"], "^find the process that connects to that port on nid002: ss ")
        self.assertEqual([culprit["kind"] for culprit in case["culprits"]], ["launcher"])

    def test_an_incomplete_handshake_to_the_ranks_of_the_second_node(self):
        """Once they are there: what they measure is right, or an error with that user."""
        run = self.called_by_half(check("hello", probe="hello") + ten_cases(how="none"), least_age=True)
        self.assertIn(run.status, (0, 2), run.story())
        for case in run.report()["cases"]:
            self.assertIn(case["verdict"], ("pass", "error", "unmeasured"), run.story())
            self.assertNotIn("node", [culprit["kind"] for culprit in case["culprits"]], run.story())
        print(f"  {[case['verdict'] for case in run.report()['cases']]}")

    def called_by_half(self, checks, least_age=False):
        """`least_age`: not Open MPI's daemon, whose ports are there before the ranks'."""
        self.cluster.is_as_made = False
        run = self.new_run(checks)
        run.env["MUSTER_STARTUP_TIMEOUT"] = "8"
        run.folder.chmod(0o755)
        attack = run.folder / "attack.py"
        attack.write_text(HALF if not least_age else HALF.replace("import os, socket, time", "import glob, os, socket, time").replace(
            "while True:\n", "while not glob.glob('/dev/shm/muster-*-*'):\n    time.sleep(0.001)\nfor line in open('/proc/net/tcp').read().splitlines()[1:]:\n"
            "    kept[int(line.split()[1].split(':')[1], 16)] = None\nwhile True:\n", 1))
        user = subprocess.Popen(self.cluster.argv_in("nid002", [sys.executable, "-B", str(attack)]), stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (user.kill(), user.wait(), user.stdout.close()))
        self.assertEqual(user.stdout.readline(), "ready\n")
        run.start()
        run.wait(90)
        user.kill()
        self.assertNotEqual(user.stdout.read(), "", "no port was called")
        return run

    def test_two_machines_of_one_name_are_not_one(self):
        for node in NODES:
            self.cluster.set_apart(node)
        self.cluster.is_as_made = False
        self.cluster.execute("nid002", ["hostname", "nid001"], check=True)
        run = self.new_run(check("hello", probe="hello"))
        run.start()
        self.assertNotEqual(run.wait(60), 3, run.story())
        self.assertNotIn("are one machine", run.stdout + run.stderr)
        self.assertIn("ranks on nid002 report the host name nid001, as ranks on nid001 do: several nodes of one name", " ".join(run.story().split()))
        named = {culprit.get("node") or culprit["name"] for case in run.report()["cases"] for culprit in case["culprits"]}
        self.assertEqual(named, {"nid002"}, run.story())

    def test_rank_stopped_on_the_second_node(self):
        run = self.new_run(ten_cases(how="stop", rank=3, timeout=f"{DEADLINE}s"))
        run.start()
        self.assertEqual(run.wait(DEADLINE + 30), 1, run.story())
        case = run.case("bad")
        self.tell(run, case)
        self.assertEqual(case["verdict"], "fail")
        self.assert_blames(run, case, 3, "nid002")
        self.assertIn("rank 3 on nid002 is stopped", case["reason"], run.story())
        self.assert_nine_passed(run)
        self.assert_clean(run)
        self.assert_nodes_clean()
        self.assertLess(run.seconds, (DEADLINE + 10) * support.SLOWNESS, run.story())

    def test_rank_killed_on_the_second_node(self):
        run = self.new_run(ten_cases(how="kill", rank=2, timeout=f"{DEADLINE}s"))
        run.start()
        self.assertEqual(run.wait(DEADLINE + 30), 1, run.story())
        case = run.case("bad")
        self.tell(run, case)
        self.assert_blames(run, case, 2, "nid002")
        self.assert_nine_passed(run)
        self.assert_nodes_clean()

    def test_daemon_stopped_on_the_second_node(self):
        run = self.new_run(ten_cases(how="slow", seconds="1s", timeout="5s", rank=0, marker="MARKER"))
        run.until_marker(30)
        daemons = [pid for pid in self.cluster.processes("nid002") if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "orted"]
        self.assertEqual(len(daemons), 1)
        os.kill(daemons[0], signal.SIGSTOP)
        began = time.monotonic()
        self.assertEqual(run.wait(60), 1, run.story())
        print(f"  {time.monotonic() - began:.1f} s", flush=True)
        self.assert_nine_passed(run)
        outcome = run.report()["launches"][0]["outcome"]
        self.assertRegex(outcome, rf"the launcher's daemon on nid002 \(process {daemons[0]}\) is stopped", run.story())
        self.assert_clean(run)
        self.assert_nodes_clean()

    def lose(self, fault, seconds):
        """A run whose sixth case meets the loss of nid002."""
        run = self.new_run(ten_cases(how="slow", seconds=f"{DEADLINE - 1}s", timeout=f"{DEADLINE}s", rank=0,
                                     marker="MARKER"))
        run.until_marker(30)
        fault("nid002")
        run.wait(seconds + 30)
        case = run.case("bad")
        self.tell(run, case)
        self.assertEqual(run.status, 1, run.story())
        self.assertEqual(case["verdict"], "fail", run.story())
        self.assertIn("nid002", [culprit["node"] for culprit in case["culprits"]], run.story())
        self.assertIn("nid002", case["reason"], run.story())
        for other in run.cases("a") + run.cases("c"):
            self.assertIn(other["verdict"], ("pass", "fail"), run.story())
            if other["verdict"] == "fail":
                self.assertIn("nid002", other["reason"], run.story())
        self.assertEqual([other["verdict"] for other in run.cases("a")], ["pass"] * 5, "they came before the loss")
        self.assertEqual(run.leftovers(), [], run.story())
        self.assert_nodes_clean(["nid001"])
        self.assertLess(run.seconds, seconds * support.SLOWNESS, run.story())
        return run

    def test_link_cut(self):
        self.lose(self.cluster.cut, DEADLINE + 20)

    def test_nothing_stays_on_a_node_that_was_cut_off(self):
        """Nothing reaches it any more: its watchdog ends the ranks, and the daemon that started them."""
        self.lose(self.cluster.cut, DEADLINE + 20)
        holder = self.cluster.holder("nid002")
        self.assertNotEqual(self.cluster.processes("nid002"), [holder])
        is_alone = support.wait_until(lambda: self.cluster.processes("nid002") == [holder], 60 * support.SLOWNESS)
        self.assertTrue(is_alone, [support.command_line(pid) for pid in self.cluster.processes("nid002")])
        files = self.cluster.execute("nid002", ["ls", "-A", "/dev/shm"], capture_output=True, text=True).stdout
        self.assertEqual(files, "")

    def test_nothing_stays_on_nodes_whose_driver_was_killed(self):
        """With the process that cleans up after it: each node's watchdog does, and leaves those of other nodes alone."""
        run = self.new_run(check("bad", how="hang", rank=0, timeout=f"{DEADLINE}s", marker="MARKER"))
        run.until_marker(30)
        holders = [[self.cluster.holder(node)] for node in NODES]
        drivers = [pid for pid in run.processes() if support.command_line(pid).partition(": ")[2].startswith(str(support.DRIVER))]
        for pid in [*drivers, run.process.pid]:
            os.kill(pid, signal.SIGKILL)
        is_alone = support.wait_until(lambda: [self.cluster.processes(node) for node in NODES] == holders, 60 * support.SLOWNESS)
        self.assertTrue(is_alone, [support.command_line(pid) for node in NODES for pid in self.cluster.processes(node)])
        self.assert_nodes_clean()

    def test_node_gone(self):
        self.lose(self.cluster.remove, DEADLINE + 20)

    def test_node_that_is_cut_off_from_the_start(self):
        self.cluster.cut("nid002")
        run = self.new_run(check("hello", probe="hello"))
        run.start()
        run.wait(40)
        case = run.case("hello")
        self.tell(run, case)
        self.assertNotEqual(run.status, 0, run.story())
        lost = [one for one in run.report()["cases"] if one["id"] == "node%nid002"]
        self.assertEqual([one["verdict"] for one in lost], ["fail"], run.story())
        self.assertEqual(lost[0]["culprits"][0]["node"], "nid002", run.story())
        self.assertLess(run.seconds, 30 * support.SLOWNESS, run.story())
        self.assert_nodes_clean(["nid001"])

    def test_ranks_that_land_elsewhere_are_no_pass(self):
        """Options of the user's own put all four ranks on one node: nothing was learnt about the other."""
        run = self.new_run(check("hello", probe="hello"), "-J=--host", "-J=nid001:4", "-J=--map-by", "-J=slot", "-J=--bind-to", "-J=none")
        run.start()
        run.wait(30)
        case = run.case("hello")
        self.tell(run, case)
        self.assertEqual(run.status, 2, run.story())
        self.assertEqual(case["verdict"], "error", run.story())
        self.assertIn("found 4 on nid001", case["reason"])

    def test_interrupted_with_a_link_cut(self):
        """mpirun ignores TERM then; the driver must come back all the same."""
        run = self.new_run(check("bad", how="hang", rank=0, timeout="60s", marker="MARKER"))
        run.until_marker(30)
        self.cluster.cut("nid002")
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(15), 143, run.story())
        self.assertEqual(run.report()["interrupted"], "SIGTERM")
        self.assertEqual(run.leftovers(), [], run.story())
        self.assert_nodes_clean(["nid001"])


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
