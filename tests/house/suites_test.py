"""Every test belongs to a suite of tests/suites.toml, every suite to a build, and docs/testing.md shows both."""
import contextlib
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from suite import building, names, page, running  # noqa: E402


class Suites(unittest.TestCase):
    def test_every_test_belongs_to_the_test_command(self):
        covered = {kind for suite in names.suites() if suite.command == "./dev test" for kind in suite.tests}
        self.assertGreater(sum(map(len, names.files().values())), 150)
        for kind, paths in names.files().items():
            self.assertIn(kind, covered, f"no suite of ./dev test in tests/suites.toml has tests/{kind}: {paths[0].name}")

    def test_no_test_lies_where_none_is_looked_for(self):
        known = {path for paths in names.files().values() for path in paths}
        for pattern in ("*_test.py", "*_test.cpp", "fuzz_*.cpp", "*_check.cpp"):
            for path in TESTS.rglob(pattern):
                self.assertTrue(path in known, f"{path}: tests lie in tests/<folder>/, no deeper")
        for path in {*TESTS.rglob("*.c*"), *TESTS.rglob("*.h*"), *TESTS.rglob("*.py")} - known:
            if path.suffix in (".cpp", ".cc", ".cxx", ".hpp", ".h", ".py"):
                in_a_class = re.compile(r"(?m)^[ \t]+(?:async )?def test_\w+\(self") if path.suffix == ".py" else names.GTEST
                self.assertIsNone(in_a_class.search(path.read_text()), f"{path}: no build looks for tests in a file of that name")
        for path in TESTS.rglob("*_test.sh"):
            self.fail(f"{path}: tests are written in C++ and Python")
        scripts = {"house", "e2e", "cluster", "pytorch", "install"}
        for path in known:
            if path.suffix == ".py" and path.name != "amd_kernels_test.py":
                self.assertIn(path.parent.name, scripts, f"{path.name}: no build looks for scripts there")
            if path.match("*_check.cpp"):
                self.assertEqual(path.name, "mpi_comm_check.cpp", "tests/comm/CMakeLists.txt builds that alone")

    def test_every_script_runs_its_tests(self):
        for path in (path for paths in names.files().values() for path in paths):
            if path.suffix == ".py" and re.search(r"(?m)^    def test_", path.read_text()):
                self.assertRegex(path.read_text(), r'(?m)^if __name__ == "__main__":(?:\n .*)*(?:main|run_tests)\(', f"{path}: run by itself, it would pass without a test")

    def test_threads_are_those_that_the_build_has(self):
        listed = re.findall(r"muster_test_folder\((\w+) KIND threads", (TESTS / "CMakeLists.txt").read_text())
        self.assertEqual(sorted(listed), sorted(names.THREADS))
        suite = next(suite for suite in names.suites() if suite.name == "threads")
        self.assertEqual(sorted(suite.tests), sorted(names.THREADS))

    def test_suites_name_folders_that_are_there(self):
        for suite in names.suites():
            for kind in suite.tests:
                self.assertIn(kind, names.files(), f"suite {suite.name}: no tests in tests/{kind}")
            for name in suite.only:
                self.assertIn(name, names.scripts(), f"suite {suite.name}")

    def test_suites_name_presets(self):
        presets = {preset["name"] for preset in json.loads((names.SOURCE / "CMakePresets.json").read_text())["configurePresets"]}
        for suite in names.suites():
            self.assertIn(suite.build, presets, f"suite {suite.name}")
            self.assertIn(suite.build, names.BUILDS, f"suite {suite.name}")

    def test_every_unit_folder_has_a_program(self):
        listed = (TESTS / "CMakeLists.txt").read_text() + (TESTS / "unit.cmake").read_text()
        for kind, paths in names.files().items():
            if any(path.match("*_test.cpp") for path in paths):
                self.assertIn(f"muster_test_folder({kind} ", listed, f"tests/{kind} is in no program")

    def test_quick_rules_name_tests(self):
        for rule in names.read()["quick"]:
            self.assertTrue((names.SOURCE / rule["path"]).exists(), rule["path"])
            for name in rule["unit"] + rule["system"]:
                names.add_name(names.Selection(), name)  # raises Unknown

    def test_every_folder_of_sources_has_a_quick_rule(self):
        known = {rule["path"] for rule in names.read()["quick"]}
        for folder in (names.SOURCE / "src").iterdir():
            if folder.is_dir():
                self.assertIn(f"src/{folder.name}", known)

    def test_the_page_is_up_to_date(self):
        self.assertEqual((names.SOURCE / "docs" / "testing.md").read_text(), page.text(), "run ./dev test --page > docs/testing.md")


