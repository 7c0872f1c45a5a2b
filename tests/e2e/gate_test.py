"""`muster gate` on this machine: what it starts, with which status, and when it starts nothing."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from on_gate import GateRun  # noqa: E402
from support import check, wait_until  # noqa: E402

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).parents[2]))
GOOD = check("good", ranks=1, number=1)
BAD = check("bad", ranks=1, how="fail_run", rank=0)
MARK = ["sh", "-c", "echo started > MARKER"]


class Gate(support.EndToEnd):
    def gate(self, checks, *options, limit=20, **more):
        run = GateRun(checks, *options, **more)
        self.addCleanup(run.clean)
        run.argv = [word.replace("MARKER", str(run.marker)) for word in run.argv]
        run.finish(limit)
        self.assert_clean(run)
        return run

    def refused(self, checks, *options, says=(), status=125, command=MARK, **more):
        """Nothing was started, and standard error says why."""
        run = self.gate(checks, *options, command=command, **more)
        self.assert_status(run, status)
        self.assertFalse(run.marker.exists(), run.story())
        self.assertEqual(run.stdout, "", run.story())
        for words in says:
            self.assertIn(words, run.stderr, run.story())
        return run


class Started(Gate):
    def test_the_exit_status_is_the_commands_own(self):
        run = self.gate(GOOD, command=["sh", "-c", "echo hi; exit 7"])
        self.assert_status(run, 7)
        self.assertEqual(run.stdout, "hi\n", "standard output is the command's")
        self.assertIn(f"1 node good: {support.HOST}", run.stderr)
        self.assertIn(f"muster show {run.run_folder()} for details", run.stderr)
        self.assertEqual(run.report()["cases"][0]["verdict"], "pass")
        self.assertIn("good", (run.run_folder() / "report.txt").read_text())

    def test_a_signal_that_ends_it_is_its_own(self):
        self.assert_status(self.gate(GOOD, command=["sh", "-c", "kill -USR1 $$"]), -signal.SIGUSR1)

    def test_its_words_are_left_alone(self):
        words = ["--need", "9", "", "-J=x", "--", "--nodes=", "--help"]
        run = self.gate(GOOD, command=["printf", "%s|", *words])
        self.assertEqual(run.stdout, "".join(word + "|" for word in words))
        self.assert_status(run, 0)

    def test_it_gets_what_the_gate_was_given(self):
        """Signals, descriptors and variables are as if it had been started by itself."""
        told = ["sh", "-c", "grep -E 'Sig(Ign|Blk|Cgt)' /proc/self/status; ls /proc/self/fd | wc -l; cat"]
        alone = subprocess.run(told, capture_output=True, text=True, stdin=subprocess.DEVNULL, preexec_fn=support.take_signals)
        self.assertEqual(self.gate(GOOD, command=told).stdout, alone.stdout)
        run = self.gate(GOOD, command=["sh", "-c", "echo $MUSTER_NODELIST $MUSTER_NODES; cat $MUSTER_HOSTFILE"])
        self.assertEqual(run.stdout, f"{support.HOST} 1\n{support.HOST}\n")

    def test_signals_reach_it(self):
        run = GateRun(GOOD, command=["sh", "-c", "trap 'exit 42' INT; echo up; while :; do sleep 0.1; done"])
        self.addCleanup(run.clean)
        run.start()
        self.assertTrue(wait_until(lambda: run.stdout, 20 * support.SLOWNESS), run.story())
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(10), 42, run.story())

    def test_mpirun_on_this_machine_alone(self):
        run = self.gate(GOOD, command=["mpirun", "--oversubscribe", "-n", "2", "hostname"])
        self.assertEqual(run.stdout.splitlines(), [support.HOST] * 2, run.stderr)

    def test_mpirun_gets_the_hosts(self):
        run = self.gate(GOOD, "--nodes", support.HOST, command=["mpirun", "--oversubscribe", "-n", "2", "hostname"])
        self.assert_status(run, 0)
        self.assertEqual(run.stdout.split(), [support.HOST] * 2, run.story())

    def test_master_addr_is_a_chosen_node(self):
        told = ["sh", "-c", "echo $MASTER_ADDR"]
        for given, options, wanted, note in ((None, (), support.HOST, False), ("nid999", (), support.HOST, True),
                                             ("", (), support.HOST, False),
                                             (support.HOST, (), support.HOST, False), (support.HOST.upper(), (), support.HOST.upper(), False),
                                             (f"{support.HOST}:29500", (), support.HOST, True), ("localhost", (), "localhost", False),
                                             ("127.0.0.1", (), "127.0.0.1", False),
                                             (None, ("--no-master",), "", False)):
            with self.subTest(given=given, options=options):
                run = GateRun(GOOD, *options, command=told)
                self.addCleanup(run.clean)
                run.env.pop("MASTER_ADDR", None)
                if given is not None:
                    run.env["MASTER_ADDR"] = given
                run.finish(20)
                self.assertEqual(run.stdout, f"{wanted}\n", run.story())
                self.assertEqual(f"MASTER_ADDR is {support.HOST}, not {given}" in run.stderr, note, run.stderr)

    def test_a_master_addr_outside_of_the_job_is_not_kept(self):
        run = GateRun(GOOD, "--no-master", command=["echo", "started"])
        self.addCleanup(run.clean)
        run.env["MASTER_ADDR"] = "nid999"
        run.finish(20)
        self.assertEqual((run.status, run.stdout), (125, ""), run.story())
        self.assertIn("MASTER_ADDR=nid999 names no node of the gate; leave --no-master out", run.stderr)

    def test_the_shipped_checks(self):
        run = self.gate("", command=["true"], limit=60)
        self.assert_status(run, 0)
        self.assertEqual(len(run.report()["launches"]), 1, "one launch")

    def test_checks_of_another_tag(self):
        run = self.gate("", "-t", "default", "-x", "p2p|allreduce|memory", "--deadline", "60s", command=["true"], limit=90)
        self.assert_status(run, 0)
        names = {case["check"]: case["verdict"] for case in run.report()["cases"]}
        self.assertEqual(names.get("training"), "pass", names)
        self.assertNotIn("p2p_short", names)


class Pages(Gate):
    def test_the_batch_script_of_the_page_leaves_bad_nodes_out(self):
        """docs/gate.md, word for word, with a gate that refuses and an sbatch that writes down what it is given; with Slurm:
        cluster.undescribed_test."""
        page = (SOURCE / "docs/gate.md").read_text()
        script = next(part for part in page.split("```sh\n") if "status=$?" in part).split("```")[0]
        folder = support.new_folder()
        self.addCleanup(shutil.rmtree, folder)
        (folder / "muster-runs/job-12/latest").mkdir(parents=True)
        for name, text in (("muster", "exit 125"), ("sbatch", 'echo "$@" >> sbatch.log')):
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        (folder / "job.sh").write_text(script)
        env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        for excluded, before in (("nid003,nid005\n", ""), ("nid007\n", "nid003,nid005"), ("", "")):
            (folder / "muster-runs/job-12/latest/exclude").write_text(excluded)
            done = subprocess.run(["bash", "job.sh"], cwd=folder, env={**env, "EXCLUDED": before, "SLURM_JOB_ID": "12"},
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (125, ""))
        self.assertEqual((folder / "sbatch.log").read_text(),
                         "--exclude=nid003,nid005 job.sh\n--exclude=nid003,nid005,nid007 job.sh\n")

    def test_what_is_to_be_left_out_is_in_the_run_folder(self):
        run = self.gate(BAD, "--print", "exclude")
        self.assertEqual((run.run_folder() / "exclude").read_text(), run.stdout)
        run = self.gate(GOOD, command=["true"])
        self.assertEqual((run.run_folder() / "exclude").read_text(), "", "a script tests it with [ -s FILE ]")


class Printed(Gate):
    def test_hosts(self):
        self.assertEqual(self.gate(GOOD, "--print", "hosts").stdout, f"{support.HOST}\n")
        run = self.gate(BAD, "--print", "hosts")
        self.assertEqual((run.stdout, run.status), ("", 125), run.story())

    def test_exclude(self):
        self.assertEqual(self.gate(GOOD, "--print", "exclude").stdout, "\n")
        self.assertEqual(self.gate(BAD, "--print", "exclude").stdout, f"{support.HOST}\n")

    def test_json(self):
        run = self.gate(BAD + GOOD, "--print", "json")
        told = json.loads(run.stdout)
        self.assertEqual((told["verdict"], told["need"], told["chosen"], run.status), ("refused", 1, [], 125))
        bad = told["not_good"][0]
        self.assertEqual((bad["node"], bad["at_fault"], bad["check"]), (support.HOST, True, "bad"))
        self.assertTrue(bad["reason"] and bad["remedy"], bad)
        good = json.loads(self.gate(GOOD, "--print", "json").stdout)
        self.assertEqual((good["verdict"], good["chosen"], good["not_good"]), ("go", [support.HOST], []))
        self.assertIn("refused: 0 of 1 nodes are good", told["reason"])
        self.assertEqual(good["reason"], "")

    def test_json_comes_also_when_nothing_was_measured(self):
        for options, says, need, nodes in (((), "nothing was measured: request as many", 3, [support.HOST]),
                                           (("--deadline", "soon"), "--deadline", 1, []),
                                           (("-S", "good.nosuch=1"), "see standard error", 1, [])):
            with self.subTest(options=options):
                run = self.gate(GOOD, "--print", "json", *options, need=need)
                told = json.loads(run.stdout)
                self.assertEqual((told["verdict"], told["nodes"], told["need"], run.status), ("refused", nodes, need, 125))
                self.assertIn(says, told["reason"])
        run = self.gate(GOOD, "--print", "exclude", need=3)
        self.assertEqual((run.stdout, run.status), ("", 125), run.story())


class Refused(Gate):
    def test_a_bad_node(self):
        self.refused(GOOD + BAD, says=(f"{support.HOST}: bad: ", "refused: 0 of 1 nodes are good, 1 is needed"))

    def test_more_than_there_are(self):
        self.refused(GOOD, need=2, says=("2 nodes are needed, and 1 is there", "nothing was measured"))

    def test_nothing_that_applies(self):
        alone = check("pair", ranks=1).replace("[check.pair.params]", "nodes = 2\n[check.pair.params]")
        self.refused(alone, says=("not known to be good: pair: nothing was measured: ",))

    def without_mpirun(self, *options, **more):
        run = GateRun(GOOD, "--launcher", "mpirun", *options, **more)
        self.addCleanup(run.clean)
        run.env["PATH"] = str(run.folder)
        run.finish(20)
        self.assert_status(run, 125)
        return run

    def test_a_launcher_that_is_missing_is_no_fault_of_the_node(self):
        run = self.without_mpirun(command=["/bin/sh", "-c", "true"])
        self.assertIn("there is no mpirun on PATH", run.stderr)
        self.assertIn("no node is at fault", run.stderr)
        self.assertIn("not known to be good", run.stderr)
        self.assertEqual(self.without_mpirun("--print", "exclude").stdout, "\n", "the next job would have no nodes")

    def test_a_module_that_no_node_has_is_no_pass(self):
        """`imports` misspelt: the check is at fault, no node is excluded, and nothing is started."""
        misspelt = GOOD + check("modules", ranks=1, timeout="30s", probe="command", argv=["{python}", "-c", "pass"], imports=["jsom"])
        self.refused(misspelt, says=["no python3 on PATH has jsom", 'did you mean "json"?', "correct the check's `imports`", "no node is at fault"])
        run = self.gate(misspelt, "--print", "exclude")
        self.assertEqual((run.status, run.stdout), (125, "\n"), run.story())
        self.assertEqual([case["verdict"] for case in run.report()["cases"]], ["pass", "error"], run.story())

    def test_a_command_that_can_not_be_started(self):
        self.refused(GOOD, command=["no-such-program"], status=127, says=("no-such-program is not found",))
        self.refused(GOOD, command=["/no/such/program"], status=127)
        self.refused(GOOD, command=["/etc/passwd"], status=126, says=("can't be run",))
        self.refused(GOOD, command=["/tmp"], status=126)

    def test_a_file_that_is_no_program(self):
        """As a shell has it: without a first line that says who reads it a script is the shell's, a binary is nobody's."""
        for content, status, says in ((b"#!/no/such/interpreter\n", 127, "can't be started"),
                                      (b"\x7fELF\x02\x01\x01\0 no program at all\n", 126, "it is not a program for this machine"),
                                      (b"exit 5\n", 5, "1 node good")):
            with self.subTest(content=content):
                run = GateRun(GOOD)
                self.addCleanup(run.clean)
                script = run.folder / "script"
                script.write_bytes(content)
                script.chmod(0o755)
                run.argv += ["--", str(script)]
                self.assertEqual(run.finish(20).status, status, run.story())
                self.assertIn(says, run.stderr)

    def test_misuse(self):
        cases = ((("--need", "0"), MARK, "--need"), (("--need", "x"), MARK, "--need"),
                 (("--nodes", ""), MARK, "--nodes has an empty value"), (("--nodes", "nid[001"), MARK, "--nodes"),
                 (("--nodes", "nid001,nid001"), MARK, "named twice"), (("--deadline", "1s"), MARK, "--deadline"),
                 (("--deadline", "soon"), MARK, "--deadline"), (("--bogus",), MARK, 'unknown option "--bogus"'),
                 (("--print", "all"), (), "--print"), (("--print", "hosts"), MARK, "prints instead of starting"),
                 ((), (), "there is no command"), ((), ("",), "is empty"), (("-S", "good.nosuch=1"), MARK, "nosuch"),
                 (("--checks", "/no/such.toml"), MARK, "/no/such.toml"), (("--timeout", "soon"), MARK, "--timeout"),
                 (("srun", "-n", "2", "--ntasks=2", "./x"), (), "needs a command after --: muster gate --need N -- srun"),
                 (("--bogus", "2", "srun"), (), 'unknown option "--bogus"'),
                 (("-n", "hello"), MARK, 'unknown option "-n"; see muster gate --help'),
                 (("-nhello",), MARK, 'unknown option "-n"; see muster gate --help'))
        for options, command, says in cases:
            with self.subTest(options=options, command=command):
                self.refused(GOOD, *options, command=command, says=(says,))

    def test_a_command_that_chooses_nodes_itself(self):
        self.refused(GOOD, "--nodes", support.HOST, command=["mpirun", "--host", "elsewhere", "true"],
                     says=("-host chooses nodes",))


class Hanging(Gate):
    def test_a_rank_that_is_stopped(self):
        run = self.refused(check("bad", ranks=1, how="stop", rank=0, timeout="60s"), "--deadline", "16s",
                           says=(f"{support.HOST}: bad: ", "is stopped"), limit=20)
        self.assertLess(run.seconds, 16 * support.SLOWNESS, run.story())

    def test_a_timeout_of_ones_own(self):
        """Which the remedy of a check that took too long requests."""
        checks = check("slow", ranks=1, how="slow", seconds="2500ms", rank=0, timeout="60s")
        self.refused(checks, "--timeout", "1s", says=(f"{support.HOST}: slow: ", "is in work since"), limit=20)
        # A third of the deadline would be too little.
        self.assert_status(self.gate(checks, "--deadline", "6s", "--timeout", "4s", command=["true"]), 0)

    def test_what_takes_too_long_was_not_measured(self):
        slow = "".join(check(f"slow{i}", ranks=1, how="slow", seconds="1500ms", rank=0, timeout="60s") for i in range(9))
        run = self.refused(slow, "--deadline", "8s", says=("not known to be good", "the time for all checks together was up"))
        self.assertLess(run.seconds, 8 * support.SLOWNESS, run.story())
        verdicts = [case["verdict"] for case in run.report()["cases"]]
        self.assertEqual((verdicts[0], verdicts[-1]), ("pass", "unmeasured"), run.story())

    def test_control_c(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            run = GateRun(check("bad", ranks=1, how="hang", rank=0, timeout="60s", marker="MARKER"), command=["echo", "started"])
            self.addCleanup(run.clean)
            run.until_marker()
            run.signal(number)
            self.assertEqual(run.wait(15), status, run.story())
            self.assertEqual(run.stdout, "")
            self.assertIn("nothing was started", run.stderr)
            self.assertEqual(run.report()["interrupted"], signal.Signals(number).name)
            self.assert_clean(run)


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        support.skip("there is no mpirun")
    support.main()
