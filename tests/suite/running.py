"""Runs ctest over the builds and prints what it does, what is left, what was skipped and why."""
import os
import pathlib
import re
import subprocess
import time
import xml.etree.ElementTree

from .building import Failed, say
from .names import SOURCE

FOLDER = SOURCE / "build" / "tests"
FAILED = FOLDER / "failed"
LINE = re.compile(r"^\s*(\d+)/(\d+) Test\s+#\d+: (.*?) \.*\s*(Passed|\*\*\*\S.*?|Skipped)?\s+([\d.]+) sec")
CLOSING = re.compile(r"^\d+% tests passed, \d+ tests? failed out of \d+$")
SKIPPED_CASE = re.compile(r"^(\w+) \(([\w.]+)\)?.*\.\.\. skipped ['\"](.*)['\"]$")
SKIPPED_GTEST = re.compile(r"Skipped\n(.*)(?:\n+\[  SKIPPED \] (\S+))?")
RAN_GTEST = re.compile(r"^\[=+\] (\d+) tests? from \d+ test suites? ran\.", re.MULTILINE)
# What a site, an allocation or another run set must not reach the tests.
FOREIGN = re.compile(r"^(OMPI_|OPAL_|ORTE_|PMIX_|PMI_|PRTE_|PRRTE_|MPICH_|MPIR_|HYDRA_|I_MPI_|MV2_|UCX_|UCC_|FI_|"
                     r"SLURM_|SBATCH_|SRUN_|SALLOC_|FLUX_|PBS_|LSB_|PALS_|ALPS_|COBALT_|"
                     r"NCCL_|RCCL_|ROCR_|HIP_|HSA_|CUDA_(VISIBLE|DEVICE)|NVIDIA_|OMP_|GOMP_|KMP_|HWLOC_|"
                     r"MASTER_(ADDR|PORT)$|(LOCAL_|GROUP_)?(RANK|WORLD_SIZE)$|TORCH|XDG_|GTEST_|CTEST_|[ALTU]+B?SAN_OPTIONS$|RC_PARAMS$|"
                     r"MUSTER_(?!CAPTURES$|TEST_|FUZZ_|NO_INSTALL$|ARCHIVES$))")
KEPT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")


def environment(builds, cases=()):
    """Variables of ctest and its tests. `cases`: filters of gtest that leave a part of its suites (tests/gtest_suites.cmake)."""
    env = {name: value for name, value in os.environ.items() if name in KEPT or not FOREIGN.match(name)}
    # What a user has in files of his own (a shell's, Open MPI's, PyTorch's) is not what is tested.
    home = FOLDER / "home"
    home.mkdir(parents=True, exist_ok=True)
    env["HOME"] = str(home)
    env["LSAN_OPTIONS"] = f"suppressions={SOURCE}/tests/leaks.txt:print_suppressions=0"
    # Of clang 14's leak check: it takes the thread-local data of plug-ins that hwloc loads for another structure, and crashes.
    env["ASAN_OPTIONS"] = "intercept_tls_get_addr=0"
    launcher = launcher_folder(builds)
    env.pop("MUSTER_TEST_CASES", None)
    if cases:
        env["MUSTER_TEST_CASES"] = ":".join(sorted(set(cases)))
    # Another MPI's mpirun may be first on PATH.
    if launcher:
        env["PATH"] = f"{launcher}:{env.get('PATH', '/usr/bin:/bin')}"
    return env


def launcher_folder(builds):
    for build in builds:
        for line in (SOURCE / "build" / build / "CMakeCache.txt").read_text().splitlines():
            if line.startswith("MPIEXEC_EXECUTABLE:") and not line.endswith("NOTFOUND"):
                return os.path.dirname(line.split("=", 1)[1])
    return None


def write_ctest_file(builds):
    """One ctest over all builds: it can fill the cores to the end."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    folders = " ".join(f'"{SOURCE}/build/{build}"' for build in builds)
    (FOLDER / "CTestTestfile.cmake").write_text(f"subdirs({folders})\n")


LISTED = re.compile(r"^\s*Test\s+#(\d+): (.*)$")


def all_tests(builds, cases=()):
    """(number, name) of every test of the builds; of gtest's suites those with `cases`."""
    write_ctest_file(builds)
    listed = subprocess.run(["ctest", "--test-dir", str(FOLDER), "-N"], cwd=SOURCE, env=environment(builds, cases), capture_output=True,
                            text=True)
    tests = [(int(found[1]), found[2]) for found in map(LISTED.match, listed.stdout.splitlines()) if found]
    if listed.returncode != 0 or not tests:
        raise Failed(f"ctest lists {len(tests)} tests and ends with {listed.returncode}: {(listed.stderr or listed.stdout).strip()[-2000:]}")
    return tests


def chosen(tests, wanted, unwanted):
    """Those whose name matches one of the regular expressions `wanted` (or all), and none of `unwanted`."""
    some, never = ([re.compile(pattern) for pattern in patterns] for patterns in (wanted, unwanted))
    return [(number, name) for number, name in tests if (not some or any(pattern.search(name) for pattern in some))
            and not any(pattern.search(name) for pattern in never)]


