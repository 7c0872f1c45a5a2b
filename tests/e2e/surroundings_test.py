"""Bad input and poor surroundings: each gets a message that names it, at once, and no signal."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402

MUSTER = str(support.BIN / "muster")
HELLO = '[check.hello]\nprobe = "hello"\nsummary = "Ranks meet."\nranks = { per_node = 1 }\ntags = ["default", "gate"]\n'
PROGRAM = '''[check.rx]
probe = "command"
summary = "A program runs."
ranks = { per_node = 1 }
[check.rx.params]
argv = ["echo", "hellohellohellohellohellohellohellohellohellohellohellohellohellohello!"]
must_print = ["(h*e*l*l*o*)*x"]
'''
NO_HOSTS = ["localhost:99", "n1;id", "../../etc", b"a\xffb", "a\x1b[31mb", "-oProxyCommand=id", "n1,n1;x", "a'b", "$(id)", "", ",",
            "root@n1", "[::1]", "::1", "fd00::1", "%h", "n1/2", ".", "..", "a..b", "\N{LATIN SMALL LETTER O WITH DIAERESIS}"]


class Surroundings(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-poor-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        (self.folder / "hello.toml").write_text(HELLO)

    def muster(self, *words, seconds=30, limits=(), **more):
        def narrow():
            for which, value in limits:
                resource.setrlimit(which, (value, value))
        env = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        done = subprocess.run([MUSTER, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=seconds * support.SLOWNESS, preexec_fn=narrow if limits else None,
                              env={**env, "NO_COLOR": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                   "XDG_STATE_HOME": str(self.folder / "state")}, **more)
        done.said = (done.stdout + done.stderr).decode(errors="replace")
        return done

    def run_hello(self, *words, **more):
        return self.muster("run", "hello.toml", "--launcher", "local", "--quiet", "--output", "runs", *words, **more)

    def test_a_regular_expression_that_a_backtracking_engine_never_ends(self):
        (self.folder / "rx.toml").write_text(PROGRAM)
        done = self.muster("run", "rx.toml", "--launcher", "local", "--output", "runs")
        self.assertEqual(done.returncode, 1, done.said)
        self.assertIn("printed no line with `(h*e*l*l*o*)*x`", " ".join(done.said.split()))
        done = self.muster("list", "hello.toml", "-n", r"(a)\1")
        self.assertEqual(done.returncode, 3)
        self.assertIn("RE2 has no back-references", done.said)

    def test_a_regular_expression_of_a_profile(self):
        profile = '[system]\nname = "x"\ndetect = [{{ env = "WHERE", matches = "{}" }}]\n[[partition]]\nname = "p"\n'
        (self.folder / "profile.toml").write_text(profile.format("(h*e*l*l*o*)*x"))
        for end, name in (("", "generic"), ("x", "x")):
            with unittest.mock.patch.dict(os.environ, WHERE="hello" * 1000 + end):
                done = self.run_hello("profile.toml", "--report", "json=report.json")
            self.assertEqual(done.returncode, 0, done.said)
            self.assertEqual(json.loads((self.folder / "report.json").read_text())["system"], name)
        (self.folder / "profile.toml").write_text(profile.format(r"(a)\\1"))
        done = self.muster("lint", "profile.toml")
        self.assertEqual(done.returncode, 3, done.said)
        self.assertIn("RE2 has no back-references", done.said)

    def test_a_pipe_in_the_place_of_a_file(self):
        os.mkfifo(self.folder / "pipe")
        (self.folder / "run").mkdir()
        os.mkfifo(self.folder / "run" / "spool")
        for words, status in ((("show", "pipe"), 2), (("show", "run"), 3), (("compare", "pipe", "pipe"), 2), (("run", "pipe"), 3), (("lint", "pipe"), 3),
                              (("history", "import", "pipe"), 3)):
            with self.subTest(words=words):
                done = self.muster(*words)
                self.assertEqual(done.returncode, status, done.said)
                self.assertIn("it is a pipe or a device", done.said)
        for words, status in ((("--report", "json=pipe"), 3), (("--lock", "--lock-file", "pipe"), 3), (("--history", "pipe"), 0)):
            with self.subTest(words=words):
                done = self.run_hello(*words)
                self.assertEqual(done.returncode, status, done.said)
                self.assertIn("pipe", done.said)

    def test_a_pipe_in_every_other_place(self):
        """Given to a command, in a folder that it searches, and among the state."""
        for folder in ("folder", "config/systems", "site", "run", "state/muster", "plugins"):
            (self.folder / folder).mkdir(parents=True)
        for pipe in ("pipe", "folder/a.toml", "config/systems/a.toml", "site/site.toml", "run/report.json", "state/muster/history.db", "plugins/a.so"):
            os.mkfifo(self.folder / pipe)
        gate = ("gate", "--need", "1", "--launcher", "local", "--output", "runs")
        for words, status in (
                (("show", "run"), 2), (("show", "--history", "pipe", "latest"), 3), (("compare", "run", "run"), 2), (("run", "folder"), 3),
                (("lint", "folder"), 3), (("lint", "hello.toml", "--config", "config"), 3), (("list", "--config", "site"), 3), (("plan", "pipe"), 3),
                (("plan", "hello.toml", "--launch", "@pipe"), 3), (("run", "hello.toml", "--launch", "@pipe"), 3), (("run", "hello.toml", "--config", "pipe"), 3),
                (("run", "hello.toml", "--launcher", "local", "--output", "pipe"), 3), ((*gate, "--checks", "pipe", "--", "true"), 125),
                ((*gate, "--checks", "hello.toml", "--launch", "@pipe", "--", "true"), 125), ((*gate, "--checks", "hello.toml", "--", "./pipe"), 126),
                (("history",), 2), (("history", "--history", "pipe"), 3), (("history", "import", "run"), 2), (("history", "export", "pipe"), 2),
                (("bind", "pipe"), 3), (("bind", "--topology", "pipe"), 3), (("bind", "--machine", "pipe"), 3), (("machine", "dgx-h100", "--write", "pipe"), 3),
                (("doctor", "--agent", "pipe"), 2), (("selftest", "pipe"), 3), (("selftest", "--agent", "pipe"), 2), (("selftest", "--keep", "pipe"), 3)):
            with self.subTest(words=words):
                done = self.muster(*words)
                self.assertEqual(done.returncode, status, done.said)
                self.assertRegex(done.said, r"pipe|config|No such run|no run")
        with unittest.mock.patch.dict(os.environ, XDG_STATE_HOME=str(self.folder / "state")):
            done = self.run_hello()
        self.assertEqual(done.returncode, 0, done.said)
        self.assertIn("this run is not in the history", done.said)

    def test_a_long_word_where_the_stack_is_small(self):
        (self.folder / "profile.toml").write_text('[system]\nname = "x"\n[[partition]]\nname = "p"\n[[environment]]\nname = "e"\n'
                                                  f'env = {{ A = "{{{"a" * 9990}}}" }}\n')
        done = self.muster("lint", "profile.toml", limits=[(resource.RLIMIT_STACK, 512 << 10)])
        self.assertEqual(done.returncode, 3, done.said)
        self.assertIn("nothing fills {aaaa", done.said)

    def test_a_report_whose_start_is_no_time(self):
        self.assertEqual(self.run_hello().returncode, 0)
        report = json.loads((self.folder / "runs/latest/report.json").read_text())
        report["started"] = "yesterday\n"
        (self.folder / "bad.json").write_text(json.dumps(report))
        done = self.muster("history", "--history", "new.db", "import", "bad.json")
        self.assertEqual(done.returncode, 3)
        self.assertIn('started: "yesterday', done.said)

    def test_a_report_that_contradicts_itself(self):
        """Counts, verdict, exit status or time were changed: neither a report nor a line of an export is imported."""
        self.assertEqual(self.run_hello().returncode, 0)
        good = json.loads((self.folder / "runs/latest/report.json").read_text())
        run = {name: good[name] for name in ("run_id", "started", "seconds", "command_line", "verdict", "exit_status")}
        run["cases"] = [{name: case[name] for name in ("id", "check", "verdict", "nodes", "ranks")} for case in good["cases"]]
        twice = good["cases"] * 2
        for changed, word in ((dict(tally={**good["tally"], "fail": 3}), "tally: is"), (dict(verdict="fail"), "verdict: is fail, but the cases give pass"),
                              (dict(exit_status=1), "exit_status: is 1, but the cases give 0"),
                              (dict(started="9999-12-31T23:59:59.000Z"), "started: 9999-12-31T23:59:59.000Z is in the future"),
                              (dict(seconds=-1), "seconds: is -1"),
                              (dict(cases=twice, tally={**good["tally"], "pass": len(twice)}), "twice")):
            with self.subTest(changed=list(changed)):
                (self.folder / "bad.json").write_text(json.dumps({**good, **changed}))
                files = ["bad.json"]
                if "tally" not in changed:
                    (self.folder / "bad.jsonl").write_text(json.dumps({"muster_history": 1}) + "\n" + json.dumps({"run": {**run, **changed}}) + "\n")
                    files.append("bad.jsonl")
                for name in files:
                    done = self.muster("history", "--history", "new.db", "import", name)
                    self.assertEqual(done.returncode, 3, done.said)
                    self.assertIn(word, done.said)
                    self.assertFalse((self.folder / "new.db").exists())
        (self.folder / "good.jsonl").write_text(json.dumps({"run": run}) + "\n")
        self.assertEqual(self.muster("history", "--history", "new.db", "import", "runs/latest", "good.jsonl").returncode, 0)

    def test_limits(self):
        for limit, word in (((resource.RLIMIT_NOFILE, 5), "ulimit -n 1024"), ((resource.RLIMIT_STACK, 65536), "ulimit -s 512")):
            for words, status in ((("list", "hello.toml"), 3), (("gate", "--need", "1", "--checks", "hello.toml", "--", "true"), 125)):
                with self.subTest(limit=limit, words=words):
                    done = self.muster(*words, limits=[limit])
                    self.assertEqual(done.returncode, status, done.said)
                    self.assertIn(word, done.said)
            self.assertEqual(self.run_hello(limits=[limit]).returncode, 3)
        for kibibytes in (0, 8, 64, 1024):
            done = self.run_hello(limits=[(resource.RLIMIT_FSIZE, kibibytes << 10)])
            self.assertEqual(done.returncode, 3, done.said)
            self.assertIn(f"may have {kibibytes} KiB, and MPI needs 16384; raise the limit: ulimit -f", done.said)
        done = self.run_hello(limits=[(resource.RLIMIT_FSIZE, 16 << 20)])
        self.assertEqual(done.returncode, 0, done.said)

    @unittest.skipIf(support.SLOWNESS > 1, "sanitizers need more memory")
    def test_little_memory(self):
        """MPI would fail without a reason, and a rank would be at fault."""
        for mebibytes in (16, 64):
            limit = (resource.RLIMIT_DATA, mebibytes << 20)
            done = self.run_hello(limits=[limit])
            self.assertEqual(done.returncode, 3, done.said)
            self.assertIn(f"may have {mebibytes} MiB of data, and muster needs 128; raise the limit: ulimit -d", done.said)
            done = self.muster("gate", "--need", "1", "--checks", "hello.toml", "--", "true", limits=[limit])
            self.assertEqual(done.returncode, 125, done.said)
        done = self.run_hello(limits=[(resource.RLIMIT_DATA, 128 << 20)])
        self.assertEqual(done.returncode, 0, done.said)

    @unittest.skipIf(support.SLOWNESS > 1, "sanitizers reserve more addresses")
    def test_a_small_address_space(self):
        """Libraries would not load, or ranks end by a signal."""
        for mebibytes in (64, 112, 255):
            limit = (resource.RLIMIT_AS, mebibytes << 20)
            done = self.run_hello(limits=[limit])
            self.assertEqual(done.returncode, 3, done.said)
            self.assertIn(f"may have {mebibytes} MiB of address space, and muster needs 256; raise the limit: ulimit -v", done.said)
            done = self.muster("gate", "--need", "1", "--checks", "hello.toml", "--", "true", limits=[limit])
            self.assertEqual(done.returncode, 125, done.said)
        for launcher in ("local", "mpirun"):
            done = self.muster("run", "hello.toml", "--launcher", launcher, "--output", "runs", limits=[(resource.RLIMIT_AS, 256 << 20)])
            self.assertEqual(done.returncode, 0, done.said)

    @unittest.skipIf(support.SLOWNESS > 1, "sanitizers reserve more addresses")
    def test_a_small_address_space_of_the_ranks_alone(self):
        """As limits.conf of a node may have it."""
        agent = self.folder / "agent"
        agent.write_text(f'#!/bin/sh\n[ $# = 0 ] && ulimit -v 49152\nexec {support.BIN / "muster-rank"} "$@"\n')
        agent.chmod(0o755)
        done = self.muster("run", "hello.toml", "--launcher", "mpirun", "--agent", str(agent), "--output", "runs")
        self.assertEqual(done.returncode, 2, done.said)
        self.assertIn("48 MiB of address space, and muster needs 256", " ".join(done.said.split()))
        self.assertIn("ulimit -v unlimited", done.said)

    def test_names_of_nodes_that_are_none(self):
        for name in NO_HOSTS:
            with self.subTest(name=name):
                done = self.muster("run", "hello.toml", "--launcher", "mpirun", "--output", "runs", "--nodes", name)
                self.assertEqual(done.returncode, 3, done.said)
                self.assertIn("--nodes", done.said)
                self.assertNotIn("\x1b", done.said)
        self.assertFalse((self.folder / "runs").exists(), "nothing was started")

    def test_names_of_a_job_that_are_none(self):
        """None is given to a launcher or a remote shell."""
        for name in ("-oProxyCommand=touch made", "n1;id", "root@n1"):
            with self.subTest(name=name), unittest.mock.patch.dict(os.environ, SLURM_JOB_ID="5", SLURM_JOB_NODELIST=name.replace(" ", "${IFS}")):
                done = self.muster("run", "hello.toml", "--launcher", "mpirun", "--output", "runs")
                self.assertEqual(done.returncode, 3, done.said)
                self.assertRegex(done.said, "SLURM_JOB_NODELIST: .*, name 1 of the list, is not a host name")
        self.assertFalse((self.folder / "runs").exists(), "nothing was started")

    def test_standard_output_on_a_full_disk(self):
        """docs/gate.md has the exit status."""
        with open("/dev/full", "wb") as full:
            env = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            done = subprocess.run([MUSTER, "gate", "--need", "1", "--launcher", "local", "--checks", "hello.toml", "--print", "hosts"],
                                  cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60 * support.SLOWNESS, env=env)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("standard output can't be written", done.stderr)


if __name__ == "__main__":
    support.main(needs=("mpirun",))
