"""A cluster with 8 GPUs per node that no profile describes, with a real Slurm: jobs ask for the GPUs, one rank for each, and a
job that asked for none is told so."""
import json
import os
import pathlib
import re
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
from support import Run, wait_until  # noqa: E402

GPUS = 8
# The nodes are made up: what each rank of a job was granted is asked of Slurm's own variable.
GRANTED = f"""[check.granted]
probe = "command"
ranks = "one-per-gpu"
timeout = "30s"
[check.granted.params]
argv = ["sh", "-c", "echo gpus $SLURM_GPUS_ON_NODE; test $SLURM_GPUS_ON_NODE = {GPUS}"]
[check.open]
probe = "command"
ranks = "one-per-gpu"
timeout = "30s"
[check.open.params]
argv = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES; test $CUDA_VISIBLE_DEVICES = {','.join(map(str, range(GPUS)))}"]
"""


class Undescribed(support.EndToEnd):
    COUNT = 3

    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(cls.COUNT, slurm=vc.Shape(cpus=GPUS, gpus=GPUS))
        cls.cluster = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def setUp(self):
        self.folder = support.new_folder()
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(self.end_jobs)

    def end_jobs(self):
        slurm_services.ask(self.cluster, "scancel", "--user=root")
        self.assertTrue(wait_until(lambda: set(slurm_services.states(self.cluster).values()) <= {"idle"}, 40))

    def muster(self, *words, job=()):
        env = {**self.cluster.environment(), "MUSTER_SUBMIT_POLL": "0.3s"}
        return subprocess.run(self.cluster.argv_on_login([*job, support.DRIVER, *map(str, words)]), cwd=self.folder, env=env,
                              capture_output=True, text=True, timeout=120 * support.SLOWNESS)

    def report(self):
        return json.loads((self.folder / "muster-runs/latest/report.json").read_text())

    def cases(self, **want):
        return [case for case in self.report()["cases"] if all(case[key] == value for key, value in want.items())]


