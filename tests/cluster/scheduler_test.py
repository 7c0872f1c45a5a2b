"""The Slurm of a virtual cluster itself: jobs run, faults are faults, and nothing is left however it ends."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402

SLOWNESS = float(os.environ.get("MUSTER_TEST_SLOWNESS", "1"))


def wait_until(claim, seconds=15.0):
    deadline = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        began = time.monotonic()
        cls.context = vc.running(4, slurm=vc.Shape(gpus=4))
        cls.cluster = cls.context.__enter__()
        cls.seconds = time.monotonic() - began

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def tearDown(self):
        slurm_services.ask(self.cluster, "scancel", "--state=RUNNING,PENDING", "--user=root")
        self.wait_for_state("idle", *self.cluster.names)

    def wait_for_state(self, state, *names):
        self.assertTrue(wait_until(lambda: all(slurm_services.states(self.cluster)[name] == state for name in names)),
                        f"{slurm_services.states(self.cluster)}\n{slurm_services.last_words(self.cluster)}")

    def say(self, *words, node=vc.LOGIN, status=0, **options):
        done = self.cluster.execute(node, words, capture_output=True, text=True, timeout=60, **options)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def submit(self, script, *options):
        """A batch job's number."""
        return self.say("sbatch", "--parsable", "--output=/dev/null", *options, f"--wrap={script}").strip()

    def state_of(self, job):
        return self.say("squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={job}").strip()

    def has_sleeping_process(self):
        """Of a job that has really begun: Slurm 22.05 may never end one that it ends while slurmd starts it."""
        for pid in (pid for name in self.cluster.names for pid in self.cluster.processes(name)):
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "sleep":
                    return True
        return False

    def test_it_comes_up_within_five_seconds(self):
        self.assertLess(self.seconds, 5 * SLOWNESS)

    def test_a_step_has_a_task_on_every_node_and_a_pmix_of_its_own(self):
        told = self.say("salloc", "--quiet", "--nodes=4", "--ntasks-per-node=2", "srun", "sh", "-c",
                        'echo $(hostname) $SLURM_NODEID $PMIX_RANK $SLURM_MPI_TYPE')
        rows = sorted(line.split() for line in told.splitlines())
        self.assertEqual([row[0] for row in rows], [name for name in self.cluster.names for _ in range(2)])
        self.assertEqual(sorted(row[2] for row in rows), [str(rank) for rank in range(8)])
        self.assertEqual({row[3] for row in rows}, {"pmix"})

    def test_commands_work_on_login_in_nodes_and_in_jobs(self):
        for node in (vc.LOGIN, "nid002"):
            self.assertIn("standard*", self.say("sinfo", node=node))
        self.assertEqual(self.say("srun", "--nodelist=nid003", "scontrol", "show", "hostnames", "nid[001-002]").split(),
                         ["nid001", "nid002"])
        on_node = self.cluster.execute(vc.LOGIN, [self.cluster.agent, "nid001", "squeue --noheader"])
        self.assertEqual(on_node.returncode, 0)

    def test_gpus_are_granted(self):
        told = self.say("srun", "--nodes=2", "--gpus-per-node=3", "sh", "-c", "echo $SLURM_STEP_GPUS/$CUDA_VISIBLE_DEVICES")
        self.assertEqual(told.split(), ["0,1,2/0,1,2"] * 2)

    def test_a_drained_node_is_in_no_allocation(self):
        slurm_services.drain(self.cluster, "nid002", "fan is loud")
        try:
            self.assertIn("fan is loud", self.say("sinfo", "--list-reasons", "--format=%E %N"))
            self.assertEqual(self.say("salloc", "--quiet", "--nodes=3", "printenv", "SLURM_JOB_NODELIST").strip(),
                             "nid[001,003-004]")
        finally:
            slurm_services.resume(self.cluster, "nid002")

    def test_a_dead_slurmd_starts_nothing_and_can_be_started_again(self):
        slurm_services.kill_slurmd(self.cluster, "nid004")
        try:
            with self.assertRaises(vc.ClusterError):
                slurm_services.kill_slurmd(self.cluster, "nid004")
            done = slurm_services.ask(self.cluster, "timeout", "30", "srun", "--nodelist=nid004", "hostname")
            self.assertNotEqual(done.returncode, 0, done.stdout)
        finally:
            slurm_services.start_slurmd(self.cluster, "nid004")
        self.wait_for_state("idle", "nid004")
        self.assertEqual(self.say("srun", "--nodelist=nid004", "hostname"), "nid004\n")

    def test_a_job_is_cancelled_and_another_requeued(self):
        job = self.submit("sleep 60")
        self.assertTrue(wait_until(self.has_sleeping_process), self.state_of(job))
        self.say("scancel", job)
        self.assertTrue(wait_until(lambda: self.state_of(job) == "CANCELLED"), self.state_of(job))
        self.assertTrue(wait_until(lambda: not self.has_sleeping_process()))
        job = self.submit("sleep 60")
        self.assertTrue(wait_until(self.has_sleeping_process), self.state_of(job))
        self.say("scontrol", "requeue", job)
        self.assertTrue(wait_until(lambda: self.state_of(job) in ("PENDING", "COMPLETING")), self.state_of(job))
        self.assertIn("Restarts=1", self.say("scontrol", "show", "job", job))

    def test_a_node_that_is_said_to_be_down_ends_its_jobs(self):
        job = self.submit("srun sleep 60", "--nodes=2", "--nodelist=nid[001-002]", "--no-requeue")
        self.assertTrue(wait_until(self.has_sleeping_process), self.state_of(job))
        slurm_services.down(self.cluster, "nid002")
        self.assertTrue(wait_until(lambda: self.state_of(job) == "NODE_FAIL"), self.state_of(job))
        # Its slurmd lives: what is down goes into service again when that has nothing left to end.
        self.assertTrue(wait_until(lambda: slurm_services.states(self.cluster)["nid002"] != "down*"))


