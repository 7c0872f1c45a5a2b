"""The user's own launch line (--launch): real launchers start it, the kernel says where its ranks are."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import support

BIN = (pathlib.Path(os.environ.get("MUSTER_BUILD", "build")) / "bin").resolve()
CPUS = sorted(os.sched_getaffinity(0))
CHECKS = """[check.affinity]
probe   = "cpu_affinity"
summary = "Masks."
ranks   = { per_gpu = 1, otherwise = "one-per-core" }
timeout = "60s"
tags    = ["test"]
[check.affinity.params]
sharing = "any"
[check.alone]
probe   = "command"
summary = "Wants a rank per node, runs on those that there are."
ranks   = "one-per-node"
timeout = "60s"
tags    = ["test"]
[check.alone.params]
argv = ["sh", "-c", "echo '{\\"metric\\": \\"ranks\\", \\"value\\": 1, \\"unit\\": \\"1\\"}'"]
[check.environment]
probe   = "environment"
summary = "Variables."
ranks   = { per_node = 1 }
timeout = "60s"
tags    = ["test"]
"""
PROFILE = """[system]
name = "here"
[[partition]]
name = "p"
[partition.node.bind]
policy = "compact"
masks  = [{masks}]
"""


class LaunchLine(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-line-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "checks.toml").write_text(CHECKS)
        (self.folder / "tmp").mkdir()

    def muster(self, command, line, *options):
        env = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "OMPI_MCA_mpi_yield_when_idle": "1",
               "COLUMNS": "400", "TMPDIR": str(self.folder / "tmp"), "OMPI_MCA_orte_tmpdir_base": "/tmp"}
        done = subprocess.run([str(BIN / "muster"), command, str(self.folder / "checks.toml"), "--launch", line, *options,
                               *(["--output", str(self.folder / "runs")] if command == "run" else [])],
                              cwd=self.folder, env=env, capture_output=True, text=True, timeout=120 * support.SLOWNESS)
        self.output = done.stdout + done.stderr
        self.assertEqual(list((self.folder / "tmp").iterdir()), [], "what the first start leaves")
        return done.returncode

    def run_it(self, line, *options):
        status = self.muster("run", line, *options)
        latest = self.folder / "runs" / "latest"
        self.report = json.loads((latest / "report.json").read_text()) if latest.exists() else {}
        return status

    def case(self, name):
        return next(case for case in self.report["cases"] if case["check"] == name)

    def words(self, name):
        case = self.case(name)
        return " ".join([case["reason"], *case["notes"], *(finding["reason"] + " " + finding.get("remedy", "") for finding in case["findings"])])

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def test_all_checks_share_the_ranks_that_the_line_starts(self):
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 3"), 0, self.output)
        self.assertEqual([launch["ranks"] for launch in self.report["launches"]], [3])
        argv = self.report["launches"][0]["argv"]
        self.assertEqual((argv[0], argv[-1]), ("mpirun", str(BIN / "muster-rank")))
        self.assertEqual(argv[-4:-1], ["--oversubscribe", "-n", "3"])
        self.assertNotIn("--bind-to", argv)
        self.assertNotIn("--ranks-per-node", self.case("affinity")["rerun"])
        self.assertTrue((self.folder / "runs" / "latest" / "launches" / "line" / "command").exists())

    def test_the_lines_own_masks_are_judged_and_shown_beside_those_of_bind(self):
        (self.folder / "profile.toml").write_text(PROFILE.format(masks=", ".join(f'"{hex(1 << cpu)}"' for cpu in (CPUS[-1], CPUS[0]))))
        pin = self.script("pin", f"#!/bin/sh\nexec taskset -c {CPUS[0]} \"$@\"\n")
        line = f"mpirun --oversubscribe --bind-to none -n 2 {pin}"
        status = self.run_it(line, str(self.folder / "profile.toml"), "--system", "here", "-n", "affinity")
        self.assertEqual(status, 0, self.output)
        if len(CPUS) > 1:
            self.assertIn(f"rank 0 on CPU {CPUS[0]} (muster bind: {CPUS[-1]})", self.words("affinity"))
            self.assertIn("2 ranks share CPUs", self.words("affinity"))
            self.assertIn(f"rank 0 on CPU {CPUS[0]} (muster bind: {CPUS[-1]})", self.output, "on the console, too")
        self.assertEqual({node["facts"].get("binding") for node in self.report["nodes"]}, {"the user's launch line"})
        # The same line, judged: two ranks on one CPU.
        status = self.run_it(line, "-n", "affinity", "-S", "affinity.sharing=disjoint")
        self.assertEqual(status, 1, self.output)

    def test_hydra(self):
        if shutil.which("mpiexec.mpich") is None or not (BIN / "muster-rank-mpich").exists():
            self.skipTest("there is no MPICH beside Open MPI")
        self.assertEqual(self.run_it("mpiexec.mpich -n 2"), 0, self.output)
        self.assertEqual([launch["ranks"] for launch in self.report["launches"]], [2])

    def test_plan_shows_the_line(self):
        self.assertEqual(self.muster("plan", "mpirun --oversubscribe -n 2"), 0, self.output)
        self.assertIn("--oversubscribe -n 2 ", self.output)
        self.assertIn("2 ranks on 1 node", self.output)

    def test_a_line_that_starts_no_agent(self):
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 true"), 2, self.output)
        self.assertEqual({case["verdict"] for case in self.report["cases"]}, {"error"})
        self.assertIn("end the line before the program", self.words("affinity"))

    def test_worlds_of_one_rank_each(self):
        """MPICH's launcher and Open MPI's agent."""
        if shutil.which("mpiexec.mpich") is None:
            self.skipTest("there is no MPICH beside Open MPI")
        self.assertEqual(self.run_it("mpiexec.mpich -n 2", "--agent", str(BIN / "muster-rank")), 2, self.output)
        self.assertIn("the world has 1 rank, 2 were asked for", self.words("affinity"))

    def test_torchrun_in_each_of_two_tasks(self):
        tail = " torchrun --nproc-per-node=2 train.py"
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2" + tail, "-n", "environment"), 1, self.output)
        self.assertIn("starts \"torchrun --nproc-per-node=2 train.py\" 2 times on each node", self.words("environment"))
        self.assertEqual(self.run_it("mpirun -n 1" + tail, "-n", "environment"), 0, self.output)

    def test_a_container_without_its_mpi_or_without_the_agent(self):
        """A mount namespace in which folders are empty, as in a container's image."""
        if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"]).returncode != 0:
            self.skipTest("no mount namespaces here")
        library = subprocess.run(["sh", "-c", f"ldd {BIN}/muster-rank | sed -n 's/.*libmpi.so.[0-9]* => \\([^ ]*\\).*/\\1/p'"],
                                 capture_output=True, text=True).stdout.strip()
        # An overlay whose upper folder says that the library is gone.
        without = self.script("without", '#!/bin/sh\nset -e\nmount -t tmpfs none "$1"\nmkdir "$1/upper" "$1/work"\n'
                              'mknod "$1/upper/$(basename "$2")" c 0 0\nlib=$(dirname "$2")\n'
                              'mount -t overlay overlay -o "lowerdir=$lib,upperdir=$1/upper,workdir=$1/work" "$lib"\nshift 2\nexec "$@"\n')
        (self.folder / "overlay").mkdir()
        contained = self.script("contained", f'#!/bin/sh\nexec unshare --mount {without} {self.folder}/overlay {library} "$@"\n')
        self.assertEqual(self.run_it(f"mpirun --oversubscribe -n 2 {contained}"), 2, self.output)
        self.assertIn("can't be loaded where the line starts it", self.words("affinity"))
        self.assertIn("libmpi.so", self.words("affinity"))
        hide = "#!/bin/sh\nexec unshare --mount sh -c 'mount -t tmpfs none \"$0\" && exec \"$@\"' {} \"$@\"\n"
        contained = self.script("contained", hide.format(BIN))
        self.assertEqual(self.run_it(f"mpirun --oversubscribe -n 2 {contained}"), 2, self.output)
        self.assertIn("is not there where the line starts it", self.words("affinity"))
        self.assertIn(f"--bind {BIN}", self.words("affinity"))

    def test_what_the_command_line_got_wrong(self):
        for line, words in (("foo -n 2", "is none of"), ("srun --export=NONE", "--export=ALL"), ("mpirun -n 2; ls", "no single command")):
            self.assertEqual(self.muster("run", line), 3, self.output)
            self.assertIn(words, self.output)
        for option, value in (("--nodes", "a"), ("--bind", "cores"), ("--ranks-per-node", "2")):
            self.assertEqual(self.muster("run", "mpirun -n 2", option, value), 3, self.output)
            self.assertIn("--launch", self.output)


if __name__ == "__main__":
    support.main()
