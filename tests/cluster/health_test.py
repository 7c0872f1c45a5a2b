"""The example scripts for Slurm's HealthCheckProgram and Prolog, run by slurmd itself: the node that is broken is drained, no
job starts there, and the others are left alone.

A node is broken by its profile, which promises a GPU that the node does not have: muster never acts on simulated machines."""
import os
import pathlib
import shutil
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
from support import wait_until  # noqa: E402

HOSTILE = HERE.parent / "e2e" / "hostile_user.py"
EXAMPLES = HERE.parents[1] / "packaging/examples" / "slurm"
NODES = ("nid001", "nid002")
NOBODY = 65534
# What slurmd starts: the shipped script in the environment of slurmd, which is next to none. `switch` turns it on, and says where
# the slurm.conf lies that is in /etc elsewhere.
WRAPPER = """#!/bin/sh
test -e {folder}/{switch} || exit 0
. {folder}/{switch}
export MUSTER={folder}/muster MUSTER_AGENT={agent} XDG_STATE_HOME={folder}/state MUSTER_LOG={folder}/log-$(hostname)
{script} >{folder}/{switch}.said 2>&1
status=$?
echo "$(hostname) $status" >> {folder}/{switch}.done
exit $status
"""


# In the place of muster; a profile of the node's name promises a GPU.
MUSTER_OF_NODE = """#!/bin/sh
profile={folder}/$(hostname).toml
test -e "$profile" && exec {driver} "$@" "$profile" --system site
exec {driver} "$@"
"""
PROFILE = """[system]
name = "site"
[[partition]]
name = "gpu"
[partition.node]
gpus = { count = 1, vendor = "amd", name = "^AMD Instinct" }
"""
SIMULATED = """#!/bin/sh
exec {driver} "$@" --simulated
"""


