"""Masks of CPUs that are not here: what a launcher sets for a rank of a simulated machine is what the rank reads, and no more."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import support

BUILD = pathlib.Path(os.environ.get("MUSTER_BUILD", "build")).resolve()
LIBRARY = pathlib.Path(os.environ.get("MUSTER_STAND_INS", BUILD)).resolve() / "drivers" / "libmuster_affinity.so"
# Into a file of the rank's own: launchers mix what ranks print.
TELL = """import os, pathlib, sys
rank = os.environ.get('OMPI_COMM_WORLD_RANK', os.environ.get('PMI_RANK'))
pathlib.Path(sys.argv[1], f'rank.{rank}').write_text(str(sorted(os.sched_getaffinity(0))))
"""
# The other way round than any launcher would, on both threads of a core.
ASKED = ["0xfe000000000000", "0x1000000000000010", "0xff00000000", "0x2"]
PROFILE = """[system]
name = "here"
[[partition]]
name = "p"
[partition.node]
{node}
[partition.node.bind]
policy = "gpu"
masks  = {masks}
"""
CHECKS = """[check.affinity]
probe   = "cpu_affinity"
summary = "Masks."
ranks   = {{ per_node = {ranks} }}
timeout = "120s"
tags    = ["test"]
params  = {{ devices = "any", numa = "any" }}
"""


def cpus(mask):
    return [cpu for cpu in range(256) if int(mask, 16) >> cpu & 1]


class Library(unittest.TestCase):
    """By itself, below the real launchers."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="muster-affinity-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        subprocess.run([BUILD / "bin" / "muster", "machine", "lumi-g", "--write", self.folder / "lumi"], check=True, stdout=subprocess.DEVNULL)
        self.env = {**os.environ, "LD_PRELOAD": str(LIBRARY), "MUSTER_AFFINITY_CPUS": "0-127",
                    "MUSTER_AFFINITY_FOLDER": str(self.folder / "records"), "HWLOC_XMLFILE": str(self.folder / "lumi" / "topology.xml"),
                    "HWLOC_THISSYSTEM": "1"}

    def say(self, *words):
        done = subprocess.run([str(word) for word in words], env=self.env, capture_output=True, text=True, timeout=60 * support.SLOWNESS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def ranks(self, *words):
        self.say(*words, "python3", "-c", TELL, self.folder)
        return [json.loads(told.read_text()) for told in sorted(self.folder.glob("rank.*"))]

    def test_nothing_was_set(self):
        self.assertEqual(self.ranks("env", "PMI_RANK=0"), [list(range(128))])

    def test_exec_and_children_keep_it(self):
        self.assertEqual(self.ranks("taskset", "-c", "49-55,113", "env", "PMI_RANK=0"), [[*range(49, 56), 113]])
        script = "taskset -c 3 sh -c 'python3 -c \"import os; print(os.sched_getaffinity(0))\"; true'; true"
        self.assertEqual(self.say("sh", "-c", script), "{3}\n")

    def test_a_child_has_its_own(self):
        code = ("import os\nos.sched_setaffinity(0, {100, 7})\nif os.fork() == 0:\n  os.sched_setaffinity(0, {9})\n"
                "  print(os.sched_getaffinity(0), os.sched_getaffinity(os.getppid()), flush=True)\n  os._exit(0)\n"
                "os.wait()\nprint(os.sched_getaffinity(0))")
        self.assertEqual(self.say("python3", "-c", code), "{9} {100, 7}\n{100, 7}\n")

    def test_as_the_kernel(self):
        """CPUs that the machine has not are dropped; a mask without any is refused."""
        code = ("import os\nos.sched_setaffinity(0, {127, 128})\nprint(os.sched_getaffinity(0))\n"
                "try: os.sched_setaffinity(0, {200})\nexcept OSError as error: print(error.errno)")
        self.assertEqual(self.say("python3", "-c", code), "{127}\n22\n")

    def test_a_process_number_that_was_given_again(self):
        """A record of a process that started at another time is none."""
        code = ("import os, pathlib\nos.sched_setaffinity(0, {5})\nprint(len(os.sched_getaffinity(0)))\n"
                "own = pathlib.Path(os.environ['MUSTER_AFFINITY_FOLDER']) / f'{os.uname().nodename}.{os.getpid()}'\n"
                "own.write_text('1 ' + own.read_text().split()[1])\nprint(len(os.sched_getaffinity(0)))")
        self.assertEqual(self.say("python3", "-c", code), "1\n128\n")

    def test_the_real_machine(self):
        del self.env["MUSTER_AFFINITY_CPUS"]
        self.assertEqual(self.ranks("env", "PMI_RANK=0"), [sorted(os.sched_getaffinity(0))])

    def test_open_mpi(self):
        masks = self.ranks("mpirun", "--host", "localhost:8", "-n", "8", "--map-by", "ppr:2:numa:PE=8", "--bind-to", "core")
        self.assertEqual(masks, [[*range(8 * i, 8 * i + 8), *range(64 + 8 * i, 72 + 8 * i)] for i in range(8)])

    def test_hydra(self):
        if shutil.which("mpirun.mpich") is None:
            self.skipTest("there is no MPICH beside Open MPI")
        users = ",".join("+".join(map(str, cpus(mask))) for mask in ASKED)
        self.assertEqual(self.ranks("mpirun.mpich", "-n", "4", "-bind-to", f"user:{users}"), [cpus(mask) for mask in ASKED])


class Run(unittest.TestCase):
    """`muster run` on a simulated machine whose description has other masks."""

    def run_it(self, *options, launcher="mpirun", masks=ASKED, node="cores = 64"):
        with tempfile.TemporaryDirectory(prefix="muster-affinity-") as name:
            folder = pathlib.Path(name)
            subprocess.run([BUILD / "bin" / "muster", "machine", "lumi-g", "--write", folder / "lumi"], check=True, stdout=subprocess.DEVNULL)
            (folder / "site.toml").write_text(PROFILE.format(masks=json.dumps(masks), node=node))
            (folder / "checks.toml").write_text(CHECKS.format(ranks=len(masks)))
            env = {**os.environ, "MUSTER_MACHINE": str(folder / "lumi"), "MUSTER_STARTUP_TIMEOUT": "120s",
                   "XDG_STATE_HOME": str(folder / "state")}
            if launcher == "mpich":
                (folder / "bin").mkdir()
                (folder / "bin" / "mpirun").write_text('#!/bin/sh\nexec mpirun.mpich "$@"\n')
                (folder / "bin" / "mpirun").chmod(0o755)
                env["PATH"] = f"{folder / 'bin'}:{env['PATH']}"
            done = subprocess.run([BUILD / "bin" / "muster", "run", "--simulated", "checks.toml", "site.toml", "--system", "here", "--launcher", "mpirun",
                                   "--output", "runs", *options], cwd=folder, env=env, capture_output=True, text=True,
                                  timeout=200 * support.SLOWNESS)
            self.output = done.stdout + done.stderr
            self.report = json.loads((folder / "runs" / "latest" / "report.json").read_text())
            self.assertEqual(list((folder / "runs" / "latest").rglob("affinity")), [], "records are gone with the launch")
            self.case = self.report["cases"][0]
            return [row["facts"]["mask"] for row in self.case["rank_rows"]]

    def test_by_open_mpis_rankfile(self):
        self.assertEqual(self.run_it(), ["49-55", "4,60", "32-39", "1"], self.output)
        self.assertEqual(self.report["nodes"][0]["facts"]["binding"], "profile here, by the launcher")

    def test_by_hydra(self):
        if shutil.which("mpirun.mpich") is None or not (BUILD / "bin" / "muster-rank-mpich").exists():
            self.skipTest("there is no MPICH beside Open MPI")
        self.assertEqual(self.run_it(launcher="mpich"), ["49-55", "4,60", "32-39", "1"], self.output)
        self.assertEqual(self.report["nodes"][0]["facts"]["binding"], "profile here, by the launcher")

    def test_shares_without_the_cores_that_the_profile_reserves(self):
        """mpirun and mpiexec would also bind to these."""
        reserved = f"cores = 64\nreserved_cores = {list(range(0, 64, 8))}"
        for launcher in ("mpirun", *["mpich"] * (shutil.which("mpirun.mpich") is not None and (BUILD / "bin" / "muster-rank-mpich").exists())):
            with self.subTest(launcher):
                self.assertEqual(self.run_it("--bind", "cores", launcher=launcher, node=reserved, masks=["0x2", "0x4", "0x8", "0x10"]),
                                 ["1-7,9-15", "17-23,25-31", "33-39,41-47", "49-55,57-63"], self.output)
                self.assertEqual(self.case["verdict"], "pass", self.output)
                self.assertEqual(self.report["nodes"][0]["facts"]["binding"],
                                 "--bind cores except those reserved by profile here, by the launcher")

    def test_by_the_users_own_line(self):
        self.assertEqual(self.run_it("-J=--map-by", "-J=ppr:4:node:PE=2", "-J=--bind-to", "-J=core"),
                         ["0-1,64-65", "2-3,66-67", "4-5,68-69", "6-7,70-71"], self.output)

    def test_bound_to_nothing(self):
        self.assertEqual(self.run_it("--bind", "none", "-J=--bind-to", "-J=none"), ["0-127"] * 4, self.output)
        self.assertEqual(self.case["verdict"], "fail")
        self.assertTrue(self.case["remedy"].startswith("change the options given to the launcher"), self.case["remedy"])

    def test_bound_as_open_mpi_does_by_default(self):
        """Two ranks on each NUMA domain."""
        self.assertEqual(sorted(self.run_it("--bind", "none", masks=[hex(1 << cpu) for cpu in range(8)]))[:2], ["0-15,64-79"] * 2, self.output)
        self.assertEqual(self.case["verdict"], "fail")
        self.assertTrue(self.case["remedy"].startswith("remove --bind none, or bind ranks to cores of their own: "), self.case["remedy"])


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        support.skip("there is no mpirun")
    support.run_tests()
