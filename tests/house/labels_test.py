"""docs/measuring.md lists every metric and label that a probe or a check can report, and each row names a test that is there; so do
the tables of docs/security.md, docs/measurements/{profiles,first-day,hardware}.md."""
import json
import os
import pathlib
import re
import subprocess
import tomllib
import unittest

SOURCE = pathlib.Path(os.environ["MUSTER_SOURCE"])
MUSTER = os.path.join(os.environ["MUSTER_BUILD"], "bin", "muster")
PAGE = SOURCE / "docs" / "measuring.md"
ROW = re.compile(r"^\| `(\w+)` \| `(\w+=?)` \| (.+?) \| (\S+) (\w+)\.(\w+) \|$")
# What checks of PyTorch print beside what their check files declare.
METRIC = re.compile(r"muster\.metric\((.*?)\)\n", re.DOTALL)


def rows():
    lines = PAGE.read_text().split("## What each name claims", 1)[1].splitlines()
    table = [line for line in lines if line.startswith("| `")]
    found = [ROW.match(line) for line in table]
    bad = [line for line, match in zip(table, found) if not match]
    assert not bad, f"no row of the form PROBE, NAME, CLAIM, FILE SUITE.TEST: {bad}"
    return [match.groups() for match in found]


def listed(*arguments):
    return json.loads(subprocess.run([MUSTER, "list", "--json", *arguments], capture_output=True, text=True, check=True).stdout)


def names_of_probes():
    """(probe, metric) and (probe, label=), as the probes describe themselves."""
    names = set()
    for probe in (row["name"] for row in listed("--probes")):
        for row in listed("--metrics", probe):
            if row["kind"] in ("metric", "label"):
                names.add((probe, row["name"] + ("=" if row["kind"] == "label" else "")))
    return names


def names_of_checks():
    """Of the checks whose programs report metrics of their own."""
    names = set()
    for path in sorted((SOURCE / "checks").glob("*/*.toml")):
        if path.parent.name in ("systems", "selftest"):
            continue
        for name, check in tomllib.loads(path.read_text()).get("check", {}).items():
            names |= {(name, metric) for metric in check.get("metrics", {})}
            script = path.with_name(name + ".py")
            for call in METRIC.findall(script.read_text()) if script.exists() else []:
                names |= {(name, label + "=") for label in re.findall(r"\b(\w+)=", call)}
    return names


def emitted():
    """(probe, metric) of readings whose metric stands in the probe's source."""
    names = set()
    for path in sorted((SOURCE / "src" / "probes").rglob("*.cpp")):
        probe = path.relative_to(SOURCE / "src" / "probes").parts[0].removesuffix(".cpp")
        for metric in re.findall(r'readings\.(?:push_back|emplace_back)\(\s*(?:Reading)?\{"(\w+)"', path.read_text()):
            names.add((probe, metric))
    return names


def capable_on_the_page():
    """(probe, metric) whose maximum the page names: `gpu_copy` `both_ways.capable`, `local_copy.capable`."""
    names, probe = set(), ""
    for word in re.findall(r"`([^`\n]+)`", PAGE.read_text().split("## Faster than possible", 1)[1].split("\n\n")[1]):
        if word.endswith(".capable") and probe:
            names.add((probe, word.removesuffix(".capable")))
        elif re.fullmatch(r"\w+", word):
            probe = word
    return names


def capable_in_sources():
    """(probe, metric) of the calls that add one, where the metric stands there, is that of a loop, or the kind of a p2p task."""
    names = set()
    for path in sorted((SOURCE / "src" / "probes").rglob("*.cpp")):
        probe, text = path.relative_to(SOURCE / "src" / "probes").parts[0].removesuffix(".cpp"), path.read_text()
        for metric in re.findall(r"add_capable\(seen_?, ([^,]+),", text):
            if metric == "to_string(task.kind)":
                found = [row["name"] for row in listed("--metrics", probe) if row["kind"] == "metric" and row["of"] == "GB/s"]
            elif metric == "metric":
                found = re.findall(r'"(\w+)"', re.search(r"for \(const char\* metric : \{(.*?)\}", text).group(1))
            else:
                found = re.findall(r'^"(\w+)"$', metric)
            assert found, f"{path}: add_capable of {metric}"
            names |= {(probe, one) for one in found}
    return names


