"""A night on a Debian of its own with the package of this build: the crontab line and the units of examples/, as they stand
there, as root, by the real cron and by systemd as process 1. One that is well says nothing; one that is broken mails. A hostile user on
both changes neither."""
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
import unittest

import installed
import night_machine
from installed import SOURCE, run
from night_machine import Machine

sys.path.insert(0, str(SOURCE / "tests/cluster"))
import page_commands  # noqa: E402

EXAMPLES = SOURCE / "packaging/examples"
SYSTEMD = "/lib/systemd/systemd"
# In the place of a mail server: keeps what it is given.
SENDMAIL = "#!/bin/sh\nexec cat >>/var/mail/root\n"
# What is broken: fewer open files for root than check `environment` asks for, as a package or an operator may leave it.
LIMITS = "root - nofile 512\n"
LIMITS_OF_SERVICES = "[Manager]\nDefaultLimitNOFILE=512\n"
NOTE = "run as root: muster sets OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 for Open MPI"
PATIENCE_S = 150 * installed.SLOWNESS
# What the machines lack of the package: checks that time something, which tests beside this one disturb.
TIMED = ("memory_bandwidth", "p2p", "allreduce", "training")


def unpacked():
    """The package's files, as dpkg unpacks them."""
    folder = installed.temporary("night-package")
    run("cpack", "-G", "DEB", "--config", installed.BUILD / "CPackConfig.cmake", "-B", folder / "cpack",
        "-D", "CPACK_PACKAGING_INSTALL_PREFIX=/usr", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=folder)
    run("dpkg-deb", "-x", next((folder / "cpack").glob("muster_*.deb")), folder / "root")
    for name in TIMED:
        next((folder / "root/usr/share/muster/checks").rglob(f"{name}.toml")).unlink()
    return folder / "root"


def until(is_there, what):
    end = time.monotonic() + PATIENCE_S
    while not is_there():
        if time.monotonic() > end:
            raise AssertionError(f"no {what} within {PATIENCE_S:.0f} s")
        time.sleep(0.2)


