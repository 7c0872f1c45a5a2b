"""Four virtual nodes with two ranks each below a real Slurm: all well, a rank stopped, a rank killed, a node taken away,
a node drained, a job cancelled. One cluster serves all of them; what is lost comes back before the next."""
import os
import pathlib
import shutil
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from four_nodes_test import CLOCKS, WRONG_CLOCK, PerNode  # noqa: E402
from support import Run, check, ten_cases, wait_until  # noqa: E402

DEADLINE = 3
NODES = ("nid001", "nid002", "nid003", "nid004")
# Two ranks per node and as many processors: the nodes do not see that they share them.
BINDING = "-J=--cpu-bind=none"


class BelowSlurm(support.EndToEnd, PerNode):
    """Claims about runs in allocations; what has tests brings up the cluster."""

    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(4, slurm=vc.Shape())
        cls.cluster = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def new_run(self, checks, *options, nodes=4, salloc=(), env=None, **more):
        """A run whose driver salloc starts on the login node, and that finds all else by itself."""
        words = ["salloc", "--quiet", f"--nodes={nodes}", "--ntasks-per-node=2", *salloc]
        run = Run(checks, BINDING, *options, env={**self.environment(), **(env or {})},
                  wrapper=self.cluster.argv_on_login(words), **more)
        self.addCleanup(run.clean)
        return run

    def environment(self):
        return self.cluster.environment()

    def telling_srun(self):
        """An environment in which every srun leaves its arguments behind."""
        tools = self.cluster.folder / "tools"
        tools.mkdir(exist_ok=True)
        self.told = tools / "srun.log"
        self.told.write_text("")
        (tools / "srun").write_text(f'#!/bin/sh\necho "$@" >> {self.told}\nexec {shutil.which("srun")} "$@"\n')
        (tools / "srun").chmod(0o755)
        return {"PATH": f"{tools}:{os.environ['PATH']}"}

    def steps_that(self, what):
        """The sruns that asked nodes for that."""
        return [line for line in self.told.read_text().splitlines() if {"node", what} <= set(line.split())]

    def muster(self, *words, nodes=4):
        """What a command of muster's says in an allocation."""
        argv = ["salloc", "--quiet", f"--nodes={nodes}", "--ntasks-per-node=2", str(support.DRIVER), *words]
        return self.cluster.execute(vc.LOGIN, argv, capture_output=True, text=True, timeout=60)

    def assert_nodes_clean(self, nodes=NODES):
        """Only the holder and slurmd run on a node, and its /dev/shm is empty."""
        def left(node):
            words = [support.command_line(pid) for pid in self.cluster.processes(node)]
            return [line for line in words if "node_holder.py" not in line and ": slurmd -D" not in line]
        for node in nodes:
            self.assertTrue(wait_until(lambda: not left(node), 30), f"left on {node}: {left(node)}")
            files = self.cluster.execute(node, ["ls", "-A", "/dev/shm"], capture_output=True, text=True).stdout
            self.assertEqual(files, "", f"left in /dev/shm of {node}")

    def tell(self, run, case):
        print(f"  {run.seconds:.1f} s, status {run.status}, {case['verdict']}: {case['reason']}", flush=True)