class Names(unittest.TestCase):
    def targets(self, name):
        selection = names.Selection()
        names.add_name(selection, name)
        return selection.targets

    def test_what_a_name_may_be(self):
        self.assertEqual(self.targets("stats"), {"asan": ["stats_tests"]})
        self.assertEqual(self.targets("stats_tests"), {"asan": ["stats_tests"]})
        self.assertEqual(self.targets("tests/stats/"), {"asan": ["stats_tests"]})
        self.assertEqual(self.targets("tests/stats/drift_test.cpp"), {"asan": ["stats_tests"]})
        self.assertEqual(self.targets("SlurmOptions"), {"asan": ["schedulers_tests"]})
        self.assertEqual(self.targets("Table/SlurmOptions.AreSpeltOutOrRefused/0"), {"asan": ["schedulers_tests"]})
        self.assertEqual(self.targets("tsan.base"), {"tsan": ["base_tests"]})
        self.assertEqual(self.targets("e2e.data_test"), {"release": ["all", "system_programs"]})
        self.assertEqual(self.targets("tests/e2e/data_test.py"), {"release": ["all", "system_programs"]})
        self.assertEqual(self.targets("fuzz.toml"), {"asan": ["fuzz_toml"]})
        self.assertEqual(self.targets("fuzz_toml_replay"), {"asan": ["fuzz_toml"]})
        self.assertEqual(self.targets("./tests/stats/drift_test.cpp"), {"asan": ["stats_tests"]})
        self.assertEqual(self.targets("SealedFrames.CutAreRefused"), {"asan": ["run_tests"]})
        self.assertEqual(self.targets("Property"), {"asan": ["config_tests", "run_tests"]})
        self.assertEqual(self.targets("gpu-offline.rocm_smi"), {"asan": ["device_tests"]})
        self.assertIn("release", self.targets("tests/comm/mpi_comm_check.cpp"))
        self.assertIn("release", self.targets("tests/gpu_offline/amd_kernels_test.py"))

    def test_a_case_is_not_the_beginning_of_another(self):
        selection = names.Selection()
        names.add_name(selection, "Table/SlurmOptions.AreSpeltOutOrRefused/1")
        self.assertEqual(selection.patterns["asan"], ["^Table/SlurmOptions$"])
        self.assertEqual(selection.cases, ["Table/SlurmOptions.AreSpeltOutOrRefused/1", "Table/SlurmOptions.AreSpeltOutOrRefused/1/*"])

    def test_a_suite_is_named_with_its_instantiations(self):
        selection = names.Selection()
        names.add_name(selection, "SlurmOptions")
        pattern = re.compile(selection.patterns["asan"][0])
        self.assertTrue(pattern.search("SlurmOptions") and pattern.search("Table/SlurmOptions"))
        self.assertFalse(pattern.search("SlurmOptionsOfAJob") or pattern.search("tsan.SlurmOptions"))
        self.assertEqual(selection.cases, ["SlurmOptions.*", "*/SlurmOptions.*"])

    def test_the_thread_sanitizer_has_the_files_with_threads(self):
        self.assertTrue(names.with_threads(TESTS / "run" / "agent_test.cpp"))
        self.assertFalse(names.with_threads(TESTS / "run" / "explain_test.cpp"))
        self.assertFalse(names.with_threads(TESTS / "stats" / "drift_test.cpp"))
        self.assertEqual(self.targets("tsan.LoopTest"), {"tsan": ["base_tests"]})
        for path in names.files()["base"] + names.files()["run"]:
            if re.search(r"#include <(?:thread|pthread\.h|future)>", path.read_text()):
                self.assertTrue(names.with_threads(path), path.name)

    def test_an_unknown_name_is_refused_with_a_suggestion(self):
        with self.assertRaisesRegex(names.Unknown, 'unknown test "e2e.data_tset"; did you mean "e2e.data_test"'):
            self.targets("e2e.data_tset")
        for name in ("drift_test.cpp", "stats.drift_test"):
            with self.assertRaisesRegex(names.Unknown, 'did you mean "tests/stats/drift_test.cpp"'):
                self.targets(name)
        with self.assertRaisesRegex(names.Unknown, "are names"):
            self.targets("zzzzzz")
        for name in ("StatsProperty.Nope", "tsan.stats", "tsan.HostlistTest", "plain.fuzz.toml"):
            with self.assertRaises(names.Unknown, msg=name):
                self.targets(name)

    def test_what_a_changed_file_needs(self):
        rules = sorted(names.read()["quick"], key=lambda rule: -len(rule["path"]))
        self.assertIn("tests/probes/p2p_judge_test.cpp", names.needed_by("src/probes/p2p/judge.cpp", rules))
        self.assertNotIn("tests/probes/gpu_every_code_test.cpp", names.needed_by("src/probes/p2p.cpp", rules))
        self.assertIn("probes", names.needed_by("src/probes/gpu_memory/run.cpp", rules))
        self.assertEqual(names.needed_by("tests/stats/drift_test.cpp", rules), ["tests/stats/drift_test.cpp"])
        self.assertEqual(names.needed_by("tests/stats/link_simulator.hpp", rules), ["stats"])
        self.assertIn("house.words_test", names.needed_by("src/probes/p2p/judge.cpp", rules))
        self.assertEqual(names.needed_by("README.md", rules), ["house.words_test", "house.pages_test"])
        self.assertIn("pytorch.torch_ddp_test", names.needed_by("checks/pytorch/torch_ddp.py", rules))
        self.assertEqual(names.needed_by(".ci/run", rules), ["house"])
        self.assertEqual(names.needed_by("LICENSE", rules), [])

    def test_all_and_a_part_are_refused_together(self):
        for part in (["--quick"], ["--failed"], ["stats"]):
            done = subprocess.run([sys.executable, "-B", str(TESTS / "suite.py"), "--all", *part], capture_output=True, text=True)
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn("leave it out", done.stdout + done.stderr)


