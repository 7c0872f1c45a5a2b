"""Files that can't be written: a report at the start, a disk that is or becomes full, call 1, 2, 3, ... failing.

Whatever happens: no crash, no report that is not whole, no pass that was not measured, no printed verdict lost.
"""
import concurrent.futures
import errno
import json
import os
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import Run, check  # noqa: E402

LOCAL = ("--launcher", "local")
THREE = "".join(check(name, ranks=1, probe="hello") for name in "abc")


def verdicts(report):
    return {case["check"]: case["verdict"] for case in report["cases"]}


class WholeReports(support.EndToEnd):
    def new_run(self, *arguments, **options):
        run = Run(*arguments, **options)
        self.addCleanup(run.clean)
        return run

    def shown(self, run):
        """What `show` makes of the run folder: the report, or the spool."""
        env = {name: value for name, value in run.env.items() if name != "LD_PRELOAD"}
        done = subprocess.run([support.DRIVER, "show", run.run_folder(), "--report", "json=-"], env=env,
                              capture_output=True, text=True, timeout=30)
        try:
            return json.loads(done.stdout)
        except ValueError:
            self.fail(f"show gave status {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}\n{run.story()}")

    def assert_sane(self, run, allowed=(0, 2, 3)):
        self.assertIn(run.status, allowed, run.story())
        self.assertNotIn("Sanitizer", run.stderr, run.story())
        if run.report_path().exists():
            self.assertEqual(len(run.report()["cases"]), 3, run.story())
        if run.status == 0:
            self.assertEqual(set(verdicts(run.report()).values()), {"pass"}, run.story())
        else:
            self.assertTrue(run.stderr.strip() or "could be recorded" in run.stdout or "error" in run.stdout.lower(),
                            f"says nothing about it\n{run.story()}")


class Unwritable(WholeReports):
    def test_a_run_folder_that_was_made_and_can_not_be_opened_is_not_left(self):
        run = self.new_run(THREE, *LOCAL)
        run.argv += ["--run-folder", str(run.output / "this-run")]
        run.env.update(LD_PRELOAD=str(support.FAILING_CALLS), FAIL_KIND="open", FAIL_NAME="this-run", FAIL_CALL="1",
                       FAIL_ERRNO=str(errno.EMFILE), ASAN_OPTIONS="verify_asan_link_order=0")
        run.finish(30)
        self.assert_status(run, 3)
        self.assertIn("this-run: can't be made: Too many open files", run.stderr)
        self.assertEqual(list(run.output.iterdir()), [], run.story())

    def refused(self, *options):
        run = self.new_run(THREE, *LOCAL, *options).finish(10)
        self.assert_status(run, 3)
        self.assertEqual(list(run.output.glob("*/launches/*")), [], "something was launched")
        self.assertNotIn("PASS", run.stdout.upper(), run.story())
        print("  " + run.stderr.strip())
        return run

    def test_report_in_a_folder_that_is_missing(self):
        self.assertIn("/no/such/folder", self.refused("--report", "json=/no/such/folder/report.json").stderr)

    def test_report_that_is_a_folder(self):
        self.assertIn("/tmp", self.refused("--report", "junit=/tmp").stderr)

    def test_report_on_a_file_system_that_takes_none(self):
        self.refused("--report", "json=/proc/report.json")

    def test_output_below_a_file(self):
        run = self.new_run(THREE, *LOCAL, output="/dev/null/runs").finish(10)
        self.assert_status(run, 3)
        self.assertIn("/dev/null", run.stderr)


