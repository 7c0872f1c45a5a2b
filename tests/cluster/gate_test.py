"""`muster gate` in a real Slurm of six virtual nodes: the good ones are chosen, whatever is wrong with the others.

Nodes share the cores of this machine, so that no probe judges their timing: who is slow is seen from what pairs of nodes
reach beside each other. One cluster serves all tests; what is broken is mended before the next."""
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_gate import GateRun  # noqa: E402
from support import check, wait_until  # noqa: E402

NODES = tuple(f"nid00{i}" for i in range(1, 7))
SLOW, LACKING = "nid003", "nid005"
GOOD = [node for node in NODES if node not in (SLOW, LACKING)]
HEALTHY, FIFTH, CRAWLING = "200mbit", "40mbit", "20mbit"
CREEPING = "2mbit"  # one round of p2p_short takes all of its time
# Arrays as large as the caches of a real node would fill the memory of the one machine that is here six times.
SMALL = ("-S", "memory_bandwidth_short.bytes=4MiB")
HELLO = check("hello", probe="hello", ranks=1, timeout="20s")


class Kept:
    """What all tests use."""

    cluster = env = None


def setUpModule():
    context = vc.running(6, slurm=vc.Shape())
    Kept.cluster = context.__enter__()
    unittest.addModuleCleanup(context.__exit__, None, None, None)
    folder = support.new_folder()
    unittest.addModuleCleanup(shutil.rmtree, folder)
    subprocess.run([support.DRIVER, "machine", "dgx-h100", "--write", folder / "machine", "--nodes", ",".join(NODES), "--fault",
                    f"gpu_missing@{LACKING}"], check=True, stdout=subprocess.DEVNULL)
    Kept.env = {"MUSTER_MACHINE": str(folder / "machine"), "MUSTER_DRIVERS": str(support.STAND_INS)}


class SixNodes(support.EndToEnd):
    def setUp(self):
        self.cluster = Kept.cluster
        self.slowed = []
        self.addCleanup(self.mend)

    def slow(self, rate, *nodes):
        for node in nodes:
            self.cluster.slow(node, rate)
        self.slowed += nodes

    def mend(self):
        slurm_services.ask(self.cluster, "scancel", "--user=root")
        for node in set(self.slowed):
            self.cluster.heal(node)
        idle = wait_until(lambda: set(slurm_services.states(self.cluster).values()) <= {"idle"}, 30, interval=0.2)
        self.assertTrue(idle, f"{slurm_services.states(self.cluster)}\n{slurm_services.last_words(self.cluster)}")

    def new_gate(self, checks, *options, job=("salloc", "--quiet", "--nodes=6", "--ntasks-per-node=1"), env=None, **more):
        run = GateRun(checks, *options, wrapper=self.cluster.argv_on_login(job),
                      env={**self.cluster.environment(), **(env or {})}, **more)
        if "MUSTER_MACHINE" in (env or {}):
            run.argv.insert(run.argv.index("gate") + 1, "--simulated")
        # Nodes do not see that they share processors.
        run.argv.insert(run.argv.index("gate") + 1, "-J=--cpu-bind=none" if job else "-J=--oversubscribe")
        self.addCleanup(run.clean)
        return run

    def gate(self, checks, *options, limit=60, **more):
        run = self.new_gate(checks, *options, **more)
        run.finish(limit)
        print(f"  {run.seconds:.1f} s, status {run.status}: {run.stderr.strip()}", flush=True)
        self.assertEqual(run.left, [], run.story())
        return run

    def assert_started_on(self, run, nodes):
        self.assertEqual((run.status, sorted(run.stdout.split())), (0, sorted(nodes)), run.story())


