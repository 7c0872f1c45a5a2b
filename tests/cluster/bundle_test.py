"""A launch line through the real Slurm into a root file system that has neither MPI nor hwloc: what is missing is named, and
the agent with its libraries (`cmake --install` with MUSTER_BUNDLE) passes."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e"), str(HERE.parent / "install")]
import installed  # noqa: E402
import small_root  # noqa: E402
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from support import Run  # noqa: E402

CHECKS = """[check.hello]
probe = "hello"
[check.sums]
probe = "allreduce"
params = { sizes = ["1KiB"], cap = "50ms" }
"""


class Bundle(support.EndToEnd):
    @classmethod
    def setUpClass(cls):
        cls.folder = installed.temporary("bundle")
        installed.run("cmake", "--install", installed.BUILD, "--prefix", cls.folder / "prefix", "--component", "bundle", "--strip")
        cls.bundle = cls.folder / "prefix/lib/muster/bundle"  # as docs/launch-line.md has it
        cls.root = small_root.make(cls.folder / "root")
        cls.context = vc.running(2, slurm=vc.Shape())
        cls.cluster = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def run_it(self, bound, agent):
        wrapper = small_root.wrapper(self.folder / "contained", self.root, bound)
        run = Run(CHECKS, "--launch", f"srun --nodes=2 --ntasks-per-node=2 {wrapper}", agent=agent,
                  wrapper=self.cluster.argv_on_login(["salloc", "--quiet", "--nodes=2", "--ntasks-per-node=2"]),
                  env={**self.cluster.environment(), "MUSTER_STARTUP_TIMEOUT": "60"})
        self.addCleanup(run.clean)
        run.finish(180)
        self.words = " ".join(finding["reason"] + " " + finding["remedy"] for case in run.report()["cases"] for finding in case["findings"])
        return run

    def test_the_agent_with_its_libraries_passes(self):
        run = self.run_it(self.bundle, "/muster/muster-rank")
        self.assert_status(run, 0)
        self.assertEqual([(len(launch["nodes"]), launch["ranks"]) for launch in run.report()["launches"]], [(2, 4)])
        self.assertEqual({case["verdict"] for case in run.report()["cases"]}, {"pass"})

    def test_without_its_mpi(self):
        run = self.run_it(self.bundle / "programs", "/muster/muster-rank")
        self.assert_status(run, 2)
        self.assertIn("the agent /muster/muster-rank can't be loaded where the line starts it", self.words)
        self.assertIn("MUSTER_BUNDLE=ON", self.words)

    def test_where_its_path_is_hidden(self):
        agent = support.BIN / "muster-rank"
        hidden = "" if str(agent).startswith("/tmp/") else str(agent)
        if not hidden:
            self.skipTest("the build is below /tmp, which the container has")
        run = self.run_it(self.bundle, hidden)
        self.assert_status(run, 2)
        self.assertIn(f"the agent {hidden} is not there where the line starts it", self.words)
        self.assertIn(f"--bind {support.BIN}", self.words)


if __name__ == "__main__":
    reason = small_root.why_not() or vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("mpirun", "srun"))