class Submitted(Undescribed):
    def script(self, *words):
        done = self.muster("run", "--submit", "--dry-run", *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_script_asks_for_the_gpus_and_says_so(self):
        said = self.script("--nodes", "2")
        self.assertIn(f"#SBATCH --gpus-per-node={GPUS}\n", said)
        self.assertIn(f"#SBATCH --ntasks-per-node={GPUS}\n", said)
        self.assertIn(f"# no profile describes this cluster; by sinfo its nodes have {GPUS} GPUs: the job requests them with "
                      f"--gpus-per-node={GPUS}, and starts one rank for each\n", said)
        said = self.script("--nodes", "2", "--ranks-per-node", "4")
        self.assertIn("#SBATCH --ntasks-per-node=4\n", said)
        self.assertIn(f"the job requests them with --gpus-per-node={GPUS}\n", said)

    def test_what_the_user_asks_for_stays(self):
        said = self.script("-J", "gres=gpu:2", "--ranks-per-node", "2")
        self.assertNotIn("--gpus-per-node", said)
        self.assertIn("#SBATCH --gres=gpu:2\n", said)
        for option, ranks in (("gres=gpu:2", 2), ("gpus-per-node=4", 4)):
            said = self.script("-J", option)
            self.assertIn(f"#SBATCH --ntasks-per-node={ranks}\n", said)
            self.assertIn(f"# the job starts one rank for each GPU of --{option}\n", said)
        self.assertIn("# --gpus has no number of GPUs per node: choose the ranks with --ranks-per-node\n", self.script("-J", "gpus=16"))
        self.assertIn(f"#SBATCH --gpus-per-node={GPUS}\n", self.script("-J", "partition=debug"))

    def test_every_rank_gets_the_gpus(self):
        (self.folder / "granted.toml").write_text(GRANTED)
        run = self.muster("run", "granted.toml", "--submit", "--nodes", "2", "--launcher-option=--cpu-bind=none", "--agent", support.AGENT)
        said = run.stdout + run.stderr
        self.assertEqual(run.returncode, 0, said)
        case, = self.cases(check="granted")
        self.assertEqual([(row["node"], row["ranks"]) for row in case["node_rows"]], [("nid001", GPUS), ("nid002", GPUS)], said)
        self.assertIn(f"its nodes have {GPUS} GPUs", run.stderr)
        self.assertTrue(any(f"its nodes have {GPUS} GPUs" in note for note in self.report()["notes"]), self.report()["notes"])


class InAJob(Undescribed):
    JOB = ("salloc", "--quiet", "--nodes=2", "--ntasks-per-node=1")
    REASON = r"job \d+ requested no GPUs, and nid\[001-002\] have 8 GPUs by sinfo"

    def test_none_granted_is_an_error_and_no_skip(self):
        for more in ((), ("--exclusive",)):
            with self.subTest(more):
                run = self.muster("run", "-n", "device_visibility", "-n", "clock_skew", "--agent", support.AGENT, job=(*self.JOB, *more))
                said = run.stdout + run.stderr
                self.assertEqual(run.returncode, 2, said)
                case, = self.cases(check="device_visibility")
                self.assertEqual(case["verdict"], "error", said)
                self.assertRegex(case["reason"], self.REASON)
                self.assertIn("--gpus-per-node=8", case["remedy"])
                self.assertEqual([culprit["kind"] for culprit in case["findings"][0]["culprits"]], ["setting"])
                clocks, = self.cases(check="clock_skew")
                self.assertEqual(clocks["verdict"], "pass", said)

    def test_a_rank_for_each_gpu_has_no_gpu(self):
        """A user's check with `ranks = "one-per-gpu"` would pass on one rank; one that names its ranks without GPUs may run."""
        (self.folder / "own.toml").write_text("".join(
            f'[check.{name}]\nprobe = "command"\nranks = {ranks}\ntimeout = "30s"\nparams.argv = ["true"]\n'
            for name, ranks in (("each", '"one-per-gpu"'), ("either", "{ per_gpu = 1, otherwise = 2 }"))))
        run = self.muster("run", "own.toml", "--launcher-option=--cpu-bind=none", "--agent", support.AGENT, job=self.JOB)
        said = run.stdout + run.stderr
        self.assertEqual(run.returncode, 2, said)
        self.assertEqual({case["check"]: case["verdict"] for case in self.report()["cases"]}, {"each": "error", "either": "pass"}, said)
        self.assertRegex(self.cases(check="each")[0]["reason"], self.REASON)

    def test_the_gate_refuses_and_blames_no_node(self):
        run = self.muster("gate", "--need", 2, "-x", "memory|p2p|network", "--print", "exclude", "--agent", support.AGENT, job=self.JOB)
        said = run.stdout + run.stderr
        self.assertEqual(run.returncode, 125, said)
        self.assertRegex(run.stderr, self.REASON)
        self.assertEqual(run.stdout.strip(), "", said)

    def test_gpus_for_each_task_of_the_script_are_not_those_of_the_ranks(self):
        """SLURM_GPUS_PER_TASK, SLURM_NTASKS_PER_GPU of the job: each rank would see one GPU, or srun refuse to start."""
        (self.folder / "open.toml").write_text(GRANTED)
        for options in (("--gpus-per-task=1",), (f"--gpus-per-node={GPUS}", "/usr/bin/env", "SLURM_NTASKS_PER_GPU=1")):
            with self.subTest(options):
                run = self.muster("run", "open.toml", "-n", "open", "--launcher-option=--cpu-bind=none", "--ranks-per-node", GPUS,
                                  "--agent", support.AGENT, job=("salloc", "--quiet", "--nodes=2", f"--ntasks-per-node={GPUS}", *options))
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                self.assertEqual(self.cases(check="open")[0]["verdict"], "pass", run.stdout + run.stderr)

    def test_with_gpus_the_probe_looks(self):
        run = self.muster("run", "-n", "device_visibility", "--agent", support.AGENT, job=(*self.JOB, f"--gpus-per-node={GPUS}"))
        case, = self.cases(check="device_visibility")
        self.assertFalse(re.search("requested no GPUs", case["reason"]), run.stdout + run.stderr)


FIT = """[check.fit]
probe = "command"
ranks = "one-per-node"
tags = ["gate"]
params.argv = ["{check}/fit.sh"]
"""
UNFIT = """#!/bin/sh
case $(hostname) in nid001|nid002) ;; *) exit 0;; esac
echo '{"finding": {"reason": "the disk is full", "remedy": "empty it"}}'
"""


class Page(Undescribed):
    COUNT = 6  # two bad ones, and the four that the script asks for

    def setUp(self):
        """The checks are `hello` alone: the nodes have GPUs for Slurm, and no devices."""
        super().setUp()
        (self.folder / "checks/basic").mkdir(parents=True)
        shutil.copy(page_commands.SOURCE / "checks/basic/hello.toml", self.folder / "checks/basic")
        self.write("train", "#!/bin/sh\necho trained with $SLURM_GPUS_ON_NODE GPUs: $*\n")

    def write(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def submit(self, *words):
        # The nodes claim CPUs that this machine lacks.
        env = {**self.cluster.environment(), "SLURM_CPU_BIND": "none", "MUSTER_CHECKS": str(self.folder / "checks"), "PATH": f"{support.BIN}:{os.environ['PATH']}"}
        done = subprocess.run(self.cluster.argv_on_login(["sbatch", "--wait", *words, "job.sh"]), cwd=self.folder, env=env,
                              capture_output=True, text=True, timeout=120 * support.SLOWNESS)
        return done.stdout + done.stderr

    def test_the_batch_script_of_the_gate(self):
        script, of_users = ([fence.text for fence in page_commands.fences_of(page) if fence.is_script] for page in ("gate", "user"))
        self.assertEqual([text.replace("#SBATCH --job-name=train\n", "") for text in script], of_users, "two pages, one script")
        (script,) = script
        self.write("job.sh", script)
        self.submit("--output=output")
        said = (self.folder / "output").read_text()
        self.assertEqual(said.count(f"trained with {GPUS} GPUs: --epochs 90"), 3 * GPUS, said)
        self.assertRegex(said, r"muster: 3 nodes good: nid\S+; spare: nid00\d")

    def test_a_refused_job_is_submitted_again_without_the_bad_node(self):
        """The script of docs/gate.md below the `#SBATCH` lines of the one before it. Another job's `latest` is not looked at."""
        (head,), (again,) = ([fence.text for fence in page_commands.fences_of("gate") if is_wanted(fence)]
                             for is_wanted in (lambda fence: fence.is_script, lambda fence: "status=$?" in fence.text))
        head = "".join(line for line in head.splitlines(True) if line.startswith("#"))
        self.write("job.sh", head + again)
        self.write("checks/basic/fit.toml", FIT)
        self.write("checks/basic/fit.sh", UNFIT)
        (self.folder / "muster-runs/latest").mkdir(parents=True)
        self.write("muster-runs/latest/exclude", "nid003\n")

        def outputs():
            return sorted(self.folder.glob("slurm-*.out"), key=lambda path: int(path.stem.partition("-")[2]))
        told = self.submit("--nodelist=nid[001-002]")
        self.assertTrue(wait_until(lambda: len(outputs()) == 2 and "trained" in outputs()[1].read_text(), 60 * support.SLOWNESS),
                        told + "".join(path.read_text() for path in outputs()))
        first, second = (path.read_text() for path in outputs())
        self.assertIn("nid[001-002]: fit: the disk is full; empty it", first)
        self.assertIn("Submitted batch job", first)
        self.assertNotIn("trained", first)
        self.assertTrue(wait_until(lambda: outputs()[1].read_text().count(f"trained with {GPUS} GPUs: --epochs 90") == 3 * GPUS, 30), second)
        self.assertIn("3 nodes good: nid[003-00", second)


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("srun",))