class AllNodesThere(BelowSlurm):
    def setUp(self):
        self.addCleanup(self.end_jobs)

    def end_jobs(self):
        slurm_services.ask(self.cluster, "scancel", "--user=root")
        idle = wait_until(lambda: set(slurm_services.states(self.cluster).values()) <= {"idle", "drained"}, 20)
        self.assertTrue(idle, f"{slurm_services.states(self.cluster)}\n{slurm_services.last_words(self.cluster)}")

    def test_all_well(self):
        """Also with an environment that srun would not hand on (SLURM_EXPORT_ENV=NONE)."""
        run = self.new_run(check("hello", probe="hello") + ten_cases(how="none"), env={"SLURM_EXPORT_ENV": "NONE"})
        run.start()
        self.assertEqual(run.wait(40), 0, run.story())
        hello = run.case("hello")
        self.assertEqual((hello["verdict"], hello["nodes"], hello["ranks"]), ("pass", 4, 8), run.story())
        self.assertEqual([(row["node"], row["ranks"]) for row in hello["node_rows"]], [(node, 2) for node in NODES])
        self.assert_nine_passed(run)
        self.assertEqual(len(run.report()["launches"]), 1)
        launcher = run.report()["launches"][0]["launcher"]
        self.assertTrue(launcher.startswith("srun (Slurm"), launcher)
        self.assertLess(run.seconds, 15 * support.SLOWNESS, run.story())
        self.assert_clean(run)
        self.assert_nodes_clean()
        print(f"  {run.seconds:.1f} s for 11 cases", flush=True)

    def test_in_a_batch_job(self):
        """The driver is on the first of the nodes, below a task that has a rank's variables of its own."""
        script = self.cluster.folder / "batch"
        script.write_text('#!/bin/sh\nexec "$@"\n')
        run = Run(check("hello", probe="hello") + ten_cases(how="stop", rank=3, timeout=f"{DEADLINE}s"), BINDING,
                  env=self.environment(), wrapper=self.cluster.argv_on_login(
                      ["sbatch", "--wait", "--nodes=2", "--ntasks-per-node=2", "--output=/dev/null", script]))
        self.addCleanup(run.clean)
        run.start()
        self.assertEqual(run.wait(90), 1, run.story())
        self.assertEqual([row["node"] for row in run.case("hello")["node_rows"]], ["nid001", "nid002"], run.story())
        self.assertIn("rank 3 on nid002 is stopped", run.case("bad")["reason"], run.story())
        self.assert_nine_passed(run)
        self.assert_nodes_clean()

    def test_records_through_standard_output(self):
        """srun hands on whole lines only."""
        run = self.new_run(ten_cases(how="none"), env={"MUSTER_WIRE_ADDRESS": "none"})
        run.start()
        self.assertEqual(run.wait(40), 0, run.story())
        self.assert_nine_passed(run)
        print(f"  {run.seconds:.1f} s", flush=True)

    def test_lines_of_three_systems(self):
        """As their pages publish masks and the order of GPUs: OLCF user guide, LUMI documentation, NERSC's mask table."""
        published = {
            "frontier": ["--cpu-bind=mask_cpu:0xfe,0xfe00,0xfe0000,0xfe000000,0xfe00000000,0xfe0000000000,0xfe000000000000,"
                         "0xfe00000000000000 ", " --gpu-bind=map_gpu:4,5,2,3,6,7,0,1 "],
            "lumi": ["--cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00,0xfe00000000,"
                     "0xfe0000000000 "],
            "perlmutter": ["--cpu-bind=mask_cpu:0xffff000000000000ffff000000000000,0xffff000000000000ffff00000000,"
                           "0xffff000000000000ffff0000,0xffff000000000000ffff "],
        }
        for system, parts in published.items():
            with self.subTest(system=system):
                # The virtual nodes are small: the job's CPU count is overridden.
                words = ["salloc", "--quiet", "--nodes=2", "env", "SLURM_JOB_CPUS_PER_NODE=128(x2)", str(support.DRIVER), "plan", "--system", system,
                         "--agent", str(support.AGENT), "-n", "^cpu_affinity$"]
                done = self.cluster.execute(vc.LOGIN, words, capture_output=True, text=True, timeout=60)
                for part in parts:
                    self.assertIn(part, done.stdout, done.stderr)
                self.assertNotIn("--cpus-per-task", done.stdout)

    def test_masks_of_a_profile(self):
        """Set by slurmstepd for each task, whatever the script around muster requested for its own steps."""
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("this machine has one CPU")
        asked = [cpus[-1], cpus[0]]
        profile = self.cluster.folder / "profile.toml"
        profile.write_text('[system]\nname = "here"\n[[partition]]\nname = "p"\n[partition.node.bind]\npolicy = "compact"\n'
                           f'masks = ["{hex(1 << asked[0])}", "{hex(1 << asked[1])}"]\n')
        words = ["salloc", "--quiet", "--nodes=2", "--ntasks-per-node=2"]
        checks = check("affinity", probe="cpu_affinity", sharing="any", timeout="60s")
        run = Run(checks, str(profile), "--system", "here", wrapper=self.cluster.argv_on_login(words),
                  env={**self.environment(), "SLURM_CPUS_PER_TASK": "1", "SRUN_CPUS_PER_TASK": "1", "SLURM_CPU_BIND": "none"})
        self.addCleanup(run.clean)
        run.finish(60)
        self.assert_status(run, 0)
        masks = [row["facts"]["mask"] for row in run.case("affinity")["rank_rows"]]
        self.assertEqual(masks, [str(cpu) for cpu in asked] * 2, run.story())
        self.assertEqual({node["facts"]["binding"] for node in run.report()["nodes"]}, {"profile here, by the launcher"})

    def test_plan_and_doctor_say_what_they_found(self):
        plan = self.muster("plan", "-n", "hello", nodes=2)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertIn("launcher srun (Slurm, MPI types ", plan.stdout)
        self.assertRegex(plan.stdout, r"Slurm job \d+: nid\[001-002\]")
        self.assertIn("--mpi=pmix", plan.stdout)
        self.assertIn("--nodelist=nid[001-002]", plan.stdout)
        doctor = self.muster("doctor").stdout
        self.assertRegex(doctor, r"ok +allocation +Slurm job \d+, nid\[001-004\] \(4 nodes\), 2 tasks each")
        self.assertRegex(doctor, r"ok +a run starts ranks by +srun, inside an allocation")
        refused = self.muster("plan", "-n", "hello", "--nodes", "nid009")
        self.assertEqual(refused.returncode, 3)
        self.assertIn("nid009 is not in the allocation", refused.stderr)
        self.assertIn("--nodelist=nid001", self.muster("plan", "-n", "hello", "--nodes", "1").stdout)

    def test_without_an_allocation_srun_says_that_it_needs_one(self):
        run = Run(check("hello", probe="hello"), "--launcher", "srun", env=self.cluster.environment(),
                  wrapper=self.cluster.argv_on_login([]))
        self.addCleanup(run.clean)
        run.start()
        self.assertEqual(run.wait(20), 2, run.story())
        self.assertIn("needs an allocation", run.case("hello")["reason"])

    def test_an_agent_of_mpich_is_started_by_pmi2(self):
        if not support.AGENT_MPICH.exists():
            self.skipTest("there is no agent for MPICH")
        # Its ranks spin while they wait: one on each node, and time.
        run = self.new_run(check("hello", probe="hello", ranks=1, timeout="30s"), nodes=2, agent=support.AGENT_MPICH)
        run.start()
        run.wait(40)
        self.assertEqual(run.status, 0, run.story())
        self.assertIn("--mpi=pmi2", run.report()["launches"][0]["argv"])

    def test_rank_stopped(self):
        run = self.new_run(ten_cases(how="stop", rank=5, timeout=f"{DEADLINE}s"))
        run.start()
        self.assertEqual(run.wait(DEADLINE + 40), 1, run.story())
        case = run.case("bad")
        self.tell(run, case)
        self.assert_blames(run, case, 5, "nid003")
        self.assertIn("rank 5 on nid003 is stopped in work", case["reason"], run.story())
        self.assertIn("7 ranks wait for it", case["reason"], run.story())
        self.assert_nine_passed(run)
        self.assertLess(run.seconds, (DEADLINE + 15) * support.SLOWNESS, run.story())
        self.assert_clean(run)
        self.assert_nodes_clean()

    def test_rank_killed(self):
        run = self.new_run(ten_cases(how="kill", rank=6, timeout=f"{2 * DEADLINE}s"))
        run.start()
        self.assertEqual(run.wait(40), 1, run.story())
        case = run.case("bad")
        self.tell(run, case)
        self.assert_blames(run, case, 6, "nid004")
        self.assertIn("rank 6 on nid004 was killed by signal 9", case["reason"], run.story())
        self.assert_nine_passed(run)
        self.assert_clean(run)
        self.assert_nodes_clean()

    def test_rank_that_exits(self):
        run = self.new_run(ten_cases(how="exit", rank=1, timeout=f"{2 * DEADLINE}s"))
        run.start()
        self.assertEqual(run.wait(40), 1, run.story())
        case = run.case("bad")
        self.tell(run, case)
        self.assert_blames(run, case, 1, "nid001")
        self.assertIn("exited with status 3", case["reason"], run.story())
        self.assert_nine_passed(run)

    def test_per_node(self):
        """A rank stopped on one node: its own case fails, and that of no other node. Nodes are asked by one step."""
        tools = self.telling_srun()
        run = self.new_run(ten_cases(how="stop", rank=1, node="nid003", timeout=f"{DEADLINE}s"), "--per-node", env=tools)
        run.start()
        self.assertEqual(run.wait(DEADLINE + 60), 1, run.story())
        self.assert_by_node(run, "bad", ["nid003"])
        for name in ("a", "c"):
            self.assert_by_node(run, name)
        case = self.of_node(run, "bad", "nid003")
        self.tell(run, case)
        self.assertIn("rank 5 on nid003 is stopped in work", case["reason"], run.story())
        for what in ("inventory", "autopsy", "clean"):
            asked = self.steps_that(what)
            self.assertEqual(len(asked), 1, asked)
            self.assertIn("--nodes=4 --ntasks=4", asked[0])
        self.assert_clean(run)
        self.assert_nodes_clean()

    def test_a_clock_ten_seconds_off(self):
        run = self.new_run(CLOCKS, env={"LD_PRELOAD": str(WRONG_CLOCK), "WRONG_CLOCK_HOST": "nid002", "WRONG_CLOCK_S": "-10"})
        run.start()
        self.assertEqual(run.wait(60), 1, run.story())
        case = run.case("clocks")
        self.tell(run, case)
        self.assertEqual([culprit.get("node") for culprit in case["culprits"]], ["nid002"], run.story())
        self.assertRegex(case["reason"], r"clock of nid002 is (10|9\.99\d*|10\.0\d*) s behind the median")

    def test_a_drained_node_is_not_asked_for(self):
        slurm_services.drain(self.cluster, "nid002")
        self.addCleanup(slurm_services.resume, self.cluster, "nid002")
        run = self.new_run(check("hello", probe="hello"), nodes=3)
        run.start()
        self.assertEqual(run.wait(40), 0, run.story())
        self.assertEqual([row["node"] for row in run.case("hello")["node_rows"]], ["nid001", "nid003", "nid004"])

    def test_a_node_that_is_silent_from_the_start(self):
        """The allocation has it, but its slurmd is dead."""
        slurm_services.kill_slurmd(self.cluster, "nid002")
        self.addCleanup(slurm_services.start_slurmd, self.cluster, "nid002")
        run = self.new_run(check("hello", probe="hello"))
        run.start()
        self.assertEqual(run.wait(60), 1, run.story())
        lost = [one for one in run.report()["cases"] if one["id"] == "node%nid002"]
        self.assertEqual([one["verdict"] for one in lost], ["fail"], run.story())
        self.tell(run, lost[0])
        hello = run.case("hello")
        self.assertEqual((hello["verdict"], [row["node"] for row in hello["node_rows"]]),
                         ("pass", ["nid001", "nid003", "nid004"]), run.story())

    def test_a_cancelled_job(self):
        """Nobody's fault, and nothing more can be asked."""
        run = self.new_run(ten_cases(how="hang", rank=0, timeout="60s", marker="MARKER"))
        run.until_marker(30)
        slurm_services.ask(self.cluster, "scancel", "--user=root")
        self.assertEqual(run.wait(40), 2, run.story())
        case = run.case("bad")
        self.tell(run, case)
        self.assertEqual(case["verdict"], "unmeasured", run.story())
        self.assertIn("was cancelled", case["reason"], run.story())
        self.assertEqual([one["verdict"] for one in run.cases("a")], ["pass"] * 5, run.story())
        for one in run.cases("c"):
            self.assertEqual(one["verdict"], "error", run.story())
            self.assertRegex(one["reason"], "the job around muster(: it)? has ended", run.story())
        # Nodes of a job that is gone can't be reached: watchdogs wait half a minute for a driver, and where Slurm has ended
        # them, too, flight recorders stay until a later run on the node drops them.
        self.assertTrue(wait_until(lambda: not run.processes(), 120 * support.SLOWNESS), run.leftovers())
        self.assert_clean(run)
        for node in NODES:
            self.cluster.execute(node, ["sh", "-c", "rm -rf /dev/shm/muster-*"])
        self.assert_nodes_clean()


