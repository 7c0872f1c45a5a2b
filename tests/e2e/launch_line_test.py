"""The user's own launch line (--launch): real launchers start it, the kernel says where its ranks are."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import support

BIN = (pathlib.Path(os.environ.get("MUSTER_BUILD", "build")) / "bin").resolve()
HOST = os.uname().nodename
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
            self.assertIn("2 ranks share 1 core", self.words("affinity"))
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

    def test_programs_in_front_of_the_launcher(self):
        for front in ("time ", "exec ", "timeout 100 ", "nohup ", "env MUSTER_TEST=1 nice "):
            with self.subTest(front):
                self.assertEqual(self.run_it(front + "mpirun --oversubscribe -n 2", "-n", "alone"), 0, self.output)
                self.assertEqual([launch["ranks"] for launch in self.report["launches"]], [2])
        (self.folder / "job.sh").write_text("#!/bin/bash\nmodule load x\ntimeout 100 mpirun --oversubscribe -n 2 python train.py\n")
        self.assertEqual(self.run_it("@job.sh", "-n", "alone"), 0, self.output)

    def test_plan_names_the_remedy(self):
        """As run does."""
        self.assertEqual(self.muster("plan", "mpirun --oversubscribe -n 2 true"), 2, self.output)
        self.assertIn("end the line before the program", self.output)

    def test_plan_shows_the_line(self):
        self.assertEqual(self.muster("plan", "mpirun --oversubscribe -n 2"), 0, self.output)
        self.assertIn("--oversubscribe -n 2 ", self.output)
        self.assertIn("2 ranks on 1 node", self.output)

    def test_bind_is_shown_without_a_profile_too(self):
        """One rank, or several, on a node that only hwloc describes."""
        bound = subprocess.run([str(BIN / "muster"), "bind", "--ranks-per-node", "1", "--json"], capture_output=True, text=True, check=True)
        self.assertEqual(self.muster("plan", "mpirun -n 1"), 0, self.output)
        self.assertIn("bound by the line; muster bind (auto):", self.output)
        self.assertRegex(self.output, f"(?m)^ +0: CPUs {re.escape(json.loads(bound.stdout)['ranks'][0]['cpus'])}$")
        # As options of the line's launcher; by muster bind a line to paste.
        self.assertEqual(self.muster("plan", "mpirun --oversubscribe -n 2"), 0, self.output)
        if len(CPUS) > 1:
            lines = json.loads(subprocess.run([str(BIN / "muster"), "bind", "--ranks-per-node", "2", "--json"], capture_output=True, text=True, check=True).stdout)
            self.assertIn(f"    {lines['mpirun'].strip()}\n", self.output)
        alone = f"mpirun -n 1 --bind-to none taskset -c {CPUS[0]}"
        self.assertEqual(self.run_it(alone, "-n", "affinity"), 0, self.output)
        if len(CPUS) > 1:
            self.assertIn(f"the launch line binds 1 of 1 ranks otherwise than muster bind would: rank 0 on CPU {CPUS[0]} (muster bind: ",
                          self.words("affinity"))
            self.assertRegex(self.words("affinity"), r"cost: \d+ of the \d+ cores that muster bind assigns (is|are) idle")
        self.assertEqual(self.run_it("mpirun -n 1 --bind-to none", "-n", "affinity"), 0, self.output)
        self.assertEqual(self.case("affinity")["notes"], [], "the whole node is what bind would write")

    def test_why_bind_has_no_line(self):
        many = len(CPUS) + 1
        line = f"mpirun --oversubscribe --bind-to none -n {many}"
        self.assertEqual(self.muster("plan", line), 0, self.output)
        why = rf"muster bind has no masks for [a-z ]*: {many} ranks need a core each, but \d+ of its \d+ cores? can be used; request at most"
        self.assertRegex(self.output, why)
        self.assertEqual(self.run_it(line, "-n", "affinity", "-n", "alone"), 0, self.output)
        self.assertRegex(self.words("affinity"), why)
        self.assertEqual(self.case("alone")["notes"], [], "only the judge of masks compares")

    def test_a_line_that_starts_no_agent(self):
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 true"), 2, self.output)
        self.assertEqual({case["verdict"] for case in self.report["cases"]}, {"error"})
        self.assertIn("end the line before the program", self.words("affinity"))

    def test_a_line_whose_program_takes_the_agent_for_an_argument(self):
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 ls /no/such/folder"), 2, self.output)
        self.assertIn("see that the line ends before the program", self.words("affinity"))
        self.assertIn("launches/line/stderr", self.words("affinity"))
        self.assertNotIn(str(self.folder / "tmp"), self.words("affinity"), "a folder that is gone")
        self.assertIn("/no/such/folder", (self.folder / "runs/latest/launches/line/stderr").read_text())
        # An interpreter reads the agent as its script.
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 python3"), 2, self.output)
        self.assertIn("see that the line ends before the program", self.words("affinity"))
        self.assertEqual({culprit["kind"] for case in self.report["cases"] for culprit in case["culprits"]}, {"launcher"})

    def test_a_line_with_a_wrapper_that_is_not_there(self):
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 no_such_wrapper exec"), 2, self.output)
        self.assertIn("the line starts no_such_wrapper, which is not a program on the nodes", self.words("affinity"))

    def test_a_line_that_clears_the_environment(self):
        """As singularity --cleanenv does."""
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 env -i"), 2, self.output)
        self.assertIn("the line keeps muster's variables from the agent", self.words("affinity"))
        self.assertIn("--cleanenv", self.words("affinity"))

    def test_a_line_that_does_not_end(self):
        os.environ["MUSTER_STARTUP_TIMEOUT"] = "3"
        self.addCleanup(os.environ.pop, "MUSTER_STARTUP_TIMEOUT")
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 tail -f /dev/null"), 2, self.output)
        self.assertIn("the line did not start muster's agent, and did not end", self.words("affinity"))

    def test_tasks_that_do_not_start_one_agent_each(self):
        """The others wait for them in MPI_Init: neither rank 0 nor the network is at fault."""
        os.environ["MUSTER_STARTUP_TIMEOUT"] = "5"
        self.addCleanup(os.environ.pop, "MUSTER_STARTUP_TIMEOUT")
        lines = ["mpirun --oversubscribe"]
        if shutil.which("mpiexec.mpich") is not None and (BIN / "muster-rank-mpich").exists():
            lines.append("mpiexec.mpich")
        for line in lines:
            for act, words in (("exec sleep 600", "3 tasks, 2 of which started muster's agent: not task 1"),
                               ("exit 0", "3 tasks, 2 of which started muster's agent: not task 1"),
                               ("exit 3", "3 tasks, 2 of which started muster's agent: not task 1"),
                               ('"$@"', "3 tasks, and 4 agents: task 1 started several")):
                with self.subTest(line=line, act=act):
                    script = self.script("wrapper", f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ] && {act}\nexec "$@"\n')
                    self.assertEqual(self.run_it(f"{line} -n 3 {script}", "-n", "affinity"), 2, self.output)
                    self.assertIn("the line starts " + words, self.words("affinity"))
                    self.assertIn('a wrapper ends with exec "$@", on every rank', self.words("affinity"))
                    self.assertEqual([culprit["name"] for culprit in self.case("affinity")["culprits"]], ["the launch line"])
        # The gate blames no node.
        script = self.script("wrapper", '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 1 ] && exec sleep 600\nexec "$@"\n')
        self.assertEqual(self.gate(f"mpirun --oversubscribe -n 3 {script}"), 125, self.output)
        self.assertEqual({found["at_fault"] for found in self.told["not_good"]}, {False}, self.output)
        self.assertIn("3 tasks, 2 of which started muster's agent", self.told["not_good"][0]["reason"])

    def test_a_line_that_goes_wrong_at_its_second_start(self):
        """Its first start only counts ranks."""
        os.environ["MUSTER_STARTUP_TIMEOUT"] = "5"
        self.addCleanup(os.environ.pop, "MUSTER_STARTUP_TIMEOUT")
        began = self.folder / "began"
        for act, words in (('[ "$OMPI_COMM_WORLD_RANK" = 1 ] && exec sleep 600', "the line starts 3 tasks, 2 of which started muster's agent: not task 1"),
                           ("exec true", "ended with status 0 without starting muster-rank"),
                           ('exec ls "$1/no/such/folder"', "muster-rank/no/such/folder"),
                           ('"$@"; exit 255', "ended with status 255 after muster's agents had ended with 0")):
            with self.subTest(act=act):
                began.unlink(missing_ok=True)
                # Ranks of the first start come together: all of them see no file yet.
                script = self.script("wrapper", f'#!/bin/sh\nif [ -e {began} ]; then\n{act}\nexec "$@"\nfi\n"$@" && : > {began}\n')
                self.assertEqual(self.run_it(f"mpirun --oversubscribe -n 3 {script}", "-n", "affinity"), 2, self.output)
                reasons = [finding["reason"] for case in self.report["cases"] for finding in case["findings"]]
                told = " ".join([*reasons, *(case["reason"] for case in self.report["cases"])])
                self.assertIn(words, told)
                self.assertIn("(at start 2 of the launch line; its first start worked)", told)
                culprits = [culprit for case in self.report["cases"] for culprit in case["culprits"]]
                self.assertEqual({(culprit["name"], culprit.get("node", "")) for culprit in culprits}, {("the launch line", "")}, told)

    def test_a_wrapper_that_ends_with_another_status(self):
        """As sanitizers do. The ranks are well."""
        script = self.script("wrapper", '#!/bin/sh\n"$@"\nexit 255\n')
        self.assertEqual(self.run_it(f"mpirun --oversubscribe -n 2 {script}", "-n", "affinity"), 2, self.output)
        self.assertIn("ended with status 255 after muster's agents had ended with 0", self.words("affinity"))
        self.assertEqual([culprit["name"] for culprit in self.case("affinity")["culprits"]], ["the launch line"])

    def test_a_signal_while_the_line_starts(self):
        """Its program would otherwise go on without muster: launchers run in a session of their own."""
        pids = self.folder / "pids"
        script = self.script("endless", f"#!/bin/sh\n# A wrapper that never starts \"$@\".\n: > {pids}/$$\nexec tail -f /dev/null\n")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number.name):
                shutil.rmtree(pids, ignore_errors=True)
                pids.mkdir()
                env = {**os.environ, "TMPDIR": str(self.folder / "tmp"), "OMPI_MCA_orte_tmpdir_base": "/tmp",
                       "XDG_STATE_HOME": str(self.folder / "state")}
                run = subprocess.Popen([str(BIN / "muster"), "run", str(self.folder / "checks.toml"), "--launch",
                                        f"mpirun --oversubscribe -n 2 {script}", "--output", str(self.folder / "runs")], cwd=self.folder,
                                       env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=support.take_signals)
                self.assertTrue(support.wait_until(lambda: len(list(pids.iterdir())) == 2, 60 * support.SLOWNESS))
                run.send_signal(number)
                self.assertEqual(run.wait(60 * support.SLOWNESS), -number)
                gone = lambda: not any(os.path.exists(f"/proc/{pid.name}") for pid in pids.iterdir())  # noqa: E731
                self.assertTrue(support.wait_until(gone, 60 * support.SLOWNESS), "the program of the line goes on")
                if number != signal.SIGKILL:
                    self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_python_with_a_script_is_the_program(self):
        """It is not started: a training would begin."""
        (self.folder / "train.py").write_text("open('began', 'w')\n")
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 python3 -u train.py --epochs 4", "-n", "affinity"), 0, self.output)
        self.assertIn("the line up to its program (python3 -u train.py --epochs 4), which is not started", self.output)
        self.assertEqual([launch["ranks"] for launch in self.report["launches"]], [2])
        self.assertFalse((self.folder / "began").exists())

    def test_worlds_of_one_rank_each(self):
        """MPICH's launcher and Open MPI's agent."""
        if shutil.which("mpiexec.mpich") is None:
            self.skipTest("there is no MPICH beside Open MPI")
        self.assertEqual(self.run_it("mpiexec.mpich -n 2", "--agent", str(BIN / "muster-rank")), 2, self.output)
        self.assertIn("agent built for Open MPI, launched by MPICH: the world has 1 rank, 2 were requested", self.words("affinity"))
        self.assertIn("name an agent that was built with the launcher's MPI with --agent", self.words("affinity"))
        # The remedy, followed.
        agent = BIN / "muster-rank-mpich"
        if agent.exists():
            self.assertEqual(self.run_it("mpiexec.mpich -n 2", "--agent", str(agent), "-n", "affinity"), 0, self.output)
            # The other way round.
            self.assertEqual(self.run_it("mpirun --oversubscribe -n 2", "--agent", str(agent), "-n", "affinity"), 2, self.output)
            self.assertIn("agent built for MPICH, launched by Open MPI: the world has 1 rank, 2 were requested", self.words("affinity"))
            self.assertIn("name an agent that was built with the launcher's MPI with --agent", self.words("affinity"))
            self.assertEqual({culprit["kind"] for culprit in self.case("affinity")["culprits"]}, {"launcher"})

    def test_worlds_of_one_rank_that_do_not_even_start(self):
        """In a container Open MPI's agent lacks what a rank without mpirun starts; the launcher is MPICH's."""
        if shutil.which("mpiexec.mpich") is None:
            self.skipTest("there is no MPICH beside Open MPI")
        line = "mpiexec.mpich -n 2 env OPAL_PREFIX=/no/such/folder"
        self.assertEqual(self.run_it(line, "--agent", str(BIN / "muster-rank")), 2, self.output)
        self.assertIn("built for Open MPI", self.words("affinity"))
        self.assertIn("started by the launcher of another MPI: MPICH", self.words("affinity"))
        self.assertIn("built with the launcher's MPI with --agent", self.words("affinity"))

    def test_torchrun_in_each_of_two_tasks(self):
        tail = " torchrun --nproc-per-node=2 train.py"
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2" + tail, "-n", "environment"), 1, self.output)
        self.assertIn("starts \"torchrun --nproc-per-node=2 train.py\" 2 times on each node", self.words("environment"))
        self.assertEqual(self.run_it("mpirun -n 1 --bind-to none" + tail, "-n", "environment"), 0, self.output)

    def test_accelerate_and_deepspeed_in_each_of_two_tasks(self):
        for program in ("accelerate launch train.py", "deepspeed train.py", "python3 -m accelerate.commands.launch train.py"):
            with self.subTest(program):
                self.assertEqual(self.run_it(f"mpirun --oversubscribe -n 2 {program}", "-n", "environment"), 1, self.output)
                self.assertIn(f'starts "{program}" 2 times on each node, once in each task: each is a separate job', self.words("environment"))
                self.assertIn("F02", self.words("environment"))

    def test_torchrun_in_a_task_of_one_core(self):
        """F01: its processes keep the CPUs of their task."""
        line = "mpirun -n 1 --bind-to none taskset -c 0 torchrun --nproc-per-node=2 train.py"
        self.assertEqual(self.run_it(line, "-n", "environment"), 1, self.output)
        self.assertIn("2 processes in a task with CPUs 0 of 2", self.words("environment").replace(f"of {os.cpu_count()}", "of 2"))
        self.assertIn("--cpus-per-task", self.words("environment"))

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
        # Another MPI under the same name, as libmpi.so.12 is of several.
        other = pathlib.Path(library).parent / "libmpich.so.12"
        if other.exists():
            (self.folder / "other").mkdir()
            (self.folder / "other" / pathlib.Path(library).name).symlink_to(other)
            self.assertEqual(self.run_it(f"mpirun --oversubscribe -n 2 env LD_LIBRARY_PATH={self.folder}/other"), 2, self.output)
            self.assertIn("finds the library of another MPI where the line starts it", self.words("affinity"))
        # The library without its plug-ins.
        plugins = next((path for name in ("openmpi/lib/openmpi*", "../lib/openmpi") for path in pathlib.Path(library).parent.glob(name)), None)
        if plugins is not None:
            bare = self.script("bare", f'#!/bin/sh\nexec unshare --mount sh -c \'mount -t tmpfs none {plugins} && exec "$@"\' sh "$@"\n')
            self.assertEqual(self.run_it(f"mpirun --oversubscribe -n 2 {bare}"), 2, self.output)
            self.assertIn("finds Open MPI's library where the line starts it, but not its plug-ins", self.words("affinity"))
        hide = "#!/bin/sh\nexec unshare --mount sh -c 'mount -t tmpfs none \"$0\" && exec \"$@\"' {} \"$@\"\n"
        contained = self.script("contained", hide.format(BIN))
        self.assertEqual(self.run_it(f"mpirun --oversubscribe -n 2 {contained}"), 2, self.output)
        self.assertIn("is not there where the line starts it", self.words("affinity"))
        self.assertIn(f"--bind {BIN}", self.words("affinity"))

    def test_a_container_with_another_mpi(self):
        """Whose library has the same name: Cray's MPICH on the host, Intel's MPI inside."""
        line = f"mpirun --oversubscribe -n 2 env LD_PRELOAD={support.AGENTS / 'foreign_mpi.so'}"
        self.assertEqual(self.run_it(line), 2, self.output)
        self.assertIn("finds the library of another MPI where the line starts it: ", self.words("affinity"))
        self.assertIn("finds another MPI: Intel(R) MPI Library 2021.18", self.words("affinity"))
        self.assertIn("name an agent that was built with the MPI of the container with --agent", self.words("affinity"))
        self.assertEqual({culprit["name"] for culprit in self.case("affinity")["culprits"]}, {"the launch line"})

    def test_a_text_for_a_shell_is_the_program(self):
        """It is not started: a training would begin."""
        (self.folder / "train.py").write_text("open('began', 'w')\n")
        line = "mpirun --oversubscribe -n 2 bash -c 'export COLOUR=blue; python3 train.py'"
        self.assertEqual(self.run_it(line, "-n", "affinity"), 0, self.output)
        self.assertIn("the line up to its program (bash -c", self.output)
        self.assertFalse((self.folder / "began").exists())

    def test_what_a_shell_does_before_its_program_is_judged(self):
        """It is carried out on each rank, the program is not; also of a script that the line starts."""
        prologue = f"export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29500; taskset -c {CPUS[0]} "
        (self.folder / "train.py").write_text("open('began', 'w')\n")
        self.script("run.sh", f"#!/bin/bash\n{prologue} python3 train.py $1\n")
        for program in (f"bash -c '{prologue} python3 train.py'", "./run.sh 3"):
            with self.subTest(program):
                line = f"mpirun --oversubscribe --bind-to none -n 2 {program}"
                self.assertEqual(self.run_it(line, "-n", "affinity", "-S", "affinity.sharing=disjoint"), 1, self.output)
                self.assertIn(f"share CPU {CPUS[0]}", self.words("affinity"))
                self.assertEqual(self.run_it(line, "-n", "environment"), 0, self.output)
                self.assertIn("RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT agree with MPI on 2 ranks", self.case("environment")["evidence"])
        self.assertFalse((self.folder / "began").exists())

    def test_a_rank_in_double_quotes(self):
        """The shell of the batch script puts in one number for all ranks."""
        line = 'mpirun --oversubscribe -n 2 bash -c "RANK=$SLURM_PROCID WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29500 python3 a.py"'
        self.assertEqual(self.run_it(line, "-n", "environment"), 1, self.output)
        self.assertIn('RANK is "0" on all 2 ranks', self.words("environment"))
        self.assertIn("in single quotes, bash -c '...'", self.words("environment"))

    def test_what_a_shell_does_and_muster_does_not(self):
        line = "mpirun --oversubscribe --bind-to none -n 2 bash -c '{}; python3 train.py'"
        self.assertEqual(self.run_it(line.format("source no_such_file"), "-n", "affinity"), 0, self.output)
        self.assertIn('the shell of the launch line also runs "source no_such_file", which muster does not', self.words("affinity"))
        self.assertIn('put exec "$@" in the program\'s place', self.words("affinity"))
        self.assertEqual(self.run_it(line.format("for i in 1; do taskset -p -c 0 $$; done"), "-n", "affinity"), 2, self.output)
        self.assertEqual(self.case("affinity")["verdict"], "unmeasured", self.output)
        # What it reads is carried out, too.
        (self.folder / "env.sh").write_text("export RANK=0\n")
        self.assertEqual(self.run_it(line.format("source ./env.sh"), "-n", "environment"), 1, self.output)
        self.assertIn('RANK is "0" on all 2 ranks', self.words("environment"))

    def test_torchruns_that_can_not_meet(self):
        """Values that each task makes, and one that none puts in."""
        for options, words in (("--rdzv_id=$RANDOM --rdzv-endpoint=a:1", '--rdzv-id is "$RANDOM", another value in each task'),
                               ("--rdzv-endpoint=$MADE_UP:1", "")):
            line = f"mpirun --oversubscribe -n 2 bash -c 'torchrun --nnodes=2 --rdzv-backend=c10d {options} train.py'"
            self.assertEqual(self.run_it(line, "-n", "environment"), 1 if words else 0, self.output)
            self.assertIn(words, self.words("environment"))
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 torchrun --nnodes=2 '--node-rank=$SLURM_NODEID' train.py", "-n", "environment"), 1)
        self.assertIn('--node-rank is the text "$SLURM_NODEID": no shell puts in', self.words("environment"))
        # A command that a variable holds.
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 bash -c 'T=\"torchrun --standalone\"; $T a.py'", "-n", "environment"), 1, self.output)
        self.assertIn("2 times on each node", self.words("environment"))

    def test_torchruns_that_become_one_job(self):
        """One for each task, with a worker each: --nnodes counts them. Each task's own values are those of its shell."""
        tail = "--nproc-per-node=1 --nnodes={} --rdzv-backend={} --rdzv-endpoint=localhost:29500 --node-rank={} train.py"
        for nnodes, backend, number, status in (("2", "static", "0", 1), ("2", "static", "$OMPI_COMM_WORLD_RANK", 0)):
            with self.subTest(nnodes=nnodes, backend=backend, number=number):
                line = f"mpirun --oversubscribe -n 2 bash -c 'torchrun {tail.format(nnodes, backend, number)}'"
                self.assertEqual(self.run_it(line, "-n", "environment"), status, self.output)
                if status == 0:
                    self.assertIn("which become one job of 2 torchruns", " ".join(self.case("environment")["evidence"]), self.output)

    def own(self, checks, command, *options):
        """`checks` as the only file, without --launch."""
        (self.folder / "own.toml").write_text(checks)
        env = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "OMPI_MCA_mpi_yield_when_idle": "1", "COLUMNS": "400",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "TMPDIR": str(self.folder / "tmp"), "OMPI_MCA_orte_tmpdir_base": "/tmp"}
        paths = [] if command == "gate" else ["own.toml"]
        output = ["--output", str(self.folder / "runs")] if command in ("run", "gate") else []
        done = subprocess.run([str(BIN / "muster"), command, *paths, *output, *options], cwd=self.folder, env=env, capture_output=True,
                              text=True, timeout=120 * support.SLOWNESS)
        self.output = done.stdout + done.stderr
        self.assertEqual(list((self.folder / "tmp").iterdir()), [], "what the first start leaves")
        latest = self.folder / "runs" / "latest"
        self.report = json.loads((latest / "report.json").read_text()) if latest.exists() else {}
        return done.returncode

    def test_a_check_with_a_line_of_its_own(self):
        """Beside checks without one, in a launch of its own."""
        usual = CHECKS.split("[check.alone]")[0].replace('ranks   = { per_gpu = 1, otherwise = "one-per-core" }', "ranks = { per_node = 2 }")
        own = "\n".join(f'[check.{name}]\nprobe = "cpu_affinity"\nlaunch = "mpirun -n 3"\nparams = {{ sharing = "any" }}'
                        for name in ("first", "second"))
        self.assertEqual(self.own(usual + own, "run"), 0, self.output)
        self.assertEqual([(launch["ranks"], len(launch["cases"])) for launch in self.report["launches"]], [(2, 1), (3, 2)])
        argv = self.report["launches"][1]["argv"]
        self.assertEqual((argv[0], argv[-3:]), ("mpirun", ["-n", "3", str(BIN / "muster-rank")]))
        self.assertTrue((self.folder / "runs" / "latest" / "launches" / "line-first" / "command").exists())
        self.assertFalse((self.folder / "runs" / "latest" / "launches" / "line-second").exists(), "a line is tried once")
        # The command line's replaces it.
        self.assertEqual(self.own(usual + own, "run", "--launch", "mpirun -n 1"), 0, self.output)
        self.assertEqual([launch["ranks"] for launch in self.report["launches"]], [1])

    def test_the_line_of_a_check_in_a_gate(self):
        check = '[check.own]\nprobe = "hello"\nlaunch = "mpirun -n 2"\n'
        self.assertEqual(self.own(check, "gate", "--need", "1", "--checks", "own.toml", "--print", "hosts"), 0, self.output)
        self.assertIn(os.uname().nodename, self.output)
        self.assertEqual([launch["ranks"] for launch in self.report["launches"]], [2])
        check = check.replace("mpirun -n 2", "mpirun -n 2 true")
        self.assertEqual(self.own(check, "gate", "--need", "1", "--checks", "own.toml", "--print", "hosts"), 125, self.output)
        self.assertTrue((self.folder / "runs/latest/launches/line-own/stderr").exists())

    def gate(self, line):
        env = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "OMPI_MCA_mpi_yield_when_idle": "1", "COLUMNS": "400"}
        done = subprocess.run([str(BIN / "muster"), "gate", "--need", "1", "--launch", line, "--print", "json", "--output", str(self.folder / "runs"),
                               "-x", "^(p2p|gpu|device|network|memory)"], cwd=self.folder, env=env, capture_output=True, text=True,
                              timeout=120 * support.SLOWNESS)
        self.output = done.stdout + done.stderr
        self.told = json.loads(done.stdout)
        return done.returncode

    def test_a_gate_judges_the_line(self):
        """A line of which two ranks share a CPU is at fault, and no node."""
        pin = self.script("pin", f"#!/bin/sh\nexec taskset -c {CPUS[0]} \"$@\"\n")
        self.assertEqual(self.gate(f"mpirun --oversubscribe --bind-to none -n 2 {pin}"), 125, self.output)
        (found,) = self.told["not_good"]
        self.assertEqual((found["check"], found["at_fault"]), ("cpu_affinity", False), self.output)
        self.assertIn(f"share CPU {CPUS[0]}", found["reason"])
        self.assertIn("no node is at fault", self.told["reason"])
        if len(CPUS) > 1:
            self.assertEqual(self.gate("mpirun -n 1"), 0, self.output)

    def test_a_gate_judges_the_environment_of_the_line(self):
        with socket.socket() as free:
            free.bind(("", 0))
            port = free.getsockname()[1]
        torch = f"WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT={port}"
        line = "mpirun --oversubscribe -n 2 bash -c 'export RANK={} " + torch + "; python3 train.py'"
        self.assertEqual(self.gate(line.format("0")), 125, self.output)
        (found,) = self.told["not_good"]
        self.assertEqual((found["check"], found["at_fault"]), ("environment", False), self.output)
        self.assertIn("RANK is", found["reason"])
        self.assertIn("no node is at fault", self.told["reason"])
        self.assertEqual(self.gate(line.format("$OMPI_COMM_WORLD_RANK")), 0, self.output)
        # Of a value that only the program's own run shows, nothing is known to be wrong.
        self.assertEqual(self.gate(line.format("$(my_rank)")), 0, self.output)
        self.assertIn("the launch line was not judged by environment: the shell of the launch line also runs", self.output)

    def test_a_gate_whose_line_starts_no_agent(self):
        for _ in range(3):
            self.assertEqual(self.gate("mpirun -n 1 true"), 125, self.output)
            # On a busy machine, mpirun itself crashes at times.
            if "mpirun was ended by signal 11 (SIGSEGV)" not in self.told["not_good"][0]["reason"]:
                break
        self.assertIn("without starting muster-rank", self.told["not_good"][0]["reason"])
        self.assertFalse(self.told["not_good"][0]["at_fault"])
        self.assertTrue((self.folder / "runs/latest/launches/line/stderr").exists())

    def test_the_line_of_a_check_that_starts_no_agent(self):
        check = '[check.own]\nprobe = "hello"\nlaunch = "mpirun -n 2 true"\n[check.usual]\nprobe = "hello"\nranks = { per_node = 1 }\n'
        self.assertEqual(self.own(check, "run"), 2, self.output)
        self.assertEqual({case["check"]: case["verdict"] for case in self.report["cases"]}, {"own": "error", "usual": "pass"})
        self.assertIn("end the line before the program", self.words("own"))

    def test_the_line_of_a_check_beside_options_that_shape_launches(self):
        check = '[check.own]\nprobe = "hello"\nlaunch = "mpirun -n 2"\n'
        for options in (["--nodes", HOST], ["--ranks-per-node", "2"], ["--bind", "cores"], ["--per-node"]):
            self.assertEqual(self.own(check, "run", *options), 3, self.output)
            self.assertIn(f'own.toml:3:10: "launch" of check own does not go together with {options[0]}', self.output)
        self.assertEqual(self.own(check.replace("mpirun", "foo"), "run"), 3, self.output)
        self.assertIn('own.toml:3:10: "foo" is none of', self.output)
        self.assertEqual(self.own(check.replace("-n 2", "-n 2; ls"), "lint"), 3, self.output)
        self.assertIn("own.toml:3:10: launch: ", self.output)
        self.assertEqual(self.own(check, "plan"), 0, self.output)
        self.assertIn("mpirun", self.output)
        self.assertIn("2 ranks on 1 node", self.output)

    def test_the_line_of_a_batch_script(self):
        """F02: the site's example of Zurada."""
        job = self.script("job.sh", "#!/bin/bash\n#SBATCH --ntasks-per-node=2\nmodule load miniforge3\n"
                          "mpirun --oversubscribe -n 2 python -m torch.distributed.run \\\n  --standalone --nproc-per-node=2 train.py $UNSET\n")
        self.assertEqual(self.run_it(f"@{job}", "-n", "environment"), 1, self.output)
        self.assertIn("2 times on each node", self.words("environment"))
        self.assertIn(f"{job}:4: the launch line up to its program (python -m torch.distributed.run", self.output)
        self.assertIn("the rest of the script is not executed", self.output)
        job.write_text(job.read_text().replace("-n 2", "-n 1 --bind-to none"))
        self.assertEqual(self.run_it(f"@{job}", "-n", "environment"), 0, self.output)
        # The gate's job script: the line behind its `--`.
        job.write_text("muster gate --need 1 \\\n  -- mpirun --oversubscribe -n 3 python train.py --epochs 90\n")
        self.assertEqual(self.run_it(f"@{job}", "-n", "affinity"), 0, self.output)
        self.assertIn(f"{job}:1: the launch line up to its program (python train.py --epochs 90)", self.output)
        self.assertEqual([launch["ranks"] for launch in self.report["launches"]], [3])
        # A program that is not torchrun is left out, too.
        job.write_text("mpirun --oversubscribe -n 3 python train.py > log\n")
        self.assertEqual(self.run_it(f"@{job}", "-n", "affinity"), 0, self.output)
        self.assertEqual([launch["ranks"] for launch in self.report["launches"]], [3])

    def test_torchrun_in_a_script_that_the_line_starts(self):
        """F02, out of sight of the line: in the file that every task runs."""
        self.script("run.sh", "#!/bin/bash\nsource env.sh\ntouch began\nexec torchrun --standalone --nproc-per-node=2 train.py\n")
        job = self.script("job.sh", "#!/bin/bash\nmpirun --oversubscribe -n 2 bash run.sh\n")
        for line in (f"@{job}", "mpirun --oversubscribe -n 2 ./run.sh"):
            with self.subTest(line):
                self.assertEqual(self.run_it(line, "-n", "environment"), 1, self.output)
                self.assertRegex(self.words("environment"), r'starts "exec torchrun --standalone .* \((\./)?run\.sh:4\)" 2 times on each node')
                self.assertIn("run.sh), which is not started" if line[0] != "@" else "(bash run.sh)", self.output)
        self.assertFalse((self.folder / "began").exists(), "a training would begin")
        # One that starts what follows it is a wrapper.
        self.script("run.sh", '#!/bin/bash\nexport COLOUR=blue\nexec "$@"\n')
        self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 ./run.sh", "-n", "environment"), 0, self.output)

    def test_torchrun_whose_script_has_arguments(self):
        """Their values are known once they stand behind the script on the line."""
        rest = "--nproc-per-node=1 --rdzv-backend=c10d --rdzv-endpoint=a:1 train.py\n"
        for text in (f"#!/bin/bash\ntorchrun --nnodes=$2 {rest}", f"#!/bin/bash\nNODES=$2\ntorchrun --nnodes=$NODES {rest}"):
            with self.subTest(text):
                self.script("run.sh", text)
                self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 ./run.sh", "-n", "environment"), 2, self.output)
                self.assertEqual(self.case("environment")["verdict"], "unmeasured", self.output)
                self.assertIn('--nnodes is "$2", which is unknown until the line runs', self.words("environment"))
                self.assertIn("put the arguments of the script behind it on the launch line", self.words("environment"))
                self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 ./run.sh fast 2", "-n", "environment"), 0, self.output)
                self.assertEqual(self.run_it("mpirun --oversubscribe -n 2 ./run.sh fast 3", "-n", "environment"), 1, self.output)
                self.assertIn("--nnodes=3 waits for more than these 2", self.words("environment"))

    def test_a_batch_script_that_does_not_say_which_line(self):
        job = self.script("job.sh", "mpirun -n 1 ./first\nmpirun --oversubscribe -n 2 ./second\n")
        self.assertEqual(self.muster("run", f"@{job}"), 3, self.output)
        self.assertIn("2 lines start a launcher; choose one", self.output)
        self.assertIn("line 1: mpirun -n 1 ./first; line 2: mpirun --oversubscribe -n 2 ./second", self.output)
        self.assertEqual(self.run_it(f"@{job}:2", "-n", "affinity"), 0, self.output)
        self.assertEqual([launch["ranks"] for launch in self.report["launches"]], [2])
        self.assertEqual(self.muster("run", f"@{job}:7"), 3, self.output)
        self.assertIn("line 7 is not one that starts a launcher", self.output)
        job.write_text("mpirun -n 2 hostname\n")
        self.assertEqual(self.muster("run", f"@{job}"), 3, self.output)
        self.assertIn("where its program begins can't be seen", self.output)
        job.write_text("python train.py\n")
        self.assertEqual(self.muster("run", f"@{job}"), 3, self.output)
        self.assertIn("has no line that starts a launcher", self.output)
        self.assertEqual(self.muster("run", "@/no/such/job.sh"), 3, self.output)
        self.assertIn("/no/such/job.sh", self.output)

    def test_what_the_command_line_got_wrong(self):
        for line, words in (("foo -n 2", "is none of"), ("srun --export=NONE", "--export=ALL"), ("mpirun -n 2; ls", "not a single command")):
            self.assertEqual(self.muster("run", line), 3, self.output)
            self.assertIn(words, self.output)
        for option, value in (("--nodes", "a"), ("--bind", "cores"), ("--ranks-per-node", "2"), ("-J", "x"), ("--launcher-option", "x")):
            self.assertEqual(self.muster("run", "mpirun -n 2", option, value), 3, self.output)
            self.assertIn("--launch", self.output)


if __name__ == "__main__":
    support.main()
