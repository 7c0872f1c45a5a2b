"""docs/failures.toml: every known failure has a row, every row a test that makes it happen and one of a healthy system."""
import os
import re
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("MUSTER_SOURCE", Path(__file__).resolve().parents[2]))
ROWS = tomllib.loads((SOURCE / "docs/failures.toml").read_text())


def all_tests():
    names = set()
    for file in (SOURCE / "tests").rglob("*_test.cpp"):
        for suite, name in re.findall(r"^(?:TEST|TEST_F|TEST_P)\((\w+), (\w+)\)", file.read_text(), re.M):
            names.add(f"{suite}.{name}")
    for file in (SOURCE / "tests").rglob("*_test.py"):
        names.update(re.findall(r"^\s+def (test_\w+)\(", file.read_text(), re.M))
    return names


class Failures(unittest.TestCase):
    def test_none_is_forgotten(self):
        self.assertEqual(list(ROWS), [f"F{number:02}" for number in range(1, 49)])

    def test_tests_that_are_named_exist(self):
        known = all_tests()
        self.assertGreater(len(known), 500)
        for name, row in ROWS.items():
            for test in row.get("red", []) + row.get("green", []):
                self.assertIn(test, known, f"{name} names a test that does not exist")

    def test_a_row_is_shown_or_says_why_not(self):
        probes = {file.stem for file in (SOURCE / "src/probes").glob("*.cpp")}
        checks = {file.stem for file in (SOURCE / "checks").rglob("*.toml")}
        for name, row in ROWS.items():
            self.assertIn(row["verdict"], ("fail", "error", "note", "skip", "pass"), name)
            if "open" in row or "left_out" in row:
                continue
            self.assertTrue(row.get("red") and row.get("green"), f"{name} has no test that goes red, or none that does not")
            for probe in row["probe"].split(", "):
                self.assertTrue(probe in probes | checks | {"runner", "checks/pytorch"}, f"{name}: no probe {probe}")

    def test_rows_about_binding_have_a_test_through_the_launchers_line(self):
        lines = set(re.findall(r"^\s+def (test_\w+)\(", (SOURCE / "tests/cluster/site_jobs_test.py").read_text(), re.M))
        for name, row in ROWS.items():
            probes = set(row["probe"].split(", "))
            is_about_binding = probes & {"cpu_affinity", "gpu_mapping"} and "device_visibility" not in probes or "--gpu-bind" in row["what"]
            if is_about_binding:
                self.assertTrue(row.get("line"), f"{name} has none")
            self.assertLessEqual(set(row.get("line", [])), lines & set(row.get("red", [])), name)

    def test_the_page_is_up_to_date(self):
        done = subprocess.run([sys.executable, SOURCE / "docs/make_failures", "--check"])
        self.assertEqual(done.returncode, 0, "run docs/make_failures")


if __name__ == "__main__":
    unittest.main()