class Night(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.muster = unpacked()

    def machine(self, *words, **files):
        made = Machine(self.muster, words, **files)
        made.put("usr/sbin/sendmail", SENDMAIL, 0o755)
        made.put("hostile_user.py", (SOURCE / "tests/e2e/hostile_user.py").read_text())
        made.put("etc/hosts", "127.0.0.1 localhost\n127.0.1.1 night\n")
        return made

    def besiege(self, machine):
        """An ordinary user of the machine tries what tests/e2e/hostile_user.py can, until the test ends."""
        user = subprocess.Popen(machine.inside("/usr/bin/python3", "-B", "/hostile_user.py", "/var/lib/muster"), stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (user.kill(), user.wait(), user.stdout.close()))
        self.assertEqual(user.stdout.readline(), "ready\n")
        until(lambda: machine.path("tmp/ucx.conf").exists(), "first turn of the hostile user")
        self.addCleanup(lambda: self.assertIsNone(user.poll(), "the hostile user went away"))

    def reports(self, machine):
        """Summaries that are written: the run is over."""
        return list(machine.path("var/log/muster").glob("2*/report.json"))

    def mail(self, machine):
        path = machine.path("var/mail/root")
        return path.read_text() if path.exists() else ""

    def assert_mailed(self, mail):
        """What is broken, on which node, and what to do."""
        self.assertRegex(mail, r"muster \S+ on generic: FAIL \(exit status 1\)")
        for line in ("reason +the limit nofile .* is 512 on all 2 ranks", "culprit +setting nofile on night", "remedy +raise nofile"):
            self.assertRegex(mail, line)

    def notes(self, machine):
        return " | ".join(json.loads(max(self.reports(machine)).read_text())["notes"])


@unittest.skipIf(shutil.which("cron") is None, "there is no cron (apt install cron)")
class Cron(Night):
    def started(self, **files):
        """Cron waits for two o'clock. Where it was started too late for that, on a busy machine, there is another try."""
        for seconds in (5, 15, 45):
            machine = self.machine(shutil.which("cron"), "-f", **files)
            machine.seconds_to_two = seconds
            machine.put("etc/cron.d/muster", (EXAMPLES / "cron/muster").read_text())
            machine.__enter__()
            if machine.run("date", "+%H%M%S").stdout.strip() < "015959":
                break
            machine.__exit__()
        self.addCleanup(machine.__exit__)
        self.besiege(machine)
        return machine

    def test_a_quiet_night_and_a_broken_node_s_mail(self):
        well, broken = self.started(), self.started(etc__security__limitsDOTconf=LIMITS)
        until(lambda: self.mail(broken), "mail of the broken machine")
        until(lambda: self.reports(well), "report of the machine that is well")
        self.assertRegex(self.notes(well), NOTE)
        self.assert_mailed(self.mail(broken))
        self.assertLessEqual(len(self.mail(broken).split("\n\n", 1)[1].splitlines()), 40)
        print(self.mail(broken), flush=True)
        # cron mails as soon as the command is gone.
        until(lambda: "muster" not in processes(well), "end of the run")
        time.sleep(1)
        self.assertEqual(self.mail(well), "", "a quiet night")


def processes(machine):
    return machine.run("sh", "-c", "cat /proc/[0-9]*/comm").stdout.split()


def block(first):
    """The commands of docs/night.md of which the first begins so."""
    return next(fence.text for fence in page_commands.fences_of("night") if fence.text.startswith(first))


class Units(Night):
    def started(self, *words, limits="[Manager]\n"):
        machine = self.machine(*(words or (SYSTEMD, "--system", "--unit=basic.target", "--show-status=0")), etc__systemd__systemDOTconf=limits)
        machine.__enter__()
        self.addCleanup(machine.__exit__)
        return machine

    def test_a_quiet_night_and_a_broken_node_s_mail(self):
        try:
            well = self.started()
            until(lambda: well.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"), "systemd")
        except (night_machine.NotUp, AssertionError) as why:
            self.assert_command_by_itself()
            self.skipTest(f"ExecStart was run by itself, as systemd can't be process 1 here: {why}")
        broken = self.started(limits=LIMITS_OF_SERVICES)
        until(lambda: broken.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"), "systemd")
        for machine in (well, broken):
            self.besiege(machine)
            done = machine.run("sh", "-ec", block("cp"))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(" 02:00:00 ", well.run("systemctl", "show", "muster-night.timer", "--property=NextElapseUSecRealtime").stdout)
        done = well.run("systemctl", "start", "muster-night.service")
        self.assertEqual(done.returncode, 0, done.stderr + self.journal(well))
        self.assertEqual(re.sub(r"^(Starting|Finished) .*\n|^\S+: (Deactivated|Consumed) .*\n", "", self.journal(well), flags=re.M), "")
        self.assertEqual(self.mail(well), "", "a quiet night")
        self.assertRegex(self.notes(well), NOTE)
        self.assertEqual(oct(well.path("var/log/muster").stat().st_mode & 0o777), "0o700")
        self.assert_runs_as_a_user_of_its_own(well)
        self.assertEqual(broken.run("systemctl", "start", "muster-night.service").returncode, 1)
        self.assertEqual(broken.run("systemctl", "is-failed", "muster-night.service").stdout.strip(), "failed")
        until(lambda: "remedy" in self.mail(broken), "mail of the broken machine")
        self.assert_mailed(self.mail(broken))
        self.assertTrue(self.mail(broken).startswith("Subject: muster on night\n\n"), self.mail(broken))

    def assert_runs_as_a_user_of_its_own(self, machine):
        """As docs/night.md has it, line by line; the edit of the unit as `systemctl edit` leaves it."""
        edit = "mkdir /etc/systemd/system/muster-night.service.d; " \
               "printf '[Service]\nUser=muster\n' >/etc/systemd/system/muster-night.service.d/override.conf; systemctl daemon-reload\n"
        done = machine.run("sh", "-ec", block("useradd") + edit + "systemctl start muster-night.service")
        self.assertEqual(done.returncode, 0, done.stderr + self.journal(machine))
        self.assertEqual(len(self.reports(machine)), 2)
        self.assertEqual(self.notes(machine), "")
        self.assertEqual(machine.run("stat", "--format=%U", "/var/log/muster").stdout, "muster\n")

    def journal(self, machine):
        return machine.run("journalctl", "--unit", "muster-night.service", "--output", "cat").stdout

    def assert_command_by_itself(self):
        """With the user, environment and folders of the unit."""
        unit = (EXAMPLES / "systemd/muster-night.service").read_text()
        said = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line and not line.startswith("#"))
        self.assertNotIn("User", said, "root")
        machine = self.started(shutil.which("sleep"), "600")
        folders = [f"/var/log/{said['LogsDirectory']}", f"/var/lib/{said['StateDirectory']}"]
        self.assertEqual(machine.run("mkdir", f"--mode={said['LogsDirectoryMode']}", *folders).returncode, 0)
        done = machine.run(said["Environment"], *shlex.split(said["ExecStart"]))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    reason = night_machine.why_not()
    if reason:
        installed.skip(reason)
    for program in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "mpirun", "unshare"):
        if shutil.which(program) is None:
            installed.skip(f"there is no {program}")
    unittest.main(verbosity=2)