class Labels(unittest.TestCase):
    def test_every_maximum_of_the_hardware_is_on_the_page(self):
        found = capable_in_sources()
        self.assertGreater(len(found), 5)
        self.assertEqual(sorted(capable_on_the_page()), sorted(found))
        self.assertEqual(sorted(found - names_of_probes()), [], "maxima of metrics that no probe describes")

    def test_every_name_is_on_the_page(self):
        known = [(probe, name) for probe, name, *_ in rows()]
        self.assertEqual(len(known), len(set(known)), "a row stands there twice")
        wanted = names_of_probes() | names_of_checks()
        self.assertGreater(len(wanted), 50)
        self.assertEqual(sorted(wanted - set(known)), [], "reported, and not in docs/measuring.md")
        self.assertEqual(sorted(set(known) - wanted), [], "in docs/measuring.md, and reported by nothing")

    def test_every_reading_is_of_a_metric_that_its_probe_describes(self):
        found = emitted()
        self.assertGreater(len(found), 10)
        self.assertEqual(sorted(found - names_of_probes()), [])

    def test_every_row_names_a_test_that_is_there(self):
        for probe, name, claim, path, suite, test in rows():
            with self.subTest(f"{probe} {name}"):
                self.assertGreater(len(claim), 5)
                text = (SOURCE / "tests" / path).read_text()
                pattern = (rf"^TEST(?:_F|_P)?\({suite}, {test}\)" if path.endswith(".cpp")
                           else rf"^class {suite}\(.*?(?:^    def {test}\(self)")
                self.assertTrue(re.search(pattern, text, re.MULTILINE | re.DOTALL), f"{path} has no {suite}.{test}")


def cells_with_tests(page):
    """The last cell of each row below a heading that ends in `| test |`."""
    table = re.search(r"^\|[^\n]*\| test \|\n\|[-|]+\|\n((?:\|[^\n]*\n)+)", (SOURCE / "docs" / page).read_text(), re.M)
    return [row.rstrip(" |").rsplit(" | ", 1)[1] for row in table.group(1).splitlines()]


class NamedTests(unittest.TestCase):
    """`e2e.disk_test` `test_a`, `test_b`; `Suite.Name`; `fuzz.wire`; files of tests."""

    @classmethod
    def setUpClass(cls):
        text = "\n".join(path.read_text() for path in (SOURCE / "tests").rglob("*_test.cpp"))
        cls.suites = {f"{suite}.{name}" for suite, name in re.findall(r"^(?:TEST(?:_[FP])?|RC_GTEST(?:_FIXTURE)?_PROP)\(\s*(\w+),\s*(\w+)", text, re.M)}

    def missing(self, cell):
        """What a cell names and tests/ lacks."""
        missing, file = [], None
        for word in re.findall(r"`([^`]+)`", cell):
            if match := re.fullmatch(r"(house|e2e|cluster|pytorch|install)\.(\w+_test)", word):
                file = SOURCE / "tests" / match[1] / f"{match[2]}.py"
                is_there = file.exists()
            elif word.startswith("test_"):
                is_there = file is not None and file.exists() and re.search(rf"^    def {word}\(self", file.read_text(), re.M)
            elif word.startswith("fuzz.") and word != "fuzz.*":
                is_there = (SOURCE / "tests" / "fuzz" / f"{word.replace('.', '_')}.cpp").exists()
            elif word.startswith("tests/"):
                is_there = (SOURCE / word).exists()
            else:
                is_there = word in self.suites or word in ("fuzz.*", "./dev fuzz")
            missing += [] if is_there else [word]
        return missing

    def test_tables_of_attacks_and_of_facts_name_tests_that_are_there(self):
        for page, least in (("security.md", 30), ("measurements/profiles.md", 20), ("measurements/first-day.md", 30),
                            ("measurements/hardware.md", 20)):
            cells = cells_with_tests(page)
            self.assertGreaterEqual(len(cells), least, page)
            for cell in cells:
                with self.subTest(page=page, cell=cell):
                    self.assertIn("`", cell, "no test is named")
                    self.assertEqual(self.missing(cell), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
