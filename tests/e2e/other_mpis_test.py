"""MPIs that Debian does not have, as modules of a site: Open MPI 5, MPICH 5 and Intel MPI. The agent of each is built with the module loaded;
every fault names its rank, or none where that can't be determined.

MUSTER_TEST_MPIS names the folder with them, which tests/suite/mpis.py fills; `./dev test --all` does so."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from other_mpis import MPIS, NAMES, agents, built, configure, has, module  # noqa: E402
from support import Run, check, ten_cases  # noqa: E402

DEADLINE = 3


def libraries(program):
    printed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"NEEDED.*\[(.*)\]", printed)


class Module(support.EndToEnd):
    """Of one MPI; its subclasses name it."""

    MPI = ""

    def setUp(self):
        if not has(self.MPI):
            self.skipTest(f"{MPIS} has no {self.MPI}" if MPIS.exists() else "MUSTER_TEST_MPIS names no folder of MPIs (./dev test --all)")

    def agent(self):
        return agents(self.MPI) / "muster-rank-test"

    def go(self, checks, *options, limit=60, agent=None, env=None):
        run = Run(checks, "--launcher", "mpirun", *options, agent=agent or self.agent(), env={**module(self.MPI), **(env or {})})
        self.addCleanup(run.clean)
        run.finish(limit)
        self.assert_clean(run)
        cases = run.report()["cases"]
        reasons = [case["reason"] for case in cases if case["verdict"] != "pass"]
        print(f"  {self.MPI} {self.id().split('.')[-1]}: status {run.status}, {run.seconds:.1f} s: {reasons[:1]}", flush=True)
        return run

    def bad(self, how, ranks=2, **more):
        run = self.go(ten_cases(how=how, rank=1, ranks=ranks, timeout=f"{DEADLINE}s", **more))
        case = run.case("bad")
        self.assertEqual(case["verdict"], "fail", run.story())
        self.assert_nine_passed(run)
        return run, case

    def assert_rank_or_nobody(self, run, case, rank=1):
        """A launcher need not know which of several died; then none is accused."""
        named = [culprit.get("rank") for culprit in case["culprits"] if culprit["kind"] == "rank"]
        self.assertIn(named, ([rank], []), run.story())
        if not named:
            self.assertIn("cannot be determined", case["reason"], run.story())
        self.assertNotIn("node", [culprit["kind"] for culprit in case["culprits"]], run.story())


class EachOne:
    """What holds for every MPI."""

    def test_the_launcher_is_recognised(self):
        run = self.go(check("hello", probe="hello"))
        self.assert_status(run, 0)
        self.assertIn(f"mpirun ({NAMES[self.MPI]}", run.stdout)

    def test_the_default_checks(self):
        run = Run("", "--launcher", "mpirun", "--ranks-per-node", "2", agent=self.agent(), env=module(self.MPI))
        run.argv.remove(str(run.checks))
        self.addCleanup(run.clean)
        run.finish(300)
        bad = [(case["id"], case["verdict"], case["reason"]) for case in run.report()["cases"] if case["verdict"] in ("fail", "error")]
        self.assertEqual(bad, [], run.story())
        self.assert_clean(run)

    def test_a_hundred_hellos_of_four_ranks_on_two_cores(self):
        """Each barrier took a time slice of each rank where those that wait keep their core."""
        run = self.go(check("hello", probe="hello", ranks=4, timeout="20s", sweep={"repetitions": list(range(1, 101))}), limit=120)
        self.assert_status(run, 0)
        self.assertEqual(len(run.cases("hello")), 100)
        self.assertLess(run.seconds, 60 * support.SLOWNESS)

    def test_a_stopped_rank(self):
        run, case = self.bad("stop")
        self.assert_blames(run, case, 1)
        self.assertIn("stopped", case["reason"])

    def test_a_killed_rank(self):
        run, case = self.bad("kill")
        self.assert_rank_or_nobody(run, case)
        self.assertIn("dmesg", case["remedy"])

    def test_a_killed_rank_of_four(self):
        run, case = self.bad("kill", ranks=4)
        self.assert_rank_or_nobody(run, case)

    def test_a_rank_that_crashes(self):
        run, case = self.bad("segv")
        self.assert_blames(run, case, 1)
        self.assertIn("SIGSEGV", case["reason"])

    def test_a_rank_that_exits(self):
        run, case = self.bad("exit")
        self.assert_rank_or_nobody(run, case)
        self.assertRegex(case["remedy"], r"/stderr\b")


class OpenMpi5(EachOne, Module):
    MPI = "openmpi"

    def test_a_killed_rank(self):
        run, case = self.bad("kill")
        self.assert_blames(run, case, 1)
        self.assertIn("SIGKILL", case["reason"])
        self.assertIn("out-of-memory", case["remedy"])

    def test_each_agent_has_its_own_header_and_library(self):
        """CPATH of the module comes before what -isystem names: Debian's MPICH beside it was compiled with Open MPI's mpi.h."""
        folder = agents("openmpi")
        self.assertIn("libmpi.so.40", libraries(folder / "muster-rank-test"))
        if not shutil.which("mpicxx.mpich"):
            self.skipTest("there is no mpicxx.mpich")
        self.assertIn("libmpich.so.12", libraries(folder / "muster-rank-test-mpich"))
        tools = support.new_folder()
        self.addCleanup(shutil.rmtree, tools, True)
        (tools / "mpirun").write_text(f'#!/bin/sh\nexec {shutil.which("mpirun.mpich")} "$@"\n')
        (tools / "mpirun").chmod(0o755)
        run = self.go(check("hello", probe="hello"), agent=folder / "muster-rank-test-mpich", env={"PATH": f"{tools}:{os.environ['PATH']}"})
        self.assert_status(run, 0)

    def test_a_second_mpi_that_can_not_be_built_costs_only_itself(self):
        wrapper = built() / "mpicxx.broken"
        built().mkdir(parents=True, exist_ok=True)
        wrapper.write_text("#!/bin/sh\necho g++ -I/no/such/folder -L/no/such/folder -lmpich\n")
        wrapper.chmod(0o755)
        folder, done = configure("openmpi", f"-DMUSTER_MPICXX_MPICH={wrapper}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("muster-rank-mpich is not built: no program can be built with", " ".join(done.stderr.split()))
        targets = subprocess.run(["cmake", "--build", folder, "--target", "help"], capture_output=True, text=True).stdout
        self.assertIn("muster-rank-test", targets)
        self.assertNotIn("muster-rank-test-mpich", targets)

    def test_the_agent_of_mpich_5(self):
        if not has("mpich"):
            self.skipTest("there is no MPICH 5")
        run = self.go(check("hello", probe="hello"), agent=agents("mpich") / "muster-rank-test")
        self.assert_status(run, 2)
        self.assertEqual(run.case("hello")["verdict"], "error", run.story())
        self.assertIn("agent built for MPICH, launched by Open MPI", run.case("hello")["reason"])
        self.assertEqual(run.report()["launches"], [], "nothing can have been launched")


class Mpich5(EachOne, Module):
    MPI = "mpich"


class IntelMpi(EachOne, Module):
    MPI = "intel"

    def test_without_its_module(self):
        """mpirun by a link on PATH: it looks for mpiexec.hydra there, and for vars.sh beside itself."""
        tools = support.new_folder()
        self.addCleanup(shutil.rmtree, tools, True)
        (tools / "mpirun").symlink_to(MPIS / "intel" / "bin" / "mpirun")
        for tool in ("sh", "env", "uname", "whoami", "grep", "hostname"):
            (tools / tool).symlink_to(shutil.which(tool))
        run = Run(check("hello", probe="hello"), "--launcher", "mpirun", agent=self.agent(), env={"PATH": str(tools)})
        self.addCleanup(run.clean)
        run.finish(30)
        self.assert_status(run, 2)
        self.assertIn("I_MPI_ROOT", run.case("hello")["reason"] + run.case("hello")["remedy"], run.story())
        self.assertEqual(run.report()["launches"], [])


if __name__ == "__main__":
    if support.SLOWNESS != 1 or "plain" in support.BUILD.resolve().name:
        support.skip("the agents are linked with the libraries of the release build")
    if shutil.which("cmake") is None:
        support.skip("there is no cmake")
    support.main()
