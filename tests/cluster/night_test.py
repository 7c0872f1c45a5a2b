"""Nodes out of service and back, by a real Slurm of four nodes: who is at fault is drained with the reason, and goes back when
it passes again; what others drained, what exceeds the cap, and a dry run change nothing."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from four_nodes_test import CLOCKS, WRONG_CLOCK  # noqa: E402
from support import Run, check  # noqa: E402

NODES = ("nid001", "nid002", "nid003", "nid004")
TAG = re.compile(r"muster\[([0-9a-f]{6})-[0-9a-f]{4}\]: clocks: clock of (nid\d+) is (10|9\.99\d*|10\.0\d*) s behind the median")


class Night(support.EndToEnd):
    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(len(NODES), slurm=vc.Shape())
        cls.cluster = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def setUp(self):
        self.state = pathlib.Path(support.new_folder())
        self.addCleanup(shutil.rmtree, self.state, True)
        self.addCleanup(self.all_in_service)

    def all_in_service(self):
        for node in NODES:
            slurm_services.ask(self.cluster, "scontrol", "update", f"nodename={node}", "state=resume")
            self.cluster.execute(node, ["sh", "-c", "rm -rf /dev/shm/muster-*"])

    def run_night(self, *options, wrong="", checks=CLOCKS, env=None, status=None):
        """From the login node over all nodes, as cron would: drained ones are reached, too. `wrong`: whose clock is."""
        shim = [f"-J={word}" for variable in (f"LD_PRELOAD={WRONG_CLOCK}", f"WRONG_CLOCK_HOST={wrong}", "WRONG_CLOCK_S=-10")
                for word in ("-x", variable)] if wrong else []
        run = Run(checks, "--nodes", ",".join(NODES), "--launcher", "mpirun", *shim, *options,
                  env={**self.cluster.environment(), "XDG_STATE_HOME": str(self.state), **(env or {})},
                  wrapper=self.cluster.argv_on_login([]))
        self.addCleanup(run.clean)
        run.start()
        self.assertEqual(run.wait(60), (1 if wrong else 0) if status is None else status, run.story())
        return run

    def reason(self, node):
        """Why the node is drained, as Slurm tells; empty: it is not."""
        told = slurm_services.ask(self.cluster, "scontrol", "--oneliner", "show", "node", node).stdout
        self.assertEqual(bool(re.search(r" State=\S*DRAIN", told)), " Reason=" in told, told)
        return re.sub(r" \[\S+@\S+\]$", "", told.split(" Reason=")[1].strip()) if " Reason=" in told else ""

    def drained(self):
        return {node: self.reason(node) for node in NODES if self.reason(node)}

    def actions(self):
        """What was recorded: action, node, outcome."""
        path = self.state / "muster" / "history.db"
        if not path.exists():
            return []
        with contextlib.closing(sqlite3.connect(path)) as history:
            facts = [json.loads(text) for (text,) in history.execute("SELECT facts FROM action ORDER BY number")]
        return [(one["action"], one["node"], one["outcome"]) for one in facts]

    def assert_own(self, node, run):
        found = TAG.match(self.reason(node))
        self.assertTrue(found, f"{self.reason(node)}\n{run.story()}")
        self.assertEqual((found[1], found[2]), (run.report()["run_id"], node))

    def test_the_faulty_node_is_drained_and_goes_back_when_it_passes(self):
        dry = self.run_night("--on-fail", "drain", "--dry-run-actions", wrong="nid002")
        self.assertRegex(dry.stderr, r"muster: would drain nid002: scontrol update nodename=nid002 state=drain 'reason=muster\[")
        self.assertEqual((self.drained(), self.actions()), ({}, []))
        run = self.run_night("--on-fail", "drain", wrong="nid002")
        self.assertEqual(list(self.drained()), ["nid002"], run.story())
        self.assert_own("nid002", run)
        self.assertIn("muster: drained nid002: muster[", run.stderr)
        self.assertEqual(self.actions(), [("drain", "nid002", "begun"), ("drain", "nid002", "done")])
        print("  " + self.reason("nid002"), flush=True)
        # Again: it is out already, and keeps its first reason.
        again = self.run_night("--on-fail", "drain", "--on-pass", "resume", wrong="nid002")
        self.assertIn("nid002 is left as it is: it is drained already, by muster's run", again.stderr)
        self.assertIn("nid002 is left as it is: stays drained: it is blamed in this run, too", again.stderr)
        self.assert_own("nid002", run)
        # Another check says nothing about why it was drained.
        other = self.run_night("--on-pass", "resume", checks=check("hello", probe="hello", ranks=1, timeout="20s"))
        self.assertIn("clocks, for which it was drained, did not pass there", other.stderr)
        self.assert_own("nid002", run)
        # Repaired: what muster drained goes back, and nothing else.
        slurm_services.drain(self.cluster, "nid003", "fan is loud")
        dry = self.run_night("--on-pass", "resume", "--dry-run-actions")
        self.assertIn("muster: would resume nid002: scontrol update nodename=nid002 state=resume\n", dry.stderr)
        self.assert_own("nid002", run)
        well = self.run_night("--on-pass", "resume", "--quiet")
        self.assertEqual(self.drained(), {"nid003": "fan is loud"}, well.story())
        self.assertRegex(well.stderr, r"^muster: resumed nid002: muster\[[^\n]*\n$")
        self.assertEqual(self.actions()[2:], [("resume", "nid002", "begun"), ("resume", "nid002", "done")])
        told = subprocess.run([support.DRIVER, "history", "--actions"], env={**os.environ, "XDG_STATE_HOME": str(self.state)},
                              capture_output=True, text=True, timeout=20).stdout.splitlines()
        self.assertEqual([line.count("muster[") for line in told], [1] * 4, told)

    def test_what_others_drained_is_theirs(self):
        slurm_services.drain(self.cluster, "nid002", "fan is loud")
        run = self.run_night("--on-fail", "drain", wrong="nid002")
        self.assertIn("nid002 is left as it is: it has a reason that another user (root) wrote: fan is loud", run.stderr)
        self.assertEqual((self.drained(), self.actions()), ({"nid002": "fan is loud"}, []))
        # Also what muster drained and somebody has added a word to.
        slurm_services.resume(self.cluster, "nid002")
        self.run_night("--on-fail", "drain", wrong="nid002")
        edited = self.reason("nid002") + "; ticket 12"
        slurm_services.drain(self.cluster, "nid002", edited)
        self.run_night("--on-pass", "resume")
        self.assertEqual(self.drained(), {"nid002": edited})

    def test_no_more_than_the_cap_with_those_of_earlier_runs(self):
        self.run_night("--on-fail", "drain", "--max-drain", "1", wrong="nid002")
        self.assertEqual(list(self.drained()), ["nid002"])
        run = self.run_night("--on-fail", "drain", "--max-drain", "1", wrong="nid003")
        self.assertIn("muster: no node is drained: 1 would be beside the 1 that muster has drained, and --max-drain is 1", run.stderr)
        self.assertEqual(list(self.drained()), ["nid002"])
        run = self.run_night("--on-fail", "drain", "--max-drain", "2", wrong="nid003")
        self.assertEqual(list(self.drained()), ["nid002", "nid003"], run.story())

    def test_a_run_that_drains_at_the_same_moment_is_seen(self):
        """Between the plan and its end another node is drained, by a run of which nothing was known."""
        self.run_night("--on-fail", "drain", wrong="nid003")
        tag = self.reason("nid003")
        slurm_services.resume(self.cluster, "nid003")
        tools = self.state / "tools"
        tools.mkdir()
        real = shutil.which("scontrol")
        (tools / "scontrol").write_text(f'#!/bin/sh\n{real} "$@" || exit\ncase "$*" in *nodename=nid002*state=drain*) '
                                        f'exec {real} update nodename=nid003 state=drain "reason={tag}";; esac\n')
        (tools / "scontrol").chmod(0o755)
        path = {"PATH": f"{tools}:{os.environ['PATH']}"}
        run = self.run_night("--on-fail", "drain", "--max-drain", "1", wrong="nid002", env=path)
        self.assertIn("others drained at the same time: 2 are, and --max-drain is 1; this run takes back its own", run.stderr)
        self.assertEqual(self.drained(), {"nid003": tag}, run.story())

    def test_what_can_not_be_recorded_is_not_done(self):
        (self.state / "muster").write_text("a file where the folder should be")
        run = self.run_night("--on-fail", "drain", wrong="nid002")
        self.assertIn("could not drain nid002, as it can't be recorded", run.stderr)
        self.assertEqual(self.drained(), {})

    def test_inside_of_a_job(self):
        """By srun on the job's own nodes: the one that is drained goes on until the job ends."""
        run = Run(CLOCKS, "-J=--cpu-bind=none", "--on-fail", "drain",
                  env={**self.cluster.environment(), "XDG_STATE_HOME": str(self.state),
                       "LD_PRELOAD": str(WRONG_CLOCK), "WRONG_CLOCK_HOST": "nid003", "WRONG_CLOCK_S": "-10"},
                  wrapper=self.cluster.argv_on_login(["salloc", "--quiet", "--nodes=4", "--ntasks-per-node=1"]))
        self.addCleanup(run.clean)
        run.start()
        self.assertEqual(run.wait(60), 1, run.story())
        self.assertEqual(list(self.drained()), ["nid003"], run.story())
        self.assert_own("nid003", run)

    def test_a_submitted_run_acts_when_it_is_back(self):
        """On the login node; the run inside of the job does nothing. Nor does it request the lock that this one holds."""
        run = Run(CLOCKS, "--submit", "--nodes", "4", "--launcher-option=--cpu-bind=none", "--ranks-per-node", "1", "--lock",
                  "--on-fail", "drain", "--max-drain", "1", wrapper=self.cluster.argv_on_login([]),
                  env={**self.cluster.environment(), "MUSTER_SUBMIT_POLL": "0.3s",
                       "XDG_STATE_HOME": str(self.state), "LD_PRELOAD": str(WRONG_CLOCK), "WRONG_CLOCK_HOST": "nid003",
                       "WRONG_CLOCK_S": "-10"})
        self.addCleanup(run.clean)
        run.start()
        self.assertEqual(run.wait(90), 1, run.story())
        self.assertEqual(list(self.drained()), ["nid003"], run.story())
        self.assert_own("nid003", run)
        self.assertEqual(self.actions(), [("drain", "nid003", "begun"), ("drain", "nid003", "done")])


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main()
