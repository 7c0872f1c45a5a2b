"""Completion as it is typed: in a bash and in a zsh with a terminal."""
import os
import pty
import select
import shutil
import signal
import time
import unittest

import installed
from installed import BUILD, SOURCE, environment, run

MUSTER = BUILD / "bin" / "muster"
MARK = "completed:"
BASH = """
PS1='ready> '
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
bind 'set completion-query-items 1000'
source {scripts}/muster.bash
"""
# Every match is put into the line, so that all of them can be read.
ZSH = """
PS1='ready> '
unsetopt zle_bracketed_paste 2>/dev/null; unset zle_bracketed_paste
autoload -Uz compinit; compinit -u -D
source {scripts}/_muster
zstyle ':completion:*' completer _all_matches _complete
zstyle ':completion:*' insert true
zstyle ':completion:*' old-matches false
setopt no_beep no_list_beep no_prompt_sp no_prompt_cr
"""


class Terminal:
    """A shell that believes a person types."""

    def __init__(self, argv, setup, folder):
        self.said = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment(PATH=f"{MUSTER.parent}:/usr/bin:/bin", TERM="dumb", HOME=str(folder),
                                          COLUMNS="4000", LINES="50"))
            os.execvp(argv[0], argv)
        (folder / "setup").write_text(setup)
        self.type(f"source {folder}/setup\n")
        self.until("ready> ")

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, text, seconds=20):
        """What comes before it; what comes behind it is kept for the next question."""
        end = time.monotonic() + seconds * installed.SLOWNESS
        while text not in self.said:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"{text!r} never came; the shell said {self.said!r}")
            self.said += os.read(self.fd, 65536).decode(errors="replace")
        before, self.said = self.said.split(text, 1)
        return before

    def has_children(self):
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as file:
            return bool(file.read().strip())

    def waits(self):
        """How often the shell has gone to sleep; None while it works."""
        with open(f"/proc/{self.pid}/status") as file:
            status = dict(line.split(":", 1) for line in file)
        asleep = status["State"].split()[0] == "S" and not self.has_children()
        return int(status["voluntary_ctxt_switches"]) if asleep else None

    def will_wait_again(self):
        """Remembers where the shell waits for a key."""
        self.waited = None
        end = time.monotonic() + 20 * installed.SLOWNESS
        while self.waited is None and time.monotonic() < end:
            self.waited = self.waits()

    def until_it_waits(self):
        """Until it has dealt with the keys and sleeps without a child, five looks long."""
        end = time.monotonic() + 20 * installed.SLOWNESS
        looks = []
        while time.monotonic() < end:
            time.sleep(0.01)
            looks = (looks + [self.waits()])[-5:]
            if len(looks) == 5 and looks[0] not in (None, self.waited) and len(set(looks)) == 1:
                return
        raise AssertionError(f"the shell still works; it said {self.said!r}")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


class InAShell:
    """What is typed, then the keys that put every completion into the line; echo prints the line."""

    @classmethod
    def setUpClass(cls):
        if shutil.which(cls.argv[0]) is None:
            raise unittest.SkipTest(f"there is no {cls.argv[0]}")
        cls.folder = installed.temporary("completion")
        for name in ("my_checks.toml", "report one.json"):
            (cls.folder / name).write_text("")
        (cls.folder / "muster-runs" / "2026-11-22-abc123").mkdir(parents=True)
        setup = cls.setup.format(scripts=SOURCE / "packaging/completion")
        cls.shell = Terminal(cls.argv, setup, cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.shell.close()

    def completed(self, line):
        """The words that the last one becomes."""
        self.shell.will_wait_again()
        self.shell.type(line + self.keys)
        self.shell.until_it_waits()
        # To the line's beginning; what is printed has the quotes taken off.
        self.shell.type(f"\x01printf '<%s>' {MARK[:4]}''{MARK[4:]} \n")
        self.shell.until(f"<{MARK}>")
        words = self.shell.until("ready> ").strip().strip("<>").split("><")
        return words[len(line.split(" ")) - 1:]

    def test_commands(self):
        self.assertEqual(self.completed("muster do"), ["doctor"])
        self.assertTrue({"run", "plan", "show", "list"} <= set(self.completed("muster ")))
        self.assertNotIn("node", self.completed("muster "))

    def test_options(self):
        self.assertEqual(self.completed("muster run --per"), ["--per-node"])
        self.assertIn("--nodes", self.completed("muster run --n"))
        self.assertEqual(self.completed("muster lint --per")[:1], ["--per"])

    def test_checks_and_tags(self):
        self.assertEqual(self.completed("muster run -n cpu_aff"), ["cpu_affinity"])
        self.assertEqual(self.completed("muster run -t netw"), ["network"])
        self.assertEqual(self.completed("muster list --metrics hel"), ["hello"])

    def test_parts_of_a_word(self):
        self.assertEqual(self.completed("muster run --color=al"), ["--color=always"])
        self.assertIn("lumi", self.completed("muster run --system lum"))
        self.assertEqual(self.completed("muster run --system lumi:sta"), ["lumi:standard-g"])
        self.assertEqual(self.completed("muster run -S hello.rep"), ["hello.repetitions="])
        self.assertEqual(self.completed("muster run -S hell"), ["hello."])

    def test_values_of_which_there_are_few(self):
        self.assertEqual(self.completed("muster run --on-fail "), ["drain"])
        self.assertEqual(self.completed("muster run --on-pass="), ["--on-pass=resume"])
        self.assertEqual(self.completed("muster gate --print "), ["exclude", "hosts", "json"])

    def test_reports(self):
        self.assertEqual(self.completed("muster run --report jun"), ["junit"])
        self.assertIn("json", self.completed("muster show latest --report "))

    def test_files(self):
        self.assertEqual(self.completed("muster lint my_"), ["my_checks.toml"])
        self.assertEqual(self.completed("muster run --report json=my_"), ["json=my_checks.toml"])
        self.assertEqual(self.completed("muster lint rep"), ["report one.json"])

    def test_runs_and_machines(self):
        self.assertEqual(self.completed("muster show 2026"), ["2026-11-22-abc123"])
        self.assertEqual(self.completed("muster machine lumi"), ["lumi-g"])
        self.assertIn("gpu_missing", self.completed("muster machine lumi-g --fault gpu_m"))


class Bash(InAShell, unittest.TestCase):
    argv = ["bash", "--norc", "--noprofile", "-i"]
    setup = BASH
    keys = "\x1b*"


class Zsh(InAShell, unittest.TestCase):
    argv = ["zsh", "-f", "-i"]
    setup = ZSH
    keys = "\t"


class Asked(unittest.TestCase):
    """What the shells ask muster."""

    def lines(self, *words):
        return run(MUSTER, "complete", *("=" + word for word in ("muster", *words))).stdout.splitlines()

    def test_nothing_known(self):
        for words in (("nosuch", ""), ("run", "--nosuch="), ("doctor", "x", "y", "")):
            self.assertEqual([line for line in self.lines(*words) if line.startswith("--nosuch")], [])

    def test_behind_two_dashes(self):
        self.assertEqual(self.lines("run", "--", "x"), [":files"])

    def test_bad_files_say_nothing(self):
        done = run(MUSTER, "complete", "=muster", "=run", "=/nosuch.toml", "=-n", "=")
        self.assertEqual(done.stderr, "")

    def test_quick(self):
        begun = time.monotonic()
        self.lines("run", "-n", "")
        self.assertLess(time.monotonic() - begun, 1.0 * installed.SLOWNESS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
