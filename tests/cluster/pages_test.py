"""The commands of README and docs that need several nodes, typed as they stand there on the login node of four virtual nodes with a real
Slurm, by root without Open MPI's variables. tests/cluster/page_tests.py lists which test runs which command."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import page_commands  # noqa: E402
import page_tests  # noqa: E402
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402

# The shipped checks here, by MUSTER_CHECKS: the rest of them time something.
QUICK = ("basic/hello.toml", "network/network_interfaces.toml")
# Ranks of a node, by the line of docs/launch-line.md.
RANKS = 2
LINE = "mpirun -np 4 --map-by ppr:2:node"
# Of a job on two nodes, begun on line 31.
BATCH_SCRIPT = "#!/bin/bash\n" + "# The reader's own lines.\n" * 29 + f"{LINE} ./train\n"
# Begin of a command -> exit status, where it need not be 0: something is missing here; two runs beside other tests may differ.
STATUS = {"muster doctor": {0, 2}, "muster compare": {0, 1}}
# Another /etc over that of the machine, for one command that installs something there.
OVER_ETC = ("mount -t tmpfs none /mnt && mkdir -p /mnt/up /mnt/work "
            "&& mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/up,workdir=/mnt/work /etc")


def is_for_a_job(command):
    """A gate on the job's own nodes, a check of the reader's, a launch line of its own, ranks of a script."""
    is_own_gate = command.startswith("muster gate") and "--nodes" not in command
    return is_own_gate or any(word in command for word in ("stream.toml --nodes", "--launch", "script.py"))


class Pages(support.EndToEnd):
    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(4, slurm=vc.Shape())
        cls.cluster = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def setUp(self):
        self.folder = support.new_folder()
        self.addCleanup(shutil.rmtree, self.folder, True)
        for check in QUICK:
            (self.folder / "checks" / check).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(page_commands.SOURCE / "checks" / check, self.folder / "checks" / check)
        (self.folder / "train").write_text("#!/bin/sh\necho trained on $(hostname)\n")
        (self.folder / "train").chmod(0o755)
        (self.folder / "job.sh").write_text(f"#!/bin/sh\n{self.in_script()}\n")
        (self.folder / "job.sh").chmod(0o755)
        self.write_stream()
        asked = {name: value for name, value in self.cluster.environment().items() if not name.startswith("OMPI_ALLOW_")}
        sanitizers = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        self.env = {**asked, **sanitizers, "HOME": str(self.folder), "NO_COLOR": "1", "PATH": f"{support.BIN}:{self.folder}:{os.environ['PATH']}",
                    "MUSTER_CHECKS": str(self.folder / "checks"), "MUSTER_SUBMIT_POLL": "0.3s", "XDG_STATE_HOME": str(self.folder)}

    def write_stream(self):
        """A check of the reader's, and the program that it starts, on PATH."""
        shutil.copy(page_commands.SOURCE / "packaging/examples/programs/stream.toml", self.folder)
        (self.folder / "stream").write_text(f"#!/bin/sh\ncat {page_commands.SOURCE}/tests/e2e/outputs/stream.txt\n")
        (self.folder / "stream").chmod(0o755)

    def in_script(self):
        """The line of job.sh on the page of the gate."""
        return next(command for fence in page_commands.fences_of("gate") for command, _ in fence.steps() if command.startswith("srun "))

    def types(self, command):
        if "/etc/muster" in command:
            command = f"unshare --mount --propagation private bash -c '{OVER_ETC} && {{ {command}\n}} && muster list --systems'"
        shell = ["bash", "-c", command]
        nodes, tasks = (2, RANKS) if "--launch" in command else (4, 1)
        words = ["salloc", "--quiet", f"--nodes={nodes}", f"--ntasks-per-node={tasks}", *shell] if is_for_a_job(command) else shell
        env = dict(self.env)
        if "mpirun" in command or "--launch" in command:  # the reader's own, which is not root
            env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return subprocess.run(self.cluster.argv_on_login(words), cwd=self.folder, env=env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120 * support.SLOWNESS)

    def read(self, page):
        printed = {}
        for fence in page_commands.fences_of(page):
            for command, _ in fence.steps():
                typed = page_commands.without_comment(command)
                if page_tests.test_of(fence, command) != page_tests.NODES or command == self.in_script():
                    continue
                done = self.types(command)
                printed[typed] = done.stdout + done.stderr
                status = next((one for begin, one in STATUS.items() if typed.startswith(begin)), {0})
                self.assertIn(done.returncode, status, f"{page}.md:{fence.line}: {typed}\n{printed[typed]}")
        print(f"  {page}: {len(printed)} commands", flush=True)
        return printed

    def test_readme(self):
        printed = self.read("README")
        gate = next(text for command, text in printed.items() if command.startswith("muster gate"))
        self.assertEqual(gate.count("trained on nid"), 3, gate)
        mpirun = next(text for command, text in printed.items() if "--ranks-per-node 8" in command)
        self.assertEqual(mpirun.count("run as root: muster sets"), 1, mpirun)
        self.assertIn("32 of 32 ranks on 4 nodes", mpirun)

    def test_gate(self):
        (printed,) = self.read("gate").values()
        self.assertEqual(printed.count("trained on nid"), 3, printed)

    def test_launch_line(self):
        (self.folder / "job.sh").write_text(BATCH_SCRIPT)
        printed = self.read("launch-line")
        self.assertEqual(len(printed), 4)
        for command, text in printed.items():
            with self.subTest(command):
                expected = f"{2 * RANKS} ranks" if "plan" in command else f"{2 * RANKS} of {2 * RANKS} ranks on 2 nodes answered"
                self.assertIn(expected, " ".join(text.split()))

    def test_ranks_of_a_script(self):
        """Two lines of one job, which the page has one below the other."""
        (fence,) = [one for one in page_commands.fences_of("methods/pytorch") if "script.py" in one.text]
        self.assertEqual({page_tests.test_of(fence, command) for command, _ in fence.steps()}, {page_tests.NODES})
        (self.folder / "script.py").write_text("import os\nprint(*(os.environ[name] for name in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'MASTER_ADDR')))\n")
        done = self.types(fence.text)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"{rank} 4 0 nid001" for rank in range(4)], done.stdout + done.stderr)

    def test_helps(self):
        for fence in page_commands.help_fences():
            self.read(fence.page)

    def test_submit(self):
        printed = self.read("submit")
        self.assertIn("#SBATCH --account=project_1", next(text for command, text in printed.items() if "--dry-run" in command))
        self.assertTrue((self.folder / "net.xml").exists())

    def test_users_and_administrators(self):
        for node in self.cluster.names:
            self.cluster.set_apart(node)  # rates are not judged where virtual nodes share processors
        printed = self.read("user")
        self.assertRegex(printed["muster run stream.toml --nodes 'nid[001-004]'"], r"pass +stream%")
        (gate,) = [text for command, text in printed.items() if command.startswith("muster gate")]
        self.assertEqual(gate.count("trained on nid"), 3, gate)
        printed = self.read("administrator")
        (systems,) = [text for command, text in printed.items() if command.startswith("install ")]
        self.assertRegex(systems, r"mycluster .*/etc/muster/mycluster\.toml")
        self.assertTrue((self.folder / "after.html").exists())

    def test_night(self):
        printed = self.read("night")
        for command, text in printed.items():
            if "--quiet" in command:
                self.assertEqual(text.count("\n"), 1, f"{command}: MUSTER_CHECKS alone is named\n{text}")


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("mpirun", "srun"))
