"""Commands as people use and misuse them: pipes that close, reports on standard output, options that contradict."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["MUSTER_BUILD"]
SOURCE = os.environ["MUSTER_SOURCE"]
MUSTER = os.path.join(BUILD, "bin", "muster")

PROFILE = """[system]
name = "two"
[[environment]]
name = "wrapped"
wrapper = ["env", "MUSTER_WRAPPED=yes"]
env = { OMP_NUM_THREADS = "3" }
[[environment]]
name = "modular"
modules = ["cuda"]
[[environment]]
name = "open"
wrapper = ["{image}", "MUSTER_WRAPPED=yes"]
env = { OMP_NUM_THREADS = "3" }
[[partition]]
name = "a"
launcher = "local"
[[partition]]
name = "b"
launcher = "local"
"""
SHOWS_ENVIRONMENT = """[check.shows]
probe = "command"
summary = "The environment reaches the program."
ranks = { per_node = 1 }
[check.shows.params]
argv = ["sh", "-c", "[ \\"$MUSTER_WRAPPED $OMP_NUM_THREADS\\" = 'yes 3' ]"]
"""


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as out:
            out.write(text)
        return path

    def muster(self, *arguments, **options):
        options.setdefault("capture_output", True)
        return subprocess.run([MUSTER, *arguments], text=True, cwd=self.folder.name, timeout=60, **options)

    def test_a_pipe_that_closes_is_no_crash(self):
        for command in (["list", "--json"], ["plan"], ["doctor"], ["run", "--help"]):
            with self.subTest(command=command):
                read, write = os.pipe()
                os.close(read)
                done = self.muster(*command, capture_output=False, stdout=write, stderr=subprocess.PIPE)
                os.close(write)
                self.assertNotEqual(done.returncode, -6, done.stderr)  # SIGABRT
                self.assertNotEqual(done.returncode, 0, "lost output is no success")

    def test_a_report_on_standard_output_is_alone_there(self):
        done = self.muster("run", "--launcher", "local", "-n", "cpu_affinity", "--report", "json=-")
        report = json.loads(done.stdout)
        self.assertEqual(done.returncode, report["exit_status"], done.stderr)
        done = self.muster("run", "--report", "json=-", "--report", "junit=-")
        self.assertEqual(done.returncode, 3)
        self.assertIn("only one report", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "muster-runs", "launches")))

    def test_two_reports_do_not_go_to_one_file(self):
        done = self.muster("run", "--launcher", "local", "-n", "hello", "--report", "json=a", "--report", "junit=./a")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("json and junit go to the same file ./a; give each its own", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "a")))

    def test_a_node_name_is_no_option(self):
        done = self.muster("run", "-n", "hello", "--nodes=-oProxyCommand=true")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn('"-oProxyCommand=true" is not a host name: it begins with', done.stderr)

    def test_a_number_of_nodes_without_a_job(self):
        """On a login node: what a user wants is a job."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        done = self.muster("run", "-n", "hello", "--nodes", "2", env=env)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("without a job, name the nodes (--nodes 'nid[001-004]'), or let Slurm choose them (muster run --submit --nodes 2)", done.stderr)

    def test_shown_reports_have_standard_output_to_themselves(self):
        self.assertEqual(self.muster("run", "--launcher", "local", "-n", "hello", "--ranks-per-node", "1").returncode, 0)
        shown = self.muster("show", "latest", "--report", "junit")
        self.assertTrue(shown.stdout.startswith("<?xml"), shown.stdout[:200])

    def test_the_console_can_go_to_a_file(self):
        done = self.muster("run", "--launcher", "local", "-n", "cpu_affinity", "--report", "console=out.txt")
        self.assertEqual(done.stdout, "")
        with open(os.path.join(self.folder.name, "out.txt")) as out:
            self.assertIn("cpu_affinity", out.read())

    def test_a_partition_must_be_chosen(self):
        profile = self.write("two.toml", PROFILE)
        check = self.write("check.toml", SHOWS_ENVIRONMENT)
        done = self.muster("run", profile, check, "--system", "two")
        self.assertEqual(done.returncode, 3)
        self.assertIn("choose one: --system two:a", done.stderr)
        done = self.muster("run", profile, check, "--system", "two:c")
        self.assertEqual(done.returncode, 3)
        self.assertIn('no partition "c"', done.stderr)

    def test_an_environment_is_carried_out_or_refused(self):
        profile = self.write("two.toml", PROFILE)
        check = self.write("check.toml", SHOWS_ENVIRONMENT)
        done = self.muster("run", profile, check, "--system", "two:a", "--environment", "wrapped")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.muster("run", profile, check, "--system", "two:a")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for name, word in (("modular", "modules"), ("open", "{image}")):
            done = self.muster("run", profile, check, "--system", "two:a", "--environment", name)
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertIn(word, done.stderr)

    def test_an_environment_is_completed_by_what_is_loaded_and_given(self):
        profile = self.write("two.toml", PROFILE)
        check = self.write("check.toml", SHOWS_ENVIRONMENT)
        done = self.muster("run", profile, check, "--system", "two:a", "--environment", "open", "-J", "image=env")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        modular = ["plan", profile, check, "--system", "two:a", "--environment", "modular"]
        loaded = {**os.environ, "LOADEDMODULES": "gcc/12.2:cuda/12.4"}
        self.assertEqual(self.muster(*modular, env=loaded).returncode, 0)
        other = self.muster(*modular, env={**os.environ, "LOADEDMODULES": "cudatoolkit/12.4"})
        self.assertEqual(other.returncode, 3)
        self.assertIn("module load cuda", other.stderr)

    def test_nothing_is_submitted_where_there_is_no_batch_system(self):
        done = self.muster("run", "--submit", env={**os.environ, "PATH": self.folder.name})
        self.assertEqual(done.returncode, 3)
        self.assertIn("there is no sbatch on PATH", done.stderr)

    def test_a_profile_where_slurm_does_not_answer(self):
        for name in ("sbatch", "sinfo", "scontrol"):
            path = os.path.join(self.folder.name, name)
            with open(path, "w") as file:
                file.write("#!/bin/sh\nexit 1\n")
            os.chmod(path, 0o755)
        done = self.muster("init", "mysite", env={**os.environ, "PATH": f"{self.folder.name}:/usr/bin:/bin"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("[[partition]]"), 1)
        self.assertEqual(done.stderr, "note: sinfo lists no nodes: the profile has one partition, with the figures of this node\n")
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "muster-runs")))

    def test_misspelt_words_get_a_suggestion(self):
        for arguments, said in ((["rnu"], '"run"'), (["rnu", "--quiet"], '"run"'), (["history", "exprt"], '"export"'),
                                (["history", "prune", "--kep", "1"], '"--keep"'), (["run", "--reprot", "x"], '"--report"'), (["run", "-n", "helo"], '"hello"'),
                                (["run", "--launcher", "mpirum"], '"mpirun"'), (["run", "--report", "jsn=x"], '"json"'),
                                (["list", "--metrics", "helo"], '"hello"'), (["run", "-S", "hello.warmup=1"], '"warmups"')):
            with self.subTest(arguments=arguments):
                done = self.muster(*arguments)
                self.assertEqual(done.returncode, 3, done.stdout)
                self.assertIn("did you mean " + said, done.stderr)
                self.assertFalse(os.path.exists(os.path.join(self.folder.name, "muster-runs", "latest")))

    def test_launcher_options_reach_the_launcher_as_they_are(self):
        plan = self.muster("plan", "-n", "hello", "--launcher", "mpirun", "-J=--mca", "-J", "btl", "-Jtcp,self").stdout
        if "--map-by" not in plan:
            self.skipTest("there is no Open MPI")
        self.assertIn(" --mca btl tcp,self ", plan)

    def test_an_empty_value_is_a_variable_that_was_never_set(self):
        for arguments in (["run", "--nodes", ""], ["run", "--nodes="], ["run", "--launcher", ""], ["run", "-n="], ["list", "--metrics", ""]):
            with self.subTest(arguments=arguments):
                done = self.muster(*arguments)
                self.assertEqual(done.returncode, 3, done.stdout)
                self.assertIn("empty value", done.stderr)

    def test_closed_standard_streams_are_no_crash(self):
        for closed in (0, 1, 2):
            with self.subTest(closed=closed):
                done = subprocess.run([MUSTER, "run", "--launcher", "local", "-n", "cpu_affinity"], cwd=self.folder.name,
                                      timeout=60, preexec_fn=lambda: os.close(closed),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.assertIn(done.returncode, (0, 2), "SIGABRT is no exit status")

    def test_a_launcher_that_refuses_is_an_error_with_its_own_words(self):
        if not any(os.access(os.path.join(p, "mpirun"), os.X_OK) for p in os.environ["PATH"].split(":")):
            self.skipTest("there is no mpirun")
        done = self.muster("run", "-n", "hello", "-J=--nosuchoption", "--report", "json=out.json")
        self.assertEqual(done.returncode, 2, done.stdout)
        with open(os.path.join(self.folder.name, "out.json")) as text:
            case = json.load(text)["cases"][0]
        self.assertEqual(case["verdict"], "error")
        self.assertIn("before any rank was there", case["reason"])

    def test_a_bad_startup_timeout_is_said(self):
        done = self.muster("run", env=dict(os.environ, MUSTER_STARTUP_TIMEOUT="soon"))
        self.assertEqual(done.returncode, 3)
        self.assertIn("MUSTER_STARTUP_TIMEOUT", done.stderr)


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False, verbosity=1).result.wasSuccessful() else 1)
