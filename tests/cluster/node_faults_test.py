"""One of four nodes that can't take part: its shared memory is full, muster is missing there or another one, it has too little
memory, or its limits are low. It is named with what is wrong, and the others are measured."""
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_nodes import OnNodes  # noqa: E402
from support import check, ten_cases  # noqa: E402

NODES = ("nid001", "nid002", "nid003", "nid004")
BIN = support.DRIVER.parent
PIDS = pathlib.Path("/sys/fs/cgroup/pids")


class NodeFaults(OnNodes):
    NODES = NODES

    def new_run(self, checks, *options):
        run = super().new_run(checks, *options)
        run.env["MUSTER_STARTUP_TIMEOUT"] = "15s"
        return run

    def on(self, node, script, *words):
        """A shell script on a node."""
        self.cluster.is_as_made = False
        self.cluster.execute(node, ["sh", "-c", script, *words], check=True)

    def accused(self, run):
        return {culprit.get("node") or culprit["name"] for case in run.report()["cases"] for culprit in case["culprits"]}

    def assert_lost(self, run, node, reason, remedy):
        """One finding of the report names the node so, and no other node; all checks pass on the others."""
        found = [one for one in run.report()["cases"] if one["verdict"] != "pass"]
        self.assertEqual([one["culprits"][0]["node"] for one in found if one["culprits"]], [node] * len(found), run.story())
        self.tell(run, found[0])
        self.assertIn(reason, found[0]["reason"], run.story())
        self.assertIn(remedy, found[0]["remedy"], run.story())
        self.assertEqual(self.accused(run), {node}, run.story())
        hello = run.case("hello")
        self.assertEqual([(row["node"], row["verdict"]) for row in hello["node_rows"]],
                         [(other, "pass") for other in NODES if other != node], run.story())
        self.assert_nine_passed(run)

    def finished(self, checks=None):
        run = self.new_run(checks or check("hello", probe="hello") + ten_cases(how="none"))
        run.start()
        self.assertEqual(run.wait(90), 1, run.story())
        return run

    def test_shared_memory_is_full(self):
        self.cluster.fill("nid003", "/dev/shm")
        run = self.finished()
        self.assert_lost(run, "nid003", "no space left in /dev/shm of nid003", "free shared memory on nid003")

    def test_the_folder_for_temporary_files_is_full(self):
        """Where Open MPI's ranks share files; any user may have filled it."""
        self.on("nid003", 'mount -t tmpfs -o size=256k tmpfs "$TMPDIR" && { cat /dev/zero > "$TMPDIR/full" 2>/dev/null; test -s "$TMPDIR/full"; }')
        run = self.finished()
        self.assert_lost(run, "nid003", "no space left for Open MPI's files on nid003, in TMPDIR or else in /tmp", "free space on nid003")

    def test_muster_is_not_installed(self):
        self.on("nid002", 'mount -t tmpfs tmpfs "$0"', BIN)
        run = self.finished()
        self.assert_lost(run, "nid002", f"muster is not installed on nid002: there is no {support.DRIVER}", "install muster")

    def test_a_library_of_muster_is_missing(self):
        self.on("nid002", 'for one in /usr/lib/*/libhwloc.so.15; do mount --bind /dev/null "$one"; done')
        run = self.finished()
        self.assert_lost(run, "nid002", "muster can't start on nid002: error while loading shared libraries: ", "install libhwloc.so.15")

    def test_another_version_of_muster(self):
        script = "#!/bin/sh\\necho '{\"node\":\"nid002\",\"cores\":2,\"numa_domains\":1,\"gpus\":0,\"muster\":\"0.0.1\"}'\\n"
        self.on("nid002", f'printf %b "$1" > /tmp/other && chmod +x /tmp/other && mount --bind /tmp/other "$0" && rm -f /tmp/other', support.DRIVER, script)
        run = self.finished()
        self.assert_lost(run, "nid002", "muster 0.0.1 is installed on nid002, this is muster ", "install the same version")

    def test_the_agent_alone_is_of_another_version(self):
        """For an agent, the driver is of another version then."""
        self.on("nid002", 'cp "$0" "$TMPDIR/agent" && printf "#!/bin/sh\nMUSTER_LAUNCH_VERSION=0.0.9 exec $TMPDIR/agent \"\$@\"\n" > "$TMPDIR/other" && '
                          'chmod +x "$TMPDIR/other" && mount --bind "$TMPDIR/other" "$0"', support.AGENT)
        self.assert_alone(self.finished(), "nid002", "muster's agent can't start on nid002: muster-rank: agent of muster ", ", launched by muster 0.0.9",
                          remedy="install the same version of muster on nid002")

    def test_the_home_folder_is_not_mounted(self):
        """It holds muster, too."""
        run = self.new_run(check("hello", probe="hello") + ten_cases(how="none"))
        home = run.folder / "home"
        home.mkdir()
        run.env["HOME"] = str(home)
        self.on("nid002", 'mount -t tmpfs tmpfs "$0" && mount -t tmpfs tmpfs "$1"', run.folder, BIN)
        run.start()
        self.assertEqual(run.wait(90), 1, run.story())
        self.assert_lost(run, "nid002", "the home folder is not mounted on nid002: ", "mount the file system of home folders on nid002")

    # Limits of what starts ranks on a node: whether other nodes have them as well is found by starting groups of nodes.

    def limit_daemon(self, node, limit):
        """orted of the node, and what it starts, below a limit: a line of shell."""
        self.on(node, 'real=$(readlink -f /usr/bin/orted) && cp "$real" "$TMPDIR/orted" && '
                      'printf "#!/bin/sh\n%s\nexec $TMPDIR/orted \"\$@\"\n" "$0" > "$TMPDIR/limited" && '
                      'chmod +x "$TMPDIR/limited" && mount --bind "$TMPDIR/limited" "$real"', limit)

    def assert_alone(self, run, node, *reasons, remedy):
        self.assert_lost(run, node, f"no rank starts on {node}, and ranks start on the other nodes: ", remedy)
        reason = next(one for one in run.report()["cases"] if one["verdict"] != "pass")["reason"]
        for words in reasons:
            self.assertIn(words, reason, run.story())

    def test_few_files_may_be_open(self):
        self.limit_daemon("nid003", "ulimit -n 30")
        self.assert_alone(self.finished(), "nid003", "muster's agent can't start on nid003: ", "the limit on open files is 30",
                          remedy="raise the limit of the job on nid003: ulimit -n 1024")

    def test_few_files_may_be_open_on_all_nodes(self):
        """The limit of the job, and no fault of a node."""
        for node in NODES:
            self.limit_daemon(node, "ulimit -n 30")
        run = self.new_run(check("hello", probe="hello"))
        run.start()
        self.assertEqual(run.wait(90), 2, run.story())
        self.assertIn("the limit on open files is 30", run.case("hello")["reason"], run.story())
        self.assertEqual(self.accused(run), set(), run.story())

    @unittest.skipUnless(PIDS.is_dir(), "there is no control group for numbers of processes")
    def test_few_processes_may_run(self):
        group = PIDS / f"muster-{os.getpid()}"
        group.mkdir()
        self.addCleanup(lambda: support.wait_until(lambda: not (group / "cgroup.procs").read_text(), 10) and group.rmdir())
        (group / "pids.max").write_text("5")
        self.limit_daemon("nid002", f"echo $$ > {group}/cgroup.procs")
        self.assert_alone(self.finished(), "nid002", remedy="raise the limit of the job on nid002: ulimit -u and pids.max")

    @unittest.skipUnless(support.AGENT_MPICH.exists(), "the agent for MPICH is not built")
    def test_the_agent_of_another_mpi(self):
        self.on("nid002", 'mount --bind "$1" "$0"', str(support.AGENT), str(support.AGENT_MPICH))
        self.assert_alone(self.finished(), "nid002", "agent built for MPICH, launched by Open MPI", remedy="install the agent of the others there")

    @unittest.skipUnless(support.AGENT_MPICH.exists(), "the agent for MPICH is not built")
    def test_the_agent_of_another_mpi_with_one_rank_per_node(self):
        """On that node alone it starts, as a world of one rank: neither the network nor a node is blamed."""
        self.on("nid002", 'mount --bind "$1" "$0"', str(support.AGENT), str(support.AGENT_MPICH))
        run = self.new_run(check("hello", probe="hello"), "--ranks-per-node", "1")
        run.start()
        self.assertEqual(run.wait(90), 2, run.story())
        for case in run.report()["cases"]:
            self.assertEqual(case["verdict"], "error", run.story())
            self.assertIn("agent built for MPICH, launched by Open MPI", case["reason"])
            self.assertNotIn("check the network", case["remedy"])
            self.assertEqual([culprit.get("node") for culprit in case["culprits"] if culprit.get("node")], [], run.story())

    # A launch that dies at start-up, and whose launcher does not tell why: groups of nodes are started.

    def without_daemon(self, *nodes):
        for node in nodes:
            self.on(node, 'printf "#!/bin/sh\\nexit 1\\n" > /tmp/no_daemon && chmod +x /tmp/no_daemon && '
                          'mount --bind /tmp/no_daemon $(readlink -f /usr/bin/orted) && rm -f /tmp/no_daemon')

    def assert_do_not_start(self, run, *nodes):
        names = " and ".join(nodes)
        launch = run.case("launch")
        self.tell(run, launch)
        self.assertIn(f"no rank starts on {names}, and ranks start on the other nodes: mpirun could not start its daemon on ", launch["reason"])
        self.assertEqual([culprit["node"] for culprit in launch["culprits"]], list(nodes))
        self.assertEqual(self.accused(run), set(nodes), run.story())
        hello = run.case("hello")
        self.assertEqual([(row["node"], row["verdict"]) for row in hello["node_rows"]],
                         [(other, "pass") for other in NODES if other not in nodes], run.story())
        self.assert_nine_passed(run)
        self.assertEqual(len(run.report()["launches"]), 2, run.story())

    def test_the_launchers_daemon_does_not_start_on_a_node(self):
        self.without_daemon("nid002")
        self.assert_do_not_start(self.finished(), "nid002")

    def test_the_launchers_daemon_does_not_start_on_two_nodes(self):
        self.without_daemon("nid001", "nid004")
        self.assert_do_not_start(self.finished(), "nid001", "nid004")

    def test_it_starts_on_no_node(self):
        """No node is accused."""
        self.without_daemon(*NODES)
        run = self.new_run(check("hello", probe="hello"))
        run.start()
        self.assertEqual(run.wait(90), 2, run.story())
        self.tell(run, run.case("hello"))
        self.assertIn("mpirun could not start its daemon on", run.case("hello")["reason"])
        self.assertEqual(self.accused(run) - {"mpirun"}, set(), run.story())

    def test_too_little_memory(self):
        """The probe is about single nodes: one that can't prepare costs only itself."""
        script = 'awk \'/^MemAvailable/ { $2 = 1000 } { print }\' /proc/meminfo > /tmp/meminfo && mount --bind /tmp/meminfo /proc/meminfo'
        self.on("nid002", script)
        run = self.finished(check("memory", probe="memory_bandwidth", ranks=1, timeout="60s", bytes="4MiB", cap="50ms"))
        case = run.case("memory")
        self.tell(run, case)
        self.assertIn("could not prepare", case["reason"])
        self.assertEqual(self.accused(run), {"nid002"}, run.story())
        self.assertEqual([(row["node"], row["verdict"]) for row in case["node_rows"]],
                         [(node, "fail" if node == "nid002" else "pass") for node in NODES], run.story())
        self.assertIn("the probe ran only on nodes where every rank could prepare", " ".join(case["notes"]))


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