class FullDisk(WholeReports):
    def setUp(self):
        if support.ISOLATED not in os.environ:
            self.skipTest("a small disk needs root and mount namespaces")
        self.disk = support.new_folder()
        self.addCleanup(self.disk.rmdir)

    def mount(self, size):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)

    def fill(self, leave=0):
        free = os.statvfs(self.disk)
        size = free.f_bavail * free.f_bsize - leave
        if size > 0:
            with open(self.disk / "ballast", "wb") as file:
                file.write(b"\0" * size)

    def test_full_from_the_start(self):
        self.mount("1m")
        self.fill()
        run = self.new_run(THREE, *LOCAL, output=self.disk / "runs").finish(10)
        self.assert_sane(run, allowed=(2, 3))

    def test_at_several_fill_levels(self):
        for leave in (4096, 8192, 16384, 32768, 65536, 131072, 262144, 1 << 20):
            with self.subTest(leave=leave):
                self.mount("8m")
                self.fill(leave)
                folder = support.new_folder()
                self.addCleanup(shutil.rmtree, folder)
                elsewhere = folder / "elsewhere.json"
                run = self.new_run(THREE, *LOCAL, "--report", f"json={elsewhere}", output=self.disk / "runs").finish(10)
                self.assert_sane(run)
                # Without room for the verdicts nothing begins; else all can be shown from that disk.
                if "nothing was started" in run.stderr:
                    self.assertEqual(run.status, 2, run.story())
                    self.assertFalse(elsewhere.exists(), run.story())
                elif run.status in (0, 2):
                    self.assertEqual(verdicts(self.shown(run)), verdicts(json.loads(elsewhere.read_text())), run.story())
                print(f"  {leave} bytes free: status {run.status} {run.stderr.strip()[:150]}")

    def test_the_screen_knows_of_a_report_that_was_lost(self):
        self.mount("8m")
        run = self.new_run(check("b", ranks=1, how="slow", seconds="1.5s", marker="MARKER", timeout="10s"), *LOCAL)
        run.argv += ["--report", f"json={self.disk / 'full.json'}"]
        run.until_marker()
        self.fill()
        run.wait(15)
        self.assert_status(run, 2)
        self.assertIn("(exit status 2)", run.stdout, run.story())
        self.assertIn("full.json: can't be written: No space left on device", " ".join(run.stdout.split()), run.story())
        self.assertFalse((self.disk / "full.json").exists())
        self.assertTrue(run.report_path().exists(), "the other report is there")

    def test_that_fills_up_in_the_middle_loses_no_verdict(self):
        self.mount("8m")
        checks = (check("a", ranks=1) + check("b", ranks=1, how="slow", seconds="1.5s", marker="MARKER", timeout="10s") +
                  check("c", ranks=1, how="big", size="4MiB"))
        run = self.new_run(checks, *LOCAL, output=self.disk / "runs")
        elsewhere = run.folder / "elsewhere.json"
        run.argv += ["--report", f"json={elsewhere}"]
        run.until_marker()
        self.fill()
        run.wait(15)
        self.assert_status(run, 2)
        said = json.loads(elsewhere.read_text())
        self.assertEqual(verdicts(said)["a"], "pass")
        self.assertEqual(verdicts(self.shown(run)), verdicts(said), run.story())
        self.assertTrue(any("space" in note for note in said["notes"]), said["notes"])


    def recorders_in(self, folder):
        return self.new_run(check("a", ranks=2), env={"MUSTER_RECORDER_FOLDER": str(folder)}).finish(20)

    def test_shared_memory_without_room_is_the_nodes_fault(self):
        self.mount("4k")
        self.fill()
        run = self.recorders_in(self.disk)
        self.assert_status(run, 1)
        case = next(case for case in run.report()["cases"] if case["verdict"] == "fail")
        self.assertIn(f"no space left in {self.disk} of {support.HOST}: muster's agent can't start there ({self.disk}/muster-", case["reason"], run.story())
        self.assertIn("No space left on device", case["reason"])
        self.assertEqual([(culprit["kind"], culprit["node"]) for culprit in case["culprits"]], [("node", support.HOST), ("file", support.HOST)])
        self.assertEqual(case["culprits"][1]["name"], str(self.disk), "no node is drained for a file")
        self.assertIn("df /dev/shm", case["remedy"])

    def test_shared_memory_that_can_not_be_written(self):
        """Recorders and files of MPI lie elsewhere then."""
        subprocess.run(["mount", "-o", "remount,ro", "/dev/shm"], check=True)
        self.addCleanup(subprocess.run, ["mount", "-o", "remount,rw", "/dev/shm"], check=True)
        for launcher, ranks in (("local", 1), ("mpirun", 2)):
            with self.subTest(launcher=launcher):
                run = self.new_run(check("a", ranks=ranks), "--launcher", launcher).finish(60)
                self.assert_status(run, 0)

    def test_a_folder_for_temporary_files_without_room(self):
        """Open MPI's ranks share files there: they fail at once, or wait, by how much room is left."""
        for size in ("256k", "4m"):
            with self.subTest(size=size):
                self.mount(size)
                if size == "256k":
                    self.fill()
                run = self.new_run(check("a", ranks=2), "--launcher", "mpirun", env={"TMPDIR": str(self.disk), "MUSTER_STARTUP_TIMEOUT": "5"}).finish(60)
                self.assert_status(run, 1)
                case = next(case for case in run.report()["cases"] if case["verdict"] == "fail")
                self.assertEqual(case["reason"], f"no space left for Open MPI's files on {support.HOST}, in TMPDIR or else in /tmp: its ranks can't start there")
                self.assertEqual([(culprit["kind"], culprit["name"]) for culprit in case["culprits"]], [("node", support.HOST), ("file", "TMPDIR")])
                self.assertIn(f"free space on {support.HOST}: df", case["remedy"])

    def test_a_folder_for_temporary_files_without_a_free_inode(self):
        """From none for the launcher to too few for the ranks: the files of a launch take 19. mpirun at times loses its notice with the error."""
        for inodes in (2, 8, 13, 15, 17, 18):
            with self.subTest(inodes=inodes):
                self.disk.mkdir(exist_ok=True)
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=9m,nr_inodes={inodes}", "tmpfs", self.disk], check=True)
                self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=False)
                run = self.new_run(check("a", ranks=2), "--launcher", "mpirun", env={"TMPDIR": str(self.disk), "MUSTER_STARTUP_TIMEOUT": "5"}).finish(60)
                subprocess.run(["umount", "-l", self.disk], check=True)
                self.assert_status(run, 1)
                failed = [case for case in run.report()["cases"] if case["verdict"] == "fail"]
                self.assertTrue(failed, run.story())
                for case in failed:
                    self.assertIn(case["reason"], (f"no space left for Open MPI's files on {support.HOST}, in TMPDIR or else in /tmp: its ranks can't start there",
                                                   f"Open MPI can't make its folder on {support.HOST}, in TMPDIR or else in /tmp"))
                    self.assertEqual([(culprit["kind"], culprit["name"]) for culprit in case["culprits"]], [("node", support.HOST), ("file", "TMPDIR")])
                    self.assertIn("df and df -i", case["remedy"])

    def test_a_folder_of_recorders_that_is_missing(self):
        run = self.recorders_in("/no/such/folder")
        self.assert_status(run, 2)
        case, = run.report()["cases"]
        self.assertEqual(case["verdict"], "error")
        self.assertIn("/no/such/folder/muster-", case["reason"], run.story())
        self.assertIn("No such file or directory", case["reason"])
        self.assertEqual(case["culprits"], [])
        self.assertIn("MUSTER_RECORDER_FOLDER", case["remedy"])


