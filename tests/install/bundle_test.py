"""The agent with its libraries (of a build that was configured with MUSTER_BUNDLE=ON) in a root file system that has neither
MPI nor hwloc, behind a launch line of the host."""
import json
import os
import shutil
import subprocess
import unittest

import installed
import small_root
from installed import environment, run

CHECKS = """[check.hello]
probe = "hello"
[check.affinity]
probe = "cpu_affinity"
params = { sharing = "any" }
[check.sums]
probe = "allreduce"
params = { sizes = ["1KiB"], cap = "50ms" }
[check.child]
probe = "command"
params = { argv = ["sh", "-c", "echo '{\\"evidence\\": \\"path:'$LD_LIBRARY_PATH:$OMPI_MCA_mca_base_component_path'\\"}'"] }
"""


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = installed.temporary("bundle")
        # As docs/launch-line.md has it; cluster.bundle_test installs the component alone, of a build that was configured without.
        build = installed.configured_anew(cls.folder / "build", "MUSTER_BUNDLE=ON")
        run("cmake", "--install", build, "--prefix", cls.folder / "first", "--strip")
        bundle = cls.folder / "first/lib/muster/bundle"
        cls.bundle = cls.folder / "moved"
        shutil.move(bundle, cls.bundle)
        cls.root = small_root.make(cls.folder / "root")
        cls.muster = cls.folder / "first" / "bin" / "muster"
        cls.contained = small_root.wrapper(cls.folder / "contained", cls.root, cls.bundle)
        (cls.folder / "checks.toml").write_text(CHECKS)

    def test_what_is_installed_beside_it(self):
        """All of muster: the bundle is one part more."""
        first = self.folder / "first"
        self.assertEqual([name for name in ("muster", "muster-rank") if not (first / "bin" / name).exists()], [], sorted(first.rglob("muster*")))
        self.assertIn("lumi", subprocess.run([first / "bin/muster", "list", "--systems"], capture_output=True, text=True).stdout)

    def run_it(self, line, *options, status=0):
        env = environment(XDG_STATE_HOME=str(self.folder / "state"), OMPI_MCA_mpi_yield_when_idle="1", COLUMNS="300")
        said = run(self.muster, "run", "checks.toml", "--launch", line, *options, status=status, env=env, cwd=self.folder)
        self.said = said.stdout + said.stderr
        self.report = json.loads((self.folder / "muster-runs/latest/report.json").read_text())

    def test_that_root_has_no_mpi(self):
        there = [path.name for path in self.root.rglob("*.so*")]
        self.assertIn("libc.so.6", there)
        self.assertEqual([name for name in there if "mpi" in name or "hwloc" in name or "stdc++" in name], [])
        refused = subprocess.run(["chroot", self.root, "/bin/mpirun"], capture_output=True)
        self.assertEqual(refused.returncode, 127)

    def test_all_pass_behind_mpirun(self):
        self.run_it(f"mpirun -np 2 {self.contained}", "--agent", "/muster/muster-rank")
        self.assertEqual({case["check"]: case["verdict"] for case in self.report["cases"]},
                         {name: "pass" for name in ("hello", "affinity", "sums", "child")}, self.said)
        self.assertEqual(self.report["launches"][0]["ranks"], 2)
        # What the agent starts has the libraries of the container.
        child = next(case for case in self.report["cases"] if case["check"] == "child")
        self.assertIn("path::", " ".join(child["evidence"]), child)

    def test_behind_hydra(self):
        if shutil.which("mpiexec.mpich") is None or not (self.bundle / "muster-rank-mpich").exists():
            self.skipTest("there is no MPICH beside Open MPI")
        self.run_it(f"mpiexec.mpich -n 2 {self.contained}", "--agent", "/muster/muster-rank-mpich")
        self.assertEqual({case["verdict"] for case in self.report["cases"]}, {"pass"}, self.said)

    def test_the_bare_agent_is_named_with_what_to_do(self):
        """Bound into the container without its libraries."""
        contained = small_root.wrapper(self.folder / "bare", self.root, self.bundle / "programs")
        self.run_it(f"mpirun -np 2 {contained}", "--agent", "/muster/muster-rank", status=2)
        words = " ".join(finding["reason"] + " " + finding["remedy"] for case in self.report["cases"] for finding in case["findings"])
        self.assertIn("the agent /muster/muster-rank can't be loaded where the line starts it", words)
        self.assertIn("MUSTER_BUNDLE=ON", words)


if __name__ == "__main__":
    if reason := small_root.why_not():
        installed.skip(reason)
    if shutil.which("mpirun") is None:
        installed.skip("there is no mpirun")
    unittest.main(verbosity=2)
