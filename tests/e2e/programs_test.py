"""Numbers of programs that muster does not come with: the examples below packaging/examples/programs, each with a program that prints what
the real one prints (tests/e2e/outputs), and what a program's wrong result, exit status or file looks like."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", pathlib.Path(__file__).parents[2]))
EXAMPLES = SOURCE / "packaging/examples/programs"
OUTPUTS = SOURCE / "tests/e2e/outputs"
# Example, output, the program on PATH that prints it, metric, labels of the judged reading, its value and unit.
PROGRAMS = (("stream", "stream", "stream", "triad", {}, 282390.6, "MB/s"),
            ("osu_bw", "osu_bw", "mpirun", "bandwidth", {"size": "4194304"}, 12877.03, "MB/s"),
            ("nccl_tests", "all_reduce_perf", "all_reduce_perf", "busbw", {"size": "8589934592", "type": "float"}, 479.62, "GB/s"),
            ("nvbandwidth", "nvbandwidth", "nvbandwidth", "sum", {"test": "host_to_device_memcpy_ce"}, 444.8, "GB/s"),
            ("hpl", "xhpl", "mpirun", "rate", {"N": "115200", "NB": "192"}, 2148.8, "GFLOP/s"))


def metric(name="load", pattern="load: ([0-9.]+)", unit="1", **more):
    lines = [f'name = "{name}"', f"pattern = '{pattern}'", f'unit = "{unit}"', *(f'{key} = "{value}"' for key, value in more.items())]
    return "[[check.it.params.metric]]\n" + "\n".join(lines) + "\n"


def program(script, metrics="", more=""):
    return (f"[check.it]\nprobe = \"command\"\nranks = \"one-per-node\"\n{more}\n[check.it.params]\n"
            f"argv = [\"sh\", \"-c\", {support.toml_value(script)}]\n{metrics}")


class Programs(support.EndToEnd):
    def run_checks(self, checks, folder=None, *options):
        """One rank, which needs no mpirun: that one may stand for the program."""
        run = support.Run(checks, "--launcher", "local", *options)
        self.addCleanup(run.clean)
        if folder is not None:
            run.env["PATH"] = f"{folder}:{run.env['PATH']}"
        run.finish(30)
        self.assert_clean(run)
        return run

    def only_case(self, run):
        return run.report()["cases"][0]

    def bin_with(self, name, text):
        folder = support.new_folder()
        (folder / "output").write_text(text)
        script = folder / name
        script.write_text(f"#!/bin/sh\nexec cat {folder}/output\n")
        script.chmod(0o755)
        return folder


class Listed(support.EndToEnd):
    def listed(self, *words):
        argv = [str(support.DRIVER), "list", *map(str, words)]
        return subprocess.run(argv, capture_output=True, text=True, timeout=20 * support.SLOWNESS)

    def test_metrics_of_programs(self):
        stream, osu = EXAMPLES / "stream.toml", EXAMPLES / "osu_bw.toml"
        said = self.listed(stream, osu, "--metrics", "command").stdout
        self.assertRegex(said, rf"(?m)^metric  triad +MB/s +\w+ .* +Of check stream, {stream}:\d+:\d+$")
        self.assertRegex(said, rf"(?m)^label +size +of bandwidth +Of check \w+, {osu}:\d+:\d+$")
        self.assertIn("param   argv", said)
        alone = self.listed(stream, osu, "--metrics", "stream").stdout
        self.assertIn("triad", alone)
        self.assertNotIn("bandwidth", alone)
        self.assertNotIn("triad", self.listed("--metrics", "command").stdout)
        own = support.new_folder() / "own.toml"
        own.write_text('[check.own]\nprobe = "command"\nparams.argv = ["true"]\nmetrics.x = { unit = "GB/s", maximum = 3.0 }\n')
        self.assertRegex(self.listed(own, "--metrics", "own").stdout, r"(?m)^metric  x +GB/s +no direction, takes a limit  Of check own, ")

    def test_a_name_that_is_neither_a_probe_nor_a_check(self):
        done = self.listed(EXAMPLES / "stream.toml", "--metrics", "strem")
        self.assertEqual((done.returncode, 'did you mean "stream"?' in done.stderr), (3, True), done.stderr)


class Examples(Programs):
    def test_each_reads_its_program(self):
        for example, output, name, metric_name, labels, value, unit in PROGRAMS:
            with self.subTest(example=example):
                text = (OUTPUTS / f"{output}.txt").read_text()
                run = self.run_checks((EXAMPLES / f"{example}.toml").read_text(), self.bin_with(name, text))
                case = self.only_case(run)
                self.assertEqual(case["verdict"], "pass", run.story())
                rows = [row for row in case["metrics"] if row["metric"] == metric_name and dict(row["where"]) == labels]
                self.assertEqual([(row["median"], row["unit"]) for row in rows], [(value, unit)], run.story())
                self.assertEqual((rows[0]["judged"], rows[0]["passed"]), (1, 1), run.story())

    def test_each_fails_by_its_number_and_names_the_bound(self):
        for example, output, name, metric_name, _, value, unit in PROGRAMS:
            with self.subTest(example=example):
                checks = (EXAMPLES / f"{example}.toml").read_text()
                start = checks.index("value = ") + len("value = ")
                end = checks.index(",", start)
                checks = f"{checks[:start]}{2 * float(checks[start:end])}{checks[end:]}"
                run = self.run_checks(checks, self.bin_with(name, (OUTPUTS / f"{output}.txt").read_text()))
                case = self.only_case(run)
                self.assertEqual(case["verdict"], "fail", run.story())
                self.assertIn(metric_name, case["reason"])
                self.assertIn(unit, case["reason"])

    def test_a_wrong_result_fails_though_the_rate_is_good(self):
        for example, output, name, right, wrong in (
                ("hpl", "xhpl", "mpirun", "0 tests completed and failed", "1 tests completed and failed"),
                ("stream", "stream", "stream", "Solution Validates", "Failed Validation on array a[]"),
                ("nccl_tests", "all_reduce_perf", "all_reduce_perf", "values : 0 OK", "values : 3 FAILED")):
            with self.subTest(example=example):
                text = (OUTPUTS / f"{output}.txt").read_text().replace(right, wrong)
                case = self.only_case(self.run_checks((EXAMPLES / f"{example}.toml").read_text(), self.bin_with(name, text)))
                self.assertEqual(case["verdict"], "fail", case)
                self.assertIn("printed no line with", case["reason"])
                self.assertEqual([one.get("node", "") for one in case["culprits"]], [""], "no node is at fault")

    def test_stream_takes_at_most_ten_lines(self):
        lines = [line for line in (EXAMPLES / "stream.toml").read_text().splitlines() if line.strip() and not line.startswith("#")]
        self.assertLessEqual(len(lines), 10)


class Patterns(Programs):
    def test_every_match_is_a_sample(self):
        case = self.only_case(self.run_checks(program("for i in 3 1 2; do echo load: $i; done", metric())))
        row = case["metrics"][0]
        self.assertEqual((row["metric"], case["verdict"]), ("load", "pass"))
        self.assertEqual((row["readings"][0]["n"], row["median"], row["readings"][0]["max"]), (3, 2, 3))

    def test_a_pattern_that_finds_nothing_is_unmeasured(self):
        run = self.run_checks(program("echo load: none", metric()))
        case = self.only_case(run)
        self.assertEqual((case["verdict"], run.status), ("unmeasured", 2))
        self.assertEqual(case["reason"], "metric load: no line of the output matches the pattern 'load: ([0-9.]+)'")
        (culprit,) = case["findings"][0]["culprits"]
        self.assertRegex(str(culprit), r"file.*checks\.toml:\d+:\d+")

    def test_what_is_not_a_number_is_unmeasured(self):
        case = self.only_case(self.run_checks(program("echo load: 1.2.3", metric())))
        self.assertEqual(case["verdict"], "unmeasured")
        self.assertIn('"1.2.3" is not a number', case["reason"])

    def test_the_first_cause_alone_is_reported(self):
        """A program that never started, or did not end well, has no number: its pattern is not at fault."""
        folder = support.new_folder()
        for name, content, mode in (("plain", "no program\n", 0o755), ("locked", "#!/bin/sh\n", 0o644), ("windows.sh", "#!/bin/sh\r\n", 0o755)):
            (folder / name).write_bytes(content.encode())
            (folder / name).chmod(mode)
        bound = 'expect = [{ metric = "load", reference = { value = 3, lower = -0.1, unit = "1" } }]'
        never = [f'argv = ["{folder}/{name}"]' for name in ("missing", "plain", "locked", "windows.sh", "")]
        never += ['argv = ["no-such-program"]', 'argv = ["mychecks/load.sh"]', 'argv = ["{python}"]\nimports = ["no_such_module"]']
        badly = [f'argv = ["sh", "-c", "{script}"]' for script in ("exit 3", "no_such_command", "kill -SEGV $$")]
        badly += ['argv = ["sleep", "60"]\ndeadline = "1s"', 'argv = ["echo", "load: 1.2.3"]']
        for params in never + badly:
            for more in ("", bound):
                with self.subTest(params=params, more=more):
                    case = self.only_case(self.run_checks(f'[check.it]\nprobe = "command"\nranks = "one-per-node"\n{more}\n[check.it.params]\n'
                                                          f"{params}\n{metric()}"))
                    self.assertEqual(len(case["findings"]), 1, [one["reason"] for one in case["findings"]])
                    self.assertNotIn("matches the pattern", case["reason"])
                    if params in never:
                        self.assertEqual(case["verdict"], "error", case["reason"])

    def test_a_file_of_this_run(self):
        folder = support.new_folder()
        out = folder / "out.txt"
        for script, verdict in ((f"echo load: 7 > {out}", "pass"), ("true", "unmeasured")):
            case = self.only_case(self.run_checks(program(script, metric(file=out))))
            self.assertEqual(case["verdict"], verdict, case)
        self.assertIn(f"{out} was not written by this run", case["reason"])

    def test_an_old_line_of_a_log_is_not_of_this_run(self):
        out = support.new_folder() / "out.log"
        reasons = []
        for script, verdict in ((f"echo load: 7 >> {out}", "pass"), (f"echo failed >> {out}", "unmeasured")):
            case = self.only_case(self.run_checks(program(script, metric(file=out))))
            self.assertEqual(case["verdict"], verdict, case)
            reasons.append(case["reason"])
        self.assertIn("metric load", reasons[1])

    def test_the_exit_status_of_a_pipe_is_not_lost(self):
        run = self.run_checks(program("false | cat"))
        self.assert_status(run, 3)
        self.assertIn("checks.toml:", run.stderr)
        self.assertIn("the exit status of a pipe is that of its last command", run.stderr)
        checks = program("set -o pipefail; echo load: 3 | cat; false | cat", metric()).replace('"sh"', '"bash"')
        self.assertEqual(self.only_case(self.run_checks(checks))["verdict"], "fail")
        self.assertEqual(self.only_case(self.run_checks(program("false || echo load: 3", metric())))["verdict"], "pass")

    def test_lint_names_what_re2_lacks_and_other_mistakes(self):
        for written, says in ((metric(pattern="load(?=:) ([0-9.]+)"), "RE2 has no lookahead"),
                              (metric(pattern=r"(a)\1"), "RE2 has no back-references"),
                              (metric(pattern="load"), "has no group for the number"),
                              (metric(pattern="(a) (b)"), "several groups without a name"),
                              (metric(unit="MBs"), 'unknown unit "MBs"'),
                              (metric() + metric(), "declared twice"),
                              (metric(patern="x"), 'unknown key "patern"')):
            with self.subTest(says=says):
                folder = support.new_folder()
                (folder / "c.toml").write_text(program("true", written))
                run = subprocess.run([str(support.DRIVER), "lint", str(folder / "c.toml")], capture_output=True, text=True)
                self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
                self.assertRegex(run.stdout + run.stderr, rf"c\.toml:\d+:\d+: .*{says.replace('[', '.')}")

    def test_ranks_of_its_own(self):
        """A program that is a launcher starts ranks below a rank of muster's."""
        script = 'argv = ["mpirun", "--oversubscribe", "-n", "2", "sh", "-c", "echo world: $OMPI_COMM_WORLD_SIZE"]'
        checks = program("true", metric(pattern="world: ([0-9]+)")).replace('argv = ["sh", "-c", "true"]', script)
        run = support.Run(checks)
        self.addCleanup(run.clean)
        run.finish(60)
        case = self.only_case(run)
        self.assertEqual(case["verdict"], "pass", run.story())
        self.assertEqual((case["metrics"][0]["readings"][0]["n"], case["metrics"][0]["median"]), (2, 2), run.story())


