"""Root of one of four nodes of a real Slurm answers in the name of another node. The other one is neither a culprit nor drained,
excluded or set aside, and a fault of it is seen."""
import json
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from forged_rank import ForgedRank  # noqa: E402
from on_gate import GateRun  # noqa: E402
from support import Run, check, ten_cases  # noqa: E402

NODES = ("nid001", "nid002", "nid003", "nid004")
HOSTILE = "nid002"
# Stands for muster on that node: what it prints before, or in place of, an answer to a question.
WRAPPER = """#!/bin/bash
case " $* " in *" node "*"{word} "*) {script};; esac
exec {driver} "$@"
"""


class ForgedAnswers(support.EndToEnd):
    @classmethod
    def setUpClass(cls):
        context = vc.running(len(NODES), slurm=vc.Shape())
        cls.cluster = context.__enter__()
        cls.addClassCleanup(context.__exit__, None, None, None)
        # The programs beside muster are found by its own path: a copy elsewhere finds them, too.
        cls.copy = cls.cluster.folder / "bin"
        cls.copy.mkdir()
        for program in (support.DRIVER, support.AGENT):
            (cls.copy / program.name).write_bytes(program.read_bytes())
            (cls.copy / program.name).chmod(0o755)

    def forge(self, word, script):
        wrapper = self.cluster.folder / f"{word}.sh"
        wrapper.write_text(WRAPPER.format(word=word, script=script, driver=self.copy / support.DRIVER.name))
        wrapper.chmod(0o755)
        self.cluster.execute(HOSTILE, ["mount", "--bind", str(wrapper), str(support.DRIVER)], check=True)
        self.addCleanup(self.replace_by_muster)

    def replace_by_muster(self):
        self.cluster.execute(HOSTILE, ["umount", str(support.DRIVER)], stderr=subprocess.DEVNULL)

    def finished(self, kind, checks, *options, variables=None, **more):
        job = ["salloc", "--quiet", "--nodes=4", "--ntasks-per-node=1"]
        run = kind(checks, "-J=--cpu-bind=none", *options, env={**self.cluster.environment(), **(variables or {})},
                   wrapper=self.cluster.argv_on_login(job), **more)
        self.addCleanup(run.clean)
        run.start()
        run.wait(90)
        return run

    def blamed(self, run):
        """Nodes that a finding names, or that were drained."""
        drains = slurm_services.ask(self.cluster, "sinfo", "--noheader", "--format=%n %T", "--Node").stdout
        drained = {line.split()[0] for line in drains.splitlines() if "drain" in line}
        for node in drained:
            slurm_services.resume(self.cluster, node)
        return drained | {one.get("node") for case in run.report()["cases"] for one in case["culprits"]}

    def failed(self, how):
        """A rank on nid004 stops, or hangs in its work."""
        return self.finished(Run, ten_cases(how=how, rank=3, timeout="3s", ranks=1), "--on-fail", "drain")

    def test_an_autopsy(self):
        """A hostile node that does not answer in its own name is not asked in vain: it is one that does not answer."""
        for script, reason in (("printf '@nid003 .\\n'", "rank 3 on nid004"), ("printf '@nid003 .\\n@nid001 .\\n'", "rank 3 on nid004"),
                               ("printf '@nid003 .\\n'; exit", HOSTILE), ("printf '@nid003 .\\n'; exec sleep 20", HOSTILE)):
            with self.subTest(script):
                self.forge("autopsy", script)
                run = self.failed("hang")
                self.replace_by_muster()
                case = run.case("bad")
                print(f"  {run.seconds:.1f} s: {case['reason']}", flush=True)
                self.assertIn(reason, case["reason"], run.story())
                self.assertLessEqual(self.blamed(run), {"nid004", HOSTILE}, run.story())

    def test_a_clean_up(self):
        self.forge("clean", "printf '@nid003 =1\\n@nid003 .\\n'")
        run = self.failed("stop")
        self.assertNotIn("nid003", self.blamed(run), run.story())
        self.assertNotIn("nid003 is set aside", json.dumps(run.report()), run.story())

    def test_an_inventory(self):
        """The gate chooses all nodes, as each of them answers when it is asked alone."""
        self.forge("inventory", "printf '@nid003 .\\n@nid004 .\\n'")
        # Labels that the user asked for would make answers of nodes that are asked alone unreadable.
        run = self.finished(GateRun, check("hello", probe="hello", ranks=1), "--print", "json", need=4, variables={"SLURM_LABELIO": "1"})
        answer = json.loads(run.stdout)
        self.assertEqual(answer["not_good"], [], run.story())
        self.assertEqual(len(answer["chosen"]), 4, run.story())
        # On a busy machine the question may have ended before a node's second name arrived.
        one_node = "one node answered in the name of .*no other answer came from .*nid002"
        self.assertRegex(run.stderr, f"muster: ({one_node}|2 nodes answered in the name of nid00[34])")

    def test_an_answer_of_many_lines(self):
        """Longer than what srun hands on at once; each part of it has its label."""
        self.forge("inventory", "printf '@nid003 .\\n'; head -c 100000 /dev/zero | tr '\\0' x; printf '\\n@nid004 .\\n'; seq 20000")
        run = self.finished(GateRun, check("hello", probe="hello", ranks=1), "--print", "json", need=4)
        self.assertEqual(json.loads(run.stdout)["not_good"], [], run.story())

    def test_rank_0(self):
        """A fault of nid003 is seen, whatever a node with another rank sends in the name of rank 0."""
        forged = ForgedRank(self.cluster, "nid003")
        forged.record(self.cluster.argv_on_login(["mpirun", "--host", ",".join(NODES), "-np", "4"]))
        forged.begin(HOSTILE)
        try:
            run = self.finished(Run, forged.check)
        finally:
            forged.end(HOSTILE)
        self.assertTrue(forged.done.exists(), run.story())
        self.assertEqual((run.status, run.case("task")["verdict"]), (1, "fail"), run.story())
        self.assertEqual([one["node"] for one in run.case("task")["culprits"]], ["nid003"], run.story())

    def test_standard_input_for_another_rank(self):
        """Then nothing shows which one rank 0 is."""
        run = self.finished(Run, check("hello", probe="hello", ranks=1), "-J=--input=1")
        self.assertEqual((run.status, run.case("hello")["verdict"]), (2, "error"), run.story())
        self.assertIn("connected as rank 0 without the key that muster gives rank 0 on its standard input", run.case("hello")["reason"])


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main()
