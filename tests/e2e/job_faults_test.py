"""A mistake of a job is never a node's fault: wrong paths, names and options in a user's check, through `run` and `gate`. Through
Slurm, with `--on-fail drain`: tests/cluster/job_faults_test.py."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import job_faults  # noqa: E402
import support  # noqa: E402
from on_gate import GateRun  # noqa: E402


class JobFaults(support.EndToEnd):
    def finished(self, made, limit=60):
        self.addCleanup(made.clean)
        made.checks.write_text(job_faults.checks_with(made.folder))
        made.finish(limit)
        self.assert_clean(made)
        return made

    def test_run_blames_no_node(self):
        run = self.finished(support.Run(""))
        report = run.report()
        self.assertEqual(len(report["cases"]), len(job_faults.MISTAKES), run.story())
        self.assertEqual(job_faults.nodes_blamed(report), [], run.story())
        for case in report["cases"]:
            with self.subTest(check=case["check"]):
                expected = ("unmeasured",) if case["check"] in job_faults.UNMEASURED else ("error", "fail")
                self.assertIn(case["verdict"], expected, case["reason"])
                self.assertTrue(case["culprits"] and case["remedy"], case)
                self.assertNotIn("take the node out", case["remedy"])
                self.assertIn(job_faults.REMEDIES.get(case["check"], ""), case["remedy"])
                self.assertEqual([row for row in case["node_rows"] if row["verdict"] == "fail"], [], case["node_rows"])
        reasons = {case["check"]: (case["reason"], case["remedy"]) for case in report["cases"]}
        self.assertIn("mychecks/loadavg.sh does not exist below /", reasons["path_from_another_folder"][0])
        self.assertIn('argv = ["{check}/loadavg.sh"]', reasons["path_from_another_folder"][1])
        self.assertEqual(reasons["name_misspelt"][0], "no-such-program-here is not on PATH")
        self.assertIn("is not executable", reasons["not_executable"][0])
        self.assertIn("127", reasons["command_of_a_script"][0])
        self.assertIn("its last line: ls: unrecognized option '--no-such-option'", reasons["option"][0])
        self.assertIn("its last line: Executable: ./no_such_program", reasons["executable_of_mpirun"][0])
        reason, remedy = reasons["reference_in_another_unit"]
        self.assertRegex(reason, r"^size of rank 0 on \S+ is 12\.5 MiB, bound 11520 MiB \(reference 12\.5 GiB -10 %, .*checks\.toml:\d+:\d+\)$")
        self.assertIn("correct the value or the unit of the reference", remedy)
        self.assertIn("900TiB are more than all memory of the node", reasons["size_in_another_unit"][0])

    def test_gate_blames_no_node(self):
        run = self.finished(GateRun("[check.x]\n", "--print", "json"))
        told = json.loads(run.stdout)
        self.assertEqual((told["verdict"], run.status), ("refused", 125), run.story())
        self.assertEqual([one["at_fault"] for one in told["not_good"]], [False], run.story())
        self.assertIn("no node is at fault", told["reason"])
        self.assertEqual(self.finished(GateRun("[check.x]\n", "--print", "exclude")).stdout, "\n")

    def test_each_alone_is_no_fault_of_the_node(self):
        for name in job_faults.MISTAKES:
            with self.subTest(mistake=name):
                run = GateRun("[check.x]\n", "--print", "exclude", "--launcher", "local")
                self.addCleanup(run.clean)
                run.checks.write_text(job_faults.checks_with(run.folder, (name,)))
                run.finish(30)
                self.assertEqual((run.status, run.stdout), (125, "\n"), run.story())

    def test_a_node_that_does_not_resolve(self):
        run = support.Run("[check.hello]\nprobe = \"hello\"\nranks = \"one-per-node\"\n", "--nodes", f"{support.HOST},nid066.invalid")
        self.addCleanup(run.clean)
        run.finish(60)
        case = next(one for one in run.report()["cases"] if one["check"] in ("node", "launch", "hello") and one["verdict"] != "pass")
        self.assertIn("nid066.invalid does not resolve", case["reason"], run.story())
        self.assertEqual(job_faults.nodes_blamed(run.report()), [], run.story())

    def test_of_two_nodes_one_does_not_resolve(self):
        gate = GateRun("[check.hello]\nprobe = \"hello\"\nranks = \"one-per-node\"\n", "--print", "json", "--nodes",
                       f"{support.HOST},nid066.invalid")
        self.addCleanup(gate.clean)
        gate.finish(60)
        told = json.loads(gate.stdout)
        self.assertEqual((told["verdict"], told["chosen"]), ("go", [support.HOST]), gate.story())
        (one,) = told["not_good"]
        self.assertEqual((one["node"], one["at_fault"], one["check"], one["reason"]),
                         ("nid066.invalid", False, "node", "nid066.invalid does not resolve"), gate.story())
        self.assertIn("correct the name", one["remedy"])

    def test_no_node_resolves(self):
        """Nothing is left to run on: all cases are errors of --nodes, and the gate excludes nobody."""
        run = support.Run("[check.hello]\nprobe = \"hello\"\n", "--nodes", "nid066.invalid")
        self.addCleanup(run.clean)
        run.finish(60)
        self.assertEqual({case["verdict"] for case in run.report()["cases"]}, {"error"}, run.story())
        self.assertEqual(job_faults.nodes_blamed(run.report()), [], run.story())
        gate = GateRun("[check.hello]\nprobe = \"hello\"\n", "--print", "json", "--nodes", "nid066.invalid")
        self.addCleanup(gate.clean)
        gate.finish(60)
        told = json.loads(gate.stdout)
        self.assertEqual([one["at_fault"] for one in told["not_good"]], [False], gate.story())
        self.assertIn("no node is at fault", told["reason"])


if __name__ == "__main__":
    support.main()