class Reported(Programs):
    def test_how_many_cpus_the_program_had(self):
        run = support.Run(program("nproc"))
        self.addCleanup(run.clean)
        run.finish(30)
        cpus = len(os.sched_getaffinity(0))
        evidence = self.only_case(run)["evidence"]
        self.assertIn(f"each program had {cpus} CPU{'s' if cpus > 1 else ''}", evidence, "the whole node")

    def test_a_timeout_names_the_program(self):
        checks = program("exec sleep 100", more='timeout = "2s"')
        run = self.run_checks(checks)
        case = self.only_case(run)
        self.assertRegex(case["reason"], r"^the program timed out after 2\.\d s \(limit 2\.?0? s\), still running `sleep 100`$")
        self.assertEqual([(one["kind"], one.get("node")) for one in case["culprits"]], [("program", None)])
        case = self.only_case(self.run_checks(program("exec sleep 100") + 'deadline = "1s"\n'))
        self.assertRegex(case["reason"], r"^the program timed out after 1\.\d s \(limit 1s\), still running `sh -c 'exec sleep 100'`")

    def test_a_value_of_a_sweep_that_no_bound_is_about_passes(self):
        checks = ('[check.it]\nprobe = "command"\nranks = "one-per-node"\n[check.it.params]\nargv = ["echo"]\n'
                  '[[check.it.params.metric]]\nname = "load"\npattern = "([0-9.]+)"\nunit = "1"\n'
                  '[check.it.sweep]\narguments = [["3"], ["9"]]\n'
                  '[[check.it.expect]]\nmetric = "load"\nwhere = { arguments = "3" }\nreference = { value = 3, upper = 0, unit = "1" }\n')
        run = self.run_checks(checks)
        self.assertEqual([case["verdict"] for case in run.report()["cases"]], ["pass", "pass"], run.story())
        self.assertIn("is judged in another case of this sweep", run.report()["cases"][1]["notes"][0])

    def test_a_number_without_a_bound_is_printed_whole(self):
        text = program("echo copy: 23000; echo triad: 24044", metric("copy", "copy: ([0-9.]+)", "MB") + metric("triad", "triad: ([0-9.]+)", "MB", better="higher"))
        run = self.run_checks(text, None, "--color", "never")
        self.assertEqual(run.status, 0, run.story())
        printed = " ".join(run.stdout.split())
        self.assertIn("copy 23000 MB, triad 24044 MB (no bound)", printed, run.story())
        self.assertIn("copy and triad have no bound; to judge triad, add to the check `expect = ", printed, run.story())
        self.assertLessEqual(run.stdout.partition("  variables")[0].count("\n"), 13, run.story())
        # What the note has, with the number in it, is a check that passes.
        (line,) = re.findall(r"`(expect = .* \}\])`", run.stdout)
        bounded = self.run_checks(text.replace("[check.it.params]", line.replace("...", "24000") + "\n[check.it.params]"))
        self.assertIn("triad 24044 MB, copy 23000 MB (no bound)", " ".join(bounded.stdout.split()), bounded.story())

    def test_seconds_are_wall_time(self):
        folder = support.new_folder()
        mpirun = folder / "mpirun"
        mpirun.write_text("#!/bin/sh\nsleep 2\nexit 1\n")
        mpirun.chmod(0o755)
        run = support.Run(program("true"), "--launcher", "mpirun", env={"PATH": f"{folder}:{os.environ['PATH']}"})
        self.addCleanup(run.clean)
        run.finish(30)
        self.assertGreater(run.report()["seconds"], 2, run.story())


if __name__ == "__main__":
    support.main()