class OneSlowOneLacking(SixNodes):
    """What the gate is for: one node with a slow link, one with a GPU less."""

    def setUp(self):
        super().setUp()
        # All have a rate that two busy cores reach, too: else it is their load that makes nodes differ.
        self.slow(HEALTHY, *GOOD, LACKING)
        self.slow(CRAWLING, SLOW)
        self.env = Kept.env

    def test_srun_starts_on_the_four_good_nodes(self):
        run = self.gate("", need=4, env=self.env, command=["srun", "hostname"])
        self.assert_started_on(run, GOOD)
        self.assertLess(run.seconds, 30 * support.SLOWNESS, run.story())
        self.assertIn(f"{SLOW}: connections: reaches at most", run.stderr)
        self.assertIn(f"{LACKING}: device_visibility: 7 GPUs can be used on {LACKING}", run.stderr)
        self.assertIn("4 nodes good: nid[001-002,004,006]", run.stderr)
        self.assertEqual([len(report["launches"]) for report in run.reports()], [1], "one launch")

    def test_five_are_not_there(self):
        run = self.gate("", "--print", "json", need=5, env=self.env)
        told = json.loads(run.stdout)
        self.assertEqual((run.status, told["verdict"], told["chosen"], told["spare"]), (125, "refused", [], GOOD), run.story())
        self.assertEqual({one["node"]: one["check"] for one in told["not_good"]},
                         {SLOW: "connections", LACKING: "device_visibility"})
        self.assertIn("refused: 4 of 6 nodes are good, 5 are needed; request 1 node more, without nid[003,005]", run.stderr)

    def test_master_addr_never_names_a_rejected_node(self):
        told = ["sh", "-c", "echo $MASTER_ADDR"]
        for given, wanted in ((LACKING, GOOD[0]), (f"{LACKING}-hsn0", GOOD[0]), (GOOD[1], GOOD[1])):
            run = self.gate("", need=4, env={**self.env, "MASTER_ADDR": given}, command=told)
            self.assertEqual((run.status, run.stdout), (0, f"{wanted}\n"), run.story())
        for given in (LACKING.upper(), f"{LACKING}:29500", LACKING):
            run = self.gate("", "--no-master", need=4, env={**self.env, "MASTER_ADDR": given}, command=told)
            self.assertEqual((run.status, run.stdout), (125, ""), run.story())
            self.assertIn(f"MASTER_ADDR={given} names {LACKING}, which the gate did not choose", run.stderr)
        self.assertEqual((run.run_folder() / "exclude").read_text(), f"{SLOW},{LACKING}\n")

    def test_what_reads_the_environment(self):
        """mpirun of Open MPI, and a script, whose srun counts tasks as if the job had these nodes alone."""
        run = self.gate("", need=3, env=self.env, command=["mpirun", "hostname"])
        self.assertEqual((run.status, len(set(run.stdout.split()))), (0, 3), run.story())
        self.assertLess(set(run.stdout.split()), set(GOOD))
        script = 'echo $SLURM_JOB_NODELIST $SLURM_NNODES $SLURM_NTASKS >&2; srun --nodelist=$MUSTER_NODELIST hostname'
        run = self.gate("", need=4, env=self.env, command=["sh", "-c", script])
        self.assert_started_on(run, GOOD)
        self.assertIn("nid[001-002,004,006] 4 4\n", run.stderr)
        self.assertIn("--nodelist=$MUSTER_NODELIST", run.stderr)


