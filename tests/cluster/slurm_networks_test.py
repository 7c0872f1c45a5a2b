"""As two_networks_test.py, in a job of a real Slurm: its own network carries steps and start-up, the data network carries MPI alone."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from support import Run, check  # noqa: E402

NODES = ("nid001", "nid002", "nid003", "nid004")


class SlurmNetworks(support.EndToEnd):
    def setUp(self):
        context = vc.running(len(NODES), slurm=vc.Shape(), data_network=True)
        self.cluster = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def new_run(self, checks):
        job = ["salloc", "--quiet", f"--nodes={len(NODES)}", "--ntasks-per-node=2"]
        run = Run(checks, "--launcher", "srun", "--ranks-per-node", "2", env=self.cluster.environment(), wrapper=self.cluster.argv_on_login(job))
        self.addCleanup(run.clean)
        return run

    def assert_named(self, run, case, node):
        print(f"  {run.seconds:.1f} s, status {run.status}, {case['verdict']}: {case['reason']}", flush=True)
        self.assertEqual(case["verdict"], "fail", run.story())
        self.assertIn(f"{node} can't be reached over the data network {self.cluster.data_subnet}: interface hsn0, address "
                      f"{self.cluster.data_address(node)}", case["reason"], run.story())
        accused = {culprit.get("node") or culprit["name"] for one in run.report()["cases"] for culprit in one["culprits"]}
        self.assertEqual(accused, {node}, run.story())

    def assert_measured_without(self, run, name, node):
        self.assertEqual([(row["node"], row["verdict"]) for row in run.case(name)["node_rows"]],
                         [(other, "pass") for other in NODES if other != node], run.story())

    def test_data_link_down_before_the_start(self):
        self.cluster.cut_data("nid002")
        run = self.new_run(check("hello", probe="hello"))
        run.start()
        self.assertEqual(run.wait(90), 1, run.story())
        self.assert_named(run, run.case("node"), "nid002")
        self.assert_measured_without(run, "hello", "nid002")

    def test_data_link_goes_down_in_a_case(self):
        run = self.new_run(check("before", number=1) + check("hello", probe="hello", timeout="6s", repetitions=1000000) + check("after", number=2))
        run.start()
        support.wait_until(lambda: "pass" in run.stdout, 30 * support.SLOWNESS)  # `before` has ended: hello begins
        self.cluster.cut_data("nid004")
        self.assertEqual(run.wait(120), 1, run.story())
        self.assert_named(run, run.case("hello"), "nid004")
        self.assert_measured_without(run, "after", "nid004")


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("mpirun", "srun"))
