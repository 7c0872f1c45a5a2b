"""The example for ReFrame, by ReFrame itself: its verdict is muster's, its performance variables are muster's metrics.

$REFRAME names the program; otherwise it is looked for on PATH. Needs no network: where ReFrame is not, this is skipped.
"""
import json
import os
import pathlib
import shutil
import subprocess

import support

EXAMPLE = pathlib.Path(os.environ.get("MUSTER_SOURCE", ".")).resolve() / "packaging/examples" / "reframe" / "muster_check.py"
REFRAME = os.environ.get("REFRAME") or shutil.which("reframe")
# A check of that name with a figure that no other work on this machine changes.
TELLS = """[check.memory_bandwidth]
probe = "command"
summary = "A test."
ranks = { per_node = 1 }
timeout = "20s"
[check.memory_bandwidth.params]
argv = ["echo", '{"metric": "triad", "value": 12.5, "unit": "GB/s"}']
[check.memory_bandwidth.metrics]
triad = { unit = "GB/s", better = "higher" }
"""
SITE = """site_configuration = {
    "systems": [{"name": "here", "hostnames": [".*"], "partitions": [
        {"name": "local", "scheduler": "local", "launcher": "mpirun", "environs": ["builtin"]}]}],
    "environments": [{"name": "builtin", "cc": "cc", "cxx": "c++", "ftn": ""}],
    "general": [{"resolve_module_conflicts": False}],
}
"""


class ReFrame(support.EndToEnd):
    def setUp(self):
        self.folder = support.new_folder()
        self.addCleanup(shutil.rmtree, self.folder, True)
        (self.folder / "site.py").write_text(SITE)

    def reframe(self, checks, *options, status=0):
        """Runs the example's tests of the checks in this file instead of the shipped ones."""
        file = self.folder / "checks.toml"
        file.write_text(checks)
        words = f"{file},--launcher,local,--agent,{support.AGENT}"
        done = subprocess.run(
            [REFRAME, "-C", self.folder / "site.py", "-c", EXAMPLE, "--prefix", self.folder, "--report-file",
             self.folder / "reframe.json", "-S", f"muster={support.DRIVER}", "-S", f"options={words}", *options, "--run"],
            capture_output=True, text=True, timeout=120, cwd=self.folder, env={**os.environ, "NO_COLOR": "1"})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def test_verdict_and_metrics(self):
        told = self.reframe(TELLS, "-n", "check=memory_bandwidth", "--performance-report")
        self.assertIn("PASSED", told)
        self.assertRegex(told, r"triad.*GB/s.*12\.5")
        stored = json.loads((self.folder / "reframe.json").read_text())["runs"][-1]["testcases"][0]
        self.assertTrue(any("triad" in name and values[0] == 12.5 for name, values in stored["perfvalues"].items()), stored)

    def test_a_failure_says_why(self):
        told = self.reframe(support.check("memory_bandwidth", how="fail_run", rank=0, ranks=1), "-n", "check=memory_bandwidth",
                            status=1)
        self.assertIn("FAILED", told)
        self.assertRegex(told, r"memory_bandwidth: fail: .*on purpose")

    def test_a_check_that_was_not_run_does_not_pass(self):
        told = self.reframe(support.check("hello", probe="hello", ranks=1), "-n", "check=p2p", status=1)
        self.assertIn("FAILED", told)


if __name__ == "__main__":
    if not REFRAME:
        support.skip("there is no reframe on PATH, and REFRAME names none: pip install ReFrame-HPC")
    support.main(())
