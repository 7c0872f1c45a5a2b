"""Every fenced command of README and docs, and every example of a help, is run by a test as it stands there, or listed in
tests/cluster/page_tests.py with the reason why not. The pages of
docs/systems have a list of their own (house.system_pages_test)."""
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
SOURCE = Path(os.environ.get("MUSTER_SOURCE", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tests/cluster"))
import page_commands  # noqa: E402
from page_tests import ADDED, NOT_RUN, RUN, SUBSTITUTED, matches  # noqa: E402

def commands():
    return [(fence, command) for fence in page_commands.fences() + page_commands.help_fences() for command, _ in fence.steps()]


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.commands = commands()

    def test_every_command_is_run_or_listed(self):
        self.assertGreater(len(self.commands), 180)
        self.assertGreater(sum(fence.page.startswith("help") for fence, _ in self.commands), 30)
        for fence, command in self.commands:
            with self.subTest(page=fence.page, line=fence.line, command=command):
                run, listed = (matches(table, fence, command) for table in (RUN, NOT_RUN))
                self.assertEqual(bool(run) + bool(listed), 1, "a command of a page is either run by a test or listed with a reason")

    def test_nothing_is_listed_in_vain(self):
        for table in (RUN, NOT_RUN):
            for row in table:
                self.assertTrue(any(matches([row], *one) for one in self.commands), row)

    def test_probes_and_report_formats_have_pages(self):
        def registered(folder, prefix):
            return [path.stem for path in sorted((SOURCE / "src" / folder).glob("*.cpp")) if f"{prefix}_{path.stem}{{" in path.read_text()]

        probes, formats = registered("probes", "probe"), registered("reporters", "reporter")
        self.assertGreater(len(probes), 12)
        self.assertGreater(len(formats), 5)
        self.assertEqual([], [name for name in probes if not (SOURCE / f"docs/methods/{name}.md").exists()], "no docs/methods/NAME.md")
        rows = (SOURCE / "docs/reports.md").read_text()
        self.assertEqual([], [name for name in formats if f"\n| `{name}` |" not in rows], "no row in docs/reports.md")

    def test_a_page_lists_what_tests_substitute_and_add(self):
        text = (SOURCE / "docs/measurements/first-day.md").read_text()
        for title, words in (("What the tests of pages substitute", SUBSTITUTED), ("What they add", ADDED)):
            listed = re.findall(r"^- .*$", text.partition(f"## {title}\n")[2].partition("\n## ")[0], re.M)
            self.assertEqual(listed, [f"- `{word.strip()}`: {why}" for word, why in words.items()], title)

    def test_words_that_are_substituted_stand_on_pages(self):
        text = "".join(command for _, command in self.commands)
        self.assertEqual([word for word in SUBSTITUTED if word not in text], [])

    def test_tests_that_are_named_read_the_pages(self):
        for test in {row[2] for row in RUN}:
            text = (SOURCE / "tests" / test).read_text()
            self.assertTrue("page_commands" in text or "docs/" in text, f"{test} does not take its commands from the pages")

    def test_commands_in_sentences_have_options_that_exist(self):
        muster, helps = Path(os.environ["MUSTER_BUILD"], "bin/muster"), {}
        found = 0
        for path in [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]:
            for command in re.findall(r"`(muster [a-z][^`]*)`", path.read_text()):
                words = command.partition(" -- ")[0].split()[1:]
                if words[0] not in helps:
                    said = subprocess.run([muster, words[0], "--help"], capture_output=True, text=True)
                    self.assertEqual(said.returncode, 0, f"{path.name}: `{command}`: there is no such command")
                    helps[words[0]] = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", said.stdout))
                unknown = {word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-zA-Z]", word)} - helps[words[0]]
                self.assertEqual(unknown, set(), f"{path.name}: `{command}`")
                found += 1
        self.assertGreater(found, 100)

    def test_the_run_that_the_readme_shows_has_the_default_checks(self):
        """docs/pictures/examples makes the reports and the picture again."""
        listed = subprocess.run([Path(os.environ["MUSTER_BUILD"], "bin/muster"), "list", "-t", "default", "--json"], check=True, capture_output=True, text=True)
        default = sorted(check["name"] for check in json.loads(listed.stdout))
        report = json.loads((SOURCE / "reports/examples/report.json").read_text())
        self.assertEqual(sorted(case["check"] for case in report["cases"]), default)
        picture, console = ((SOURCE / name).read_text() for name in ("docs/pictures/default.svg", "reports/examples/console.txt"))
        for case in report["cases"]:
            self.assertIn(case["id"], picture)
            self.assertIn(case["id"], console)
        counts = [sum(case["verdict"] == verdict for case in report["cases"]) for verdict in ("pass", "skip")]
        self.assertEqual(sum(counts), len(default), "others used the machine: run it again")
        caption = re.search(r"!\[(.*)\]\(docs/pictures/default.svg\)", (SOURCE / "README.md").read_text())[1]
        self.assertEqual(caption, f"the default run on one machine without GPUs: {counts[0]} checks pass, {counts[1]} are skipped")

    def test_most_are_run(self):
        run = sum(bool(matches(RUN, *one)) for one in self.commands)
        print(f"  {run} of {len(self.commands)} commands are run as they stand on the pages", flush=True)


if __name__ == "__main__":
    unittest.main()
