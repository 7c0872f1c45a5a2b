"""Mistakes of a job on four nodes of a real Slurm: no node is blamed, excluded or drained for them; a node that lacks what most
have is named."""
import json
import os
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
from support import Run, check  # noqa: E402

NODES = ("nid001", "nid002", "nid003", "nid004")
# An option of srun that the job was not granted, and what the report has.
REFUSED = (("--nodelist=nid004", "the allocation does not have the nodes or resources of this launch"),
           ("--threads-per-core=2", "the launch requests more threads per core than the job"),
           ("--gpus-per-node=99", "Slurm can't give the ranks the GPUs that the job's options name"),
           ("--cpu-bind=mask_cpu:0x8000000000", "Slurm can't bind the ranks to CPUs as the job asks"))


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

    def test_what_slurm_refuses_of_the_job_blames_no_node(self):
        """By a real srun, in a job on two of the four nodes."""
        job = ["salloc", "--quiet", "--nodes=2", "--ntasks-per-node=1", "--nodelist=nid[001-002]"]
        for option, sentence in REFUSED:
            for kind, more in ((Run, ()), (GateRun, ("--print", "json"))):
                with self.subTest(option=option, kind=kind.__name__):
                    run = kind(check("all", ranks=1), "--launcher", "srun", "--ranks-per-node", "1", f"--launcher-option={option}", *more,
                               env=self.cluster.environment(), wrapper=self.cluster.argv_on_login(job))
                    self.addCleanup(run.clean)
                    run.start()
                    run.wait(90)
                    report = run.report() if kind is Run else run.reports()[0]
                    case = next(case for case in report["cases"] if case["check"] == "all")
                    self.assertEqual(case["verdict"], "error", run.story())
                    self.assertIn(sentence, case["reason"], run.story())
                    self.assertEqual(job_faults.nodes_blamed(report), [], run.story())
                    if kind is GateRun:
                        self.assertEqual([one["at_fault"] for one in json.loads(run.stdout)["not_good"]], [False, False], run.story())
        self.assertEqual(self.drained(), [])

    def test_tasks_for_which_a_node_has_too_few_cpus_blame_no_node(self):
        """slurm.conf gives the nodes four times as many CPUs as they have, so that slurmd refuses the step of a
        launch line. (A launch of muster's own with more ranks than CPUs is not bound.)"""
        has = slurm_services.Shape().cpus
        with vc.running(2, name=f"cpus{os.getpid() % 10000}", slurm=vc.Shape(cpus=4 * has)) as cluster:
            job = ["salloc", "--quiet", "--nodes=2", f"--ntasks-per-node={4 * has}"]
            for kind, more in ((Run, ()), (GateRun, ("--print", "json"))):
                with self.subTest(kind=kind.__name__):
                    run = kind(check("all"), "--launch", f"srun -n {8 * has} ./train", *more, env=cluster.environment(),
                               wrapper=cluster.argv_on_login(job))
                    self.addCleanup(run.clean)
                    run.start()
                    run.wait(90)
                    report = run.report() if kind is Run else run.reports()[0]
                    case = next(case for case in report["cases"] if case["check"] == "all")
                    self.assertEqual(case["verdict"], "error", run.story())
                    self.assertIn("Slurm can't place the tasks of the line on the CPUs of the step", case["reason"])
                    self.assertIn("Unable to layout tasks", case["reason"])
                    self.assertIn("lower the numbers in the line", case["remedy"])
                    self.assertEqual(job_faults.nodes_blamed(report), [], run.story())
                    if kind is GateRun:
                        self.assertEqual({one["at_fault"] for one in json.loads(run.stdout)["not_good"]}, {False}, run.story())
            told = slurm_services.ask(cluster, "sinfo", "--noheader", "--format=%T").stdout
            self.assertEqual(set(told.split()), {"idle"})

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

    def not_good(self, params, more=""):
        """(node, whether it is at fault) of the gate with one check, and what `--print exclude` has."""
        checks = (f'[check.there]\nprobe = "command"\nranks = "one-per-node"\n{more}\n[check.there.params]\n{params}\n')
        run = self.finished(GateRun, "--print", "json", checks=checks)
        told = json.loads(run.stdout)
        excluded = (pathlib.Path(told["runs"][-1]) / "exclude").read_text()
        return {one["node"]: one["at_fault"] for one in told["not_good"]}, excluded.strip(), told["not_good"]

    def test_what_most_nodes_print_is_the_programs_fault(self):
        only_on = 'case $(hostname) in {nodes}) {command};; esac; true'
        size = 'metric = [{ name = "size", pattern = "size: ([0-9.]+)", unit = "GB/s" }]'
        finding = "echo " + json.dumps(json.dumps({"finding": {"reason": "slow", "remedy": "repair it"}}))
        same = "echo " + json.dumps(json.dumps({"same": {"up": "$RANK"}}))
        bound = 'expect = [{ metric = "size", reference = { value = 3, lower = -0.1, unit = "GB/s" } }]'
        for command, nodes, params, more in (
                (finding, "*", "", ""), (finding, "nid001|nid002|nid003", "", ""), (same, "*", "", ""),
                ("echo size: 3", "nid001", size, ""), ("echo size: 3", "nid001|nid002", size, ""),
                ("echo size: 3", "nid001", size, bound), ("echo size: 3", "nid001|nid002", size, bound)):
            with self.subTest(command=command, nodes=nodes, more=more):
                script = job_faults.script(only_on.format(nodes=nodes, command=command))
                known, excluded, all_of = self.not_good(f"{script}\n{params}", more)
                self.assertEqual((known, excluded), (dict.fromkeys(NODES, False), ""), all_of)

    def test_what_rank_0_alone_does_wrong_is_tried_without_its_node(self):
        """The mistake moves with rank 0: no node is at fault. It stays on nid001: that node is."""
        finding = "echo " + json.dumps(json.dumps({"finding": {"reason": "slow", "remedy": "repair it"}}))
        for mistake in ("cat /no/such/input", finding, "sleep 60"):
            for moves in (True, False):
                with self.subTest(mistake=mistake, moves=moves):
                    where = '"$RANK" = 0' if moves else '"$(hostname)" = nid001'
                    script = job_faults.script(f"if [ {where} ]; then {mistake}; fi")
                    known, excluded, all_of = self.not_good(f'{script}\ndeadline = "3s"')
                    if moves:
                        self.assertEqual((known, excluded), (dict.fromkeys(NODES, False), ""), all_of)
                        self.assertIn("run it once more without nid00", all_of[0]["remedy"])
                    else:
                        self.assertEqual((known, excluded), ({"nid001": True}, "nid001"), all_of)
                        self.assertIn("; with rank 0 on nid002 it passed", all_of[0]["reason"])

    def test_a_crash_of_rank_0_is_its_nodes(self):
        script = job_faults.script('if [ "$RANK" = 0 ]; then kill -BUS $$; fi')
        known, excluded, _ = self.not_good(script)
        self.assertEqual((known, excluded), ({"nid001": True}, "nid001"))

    def test_what_one_node_prints_is_its_own(self):
        finding = "echo " + json.dumps(json.dumps({"finding": {"reason": "slow", "remedy": "repair it"}}))
        known, excluded, _ = self.not_good(job_faults.script(f"case $(hostname) in nid003) {finding};; esac; true"))
        self.assertEqual((known, excluded), ({"nid003": True}, "nid003"))
        size = 'metric = [{ name = "size", pattern = "size: ([0-9.]+)", unit = "GB/s" }]'
        known, excluded, (one,) = self.not_good(job_faults.script("case $(hostname) in nid003) ;; *) echo size: 3;; esac") + "\n" + size)
        self.assertEqual((known, excluded), ({"nid003": False}, "nid003"))
        self.assertIn("did not report size", one["reason"])


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main()
