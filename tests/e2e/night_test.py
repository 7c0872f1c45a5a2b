"""What cron and systemd would do: quiet runs that do not overlap, and the example files as they are shipped."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import unittest

import support
from support import Run, check

EXAMPLES = pathlib.Path(os.environ.get("MUSTER_SOURCE", ".")).resolve() / "packaging/examples"
PASSES = check("hello", probe="hello", ranks=1, timeout="20s")
HOLDS = check("bad", how="hang", rank=0, ranks=1, timeout="60s", marker="MARKER")


class Runs(support.EndToEnd):
    def setUp(self):
        self.state = support.new_folder()
        self.addCleanup(shutil.rmtree, self.state, True)

    def new_run(self, checks, *options, env=None):
        run = Run(checks, "--launcher", "local", *options, env={"XDG_STATE_HOME": str(self.state), **(env or {})})
        self.addCleanup(run.clean)
        return run

    def finished(self, checks, *options, status=0, **more):
        run = self.new_run(checks, *options, **more)
        run.start()
        self.assertEqual(run.wait(40), status, run.story())
        return run


class Lock(Runs):
    def test_a_second_run_is_turned_away_until_the_first_is_gone(self):
        first = self.new_run(HOLDS, "--lock")
        first.until_marker()
        run_id = first.run_folder().name.rpartition("-")[2]
        told = rf"muster: not started: run {run_id} \(pid {first.process.pid} on {support.HOST}, since 20\S+Z\) has {support.HOST}\n"
        # Silent the first time at night; then somebody should look.
        quiet = self.finished(PASSES, "--lock", "--quiet", status=75)
        self.assertEqual((quiet.stdout, quiet.stderr), ("", ""))
        again = self.finished(PASSES, "--lock", "--quiet", status=75)
        self.assertRegex(again.stderr, f"^{told}$")
        loud = self.finished(PASSES, "--lock", status=75)
        self.assertEqual(loud.stdout, "")
        self.assertRegex(loud.stderr, f"^{told}$")
        self.assertFalse(loud.output.exists() and any(loud.output.iterdir()), "nothing was started")
        with contextlib.closing(sqlite3.connect(self.state / "muster" / "history.db")) as history:
            told = [head for (head,) in history.execute("SELECT head FROM run WHERE is_skipped")]
        self.assertEqual([f"run {run_id} (pid" in head for head in told], [True] * 3, told)
        # Others are not in its way: without the option, and with a lock of their own.
        self.finished(PASSES)
        self.finished(PASSES, "--lock-file", self.state / "other")
        # Killed, it holds nothing, although its ranks may still be ending.
        first.signal(signal.SIGKILL)
        first.process.wait()
        self.finished(PASSES, "--lock")
        self.finished(PASSES, "--lock", "--quiet")

    def test_a_lock_that_can_not_be_had_is_said(self):
        (self.state / "precious").write_text("somebody's\n")
        run = self.finished(PASSES, "--lock-file", self.state / "precious", status=3)
        self.assertIn("is not a lock file of muster; choose another with --lock-file", run.stderr)
        self.assertEqual((self.state / "precious").read_text(), "somebody's\n")


class Actions(Runs):
    def test_actions_need_somebody_who_can_do_them(self):
        tools = self.state / "empty"
        tools.mkdir()
        for option in (("--on-fail", "drain"), ("--on-pass", "resume")):
            run = self.finished(PASSES, *option, status=3, env={"PATH": str(tools)})
            self.assertIn(f"{option[0]}: there is no scontrol on PATH", run.stderr)
        run = self.finished(PASSES, "--dry-run-actions", status=3)
        self.assertIn("there are no actions; add --on-fail drain", run.stderr)
        for more in ((), ("--on-pass", "resume"), ("--dry-run",)):
            run = self.finished(PASSES, "--max-drain", "3", *more, status=3)
            self.assertIn("--max-drain: nothing is drained without --on-fail drain; add it, or leave this out", run.stderr)
        run = self.finished(PASSES, "--on-fail", "reboot", status=3)
        self.assertIn("reboot", run.stderr)


    @unittest.skipUnless(shutil.which("scontrol"), "there is no scontrol")
    def test_that_nobody_would_do_them_is_said_before(self):
        """A run that passes says it, too: the next one may fail."""
        nowhere = {"SLURM_CONF": str(self.state / "none.conf")}
        told = r"^muster: --on-fail drain could not be done now, as Slurm does not answer: scontrol ping: [^\n]+\n$"
        for more in (("--quiet",), ("--dry-run",)):
            run = self.finished(PASSES, "--on-fail", "drain", *more, env=nowhere)
            self.assertRegex(run.stderr, told)
        done = subprocess.run([support.DRIVER, "doctor"], env={**os.environ, **nowhere}, capture_output=True, text=True, timeout=60)
        self.assertRegex(done.stdout, r"limited  drain, resume +Slurm does not answer: scontrol ping: ")

    def test_one_that_hangs_is_not_waited_for(self):
        tools = self.state / "tools"
        tools.mkdir()
        (tools / "scontrol").write_text("#!/bin/sh\nexec sleep 30\n")
        (tools / "scontrol").chmod(0o755)
        run = self.finished(PASSES, "--on-fail", "drain", "--quiet", env={"PATH": f"{tools}:{os.environ['PATH']}"})
        self.assertIn("scontrol ping: no answer within 1 s", run.stderr)


class Examples(Runs):
    def cron_command(self):
        """Of the one line that is no comment and no variable."""
        lines = [line for line in (EXAMPLES / "cron" / "muster").read_text().splitlines()
                 if line and not line.startswith("#") and not re.match(r"\w+=", line)]
        self.assertEqual(len(lines), 1)
        minute, hour, day, month, weekday, user, command = lines[0].split(None, 6)
        self.assertEqual((minute, hour, day, month, weekday, user), ("0", "2", "*", "*", "*", "root"))
        self.assertNotIn("%", command, "cron makes a line end of it")
        return command

    def as_cron(self, checks, status):
        """Cron's environment and shell. install.night_test has cron itself."""
        tools = self.state / "bin"
        tools.mkdir(exist_ok=True)
        (self.state / "checks.toml").write_text(checks)
        (tools / "muster").write_text(f'#!/bin/sh\nshift\nexec {support.DRIVER} run {self.state}/checks.toml --launcher local '
                                      f'--agent {support.AGENT} "$@"\n')
        (tools / "muster").chmod(0o755)
        command = self.cron_command().replace("/var/log/muster", f"{self.state}/log")
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, cwd=self.state,
                              env={"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(self.state), "LOGNAME": "root"})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_cron_mails_only_what_is_wrong(self):
        self.assertEqual(self.as_cron(PASSES, 0), "")
        mail = self.as_cron(PASSES + check("bad", how="fail_run", rank=0, ranks=1, timeout="20s"), 1)
        self.assertIn("bad", mail)
        self.assertLessEqual(len(mail.splitlines()), 40, mail)

    def test_the_units_are_well_formed(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("there is no systemd-analyze")
        units = self.state / "units"
        shutil.copytree(EXAMPLES / "systemd", units)
        service = units / "muster-night.service"
        service.write_text(service.read_text().replace("/usr/bin/muster", str(support.DRIVER)))
        done = subprocess.run(["systemd-analyze", "verify", *map(str, sorted(units.iterdir()))], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        unit, table = ((EXAMPLES / name).read_text() for name in ("systemd/muster-night.service", "cron/muster"))
        lines = [line.removeprefix("/usr/bin/") for line in re.findall(r"^#?ExecStart=(.*)$", unit, re.MULTILINE)]
        self.assertEqual(lines, re.findall(r"^#?0 2 \* \* \* root (.*)$", table, re.MULTILINE), "both examples do the same")
        self.assertEqual(len(lines), 2, "this node, and all idle ones")
        for example in ("cron/muster", "systemd/muster-night.service", "slurm/health_check", "slurm/prolog"):
            self.assertRegex((EXAMPLES / example).read_text(), r'XDG_STATE_HOME="?(\$\{XDG_STATE_HOME:-)?/var/lib', "one history")

    def test_the_scripts_are_plain_shell(self):
        scripts = sorted((EXAMPLES / "slurm").iterdir())
        for script in scripts:
            self.assertTrue(os.access(script, os.X_OK), script)
            subprocess.run(["sh", "-n", script], check=True)
        if shutil.which("shellcheck") is None:
            self.skipTest("there is no shellcheck")
        done = subprocess.run(["shellcheck", *map(str, scripts)], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    support.main(())