# Of ctest 3.25.
CTEST = """Test project /build/tests
        Start 1: A.Passes
 1/4 Test   #1: A.Passes .........................   Passed    0.01 sec
        Start 2: A.Fails
 2/4 Test   #2: A.Fails ..........................***Failed    0.02 sec
expected 1, found 2

        Start 3: A.Skips
 3/4 Test   #3: A.Skips ..........................***Skipped   0.01 sec
        Start 4: A.Part
 4/4 Test   #4: A.Part ...........................***Not Run (Disabled)   0.00 sec

75% tests passed, 1 tests failed out of 4

The following tests FAILED:
\t  2 - A.Fails (Failed)
"""


class Building(unittest.TestCase):
    def build(self, folder, script):
        """What it prints, with a cmake that is this script."""
        tools = pathlib.Path(folder, "tools")
        tools.mkdir()
        (tools / "cmake").write_text(f"#!/bin/sh\ncd {folder}\n{script}\n")
        (tools / "cmake").chmod(0o755)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()), \
                unittest.mock.patch.dict(os.environ, {"PATH": f"{tools}:{os.environ['PATH']}"}):
            building.build("asan", ["all"], 1, pathlib.Path(folder))
        return out.getvalue()

    def test_an_outdated_precompiled_header_is_built_again(self):
        complaint = "fatal error: file 'stddef.h' has been modified since the precompiled header 'cmake_pch.hxx.pch' was built"
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "cmake_pch.hxx.pch").touch()
            printed = self.build(folder, f'[ ! -e cmake_pch.hxx.pch ] || {{ echo "{complaint}"; exit 1; }}')
        self.assertIn("building the precompiled headers again", printed)

    def test_another_error_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(building.Failed):
            self.build(folder, "echo 1 error generated.; exit 1")


