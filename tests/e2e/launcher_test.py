"""The launcher itself is missing, broken, killed, or belongs to another MPI than the agent."""
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import Run, check, ten_cases  # noqa: E402

OPENMPI = shutil.which("mpirun.openmpi")
MPICH = shutil.which("mpirun.mpich")
HELLO = check("hello", probe="hello")


def program(folder, name, text):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return folder


class Launchers(support.EndToEnd):
    def run_with(self, mpirun, checks=HELLO, agent=support.AGENT, limit=20):
        """A run whose mpirun is the script `mpirun`; None: whose PATH has none."""
        run = Run(checks, "--launcher", "mpirun", agent=agent)
        self.addCleanup(run.clean)
        tools = run.folder / "tools"
        tools.mkdir()
        for tool in ("sh", "env", "cat", "sleep"):
            (tools / tool).symlink_to(shutil.which(tool))
        if mpirun is not None:
            program(tools, "mpirun", mpirun)
            run.env["PATH"] = f"{tools}:{os.environ['PATH']}"
        else:
            run.env["PATH"] = str(tools)
        run.finish(limit)
        self.assert_clean(run)
        print(f"  status {run.status}, {run.seconds:.1f} s: {run.report()['cases'][0].get('reason')}")
        return run

    def assert_error(self, run, *words):
        self.assert_status(run, 2)
        case = run.case("hello")
        self.assertEqual(case["verdict"], "error", run.story())
        self.assertTrue(case["remedy"])
        for word in words:
            self.assertIn(word, case["reason"], run.story())

    def test_missing(self):
        run = self.run_with(None)
        self.assert_error(run, "mpirun")
        self.assertEqual(run.report()["launches"], [], "nothing can have been launched")

    def test_one_that_always_fails(self):
        self.assert_error(self.run_with("#!/bin/sh\necho 'license server is down' >&2\nexit 1\n"), "mpirun")

    def collide(self, times):
        """Under an mpirun whose folder another one, which ends, removes so many times, as Open MPI 4.1.4 reports it."""
        script = (f'#!/bin/sh\n[ "$1" = --version ] && exec {OPENMPI} --version\nn=$(cat count 2>/dev/null || echo 0)\n'
                  f'if [ "$n" -lt {times} ]; then echo $((n + 1)) > count; echo "A call to mkdir was unable to create the desired directory:\n\n'
                  '  Directory: /tmp/ompi.vm.0\n  Error:     No such file or directory\n" >&2; exit 213; fi\n'
                  f'exec {OPENMPI} "$@"\n').replace("count", str(pathlib.Path(self.folder_of_count(), "count")))
        return self.run_with(script)

    def folder_of_count(self):
        folder = tempfile.TemporaryDirectory(prefix="muster-launcher-test-")
        self.addCleanup(folder.cleanup)
        return folder.name

    def test_one_whose_folder_another_removes_is_started_again(self):
        run = self.collide(2)
        self.assert_status(run, 0)
        self.assertEqual(len(run.report()["launches"]), 3)

    def test_one_whose_folder_is_always_removed(self):
        run = self.collide(9)
        self.assert_error(run, "Open MPI can't make its folder /tmp/ompi.vm.0")
        self.assertLess(len(run.report()["launches"]), 9)

    def test_one_that_can_not_be_executed(self):
        self.assert_error(self.run_with("#!/no/such/interpreter\n"), "mpirun")

    def test_one_that_knows_its_version_and_then_fails(self):
        script = f'#!/bin/sh\n[ "$1" = --version ] && exec {OPENMPI} --version\necho "no slots today" >&2; exit 7\n'
        run = self.run_with(script)
        self.assertNotEqual(run.case("hello")["verdict"], "pass", run.story())
        self.assertIn("status 7", run.case("hello")["reason"], run.story())
        self.assertNotEqual(run.status, 0)

    def test_one_that_starts_nothing_and_says_all_is_well(self):
        script = f'#!/bin/sh\n[ "$1" = --version ] && exec {OPENMPI} --version\nexit 0\n'
        run = self.run_with(script)
        self.assertNotEqual(run.case("hello")["verdict"], "pass", run.story())
        self.assertNotEqual(run.status, 0)

    def test_an_agent_that_is_no_agent(self):
        run = self.run_with(f'#!/bin/sh\nexec {OPENMPI} "$@"\n', agent=shutil.which("true"))
        self.assertNotEqual(run.case("hello")["verdict"], "pass", run.story())
        self.assertNotEqual(run.status, 0)

    def launcher_of(self, run):
        """The child of the driver that is not the driver's own program, as the one that outlives it is."""
        children = [pid for pid in run.processes() if parent_of(pid) == run.process.pid]
        own = os.path.realpath(f"/proc/{run.process.pid}/exe")
        launchers = [pid for pid in children if os.path.realpath(f"/proc/{pid}/exe") != own]
        self.assertEqual((len(launchers), len(children)), (1, 2), run.story())
        return launchers[0]

    def test_a_child_of_the_driver_that_is_stopped(self):
        """It clears up after a driver that was killed, and keeps no other from its end."""
        run = Run(ten_cases(how="slow", rank=1, seconds="0.5s", timeout="5s", marker="MARKER"), "--launcher", "mpirun")
        self.addCleanup(run.clean)
        run.until_marker()
        launcher = self.launcher_of(run)
        for pid in run.processes():
            if parent_of(pid) == run.process.pid and pid != launcher:
                os.kill(pid, signal.SIGSTOP)
        self.assertEqual(run.wait(30), 0, run.story())
        self.assert_clean(run)

    def test_killed_in_a_case(self):
        run = Run(ten_cases(how="hang", rank=1, timeout="30s", marker="MARKER"), "--launcher", "mpirun")
        self.addCleanup(run.clean)
        run.until_marker()
        os.kill(self.launcher_of(run), signal.SIGKILL)
        run.wait(20)
        self.assert_clean(run)
        case = run.case("bad")
        self.assertIn(case["verdict"], ("error", "fail"), run.story())
        self.assertIn("launcher", [culprit["kind"] for culprit in case["culprits"]], run.story())
        self.assertIn("KILL", case["reason"], run.story())
        self.assert_nine_passed(run)

    def test_stopped_in_a_case(self):
        run = Run(ten_cases(how="hang", rank=1, timeout="2s", marker="MARKER"), "--launcher", "mpirun")
        self.addCleanup(run.clean)
        run.until_marker()
        launcher = self.launcher_of(run)
        os.kill(launcher, signal.SIGSTOP)
        run.wait(30)
        self.assert_clean(run)
        # Ranks share memory and need no launcher to talk: the rank that hangs stays to blame.
        self.assert_blames(run, run.case("bad"), 1)
        self.assert_nine_passed(run)

    def test_stopped_while_ranks_start(self):
        began = time.monotonic()
        run = self.run_with(f'#!/bin/sh\n[ "$1" = --version ] && exec {OPENMPI} --version\nkill -STOP $$\nexec {OPENMPI} "$@"\n')
        self.assertRegex(run.case("hello")["reason"], r"the launcher mpirun \(process [0-9]+ on .*\) is stopped", run.story())
        self.assertLess(time.monotonic() - began, 30 * support.SLOWNESS, "far below the 60 s of a start-up")

    def test_stopped_when_the_ranks_want_to_end(self):
        run = Run(ten_cases(how="slow", rank=1, seconds="1s", timeout="5s", marker="MARKER"), "--launcher", "mpirun")
        self.addCleanup(run.clean)
        run.until_marker()
        launcher = self.launcher_of(run)
        os.kill(launcher, signal.SIGSTOP)
        run.wait(30)
        self.assert_clean(run)
        self.assert_nine_passed(run)
        outcome = run.report()["launches"][0]["outcome"]
        self.assertIn(f"the launcher mpirun (process {launcher} on ", outcome, run.story())
        self.assertIn("is stopped", outcome, run.story())
        self.assertNotEqual(run.status, 0)

    def test_openmpi_with_its_agent(self):
        if OPENMPI is None:
            self.skipTest("there is no mpirun.openmpi")
        run = self.run_with(f'#!/bin/sh\nexec {OPENMPI} "$@"\n')
        self.assert_status(run, 0)
        self.assertEqual(run.case("hello")["ranks"], 2)

    def needs_both(self):
        if OPENMPI is None or MPICH is None or not support.AGENT_MPICH.exists():
            self.skipTest("there is only one MPI")

    def test_mpich_with_its_agent(self):
        self.needs_both()
        run = self.run_with(f'#!/bin/sh\nexec {MPICH} "$@"\n', agent=support.AGENT_MPICH)
        self.assert_status(run, 0)
        self.assertEqual(run.case("hello")["ranks"], 2)

    def test_mpich_that_hangs_in_finalize(self):
        """As MPICH 4.0 and 4.1 do with UCX on a healthy machine: the ranks leave."""
        self.needs_both()
        words = f"-genv LD_PRELOAD {support.AGENTS / 'stuck_finalize.so'} -genv ASAN_OPTIONS verify_asan_link_order=0"
        run = self.run_with(f'#!/bin/sh\n[ "$1" = --version ] && exec {MPICH} --version\nexec {MPICH} {words} "$@"\n', agent=support.AGENT_MPICH)
        self.assert_status(run, 0)
        self.assertEqual(run.case("hello")["ranks"], 2)
        self.assertIn("MPI_Finalize did not return within 3 s after all cases had ended; 2 ranks left it", " ".join(run.report()["notes"]), run.story())
        self.assertLess(run.seconds, 10 * support.SLOWNESS)

    def test_a_crash_in_mpi_may_follow_a_loss(self):
        """MPICH's launcher ends the other rank by SIGKILL: which one was first can't be determined."""
        self.needs_both()
        words = f"-genv LD_PRELOAD {support.AGENTS / 'libmpi_crash.so'} -genv ASAN_OPTIONS verify_asan_link_order=0"
        run = self.run_with(f'#!/bin/sh\n[ "$1" = --version ] && exec {MPICH} --version\nexec {MPICH} {words} "$@"\n', agent=support.AGENT_MPICH)
        case = run.case("hello")
        self.assertEqual((case["verdict"], case["culprits"]), ("fail", []), run.story())
        self.assertIn("rank 1", case["reason"])
        self.assertIn("was killed by signal 11 (SIGSEGV) in MPI, which the loss of another rank can cause", case["reason"])

    def run_cray(self, **variables):
        """Under an MPICH that behaves as Cray's does, and is asked for messages from GPU memory."""
        self.needs_both()
        variables = {"LD_PRELOAD": support.AGENTS / "cray_mpich.so", "MPICH_GPU_SUPPORT_ENABLED": 1,
                     "ASAN_OPTIONS": "verify_asan_link_order=0", **variables}
        words = " ".join(f"-genv {name} {value}" for name, value in variables.items())
        script = f'#!/bin/sh\n[ "$1" = --version ] && exec {MPICH} --version\nexec {MPICH} {words} "$@"\n'
        run = self.run_with(script, agent=support.AGENT_MPICH)
        self.assert_status(run, 0)
        self.assertEqual(run.case("hello")["ranks"], 2)
        facts = run.report()["nodes"][0]["facts"]
        self.assertEqual(facts.get("env.MPICH_GPU_SUPPORT_ENABLED"), "1", "as the user set it")
        self.assertIn("CRAY MPICH", facts["mpi"])
        return [note for note in run.report()["notes"] if "MPICH_GPU_SUPPORT_ENABLED=1 was hidden" in note]

    def test_cray_mpich_without_its_gpu_transport(self):
        notes = self.run_cray()
        self.assertEqual(len(notes), 1)
        self.assertIn("build muster again", notes[0])

    def test_cray_mpich_with_its_gpu_transport(self):
        self.assertEqual(self.run_cray(CRAY_GTL=support.AGENTS / "libmpi_gtl_fake.so"), [])

    def test_mpich_with_the_agent_of_open_mpi(self):
        self.needs_both()
        run = self.run_with(f'#!/bin/sh\nexec {MPICH} "$@"\n')
        self.assert_error(run, "agent built for Open MPI, launched by MPICH")
        self.assertEqual(run.report()["launches"], [], "nothing can have been launched")

    def test_open_mpi_with_the_agent_of_mpich(self):
        self.needs_both()
        run = self.run_with(f'#!/bin/sh\nexec {OPENMPI} "$@"\n', agent=support.AGENT_MPICH)
        self.assert_error(run, "agent built for MPICH, launched by Open MPI")
        self.assertEqual(run.report()["launches"], [], "nothing can have been launched")


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


if __name__ == "__main__":
    support.main()
