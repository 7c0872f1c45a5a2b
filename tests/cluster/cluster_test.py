"""The virtual cluster itself: nodes are apart, faults are faults, and nothing is left however it ends."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import page_commands  # noqa: E402
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402


def wait_until(claim, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def links_of(index):
    return [line for line in vc.run("ip", "-o", "link").splitlines() if f"vcbr{index}:" in line or f"vc{index}n" in line]


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(2)
        cls.cluster = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def output(self, node, *argv):
        return self.cluster.execute(node, argv, capture_output=True, text=True, timeout=20).stdout.strip()

    def agent(self, caller, host, command="hostname"):
        return self.cluster.execute(caller, [self.cluster.agent, "-x", "-o", "A=b", host, command],
                                    capture_output=True, text=True, timeout=20)

    def test_nodes_have_names_addresses_and_local_storage_of_their_own(self):
        self.assertEqual(self.output("nid001", "hostname"), "nid001")
        self.assertEqual(self.output("nid002", "hostname"), "nid002")
        self.output("nid001", "sh", "-c", "echo mine > /dev/shm/it; echo mine > $TMPDIR/it")
        self.assertEqual(self.output("nid001", "sh", "-c", "cat /dev/shm/it $TMPDIR/it"), "mine\nmine")
        self.assertEqual(self.output("nid002", "sh", "-c", "ls /dev/shm $TMPDIR | grep it"), "")

    def test_the_agent_reaches_every_node_from_login_and_from_a_node(self):
        for caller in (vc.LOGIN, "nid001", "nid002"):
            for host in ("nid001", "nid002", self.cluster.node("nid002")["address"]):
                self.assertIn(self.agent(caller, host).stdout.strip(), ("nid001", "nid002"))
        self.assertEqual(self.agent("nid001", "nid002", "exit 7").returncode, 7)

    def test_the_agent_hands_on_no_environment(self):
        done = self.cluster.execute("nid001", [self.cluster.agent, "nid002", "env"], env={"SECRET_OF_MINE": "1"},
                                    capture_output=True, text=True)
        self.assertIn("SSH_CONNECTION", done.stdout)
        self.assertNotIn("SECRET_OF_MINE", done.stdout)

    def test_an_unknown_host_is_refused_as_ssh_does(self):
        done = self.agent(vc.LOGIN, "nid099")
        self.assertEqual(done.returncode, 255)
        self.assertIn("Could not resolve hostname nid099", done.stderr)

    def test_a_cut_link_is_felt_from_outside_and_from_a_node_and_can_be_healed(self):
        self.cluster.cut("nid002")
        for caller in (vc.LOGIN, "nid001"):
            began = time.monotonic()
            done = self.agent(caller, "nid002")
            self.assertEqual(done.returncode, 255)
            self.assertIn("connect to host nid002", done.stderr)
            self.assertLess(time.monotonic() - began, 6)
        self.cluster.heal("nid002")
        self.assertTrue(wait_until(lambda: self.agent("nid001", "nid002").returncode == 0))

    def test_a_slow_link_is_slow_and_can_be_healed(self):
        self.cluster.slow("nid002", "10mbit")
        self.assertIn("10Mbit", vc.run("tc", "qdisc", "show", "dev", self.cluster.link("nid002")))
        self.assertIn("10Mbit", self.output("nid002", "tc", "qdisc", "show", "dev", "eth0"))
        self.cluster.heal("nid002")
        self.assertNotIn("tbf", vc.run("tc", "qdisc", "show", "dev", self.cluster.link("nid002")))

    def test_a_link_may_be_slow_one_way_only(self):
        for way in ("sends", "receives"):
            self.cluster.slow("nid002", "10mbit", way)
            inside = self.output("nid002", "tc", "qdisc", "show", "dev", "eth0")
            outside = vc.run("tc", "qdisc", "show", "dev", self.cluster.link("nid002"))
            self.assertEqual(("10Mbit" in inside, "10Mbit" in outside), (way == "sends", way == "receives"))
            self.cluster.heal("nid002")

    def test_a_node_set_apart_has_a_boot_of_its_own(self):
        def boot(node):
            return self.output(node, "cat", "/proc/sys/kernel/random/boot_id")
        self.assertEqual(boot("nid001"), boot("nid002"))
        self.cluster.set_apart("nid002")
        self.assertNotEqual(boot("nid001"), boot("nid002"))
        self.assertEqual(boot("nid001"), pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip())

    def test_a_filled_path_takes_no_byte_and_only_on_that_node(self):
        folder = self.output("nid001", "sh", "-c", "echo $TMPDIR/full-disk")
        self.cluster.fill("nid001", folder, "256k")
        self.assertNotEqual(self.cluster.execute("nid001", ["sh", "-c", f"echo x > {folder}/more"],
                                                 stderr=subprocess.DEVNULL).returncode, 0)
        self.assertEqual(self.cluster.execute("nid002", ["sh", "-c", "echo x > $TMPDIR/more"]).returncode, 0)

    def test_a_rank_is_found_by_tag_and_number_and_stopped(self):
        env = {"MUSTER_TAG": "cluster-test", "OMPI_COMM_WORLD_RANK": "1"}
        words = self.cluster.argv_in("nid002", ["sleep", "60"])
        rank = subprocess.Popen(words, env={**os.environ, **env})
        try:
            self.assertTrue(wait_until(lambda: vc.network_of(rank.pid) == self.cluster.node("nid002")["network"]))
            self.assertEqual(vc.find_rank("cluster-test", 1), rank.pid)
            subprocess.run([HERE / "cluster", "stop", "--rank", "1", "--tag", "cluster-test"], check=True)
            state = lambda: pathlib.Path(f"/proc/{rank.pid}/stat").read_text().rpartition(")")[2].split()[0]  # noqa: E731
            self.assertTrue(wait_until(lambda: state() == "T"))
            subprocess.run([HERE / "cluster", "kill", "--rank", "1", "--tag", "cluster-test"], check=True)
            self.assertEqual(rank.wait(10), -signal.SIGKILL)
            with self.assertRaises(vc.ClusterError):
                vc.find_rank("cluster-test", 1)
        finally:
            rank.kill()
            rank.wait()


class Ends(unittest.TestCase):
    def test_a_removed_node_is_gone_with_all_that_ran_on_it(self):
        with vc.running(2) as cluster:
            work = subprocess.Popen(cluster.argv_in("nid002", ["sh", "-c", "setsid sleep 60 & sleep 60"]))
            self.assertTrue(wait_until(lambda: len(cluster.processes("nid002")) >= 4))
            cluster.remove("nid002")
            self.assertEqual(cluster.processes("nid002"), [])
            self.assertEqual(work.wait(10), -signal.SIGKILL)
            with self.assertRaises(vc.ClusterError):
                cluster.holder("nid002")
            done = subprocess.run([cluster.agent, "nid002", "true"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 255)

    def test_two_clusters_at_once_keep_apart(self):
        with vc.running(1, "one") as first, vc.running(1, "two") as second:
            self.assertNotEqual(first.subnet, second.subnet)
            self.assertEqual(second.execute("nid001", ["hostname"], capture_output=True, text=True).stdout, "nid001\n")
            with self.assertRaises(vc.ClusterError):
                vc.up(1, "one")
        self.assertEqual(links_of(first.index) + links_of(second.index), [])

    def with_command(self, *signals):
        """`cluster with 1` around a program that forks away from its session; ended by the signals."""
        script = 'setsid sleep 61 & sleep 60'
        outer = subprocess.Popen([HERE / "cluster", "with", "1", "--name", "ends", "--", "sh", "-c", script])
        self.assertTrue(wait_until(lambda: "ends" in vc.recorded(vc.state_root()) and self.token_holders() >= 3))
        self.index = vc.Cluster.load("ends").index
        for number in signals:
            outer.send_signal(number)
        return outer

    def token_holders(self):
        self.token = vc.Cluster.load("ends").state["token"]
        return sum(vc.environment_of(pid).get(vc.TOKEN) == self.token for pid in vc.every_pid())

    def nothing_left(self):
        return ("ends" not in vc.recorded(vc.state_root()) and links_of(self.index) == [] and
                not any(vc.environment_of(pid).get(vc.TOKEN) == self.token for pid in vc.every_pid()))

    def test_status_of_the_command_is_handed_on(self):
        done = subprocess.run([HERE / "cluster", "with", "1", "--", "sh", "-c", "test $(hostname) = vclogin && exit 5"])
        self.assertEqual(done.returncode, 5)

    def test_a_signal_takes_the_cluster_down(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            outer = self.with_command(number)
            self.assertEqual(outer.wait(20), 128 + number)
            self.assertTrue(self.nothing_left())

    def test_a_killed_owner_leaves_nothing(self):
        outer = self.with_command(signal.SIGKILL)
        outer.wait()
        self.assertTrue(wait_until(self.nothing_left), "the guard did not clean up")

    def test_what_a_dead_owner_left_is_swept_by_the_next(self):
        gone = subprocess.Popen(["true"])
        cluster = vc.up(1, "stale", owner=os.getpid())
        cluster.state["owner"] = {"pid": gone.pid, "ticks": 1}
        gone.wait()
        cluster.save()
        with vc.running(1):
            self.assertNotIn("stale", vc.recorded(vc.state_root()))
        self.assertEqual(links_of(cluster.index), [])


class Page(unittest.TestCase):
    """docs/proving-ground.md, typed as it stands there by root, fence by fence, in a folder that looks like a checkout. Clusters of others
    are recorded elsewhere."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-page-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        (self.folder / "tests").symlink_to(page_commands.SOURCE / "tests")
        (self.folder / "checks/devices").mkdir(parents=True)
        (check,) = (page_commands.SOURCE / "checks").glob("*/device_visibility.toml")
        shutil.copy(check, self.folder / "checks/devices")
        muster = pathlib.Path(os.environ["MUSTER_BUILD"], "bin")
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder), "PATH": f"{muster}:{os.environ['PATH']}", "NO_COLOR": "1",
                    "MUSTER_CHECKS": str(self.folder / "checks"), "HOME": str(self.folder)}
        self.addCleanup(self.types, "tests/cluster/cluster down --all")

    def types(self, command):
        return subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120)

    def patiently(self, command):
        """A job that has just ended can't be requeued yet."""
        deadline = time.monotonic() + 30
        done = self.types(command)
        while "requeue" in command and done.returncode != 0 and time.monotonic() < deadline:
            time.sleep(0.2)
            done = self.types(command)
        return done

    def read(self, fences):
        said = ""
        for fence in fences:
            for command, below in fence.steps():
                done = self.patiently(command)
                said += f"# {command}\n{done.stdout}{done.stderr}"
                self.assertEqual(done.returncode, 255 if "agent)" in command else 0, said)
                if command.endswith(" hostname") and "mpirun" in command:
                    # Ranks print in any order.
                    self.assertEqual(sorted(done.stdout.split()), sorted(below.split()), f"proving-ground.md:{fence.line}\n{said}")
                    continue
                pattern = re.sub(r"10\\\.77\\\.\d+", r"10\\.77\\.\\d+", re.escape(below.strip()))
                # A busy machine notices later that nobody answers.
                pattern = pattern.replace(re.escape("No route to host"), "(No route to host|Connection timed out)")
                self.assertTrue(re.search(pattern, done.stdout + done.stderr), f"proving-ground.md:{fence.line}\n{said}")
            self.types("tests/cluster/cluster down")
        return said

    def test_nodes(self):
        said = self.read(page_commands.fences_of("proving-ground")[:1])
        self.assertRegex(said, r"nid004 \S+ link no link, 0 processes")

    @unittest.skipIf(slurm_services.why_not(), slurm_services.why_not())
    def test_slurm(self):
        fences = page_commands.fences_of("proving-ground")
        self.assertEqual(len(fences), 3)
        said = self.read(fences[1:])
        self.assertEqual(sorted(re.findall(r"^nid00\d$", said, re.M)), [f"nid00{node}" for node in (1, 2, 3, 4) for _ in range(2)])
        self.assertRegex(said, r"pass +device_visibility")


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    support.isolate()
    support.run_tests()