class Progress(unittest.TestCase):
    def test_failures_are_printed_at_once_with_their_output(self):
        progress = running.Progress()
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            for line in CTEST.splitlines():
                progress.take(line)
        self.assertEqual(progress.failed, ["A.Fails"])
        self.assertEqual(progress.closing, "75% tests passed, 1 tests failed out of 4")
        self.assertIn("FAILED: A.Fails (Failed, 0.02 s)", said.getvalue())
        self.assertIn("   | expected 1, found 2", said.getvalue())

    def test_a_ctest_that_lists_nothing_is_a_failure_with_its_words(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "ctest").write_text("#!/bin/sh\necho 'CMake Error: cannot include' >&2\nexit 8\n")
            (pathlib.Path(folder) / "ctest").chmod(0o755)
            with unittest.mock.patch.dict(os.environ, {"PATH": f"{folder}:{os.environ['PATH']}"}), \
                    unittest.mock.patch.object(running, "FOLDER", pathlib.Path(folder)), \
                    self.assertRaisesRegex(running.Failed, "ctest lists 0 tests and ends with 8: CMake Error: cannot include"):
                running.all_tests([])

    def test_reasons_of_skipped_tests(self):
        self.assertEqual(running.reason_of("...\nskipped: every test was: no GPU\n"), "no GPU")
        self.assertEqual(running.reason_of("a.cpp:3: Skipped\nno captures\n[  SKIPPED ] A\n"), "no captures")

    def test_skipped_and_counted_cases_of_a_suite(self):
        report = """<testsuite><testcase name="Suite" status="run"><system-out>[==========] Running 2 tests from 1 test suite.
a.cpp:3: Skipped
no captures

[  SKIPPED ] Suite.One (0 ms)
[       OK ] Suite.Two (0 ms)
[==========] 2 tests from 1 test suite ran. (1 ms total)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Suite.One
</system-out></testcase><testcase name="e2e.a_test" status="run"><system-out>OK</system-out></testcase></testsuite>"""
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(running, "FOLDER", pathlib.Path(folder)):
            self.assertEqual(running.cases_run(), 0)
            pathlib.Path(folder, "junit.xml").write_text(report)
            self.assertEqual(running.skipped(), {"no captures": ["Suite.One"]})
            self.assertEqual(running.cases_run(), 2)
            self.assertEqual(running.incomplete(), [])

    def test_a_case_that_ends_its_suite_is_a_failure(self):
        report = """<testsuite><testcase name="Suite" status="run"><system-out>[==========] Running 2 tests from 1 test suite.
[ RUN      ] Suite.One
</system-out></testcase><testcase name="e2e.a_test" status="run"/></testsuite>"""
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(running, "FOLDER", pathlib.Path(folder)):
            pathlib.Path(folder, "junit.xml").write_text(report)
            self.assertEqual(running.incomplete(), ["Suite"])

    def test_only_a_suite_of_skipped_cases_is_skipped(self):
        """The real ctest, with a program that prints what gtest prints."""
        skipped = "[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] {0}.A\n"
        outputs = {"Passes": ("[  PASSED  ] 1 test.\n", 0), "Skips": ("[  PASSED  ] 0 tests.\n" + skipped, 0),
                   "Fails": ("[  PASSED  ] 0 tests.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Fails.A\n\n 1 FAILED TEST\n", 1),
                   "Both": ("[  PASSED  ] 0 tests.\n" + skipped + "[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Both.B\n\n 1 FAILED TEST\n", 1),
                   "Leaks": ("[  PASSED  ] 0 tests.\n" + skipped + "\nERROR: LeakSanitizer: detected memory leaks\n", 1)}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            program = folder / "program"
            listed = "".join(f"{suite}.\n  A\n" for suite in outputs)
            cases = "".join(f"  --gtest_filter={suite}.*) printf '%b' {shlex.quote(text.format(suite))}; exit {status} ;;\n"
                            for suite, (text, status) in outputs.items())
            program.write_text(f"#!/bin/sh\ncase $1 in\n  --gtest_list_tests) printf '%b' {shlex.quote(listed)} ;;\n{cases}esac\n")
            program.chmod(0o755)
            (folder / "CTestTestfile.cmake").write_text(f'set(program "{program}")\ninclude("{TESTS}/gtest_suites.cmake")\n')
            subprocess.run(["ctest", "--test-dir", name, "--output-junit", "junit.xml"], capture_output=True)
            found = {case.get("name"): "skipped" if case.find("skipped") is not None else case.get("status")
                     for case in xml.etree.ElementTree.parse(folder / "junit.xml").iter("testcase")}
        self.assertEqual(found, {"Passes": "run", "Skips": "skipped", "Fails": "fail", "Both": "fail", "Leaks": "fail"})

    def test_a_failed_case_of_a_skipped_suite_is_a_failure(self):
        report = """<testsuite><testcase name="Suite" status="notrun"><skipped/><system-out>[  PASSED  ] 0 tests.
[  FAILED  ] 1 test, listed below:
</system-out></testcase><testcase name="Other" status="notrun"><skipped/><system-out>[  SKIPPED ] A
</system-out></testcase></testsuite>"""
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(running, "FOLDER", pathlib.Path(folder)):
            pathlib.Path(folder, "junit.xml").write_text(report)
            self.assertEqual(running.unseen_failures(), ["Suite"])

    def test_a_closing_line_in_the_output_of_a_test_is_not_ctests(self):
        progress = running.Progress()
        lines = CTEST.replace("expected 1, found 2", "100% tests passed, 0 tests failed out of 1\nexpected 1, found 2").splitlines()
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            for line in lines:
                progress.take(line)
        self.assertIn("   | expected 1, found 2", printed.getvalue())
        self.assertEqual(progress.closing, "75% tests passed, 1 tests failed out of 4")

    def test_a_file_means_the_suites_of_its_own_folder(self):
        selection = names.Selection()
        names.add_name(selection, "tests/base/pattern_test.cpp")
        self.assertEqual(list(selection.targets["asan"]), ["base_tests"])

    def test_a_filter_of_cases_reaches_ctest(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(running, "FOLDER", pathlib.Path(folder)), \
                unittest.mock.patch.dict(os.environ, {"MUSTER_TEST_CASES": "Foreign.*"}):
            self.assertNotIn("MUSTER_TEST_CASES", running.environment([]))
            self.assertEqual(running.environment([], ["B.*", "A.*", "A.*"])["MUSTER_TEST_CASES"], "A.*:B.*")

    def test_variables_of_a_site_do_not_reach_the_tests(self):
        for name in ("OMPI_MCA_btl", "SLURM_JOB_ID", "MUSTER_MACHINE", "PMIX_RANK", "CUDA_VISIBLE_DEVICES", "GTEST_FILTER", "HWLOC_XMLFILE", "RANK",
                     "ASAN_OPTIONS", "OMP_NUM_THREADS"):
            self.assertTrue(running.FOREIGN.match(name), name)
        for name in ("MUSTER_CAPTURES", "MUSTER_FUZZ_SECONDS", "PATH", "HOME"):
            self.assertFalse(running.FOREIGN.match(name), name)


if __name__ == "__main__":
    os.chdir(names.SOURCE)
    unittest.main(verbosity=1)