class Ends(unittest.TestCase):
    def test_a_killed_owner_leaves_nothing(self):
        """Of a cluster with a job on its nodes, whose daemons and tasks are in sessions of their own."""
        before = set(map(str, pathlib.Path("/sys/fs/cgroup").rglob("*slurm*")))
        script = "salloc -N 2 --ntasks-per-node=1 srun sh -c 'setsid sleep 62 & sleep 61'"
        outer = subprocess.Popen([HERE / "cluster", "with", "2", "--slurm", "--name", "slurm-ends", "--", "sh", "-c", script],
                                 stderr=subprocess.DEVNULL)
        try:
            self.assertTrue(wait_until(lambda: "slurm-ends" in vc.recorded(vc.state_root())))
            cluster = vc.Cluster.load("slurm-ends")
            # Its holder, slurmd, two of slurmstepd, shell and two sleepers.
            self.assertTrue(wait_until(lambda: vc.Cluster.load("slurm-ends").state["nodes"]["nid002"]["network"] and
                                       len(vc.Cluster.load("slurm-ends").processes("nid002")) >= 6))
            networks = {node["network"] for node in vc.Cluster.load("slurm-ends").state["nodes"].values()}
        finally:
            outer.send_signal(signal.SIGKILL)
            outer.wait()

        def left():
            return [pid for pid in vc.every_pid() if vc.network_of(pid) in networks or
                    vc.environment_of(pid).get(vc.TOKEN) == cluster.state["token"]]
        self.assertTrue(wait_until(lambda: not left() and "slurm-ends" not in vc.recorded(vc.state_root())), left())
        self.assertTrue(wait_until(lambda: not cluster.folder.exists()), cluster.folder)
        self.assertEqual([line for line in pathlib.Path("/proc/mounts").read_text().splitlines() if "slurm" in line], [])
        self.assertEqual(set(map(str, pathlib.Path("/sys/fs/cgroup").rglob("*slurm*"))) - before, set())


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    support.isolate()
    support.run_tests()