class NodesGone(BelowSlurm):
    """Each takes a node away for good."""

    def lose(self, node, act, *salloc):
        run = self.new_run(ten_cases(how="slow", seconds=f"{DEADLINE - 1}s", timeout=f"{DEADLINE}s", rank=0, marker="MARKER"),
                           salloc=salloc)
        run.until_marker(30)
        act(node)
        run.wait(DEADLINE + 60)
        case = run.case("bad")
        self.tell(run, case)
        self.assertEqual(run.status, 1, run.story())
        self.assertEqual(case["verdict"], "fail", run.story())
        self.assertIn(node, [culprit["node"] for culprit in case["culprits"]], run.story())
        self.assertIn(node, case["reason"], run.story())
        self.assert_nine_passed(run)
        self.assertEqual([row["node"] for row in run.cases("c")[0]["node_rows"]], [one for one in NODES if one != node])
        self.assertEqual(run.leftovers(), [], run.story())
        self.assert_nodes_clean([one for one in NODES if one != node])

    def test_a_node_without_power(self):
        """Slurm does not know yet, and would not for five minutes."""
        self.lose("nid003", self.cluster.remove)


class NodesGonePerNode(BelowSlurm):
    """The node that dies takes its own cases along, and no other's."""

    def test_a_node_without_power(self):
        run = self.new_run(ten_cases(how="slow", seconds=f"{DEADLINE - 1}s", timeout=f"{DEADLINE}s", rank=0, node="nid001",
                                     marker="MARKER"), "--per-node", env=self.telling_srun())
        run.until_marker(30)
        self.cluster.remove("nid003")
        self.assertEqual(run.wait(DEADLINE + 60), 1, run.story())
        self.assert_by_node(run, "a")
        for name in ("bad", "c"):
            self.assert_by_node(run, name, ["nid003"])
        case = self.of_node(run, "bad", "nid003")
        self.tell(run, case)
        self.assertIn("nid003", case["reason"], run.story())
        together, *alone = self.steps_that("autopsy")
        self.assertIn("--nodes=4", together)
        self.assertEqual(["--nodelist=nid003" in line for line in alone], [True], "the others have answered together")
        self.assertEqual(run.leftovers(), [], run.story())
        self.assert_nodes_clean([node for node in NODES if node != "nid003"])


class NodesGivenUp(NodesGone):
    def test_a_node_without_power(self):
        """Slurm knows at once, and ends the step on all nodes."""
        def gone(node):
            self.cluster.remove(node)
            slurm_services.down(self.cluster, node)
        self.lose("nid003", gone, "--no-kill")


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("mpirun", "srun"))
