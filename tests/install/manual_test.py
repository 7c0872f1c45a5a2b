"""Manual pages: one for each command, with every option that its help has, and without a warning of those who read them."""
import re
import shutil
import unittest

import installed
from installed import BUILD, SOURCE, environment, run

MUSTER = BUILD / "bin" / "muster"
PAGES = BUILD / "man"


def help_of(*command):
    return run(MUSTER, *command, "--help").stdout


def commands_in(text):
    """Names below the line "Subcommands:"."""
    found = re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, re.MULTILINE)
    return re.findall(r"^  (\S+)", found.group(1), re.MULTILINE) if found else []


def all_commands(above=()):
    yield above
    for name in commands_in(help_of(*above)):
        yield from all_commands((*above, name))


def plain(page):
    """As one reads it, on one line per word."""
    env = environment(MANWIDTH="1000", MAN_KEEP_FORMATTING="", MANPAGER="cat", GROFF_NO_SGR="1")
    return re.sub(r".\x08", "", run("man", "-l", page, env=env).stdout)


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("man") is None:
            installed.skip("there is no man")
        if not (PAGES / "muster.1").exists():
            raise AssertionError(f"{PAGES} has no pages; build all")
        cls.commands = list(all_commands())

    def test_one_for_each_command(self):
        pages = {"-".join(("muster", *command)) + ".1" for command in self.commands} | {"muster-rank.1"}
        self.assertEqual({page.name for page in PAGES.iterdir()}, pages)
        self.assertGreater(len(pages), 9)

    def test_every_option(self):
        for command in self.commands:
            said = plain(PAGES / ("-".join(("muster", *command)) + ".1"))
            for option in set(re.findall(r"(?<=[ ,])--[a-z][a-z-]*", help_of(*command).split("Examples:")[0])):
                self.assertRegex(said, re.escape(option) + r"\b", command)
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "FILES", "SEE ALSO"):
                self.assertRegex(said, f"(?m)^{section}$", command)
            if "Example" in help_of(*command):
                self.assertIn("\nEXAMPLES", said, command)

    def test_what_must_be_given_stands_in_the_synopsis(self):
        self.assertIn("muster gate --need N [OPTION ...] [-- COMMAND ...]", plain(PAGES / "muster-gate.1"))

    def test_every_exit_status_of_a_run(self):
        told = " ".join(plain(PAGES / "muster.1").split("EXIT STATUS")[1].split("FILES")[0].split())
        for status in ("0", "1", "2", "3", "75", "130", "143"):
            self.assertRegex(told, rf"(^|; |, ){status}[:,]", told)

    def test_a_command_below_another_ends_as_that_does(self):
        def told(page):
            return plain(PAGES / page).split("EXIT STATUS")[1].split("FILES")[0].split()
        for below in ("accept", "export", "import", "prune"):
            self.assertEqual(told(f"muster-history-{below}.1"), told("muster-history.1"))

    def test_hidden_ones_are_not_told(self):
        said = plain(PAGES / "muster.1")
        self.assertNotIn("autopsy", said)
        self.assertNotRegex(said, r"(?m)^ +(node|complete|manual)$")

    def test_man_has_no_warnings(self):
        for page in sorted(PAGES.iterdir()):
            done = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page)
            self.assertEqual(done.stderr, "", page)

    def test_mandoc_has_no_warnings(self):
        if shutil.which("mandoc") is None:
            self.skipTest("there is no mandoc")
        for page in sorted(PAGES.iterdir()):
            done = run("mandoc", "-Tlint", "-Wwarning", page, status=None)
            self.assertEqual(done.stdout + done.stderr, "", page)

    def test_variables_are_read(self):
        """Each variable that the page names is one that the sources request."""
        sources = "".join(path.read_text() for path in (SOURCE / "src").rglob("*.[ch]pp") if path.name != "manual.cpp")
        names = set(re.findall(r"\bMUSTER_[A-Z_]+", plain(PAGES / "muster.1")))
        self.assertGreater(len(names), 5)
        self.assertEqual([name for name in names if f'"{name}"' not in sources], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