def script_at(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def text_of(path):
    """What scripts have written by now; empty: none has ended yet."""
    return path.read_text() if path.exists() else ""


class ByHand(support.EndToEnd):
    """How long they take, and what they say, without Slurm around."""

    def setUp(self):
        self.folder = support.new_folder()
        self.addCleanup(shutil.rmtree, self.folder, True)
        # No scontrol of Slurm's: an action would be an error, and is not asked for on a good node.
        simulated = script_at(self.folder / "muster", SIMULATED.format(driver=support.DRIVER))
        self.env = {"PATH": os.environ["PATH"], "MUSTER": str(simulated), "MUSTER_AGENT": str(support.AGENT),
                    "XDG_STATE_HOME": str(self.folder / "state"), "MUSTER_LOG": str(self.folder / "log"),
                    "TMPDIR": str(self.folder)}

    def machine(self, *words):
        subprocess.run([support.DRIVER, "machine", "lumi-g", "--write", self.folder / "machine", *words], check=True,
                       capture_output=True)
        self.env["MUSTER_MACHINE"] = str(self.folder / "machine")

    def script(self, name):
        began = time.monotonic()
        done = subprocess.run([EXAMPLES / name], env=self.env, capture_output=True, text=True, timeout=60)
        return done, time.monotonic() - began

    def test_a_good_node_takes_less_than_a_second(self):
        self.machine()
        for name in ("health_check", "prolog"):
            took = []
            for _ in range(3):
                done, seconds = self.script(name)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
                took.append(seconds)
            print(f"  {name}: {', '.join(f'{seconds:.2f} s' for seconds in took)}", flush=True)
            # Among others at work a second says nothing.
            if os.getloadavg()[0] < 1.5 * len(os.sched_getaffinity(0)):
                self.assertLess(min(took), 1 * support.SLOWNESS)
        self.assertEqual([path.name for path in self.folder.glob("muster-*")], [], "nothing is left behind")

    def test_what_is_wrong_is_kept(self):
        self.machine("--fault", "gpu_missing")
        done, _ = self.script("health_check")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("nothing is done: the nodes were simulated as lumi-g", done.stdout)
        self.assertTrue((self.folder / "log" / "health" / "latest" / "report.json").exists())
        # Not drained: the job is not sent away either, or a fault of all nodes would take them all.
        done, _ = self.script("prolog")
        self.assertEqual((done.returncode, done.stdout), (0, ""))


    @unittest.skipIf(os.geteuid() != 0, "only root gives files to another user")
    def test_nothing_is_kept_where_others_may_put_a_link(self):
        """Root would copy the report to where it leads."""
        self.machine("--fault", "gpu_missing")
        log = self.folder / "log"
        log.mkdir()
        for owner, mode in ((NOBODY, 0o755), (0, 0o1777), (0, 0o775)):
            os.chown(log, owner, -1)
            log.chmod(mode)
            done, _ = self.script("health_check")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(f"muster: other users may write {log}: the report is not kept", done.stdout)
            self.assertEqual(list(log.iterdir()), [])


class ByTheirDaemon(support.EndToEnd):
    def setUp(self):
        self.folder = support.new_folder()
        self.addCleanup(shutil.rmtree, self.folder, True)

    def wrapper(self, name):
        script_at(self.folder / "muster", MUSTER_OF_NODE.format(folder=self.folder, driver=support.DRIVER))
        return script_at(self.folder / f"{name}.sh",
                         WRAPPER.format(folder=self.folder, agent=support.AGENT, script=EXAMPLES / name, switch=name))

    def break_node(self, node):
        (self.folder / f"{node}.toml").write_text(PROFILE)

    def said(self, name, cluster):
        """For whoever has to find out what went wrong."""
        texts = [path.read_text() for path in sorted(self.folder.glob(f"{name}.*"))]
        return "\n".join([*texts, slurm_services.last_words(cluster)])

    def reason(self, cluster, node):
        told = slurm_services.ask(cluster, "scontrol", "--oneliner", "show", "node", node).stdout
        return told.split(" Reason=")[1].strip() if " Reason=" in told else ""

    def test_health_check(self):
        more = f"HealthCheckProgram={self.wrapper('health_check')}\nHealthCheckInterval=2\nHealthCheckNodeState=ANY,CYCLE\n"
        with vc.running(len(NODES), slurm=vc.Shape(more=more)) as cluster:
            self.break_node("nid002")
            (self.folder / "health_check").write_text(f"export SLURM_CONF={cluster.slurm_conf}\n")
            drained = wait_until(lambda: self.reason(cluster, "nid002"), 40 * support.SLOWNESS)
            done = self.folder / "health_check.done"
            self.assertTrue(drained, self.said("health_check", cluster))
            print("  " + drained, flush=True)
            self.assertRegex(drained, r"^muster\[[0-9a-f]{6}-[0-9a-f]{4}\]: device_visibility: .*GPU")
            # Again and again: it stays as it is, and the good node is in service.
            wait_until(lambda: text_of(done).count("nid002 1\n") >= 2, 20 * support.SLOWNESS)
            self.assertEqual(self.reason(cluster, "nid002"), drained)
            self.assertEqual(slurm_services.states(cluster)["nid001"], "idle")
            (self.folder / "health_check").unlink()

    def test_health_check_beside_a_hostile_user(self):
        """On both nodes, with jobs and words for Slurm: the broken node is drained, for what it lacks, and the other is not."""
        more = f"HealthCheckProgram={self.wrapper('health_check')}\nHealthCheckInterval=2\nHealthCheckNodeState=ANY,CYCLE\n"
        with vc.running(len(NODES), slurm=vc.Shape(more=more)) as cluster:
            temporary = cluster.folder / "tmp"
            for node in NODES:
                cluster.execute(node, ["chmod", "1777", temporary])
                user = subprocess.Popen(cluster.argv_in(node, [sys.executable, "-B", HOSTILE, self.folder, temporary]), stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **cluster.environment(), "SLURM_CONF": cluster.slurm_conf})
                self.addCleanup(lambda user=user: (user.kill(), user.wait(), user.stdout.close()))
                self.assertEqual(user.stdout.readline(), "ready\n")
            self.break_node("nid002")
            (self.folder / "health_check").write_text(f"export SLURM_CONF={cluster.slurm_conf} TMPDIR={temporary}\n")
            drained = wait_until(lambda: self.reason(cluster, "nid002"), 60 * support.SLOWNESS)
            done = self.folder / "health_check.done"
            self.assertTrue(drained, self.said("health_check", cluster))
            self.assertRegex(drained, r"^muster\[[0-9a-f]{6}-[0-9a-f]{4}\]: device_visibility: .*GPU")
            self.assertTrue(wait_until(lambda: text_of(done).count("nid001 0\n") >= 2, 40 * support.SLOWNESS), text_of(done))
            self.assertEqual(self.reason(cluster, "nid001"), "")
            self.assertFalse(slurm_services.states(cluster)["nid001"].startswith("drain"))
            self.assertFalse(os.path.exists("/root/hostile"))
            words = "".join(path.read_text(errors="replace") for path in [self.folder / "health_check.said", *self.folder.rglob("report.json")])
            self.assertNotIn("\x1b", words)
            self.assertNotIn("JobState=", words)
            (self.folder / "health_check").unlink()

    def test_a_fault_of_all_nodes_does_not_drain_them_all(self):
        """They find it at the same moment, each by itself."""
        more = f"HealthCheckProgram={self.wrapper('health_check')}\nHealthCheckInterval=2\nHealthCheckNodeState=ANY\n"
        with vc.running(5, slurm=vc.Shape(more=more)) as cluster:
            for node in cluster.names:
                self.break_node(node)
            switch, done = self.folder / "health_check", self.folder / "health_check.done"
            switch.write_text(f"export SLURM_CONF={cluster.slurm_conf} MUSTER_MAX_DRAIN=1\n")

            def all_did():
                told = text_of(done)
                return all(told.count(f"{node} 1\n") >= 3 for node in cluster.names)
            self.assertTrue(wait_until(all_did, 60 * support.SLOWNESS), self.said("health_check", cluster))
            switch.unlink()
            # Those on their way may still be taking back their own.
            few = wait_until(lambda: sum(bool(self.reason(cluster, node)) for node in cluster.names) <= 1, 20)
            reasons = {node: self.reason(cluster, node) for node in cluster.names}
            self.assertTrue(few, reasons)
            print(f"  {reasons}", flush=True)

    def test_prolog(self):
        more = f"Prolog={self.wrapper('prolog')}\nPrologFlags=Alloc\n"
        with vc.running(len(NODES), slurm=vc.Shape(more=more)) as cluster:
            (self.folder / "prolog").write_text(f"export SLURM_CONF={cluster.slurm_conf}\n")
            well = slurm_services.ask(cluster, "srun", "--nodelist=nid001", "hostname")
            self.assertEqual((well.returncode, well.stdout), (0, "nid001\n"), well.stderr)
            self.break_node("nid002")
            job = slurm_services.ask(cluster, "sbatch", "--parsable", "--output=/dev/null", "--nodelist=nid002",
                                     f"--wrap=touch {self.folder}/started").stdout.strip()
            drained = wait_until(lambda: self.reason(cluster, "nid002"), 40 * support.SLOWNESS)
            self.assertTrue(drained, self.said("prolog", cluster))
            print("  " + drained, flush=True)
            self.assertRegex(drained, r"^muster\[[0-9a-f]{6}-[0-9a-f]{4}\]: device_visibility: .*GPU")
            self.assertTrue(wait_until(lambda: "nid002 1\n" in text_of(self.folder / "prolog.done"), 20))
            time.sleep(0.5)
            self.assertRegex(self.reason(cluster, "nid002"), "^muster", "Slurm keeps it")
            self.assertFalse((self.folder / "started").exists(), "no job starts there")
            slurm_services.ask(cluster, "scancel", job)


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("srun",))