class EveryCallFails(WholeReports):
    """Call 1, 2, 3, ... fails, until a run makes fewer calls than that."""

    def run_with(self, call, kind, error, stays):
        run = self.new_run(THREE, *LOCAL)
        run.count = run.folder / "count"
        run.env.update(LD_PRELOAD=str(support.FAILING_CALLS), FAIL_KIND=kind, FAIL_PATH=str(run.output),
                       FAIL_CALL=str(call), FAIL_ERRNO=str(error), FAIL_STAYS=str(int(stays)),
                       FAIL_COUNT_FILE=str(run.count), ASAN_OPTIONS="verify_asan_link_order=0")
        return run.finish(20)

    def loop(self, kind, error, stays=False):
        clean = self.run_with(0, kind, error, stays)
        self.assert_status(clean, 0)
        calls = struct.unpack("Q", clean.count.read_bytes())[0]
        self.assertGreaterEqual(calls, 2, "the calls are not seen")
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            runs = list(pool.map(lambda call: self.run_with(call, kind, error, stays), range(1, calls + 2)))
        for call, run in enumerate(runs, 1):
            with self.subTest(kind=kind, call=call, stays=stays):
                self.assert_clean(run)
                self.judge(run, call)
        # The last one had nothing left to fail.
        self.assert_status(runs[-1], 0)
        print(f"  {kind}, {os.strerror(error)}: {calls} calls, statuses {[run.status for run in runs]}")

    def judge(self, run, call):
        self.assert_sane(run)
        if run.status == 0:
            # Silence is right only where nothing was lost: report and, without it, the spool tell the same.
            said = verdicts(run.report())
            if not run.report()["notes"] and not run.stderr:
                run.report_path().unlink()
                self.assertEqual(verdicts(self.shown(run)), said, f"call {call} failed and nobody said so\n{run.story()}")

    def test_files_disk_full(self):
        self.loop("file", errno.ENOSPC)

    def test_files_broken(self):
        self.loop("file", errno.EIO)

    def test_files_disk_full_from_then_on(self):
        self.loop("file", errno.ENOSPC, stays=True)

    def test_processes(self):
        self.loop("process", errno.EAGAIN)


if __name__ == "__main__":
    support.main(needs=())