def ctest(builds, tests, jobs, cases=()):
    """(exit status, last line of ctest) of these (number, name) of all_tests(builds, cases). Output of failed tests comes at once."""
    numbers = FOLDER / "numbers"
    # A start and an end of zero: only the numbers that follow.
    # ctest drops the last character of the file.
    numbers.write_text(",".join(["0", "0", "0", *(str(number) for number, _ in tests)]) + "\n")
    report = FOLDER / "junit.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(FOLDER), "--output-junit", str(report), "--no-tests=error", "--output-on-failure",
               "--test-output-size-passed", "4000000", "--test-output-size-failed", "4000000", "-j", str(jobs), "-I", str(numbers)]
    FAILED.unlink(missing_ok=True)
    progress = Progress()
    with subprocess.Popen(command, cwd=SOURCE, env=environment(builds, cases), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        for line in process.stdout:
            progress.take(line.rstrip("\n"))
    progress.failed += [name for name in unseen_failures() if name not in progress.failed]
    FAILED.write_text("".join(f"{name}\n" for name in dict.fromkeys([*progress.failed, *incomplete()])))
    return process.returncode, progress


class Progress:
    """Takes ctest's lines: prints a failure and its output at once, of the rest one line now and then."""

    def __init__(self):
        self.began = self.last = time.monotonic()
        self.failed, self.in_output, self.closing, self.is_last = [], False, "", False

    def take(self, line):
        found = LINE.match(line)
        # Output of a test may have such a line, too.
        closes = self.is_last and CLOSING.match(line) is not None
        if line.startswith("The following tests") or closes:
            self.in_output = False
        if closes:
            self.closing = line
        elif found:
            self.take_result(found)
        elif self.closing or (self.in_output and not line.strip().startswith("Start ")):
            if not self.closing:
                say(f"   | {line}")
        elif line.startswith(("CMake Error", "No tests", "ctest", "Unable", "Errors while")):
            say(line)

    def take_result(self, found):
        done, total, name, status, seconds = found.groups()
        self.is_last = done == total
        bad = bool(status) and status.startswith("***") and "Skipped" not in status and "Disabled" not in status
        self.in_output = bad
        if bad:
            self.failed.append(name)
        now = time.monotonic()
        if not bad and now - self.last < 20 and float(seconds) < 30 and done != total:
            return
        self.last = now
        word = f"FAILED: {name} ({status.strip('*')}, {seconds} s)" if bad else f"last {name}, {seconds} s"
        failures = f", {len(self.failed)} failed" if self.failed else ""
        say(f"   {done} of {total} tests in {(now - self.began) / 60:.1f} min{failures}; {word}")


def skipped():
    """Names of skipped tests and of skipped parts of tests, by the reason."""
    report = FOLDER / "junit.xml"
    reasons = {}
    if not report.exists():
        return reasons
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name, output = case.get("name"), case.findtext("system-out") or ""
        if case.get("status") == "disabled":
            continue  # a part of another test, which runs it in a process of its own
        if case.find("skipped") is not None or case.get("status") == "notrun":
            reasons.setdefault(reason_of(output), []).append(name)
            continue
        for line in output.splitlines():
            part = SKIPPED_CASE.match(line)
            if part:
                reasons.setdefault(part[3], []).append(f"{name}.{part[1]}")
        for reason, part in SKIPPED_GTEST.findall(output):
            if part:
                reasons.setdefault(reason.strip(), []).append(part)
    return reasons


def cases_run():
    """How many cases gtest's suites ran."""
    report = FOLDER / "junit.xml"
    cases = xml.etree.ElementTree.parse(report).iter("testcase") if report.exists() else ()
    return sum(int(ran) for case in cases for ran in RAN_GTEST.findall(case.findtext("system-out") or ""))


def unseen_failures():
    """gtest's suites that ctest took for skipped although a case failed."""
    report = FOLDER / "junit.xml"
    cases = xml.etree.ElementTree.parse(report).iter("testcase") if report.exists() else ()
    return [case.get("name") for case in cases if case.find("skipped") is not None
            and re.search(r"(?m)^\[  FAILED  \]", case.findtext("system-out") or "")]


def incomplete():
    """gtest's suites that passed without having come to their end: a case has ended the program."""
    report = FOLDER / "junit.xml"
    cases = xml.etree.ElementTree.parse(report).iter("testcase") if report.exists() else ()
    outputs = [(case.get("name"), case.findtext("system-out") or "") for case in cases if case.get("status") == "run"]
    return [name for name, output in outputs if output.count("[==========] Running") > len(RAN_GTEST.findall(output))]


def reason_of(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        if line.startswith("skipped: "):
            return line.removeprefix("skipped: ").removeprefix("every test was: ")
    found = SKIPPED_GTEST.search(output)
    return found[1].strip() if found and found[1].strip() else (lines[-1] if lines else "no reason was given")


def tell_skipped():
    reasons = skipped()
    total = sum(len(names) for names in reasons.values())
    say(f"== {cases_run()} cases in the suites of unit tests")
    say(f"== skipped: {total}")
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        say(f"   {reason}: {', '.join(sorted(names)[:3])}{more}")


def last_failed():
    """Names of the tests that failed in the last run."""
    return FAILED.read_text().splitlines() if FAILED.exists() else []
