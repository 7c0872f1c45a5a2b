"""Below mpirun, root of one of three nodes answers in the name of rank 0. A fault of another node is seen all the same."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from forged_rank import ForgedRank  # noqa: E402
from on_nodes import OnNodes  # noqa: E402

HOSTILE, FAULTY = "nid002", "nid003"


class AnswersOfRank0(OnNodes):
    NODES = ("nid001", "nid002", "nid003")

    def forged(self, *options, nodes=True):
        forged = ForgedRank(self.cluster, FAULTY)
        line = ["mpirun", "--host", ",".join(self.NODES), "-np", "3"]
        forged.record(self.cluster.argv_on_login(line))
        forged.begin(HOSTILE)
        try:
            run = self.new_run(forged.check, "--ranks-per-node", "1", *options) if nodes else self.run_of_line(forged.check, line)
            run.start()
            run.wait(60)
        finally:
            forged.end(HOSTILE)
        self.assertTrue(forged.done.exists(), run.story())
        case = run.case("task")
        self.tell(run, case)
        return run, case

    def run_of_line(self, checks, line):
        run = support.Run(checks, "--launch", " ".join(line), env=self.cluster.environment(), wrapper=self.cluster.argv_on_login([]))
        self.addCleanup(run.clean)
        return run

    def test_rank_0_proves_itself(self):
        run, case = self.forged()
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), run.story())
        self.assertEqual([one["node"] for one in case["culprits"]], [FAULTY], run.story())

    def test_a_line_of_the_users(self):
        """Its standard input may reach no rank, so the first that calls is taken; but not two."""
        run, case = self.forged(nodes=False)
        self.assertEqual((run.status, case["verdict"]), (2, "error"), run.story())
        self.assertIn("two processes connected as rank 0", case["reason"])


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
