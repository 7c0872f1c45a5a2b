"""Builds and runs the tests: what `./dev test` calls, which installs packages first. tests/suites.toml has the table."""
import argparse
import contextlib
import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from suite import building, names, page, running  # noqa: E402
from suite.building import say  # noqa: E402

ISOLATED = "MUSTER_TEST_ISOLATED"


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(3, f"{self.prog}: {message}\n")


def at_least_one(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number from 1 on')
    return int(text)


def options():
    parser = Parser(prog="./dev test", description="Builds and runs the tests; docs/testing.md.")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="only these: a folder of tests/, e2e.data_test, a gtest suite or test, a file with tests")
    parser.add_argument("--all", action="store_true", help="also end-to-end and cluster tests under sanitizers, and all with GCC")
    parser.add_argument("--quick", action="store_true", help="what the changed files need (tests/suites.toml), within minutes")
    parser.add_argument("--since", metavar="REV", default="HEAD", help="with --quick: changed since REV instead of HEAD")
    parser.add_argument("--failed", action="store_true", help="what failed in the last run, one test after the other")
    parser.add_argument("--build", action="store_true", help="build, run no test")
    parser.add_argument("--list", action="store_true", help="list the tests instead of running them")
    parser.add_argument("--jobs", type=at_least_one, default=len(os.sched_getaffinity(0)), help="tests and compilers at a time")
    parser.add_argument("--page", action="store_true", help="print docs/testing.md")
    return parser.parse_args()


def isolate():
    """Starts this program again with a folder for temporary files in memory, where a mount namespace may be made: files that are
    made and removed by the thousand must not wait for a disk."""
    if ISOLATED in os.environ or os.geteuid() != 0 or shutil.which("unshare") is None:
        return
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        return
    folder = tempfile.mkdtemp(prefix="mt-", dir="/tmp")
    script = 'mount --make-rprivate / && mount -t tmpfs -o mode=1777 tmpfs "$0" && exec "$@"'
    env = {**os.environ, ISOLATED: folder, "TMPDIR": folder}
    child = subprocess.Popen(["unshare", "--mount", "sh", "-c", script, folder, sys.executable, "-B", *sys.argv], env=env)
    # A terminal sends SIGINT to both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: child.send_signal(received))
    status = child.wait()
    # Without its mount point the folder in memory is gone, and what still ends would go on writing on the disk.
    until = time.monotonic() + 10
    while time.monotonic() < until and any(was_started_in(folder, pid) for pid in os.listdir("/proc") if pid.isdigit()):
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(status if status >= 0 else 128 - status)


def was_started_in(folder, pid):
    """Whether it is one of those that the isolated program started, in whatever namespace it is."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{ISOLATED}={folder}".encode() in file.read().split(b"\0")
    except OSError:
        return False


def locked():
    """The open lock of the checkout's builds and results, held until this program ends; None where another run holds it."""
    running.FOLDER.mkdir(parents=True, exist_ok=True)
    file = open(running.FOLDER / "lock", "a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        say(f"another ./dev test runs in this checkout (process {file.read().strip()}); wait for its end, or use another clone")
        return None
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def end_children(number, _):
    """What this program started (compilers, ctest and its tests) ends with it."""
    signal.signal(number, signal.SIG_IGN)
    for pid in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    say(f"ended by {signal.Signals(number).name}")
    os._exit(128 + number)


def descendants(root):
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as file:
                parents[int(entry)] = int(file.read().rsplit(")", 1)[1].split()[1])
    found, last = [], {root}
    while last:
        last = {pid for pid, parent in parents.items() if parent in last}
        found += sorted(last)
    return found


def contradiction(arguments):
    """What is wrong with the options together, or None."""
    if arguments.all and (arguments.names or arguments.quick or arguments.failed):
        return "--all is about every test; leave it out, or the names, --quick and --failed"
    if arguments.failed and (arguments.names or arguments.quick):
        return "--failed is about the last run; leave it out, or the names and --quick"
    if arguments.names and arguments.quick:
        return "--quick chooses by what differs; leave out the names, or --quick"
    if arguments.since != "HEAD" and not arguments.quick:
        return "--since belongs to --quick"
    return None


def selection_of(arguments):
    """(what to build and run, whether it is a part)."""
    if arguments.failed:
        selection = names.Selection()
        for name in running.last_failed():
            try:
                names.add_name(selection, name)
            except names.Unknown:
                say(f"   {name} failed in the last run, and can't be chosen by its name: not run")
        if not selection.targets:
            say("no test failed in the last run: nothing was run")
            sys.exit(4)
        return selection, True
    if arguments.quick:
        selection, lines = names.quick(arguments.since)
        for line in lines:
            say(f"   {line}")
        if not selection.targets:
            say("no file differs" if not lines else "no test needs what differs")
            sys.exit(0)
        return selection, True
    if arguments.names:
        selection = names.Selection()
        for name in arguments.names:
            names.add_name(selection, name)
        return selection, True
    return names.everything(arguments.all), False


def tests_of(arguments, selection, is_part, builds):
    """(number, name) of what shall run."""
    wanted = [pattern for found in selection.patterns.values() for pattern in found] if is_part else []
    unwanted = [] if is_part else names.never() if arguments.all else names.only_in_all()
    return running.chosen(running.all_tests(builds, selection.cases), wanted, unwanted)


def processor_minutes():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) / 60


def main():
    arguments = options()
    if arguments.page:
        print(page.text(), end="")
        return 0
    wrong = contradiction(arguments)
    if wrong:
        say(wrong)
        return 3
    os.umask(0o022)  # tests share files with other users
    isolate()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_children)
    lock = locked()
    if lock is None:
        return 2
    began = time.monotonic()
    try:
        selection, is_part = selection_of(arguments)
        builds = [build for build in names.BUILDS if build in selection.targets]
        # Builds with sanitizers load the stand-ins of the release build.
        needed = [build for build in names.BUILDS if build in builds or (build == "release" and set(builds) & {"asan", "tsan"})]
        for build in needed:
            building.configure(build, arguments.all)
        for build in builds:
            building.build(build, selection.targets[build], arguments.jobs)
        built = processor_minutes()
        say(f"== built in {(time.monotonic() - began) / 60:.1f} min, {built:.1f} of processor time")
        if arguments.build:
            return 0
        tests = tests_of(arguments, selection, is_part, builds)
    except names.Unknown as unknown:
        print(unknown, file=sys.stderr)
        return 3
    except building.Failed as failed:
        print(failed, file=sys.stderr)
        return 2
    if arguments.list:
        for _, name in tests:
            print(name)
    if arguments.list or not tests:
        say(f"{len(tests)} tests")
        return 0 if tests else 4
    say(f"== {len(tests)} tests")
    status, progress = running.ctest(builds, tests, 1 if arguments.failed else arguments.jobs, selection.cases)
    say(f"   {processor_minutes() - built:.1f} min of processor time")
    running.tell_skipped()
    say(f"== {(time.monotonic() - began) / 60:.1f} min, {processor_minutes():.1f} of processor time, builds included")
    for name in progress.failed:
        say(f"   failed: {name}")
    incomplete = running.incomplete()
    for name in incomplete:
        say(f"   failed: {name}: a case ended the program with status 0, and the others did not run")
    status = status or (1 if progress.failed or incomplete else 0)
    unknown_to_ctest = status != 0 and progress.closing.startswith("100%")
    say("some tests failed, see above" if unknown_to_ctest else progress.closing or "no test was run")
    return status


sys.exit(main())
