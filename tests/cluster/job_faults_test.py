"""Mistakes of a job on four nodes of a real Slurm: no node is blamed, excluded or drained for them; a node that lacks what most
have is named."""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import job_faults  # noqa: E402
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_gate import GateRun  # noqa: E402
from support import Run  # noqa: E402

NODES = ("nid001", "nid002", "nid003", "nid004")


class JobFaults(support.EndToEnd):
    @classmethod
    def setUpClass(cls):
        context = vc.running(len(NODES), slurm=vc.Shape())
        cls.cluster = context.__enter__()
        cls.addClassCleanup(context.__exit__, None, None, None)

    def finished(self, kind, *options, checks=None, limit=120):
        made = kind("[check.x]\n", "--nodes", ",".join(NODES), "--launcher", "mpirun", *options, env=self.cluster.environment(),
                    wrapper=self.cluster.argv_on_login([]))
        self.addCleanup(made.clean)
        made.checks.write_text(job_faults.checks_with(made.folder) if checks is None else checks)
        made.start()
        made.wait(limit)
        return made

    def drained(self):
        told = slurm_services.ask(self.cluster, "sinfo", "--noheader", "--format=%n %T", "--Node").stdout
        return [line for line in told.splitlines() if "drain" in line]

    def test_no_node_is_drained(self):
        run = self.finished(Run, "--on-fail", "drain")
        report = run.report()
        self.assertEqual(len(report["cases"]), len(job_faults.MISTAKES), run.story())
        self.assertEqual({case["check"] for case in report["cases"] if case["verdict"] not in ("fail", "error")},
                         job_faults.UNMEASURED, run.story())
        self.assertEqual(job_faults.nodes_blamed(report), [], run.story())
        self.assertEqual(self.drained(), [], run.story())
        (reason,) = [case["reason"] for case in report["cases"] if case["check"] == "reference_ten_times_too_high"]
        self.assertTrue(reason.endswith("; 4 of 4 nodes are outside"), reason)

    def test_no_node_is_excluded(self):
        run = self.finished(GateRun, "--print", "json", "--deadline", "100s")
        told = json.loads(run.stdout)
        self.assertEqual([one["at_fault"] for one in told["not_good"]], [False] * len(NODES), run.story())
        self.assertEqual((told["verdict"], told["chosen"]), ("refused", []), run.story())
        self.assertIn("no node is at fault", told["reason"])

    def test_a_node_unlike_most_is_named(self):
        """Only there the script fails; three nodes show that it works."""
        script = 'test \\"$(hostname)\\" != nid003'
        checks = f'[check.there]\nprobe = "command"\nranks = "one-per-node"\n[check.there.params]\nargv = ["sh", "-c", "{script}"]\n'
        run = self.finished(GateRun, "--print", "json", checks=checks)
        told = json.loads(run.stdout)
        self.assertEqual([(one["node"], one["at_fault"]) for one in told["not_good"]], [("nid003", True)], run.story())


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main()
