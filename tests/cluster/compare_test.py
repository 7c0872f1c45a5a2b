"""Before and after maintenance: a driver of another version on one node and a slow link of another one are both named, and
nothing else. Links are judged as in p2p_test.py: all at 200 Mbit/s, so that the network is slow and not the processors."""
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from p2p_test import HEALTHY, MOST_BUSY, NODES, PATIENCE, READINGS, SLEEPY, SLOW, busy_share, main  # noqa: E402
from support import Run, check  # noqa: E402

CHECKS = check("pairs", probe="p2p", ranks=1, timeout="60s", least_slowdown=0.5, **READINGS)
TRIES = 3  # on a machine that others keep busy


class Maintenance(support.EndToEnd):
    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(len(NODES))
        cls.cluster = cls.context.__enter__()
        for node in NODES:
            cls.cluster.set_apart(node)

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def setUp(self):
        self.folder = support.new_folder()
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder])
        for node in NODES:
            self.cluster.slow(node, HEALTHY)

    def set_driver(self, node, version):
        """As /sys/module of that node shows it."""
        holder = self.cluster.node(node)["holder"]
        script = ("mountpoint -q /sys/module || mount -t tmpfs tmpfs /sys/module; mkdir -p /sys/module/nvidia; "
                  f"echo {version} > /sys/module/nvidia/version")
        subprocess.run(["nsenter", "-t", str(holder), "-m", "sh", "-c", script], check=True)

    def run_once(self):
        run = Run(CHECKS, "--nodes", ",".join(NODES), "--launcher", "mpirun", "-J=-x", f"-J=LD_PRELOAD={SLEEPY}",
                  "--history", self.folder / "history.db", env=self.cluster.environment(),
                  wrapper=self.cluster.argv_on_login([]))
        self.addCleanup(run.clean)
        run.start()
        run.wait(90)
        return run

    def compare(self):
        done = subprocess.run([support.DRIVER, "compare", "previous", "latest", "--history", self.folder / "history.db"],
                              capture_output=True, text=True, timeout=30)
        print(done.stdout + done.stderr, flush=True)
        return done

    def wait_for_quiet(self):
        """Four ranks need the two cores for themselves, or they are slower than their links."""
        if not support.wait_until(lambda: busy_share(0.5) < MOST_BUSY, PATIENCE):
            self.skipTest("others use the CPUs and do not stop")

    def maintained(self):
        """Two runs before and one after; None where p2p itself says that it was too noisy to tell."""
        for node in NODES:
            self.set_driver(node, "550.54.15")
            self.cluster.slow(node, HEALTHY)
        verdicts = [self.run_once().report()["verdict"] for _ in range(2)]
        same = self.compare()
        self.set_driver("nid002", "560.35.03")
        self.cluster.slow("nid003", SLOW)
        verdicts.append(self.run_once().report()["verdict"])
        found = self.compare()
        return (same, found) if verdicts == ["pass", "pass", "fail"] else None

    def is_noise(self, same, found):
        """Latencies alone differ that nothing was done to: others used the processors for a moment."""
        lines = [line.strip() for line in (same.stdout + found.stdout).splitlines() if line.startswith("  ")]
        known = ("driver.nvidia on nid002:", "pairs%")
        rest = [line for line in lines if not line.startswith(known) and " of links of nid003 " not in line]
        return bool(rest) and all(line.startswith("latency of ") for line in rest)

    def is_right(self, same, found):
        named = [line.strip() for line in found.stdout.splitlines() if line.startswith("  ")]
        driver = [line for line in named if line.startswith("driver.nvidia on nid002: 550.54.15 -> 560.35.03")]
        links = [line for line in named if " of links of nid003 " in line]
        verdict = [line for line in named if line.startswith("pairs%") and "pass -> fail on nid003: nid003 is slow" in line]
        return (same.returncode == 0 and "no difference" in same.stdout and found.returncode == 1 and len(driver) == 1 and
                links and len(verdict) == 1 and len(driver) + len(links) + len(verdict) == len(named))

    def test_a_driver_and_a_link(self):
        wrong = []
        for _ in range(TRIES):
            self.wait_for_quiet()
            seen = self.maintained()
            if seen is None:
                continue
            if self.is_right(*seen):
                return
            if self.is_noise(*seen):
                continue
            wrong.append(seen[0].stdout + seen[1].stdout)
            if len(wrong) > 1:
                self.fail("\n".join(wrong))
        self.skipTest(f"too noisy to tell, {TRIES} times")


if __name__ == "__main__":
    main()