class AllGood(SixNodes):
    def test_nobody_is_refused(self):
        """Links as fast as memory, and links that are slow alike."""
        self.assert_started_on(self.gate("", *SMALL, need=6, command=["srun", "hostname"]), NODES)
        self.slow(HEALTHY, *NODES)
        self.assert_started_on(self.gate("", *SMALL, need=6, command=["srun", "hostname"]), NODES)

    def test_a_fifth_of_the_others_is_slow(self):
        self.slow(HEALTHY, *NODES)
        self.slow(FIFTH, SLOW)
        run = self.gate("", *SMALL, need=5, command=["srun", "hostname"])
        self.assert_started_on(run, [node for node in NODES if node != SLOW])

    def test_slow_with_the_only_partner_that_it_had(self):
        """Either of the two may be the slow one: it is the one that is not well with others."""
        self.slow(CREEPING, SLOW)
        run = self.gate("", *SMALL, need=5, command=["srun", "hostname"])
        self.assert_started_on(run, [node for node in NODES if node != SLOW])
        self.assertRegex(run.stderr, f"{SLOW}: (not known to be good: )?connections: reaches at most")
        again = [case["check"] for case in run.reports()[-1]["cases"]]
        self.assertEqual(again, ["p2p_short"], run.story())
        # A third where load makes another node slow in the second.
        self.assertIn(len(run.reports()), (2, 3), run.story())

    def test_slow_for_a_while(self):
        """Needed, so it is measured again before it is refused."""
        self.slow(HEALTHY, *NODES)
        self.slow(CRAWLING, SLOW)
        run = self.new_gate("", *SMALL, need=6, command=["srun", "hostname"])
        run.start()
        report = wait_until(lambda: [path for path in run.output.glob("*/report.json") if not path.parent.is_symlink()], 60, interval=0.05)
        self.cluster.slow(SLOW, HEALTHY)
        run.wait(60)
        self.assertTrue(report, run.story())
        self.assert_started_on(run, NODES)
        self.assertEqual(len(run.reports()), 2, run.story())

    def test_the_commands_own_end(self):
        run = self.gate(HELLO, need=2, command=["srun", "sh", "-c", "exit 9"])
        self.assertEqual(run.status, 9, run.story())

    def test_srun_that_chooses_nodes_itself(self):
        run = self.gate(HELLO, need=2, command=["srun", "--nodelist=nid003", "hostname"], limit=20)
        self.assertEqual((run.status, run.stdout), (125, ""), run.story())
        self.assertIn("--nodelist chooses nodes", run.stderr)
        run = self.gate(HELLO, need=7, command=["srun", "hostname"], limit=20)
        self.assertEqual(run.status, 125, run.story())
        self.assertRegex(run.stderr, r"7 nodes are needed, and 6 are there \(Slurm job \d+\)")

    def test_the_ranks_of_the_users_line(self):
        """RANK of the batch script on all nodes: no node is to be excluded. Sizes may be those of the job without its spare nodes."""
        variables = "RANK={} WORLD_SIZE={} MASTER_ADDR=nid001 MASTER_PORT=29511"
        line = f"srun --ntasks-per-node=1 --cpu-bind=none bash -c 'export {variables}; python3 train.py'"
        others = "^(p2p|gpu|device|network|memory|cpu)"
        for rank, size, status in (("$SLURM_PROCID", 4, 0), ("$SLURM_PROCID", 6, 0), ("$SLURM_PROCID", 5, 125), ("0", 4, 125)):
            run = self.new_gate("", "--launch", line.format(rank, size), "-x", others, need=4, command=["srun", "hostname"])
            run.argv.remove("-J=--cpu-bind=none")
            run.finish(60)
            print(f"  {run.seconds:.1f} s, status {run.status}: {run.stderr.strip()}", flush=True)
            self.assertEqual((run.status, len(run.stdout.split())), (status, 4 if status == 0 else 0), run.story())
            if status:
                self.assertIn("environment: " + ("RANK" if rank == "0" else "WORLD_SIZE") + " is", run.stderr)
                self.assertIn("no node is at fault", run.stderr)
                self.assertEqual((run.run_folder() / "exclude").read_text(), "")
        # Sent on by the gate, not by the line: that of a node which the gate replaces for the command, too.
        line = "srun --ntasks-per-node=1 --cpu-bind=none"
        run = self.new_gate("", "--launch", line, "-x", others, need=4, env={"MASTER_ADDR": "elsewhere.invalid"}, command=["sh", "-c", "echo $MASTER_ADDR"])
        run.argv.remove("-J=--cpu-bind=none")
        run.finish(60)
        self.assertEqual((run.status, run.stdout), (0, "nid001\n"), run.story())

    def test_without_a_scheduler(self):
        run = self.gate(HELLO, "--nodes", "nid[001-003]", need=2, job=(),
                        command=["mpirun", "--oversubscribe", "-n", "2", "--map-by", "node", "hostname"])
        self.assert_started_on(run, ["nid001", "nid002"])


class Hanging(SixNodes):
    """What one node does takes none of the others with it."""

    def test_a_rank_that_is_stopped(self):
        checks = HELLO + check("bad", ranks=1, how="stop", rank=2, node=SLOW, timeout="3s") + check("after", ranks=1, number=1)
        run = self.gate(checks, need=5, command=["srun", "hostname"])
        self.assert_started_on(run, [node for node in NODES if node != SLOW])
        self.assertIn(f"rank 2 on {SLOW} is stopped", run.stderr)
        self.assertEqual([case["check"] for case in run.reports()[1]["cases"]], ["bad"], "only what was open again")

    def test_a_node_that_can_not_prepare(self):
        """All others have waited for it, and did not run."""
        run = self.gate(HELLO + check("bad", ranks=1, how="fail_prepare", node=SLOW, timeout="5s"), need=5,
                        command=["srun", "hostname"])
        self.assert_started_on(run, [node for node in NODES if node != SLOW])
        self.assertIn("can't prepare, on purpose", run.stderr)

    def test_a_node_that_is_silent(self):
        slurm_services.kill_slurmd(self.cluster, LACKING)
        self.addCleanup(slurm_services.start_slurmd, self.cluster, LACKING)
        run = self.gate(HELLO, need=5, command=["srun", "hostname"])
        self.assert_started_on(run, [node for node in NODES if node != LACKING])
        self.assertIn(f"{LACKING}: node: {LACKING} does not answer", run.stderr)


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("mpirun", "srun"))
