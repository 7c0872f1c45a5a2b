"""A node that is lost while ranks of MPICH are stuck in MPI_Finalize and leave it (src/run/stuck_finalize.hpp): all cases have passed, and the
node is named all the same."""
import pathlib
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_nodes import OnNodes  # noqa: E402
from support import Run, check  # noqa: E402

# No connection begins any more; those of Hydra go on.
RULES = "; ".join(f"add chain inet cut {way} {{ type filter hook {way} priority 0; }}; add rule inet cut {way} tcp flags & (syn|ack) == syn drop; "
                  f"add rule inet cut {way} tcp flags & (syn|ack) == (syn|ack) drop" for way in ("input", "output"))


@unittest.skipUnless(shutil.which("mpiexec.mpich") and support.AGENT_MPICH.exists(), "there is no MPICH beside Open MPI")
class LeftFinalize(OnNodes):
    NODES = ("nid001", "nid002", "nid003")

    def started(self):
        tools = self.cluster.folder / "tools"
        tools.mkdir(exist_ok=True)
        (tools / "mpiexec").write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec mpiexec.mpich --version\n'
                                       f'exec mpiexec.mpich -genv LD_PRELOAD {support.AGENTS / "stuck_finalize.so"} "$@"\n')
        (tools / "mpiexec").chmod(0o755)
        variables = self.cluster.environment()
        run = Run(check("hello", probe="hello"), "--nodes", ",".join(self.NODES), "--launcher", "mpiexec", "--ranks-per-node", "1",
                  env={**variables, "PATH": f"{tools}:{variables.get('PATH', support.os.environ['PATH'])}"},
                  wrapper=self.cluster.argv_on_login([]), agent=support.AGENT_MPICH)
        self.addCleanup(run.clean)
        run.start()
        return run

    def left(self, run):
        self.assertIn("MPI_Finalize did not return within 3 s after all cases had ended", " ".join(run.report()["notes"]), run.story())
        self.assertEqual(run.case("hello")["verdict"], "pass", run.story())

    def test_all_nodes_are_well(self):
        run = self.started()
        self.assertEqual(run.wait(60), 0, run.story())
        self.left(run)

    @unittest.skipUnless(shutil.which("nft"), "there is no nft")
    def test_a_node_is_lost_in_the_meantime(self):
        run = self.started()
        support.wait_until(lambda: "pass" in run.stdout, 60)
        self.cluster.is_as_made = False
        self.cluster.execute("nid003", ["nft", f"add table inet cut; {RULES}"], check=True)
        self.assertEqual(run.wait(90), 1, run.story())
        self.left(run)
        lost = [case for case in run.report()["cases"] if case["verdict"] != "pass"]
        self.assertEqual([culprit["node"] for case in lost for culprit in case["culprits"]], ["nid003"], run.story())
        self.tell(run, lost[0])
        self.assertIn("nid003 does not answer", lost[0]["reason"])
        self.assertIn("the ranks had ended all cases, and left MPI_Finalize", lost[0]["reason"])


if __name__ == "__main__":
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    support.main()
