"""`muster run --submit` from the login node of a virtual cluster with a real Slurm: the report comes back, and what ends a
job otherwise is told as such."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import pathlib  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from support import Run, check, ten_cases, wait_until  # noqa: E402

SOURCE = pathlib.Path(os.environ.get("MUSTER_SOURCE", HERE.parents[1])).resolve()
NODES = ("nid001", "nid002", "nid003", "nid004")
# Two ranks per node and as many processors: the nodes do not see that they share them.
BINDING = "--launcher-option=--cpu-bind=none"


class Submitted(support.EndToEnd):
    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(4, slurm=vc.Shape())
        cls.cluster = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def setUp(self):
        self.addCleanup(self.end_jobs)

    def end_jobs(self):
        self.ask("scancel", "--user=root")
        idle = wait_until(lambda: set(slurm_services.states(self.cluster).values()) <= {"idle"}, 40)
        self.assertTrue(idle, f"{slurm_services.states(self.cluster)}\n{slurm_services.last_words(self.cluster)}")
        # Nodes of a job that is gone can't be reached: flight recorders stay until a later run on the node drops them.
        for node in NODES:
            self.cluster.execute(node, ["sh", "-c", "rm -rf /dev/shm/muster-*"])

    def ask(self, *words):
        return slurm_services.ask(self.cluster, *words)

    def jobs(self):
        return self.ask("squeue", "--noheader", "--format=%i").stdout.split()

    def new_run(self, checks, *options, nodes="4", env=None):
        run = Run(checks, "--submit", "--nodes", nodes, BINDING, *options, wrapper=self.cluster.argv_on_login([]),
                  env={**self.cluster.environment(), "MUSTER_SUBMIT_POLL": "0.3s",
                       **(env or {})})
        self.addCleanup(run.clean)
        return run

    def job_of(self, run):
        found = re.search(r"job (\d+)", run.stderr)
        self.assertTrue(found, run.story())
        return found[1]

    def job_case(self, run):
        case = run.report()["cases"][0]
        self.assertEqual(case["id"], "job%" + self.job_of(run), run.story())
        print(f"  {run.seconds:.1f} s, status {run.status}, {case['verdict']}: {case['reason']}", flush=True)
        return case

    def waited(self, run):
        """Until the job of a run is there, and its number is told."""
        self.assertTrue(wait_until(lambda: re.search(r"job \d+", run.stderr), 20), run.story())
        return self.job_of(run)


class AtNight(Submitted):
    def test_idle_nodes_by_the_line_of_the_crontab(self):
        """A node with a job and one that is drained are left alone. What is measured is cheap, which MUSTER_CHECKS says itself."""
        table = (SOURCE / "packaging/examples/cron/muster").read_text()
        (line,) = re.findall(r"^#0 2 \* \* \* root (.*)$", table, re.MULTILINE)
        folder = support.new_folder()
        self.addCleanup(shutil.rmtree, folder, True)
        (folder / "checks").mkdir()
        (folder / "checks/hello.toml").write_text((SOURCE / "checks/basic/hello.toml").read_text())
        slurm_services.drain(self.cluster, "nid004", "fan is loud")
        self.addCleanup(slurm_services.resume, self.cluster, "nid004")
        job = self.ask("sbatch", "--parsable", "--nodelist=nid002", "--output=/dev/null", "--wrap=sleep 300").stdout.strip()
        self.assertTrue(wait_until(lambda: slurm_services.states(self.cluster)["nid002"] in ("mixed", "allocated"), 20))
        self.assertIn("/shared/muster", line, "a folder that nodes see, too")
        done = subprocess.run(self.cluster.argv_on_login(["/bin/sh", "-c", line.replace("/shared/muster", str(folder / "out"))]),
                              env={**self.cluster.environment(), "PATH": f"{support.BIN}:/usr/bin:/bin", "HOME": "/root",
                                   "XDG_STATE_HOME": str(folder), "MUSTER_CHECKS": str(folder / "checks"), "MUSTER_SUBMIT_POLL": "0.3s"},
                              capture_output=True, text=True, timeout=120 * support.SLOWNESS, cwd=folder)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said)
        self.assertEqual(said, f"checks and profiles come from {folder}/checks (MUSTER_CHECKS)\n")
        report = json.loads((folder / "out/latest/report.json").read_text())
        self.assertEqual([one["node"] for one in report["nodes"]], ["nid001", "nid003"], said)
        # muster's own job may be completing for a moment.
        self.assertTrue(wait_until(lambda: self.ask("squeue", "--noheader", "--format=%i %T").stdout.split() == [job, "RUNNING"], 30))


class ReportBack(Submitted):
    def test_all_well(self):
        run = self.new_run(check("hello", probe="hello") + ten_cases(how="none"))
        run.argv += ["--report", f"junit={run.folder / 'results.xml'}"]
        run.start()
        self.assertEqual(run.wait(60), 0, run.story())
        hello = run.case("hello")
        self.assertEqual([(row["node"], row["ranks"]) for row in hello["node_rows"]], [(node, 2) for node in NODES])
        self.assert_nine_passed(run)
        self.assertIn('tests="', (run.folder / "results.xml").read_text())
        self.assertIn("hello", run.stdout, "the console report is shown here")
        report = run.report()
        self.assertRegex(report["notes"][0], r"^ran as Slurm job \d+ on nid\[001-004\], submitted on vclogin")
        self.assertEqual(pathlib.Path(report["folder"]).resolve(), run.run_folder().resolve())
        self.assertEqual((run.output / "latest").resolve(), run.run_folder().resolve())
        self.assertIn("--submit", " ".join(hello["rerun"]))
        for kept in ("spool", "launches/1/command", "job/script", "job/output", "job/0.status"):
            self.assertTrue((run.run_folder() / kept).exists(), kept)
        self.assertRegex(run.stderr, r"Slurm job \d+ runs on nid\[001-004\]")
        self.assertLess(run.seconds, 15 * support.SLOWNESS, run.story())
        print(f"  {run.seconds:.1f} s for 11 cases", flush=True)

    def test_a_failure_comes_back_with_its_culprit_and_status(self):
        run = self.new_run(ten_cases(how="stop", rank=3, timeout="3s"), nodes="2")
        run.start()
        self.assertEqual(run.wait(60), 1, run.story())
        self.assertIn("rank 3 on nid002 is stopped", run.case("bad")["reason"], run.story())
        self.assert_nine_passed(run)
        self.assertNotIn("job", [case["check"] for case in run.report()["cases"]])

    def test_a_folder_with_a_blank_and_a_percent_sign(self):
        run = self.new_run(check("hello", probe="hello", ranks=1), nodes="1")
        output = run.folder / "50% of it's runs"
        run.argv[run.argv.index("--output") + 1] = str(output)
        run.output = output
        run.start()
        self.assertEqual(run.wait(60), 0, run.story())

    def with_module(self, function):
        """A site's `module` is a function that shells read when they start."""
        run = self.new_run(check("hello", probe="hello"), "--system", "mine", "--environment", "tools", "-J", "image=env",
                           nodes="1")
        modules = run.folder / "modules"
        modules.write_text(f"module() {{ {function}; }}\n")
        run.env["BASH_ENV"] = str(modules)
        profile = run.folder / "mine.toml"
        profile.write_text('[system]\nname = "mine"\n[[partition]]\nname = "p"\n[[environment]]\nname = "tools"\n'
                           'modules = ["tool"]\nwrapper = ["{image}", "WRAPPED=1"]\n')
        run.argv.append(str(profile))
        run.start()
        run.wait(60)
        return run

    def test_modules_and_wrapper_of_the_environment(self):
        run = self.with_module("export LOADEDMODULES=$2/1.0")
        self.assertEqual(run.status, 0, run.story())
        self.assertIn("env WRAPPED=1", (run.run_folder() / "launches/1/command").read_text())

    def test_a_module_that_is_not_there(self):
        run = self.with_module("echo there is no $2 >&2; return 1")
        self.assertEqual(run.status, 2, run.story())
        case = self.job_case(run)
        self.assertEqual(case["verdict"], "error")
        self.assertIn("exit status 3", case["reason"])
        self.assertIn("of the job", run.stdout)
        self.assertEqual(case["outputs"][0]["text"].splitlines()[:2], ["there is no tool", "muster: module load tool failed"])

    def test_a_run_that_outlives_its_driver(self):
        """kill -9 of the side that submitted: the job goes on, and its report is found."""
        run = self.new_run(ten_cases(how="slow", seconds="2s", timeout="20s", rank=0, marker="MARKER"), nodes="1")
        run.until_marker(40)
        run.process.kill()
        run.process.wait()
        run.status = None
        self.assertTrue(wait_until(lambda: not self.jobs(), 40), run.story())
        done = self.cluster.execute(vc.LOGIN, [str(support.DRIVER), "show", str(run.run_folder())], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bad", done.stdout)


class BeforeSubmission(Submitted):
    def test_dry_run_shows_the_script_and_submits_nothing(self):
        run = self.new_run(check("hello", probe="hello"), "--dry-run", "-J", "account=project_1", "-J=--reservation=r")
        run.finish(20)
        self.assertEqual(run.status, 0, run.story())
        for line in ("#SBATCH --nodes=4", "#SBATCH --ntasks-per-node=2", "#SBATCH --account=project_1",
                     "#SBATCH --reservation=r", "#SBATCH --exclusive"):
            self.assertIn(line + "\n", run.stdout)
        self.assertRegex(run.stdout, r"# submitted with: sbatch --parsable \S+/job/script")
        self.assertEqual(self.jobs(), [])
        self.assertFalse(run.output.exists(), "a folder was made")

    def test_what_sbatch_refuses_is_told_with_what_to_change(self):
        for option, says in (("nosuch=x", "unrecognized option '--nosuch=x'; correct it"),
                             ("partition=x", "choose a partition of sinfo"), ("constraint=x", "-J constraint=...")):
            run = self.new_run(check("hello", probe="hello"), "-J", option)
            run.finish(20)
            self.assertEqual(run.status, 3, run.story())
            self.assertIn(says, run.stderr)
            self.assertIn("nothing was started", run.stderr)
            self.assertEqual([path for path in run.output.glob("*")], [], "a folder was left")

    def test_what_sbatch_would_not_know(self):
        """Named before sbatch is called: the option that was meant, and those of srun."""
        for option, says in (("partitoin=x", 'sbatch has no option --partitoin; did you mean "--partition"?'),
                             ("--cpu-bind=none", "--cpu-bind is an option of srun, not of sbatch; give it to the launcher inside the job: "
                              "--launcher-option=--cpu-bind=none")):
            for more in ((), ("--dry-run",)):
                run = self.new_run(check("hello", probe="hello"), f"-J={option}", *more)
                run.finish(20)
                self.assertEqual(run.status, 3, run.story())
                self.assertIn(says, run.stderr)
                self.assertEqual([path for path in run.output.glob("*")], [], "a folder was left")
        self.assertEqual(self.jobs(), [])

    def test_a_placeholder_that_nothing_fills(self):
        run = self.new_run(check("hello", probe="hello"), "--system", "mine")
        profile = run.folder / "mine.toml"
        profile.write_text('[system]\nname = "mine"\n[[partition]]\nname = "p"\nlauncher = "srun"\n'
                           'scheduler_options = ["--partition=standard", "--comment={account}"]\n')
        run.argv.append(str(profile))
        run.finish(20)
        self.assertEqual(run.status, 3, run.story())
        self.assertIn("mine.toml:6:46: nothing fills {account}", run.stderr)
        run.argv += ["-J", "account=x"]
        run.finish(60)
        self.assertEqual(run.status, 0, run.story())

    def test_an_option_that_the_partition_refuses(self):
        run = self.new_run(check("hello", probe="hello"), "--system", "mine", "-J", "mem=0")
        profile = run.folder / "mine.toml"
        profile.write_text('[system]\nname = "mine"\n[[partition]]\nname = "p"\nscheduler_refuses = ["--gres", "--mem"]\n')
        run.argv.append(str(profile))
        run.finish(20)
        self.assertEqual(run.status, 3, run.story())
        self.assertIn("mine:p refuses jobs with --mem; leave it out", run.stderr)

    def test_in_a_job_there_is_nothing_to_submit(self):
        words = ["salloc", "--quiet", "--nodes=1", str(support.DRIVER), "run", "--submit"]
        done = self.cluster.execute(vc.LOGIN, words, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"muster already runs inside Slurm job \d+")

    def test_idle_nodes(self):
        slurm_services.drain(self.cluster, "nid002", "bad DIMM")
        self.addCleanup(slurm_services.resume, self.cluster, "nid002")
        run = self.new_run(check("hello", probe="hello"), nodes="idle")
        run.finish(60)
        self.assertEqual(run.status, 0, run.story())
        self.assertEqual([row["node"] for row in run.case("hello")["node_rows"]], ["nid001", "nid003", "nid004"])
        self.assertIn("left out: nid002 (drained: bad DIMM)", run.stderr)
        wait_until(lambda: "completing" not in slurm_services.states(self.cluster).values(), 20)
        self.ask("sbatch", "--nodes=3", "--exclusive", "--output=/dev/null", "--wrap=sleep 60")
        self.assertTrue(wait_until(lambda: "idle" not in slurm_services.states(self.cluster).values(), 20))
        none = self.new_run(check("hello", probe="hello"), nodes="idle")
        none.finish(20)
        self.assertEqual(none.status, 75, none.story())
        self.assertIn("not started: no node is idle now; left out: nid001 (allocated)", none.stderr)
        self.assertNotIn("in a row", none.stderr)
        quiet = self.new_run(check("hello", probe="hello"), "--quiet", nodes="idle")
        said = []
        for night in range(7):
            quiet.finish(20)
            self.assertEqual(quiet.status, 75, quiet.story())
            said.append(quiet.stdout + quiet.stderr)
        self.assertEqual([bool(one) for one in said], [False, False, True, False, False, True, False], said)
        self.assertRegex(said[2], r"muster: not started: no node is idle now; .*; 3 runs in a row found none, "
                                  r"nothing was tested since \d{4}-\d\d-\d\dT")
        self.ask("scancel", "--user=root")

    def test_idle_nodes_of_a_job(self):
        """Those that no other step runs on."""
        script = ("srun --nodes=1 --ntasks=1 --nodelist=nid001 sleep 30 & "
                  "until squeue --steps --noheader --format=%j --jobs=$SLURM_JOB_ID | grep -qx sleep; do sleep 0.1; done; "
                  f"{support.DRIVER} plan -n hello --nodes idle")
        done = self.cluster.execute(vc.LOGIN, ["salloc", "--quiet", "--nodes=2", "sh", "-c", script], capture_output=True,
                                    text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--nodelist=nid002", done.stdout)
        outside = self.cluster.execute(vc.LOGIN, [str(support.DRIVER), "plan", "-n", "hello", "--nodes", "idle"],
                                       capture_output=True, text=True)
        self.assertEqual(outside.returncode, 3)
        self.assertIn("in a job, or with --submit", outside.stderr)


class OtherEnds(Submitted):
    def hanging(self, *options, nodes="2"):
        run = self.new_run(ten_cases(how="hang", rank=0, timeout="60s", marker="MARKER"), *options, nodes=nodes)
        run.until_marker(40)
        return run

    def interrupted(self, number, status, name):
        run = self.hanging()
        job = self.job_of(run)
        run.signal(number)
        self.assertEqual(run.wait(60), status, run.story())
        self.assertEqual(self.jobs(), [], "the job is gone before muster is")
        self.assertEqual(run.report()["interrupted"], name)
        self.assertIn(f"job {job}", self.job_case(run)["reason"])
        self.assertEqual([case["verdict"] for case in run.cases("a")], ["pass"] * 5, run.story())
        self.assertEqual(run.case("bad")["verdict"], "unmeasured", run.story())

    def test_control_c_cancels_the_job(self):
        self.interrupted(signal.SIGINT, 130, "SIGINT")

    def test_sigterm_cancels_the_job(self):
        self.interrupted(signal.SIGTERM, 143, "SIGTERM")

    def test_control_c_while_it_waits(self):
        self.ask("sbatch", "--nodes=4", "--exclusive", "--output=/dev/null", "--wrap=sleep 100")
        run = self.new_run(check("hello", probe="hello"))
        run.start()
        self.assertTrue(wait_until(lambda: "waits for nodes to become free (Resources)" in run.stderr, 20), run.story())
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(30), 130, run.story())
        self.assertEqual(len(self.jobs()), 1)
        self.assertGreater(run.report()["seconds"], 0.3, "the time in the queue counts")
        self.assertIn("nothing came back", self.job_case(run)["reason"])
        self.assertEqual(run.case("hello")["verdict"], "unmeasured")

    def test_cancelled_by_another(self):
        run = self.hanging()
        self.ask("scancel", self.job_of(run))
        self.assertEqual(run.wait(60), 2, run.story())
        case = self.job_case(run)
        self.assertEqual(case["verdict"], "unmeasured")
        self.assertIn("was cancelled on nid[001-002]", case["reason"])
        self.assertEqual([case["verdict"] for case in run.cases("a")], ["pass"] * 5, run.story())
        self.assertIn("Slurm does not report by whom", case["reason"])
        self.assertFalse(run.report().get("interrupted"))

    def test_killed_without_a_word(self):
        run = self.hanging()
        scripts = [pid for pid in self.cluster.processes("nid001") if "slurm_script" in support.command_line(pid)]
        self.assertEqual(len(scripts), 1)
        os.kill(scripts[0], signal.SIGKILL)
        self.assertEqual(run.wait(90), 2, run.story())
        case = self.job_case(run)
        self.assertEqual(case["verdict"], "error")
        self.assertIn("has failed", case["reason"])
        self.assertEqual([case["verdict"] for case in run.cases("a")], ["pass"] * 5, run.story())
        # Whether muster lived long enough to look at the nodes of a job that was gone or not: nobody is blamed.
        self.assertEqual(run.case("bad")["verdict"], "unmeasured", run.story())

    def test_requeued(self):
        """Its second start is followed; what the first one left is not written over."""
        run = self.new_run(ten_cases(how="slow", seconds="3s", timeout="30s", rank=0, marker="MARKER"), nodes="2")
        run.until_marker(40)
        job = self.job_of(run)
        self.ask("scontrol", "requeue", job)
        self.assertTrue(wait_until(lambda: "it was requeued) waits" in run.stderr, 40), run.story())
        # Slurm lets it wait for two minutes. Its daemons refuse a job that starts again in the second in which they killed it.
        until = int(time.time()) + 1
        wait_until(lambda: int(time.time()) > until, 10)
        self.ask("scontrol", "update", f"jobid={job}", "starttime=now")
        self.assertEqual(run.wait(90), 0, run.story())
        self.assert_nine_passed(run)
        self.assertIn("it was requeued once", run.report()["notes"][0])
        self.assertTrue((run.run_folder() / "job" / "0" / "spool").exists())
        print(f"  {run.report()['notes']}", flush=True)

    def test_a_node_that_is_drained(self):
        slurm_services.drain(self.cluster, "nid002", "bad DIMM")
        self.addCleanup(slurm_services.resume, self.cluster, "nid002")
        run = self.new_run(check("hello", probe="hello"), nodes="nid[001-002]")
        run.start()
        said = wait_until(lambda: "can't start: a node that it names is down, drained or reserved (nid002)" in run.stderr, 20)
        self.assertTrue(said, run.story())
        self.assertIn("leave the node out with --nodes", run.stderr)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(30), 143, run.story())

    def test_held_and_released(self):
        run = self.new_run(check("hello", probe="hello"), "-J=--hold", nodes="1")
        run.start()
        self.assertTrue(wait_until(lambda: "is held by its user" in run.stderr, 20), run.story())
        self.ask("scontrol", "release", self.job_of(run))
        self.assertEqual(run.wait(60), 0, run.story())

    def test_a_node_that_fails(self):
        run = self.new_run(ten_cases(how="hang", rank=0, timeout="60s", marker="MARKER"), "-J=--no-requeue", nodes="nid[003-004]")
        run.until_marker(40)
        slurm_services.kill_slurmd(self.cluster, "nid004")
        self.addCleanup(slurm_services.start_slurmd, self.cluster, "nid004")
        slurm_services.down(self.cluster, "nid004")
        self.assertEqual(run.wait(90), 1, run.story())
        case = self.job_case(run)
        self.assertEqual(case["verdict"], "fail")
        self.assertEqual([culprit["node"] for culprit in case["culprits"]], ["nid004"])
        self.assertIn("a node failed", case["reason"])


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("mpirun", "srun"))
