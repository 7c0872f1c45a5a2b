"""The PyTorch checks on two ranks: all pass; and what goes wrong in a job names who is at fault, never a bare timeout."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import sys
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "cluster"))
import page_commands  # noqa: E402
import page_tests  # noqa: E402
import pages_test  # noqa: E402
import support  # noqa: E402

SOURCE = pathlib.Path(os.environ["MUSTER_SOURCE"]).resolve()
FOLDER = SOURCE / "checks" / "pytorch"


def find_python():
    """The first python3 that has torch, as the probe looks for it; then Debian's, which may not be the first."""
    named = os.environ.get("MUSTER_TEST_TORCH_PYTHON")
    for python in [named] if named else [shutil.which("python3"), "/usr/bin/python3"]:
        if python and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    support.skip("no python3 here imports torch (Debian: python3-torch)")
    return None


PYTHON = find_python()


# In front of a script: a line of Python, with torch there and the script's folder on the path.
AROUND = """import os, runpy, signal, sys
sys.dont_write_bytecode = True
sys.argv = sys.argv[1:]
code = sys.argv.pop(0)
sys.path.insert(0, os.path.dirname(sys.argv[0]))
rank = int(os.environ["RANK"])
import torch
import torch.distributed as distributed
exec(code)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
# On rank 1, at the fifth call of a function: what it does there.
FIFTH = """
calls, original = [], distributed.{function}
def replaced(*arguments, **named):
    calls.append(0)
    if rank == 1 and len(calls) == 5:
        {action}
    return original(*arguments, **named)
distributed.{function} = replaced
"""


def torch_check(script, *arguments, ranks=2, shell="", code="", deadline="60s", imports=("torch",), python=PYTHON, **more):
    """A check of one of the shipped scripts. `shell` goes before the program on each rank, `code` before the script."""
    argv = ["{python}", str(FOLDER / script), *arguments]
    if code:
        argv[1:1] = ["-c", AROUND, code]
    if shell:
        argv[:0] = ["sh", "-c", shell + '; exec "$0" "$@"']
    return support.check("torch", probe="command", ranks=ranks, timeout="90s", argv=argv, imports=list(imports),
                         python=python, deadline=deadline, **more)


class Torch(support.EndToEnd):
    def go(self, checks, *options, limit=150, **more):
        with support.Run(checks, *options, **more) as run:
            run.wait(limit)
            run.left = run.leftovers()
            run.said = run.report()
            self.assert_clean(run)
            return run.said, run.story()

    def case(self, checks, verdict, **more):
        report, story = self.go(checks, **more)
        self.assertEqual(len(report["cases"]), 1, story)
        case = report["cases"][0]
        self.assertEqual(case["verdict"], verdict, story)
        return case, story

    def fails(self, checks, *parts, rank=None, verdict="fail", **more):
        """The case fails; its reason has these parts, and its only rank at fault is that one. Returns all findings."""
        case, story = self.case(checks, verdict, **more)
        for part in parts:
            self.assertIn(part, case["reason"], story)
        self.assertTrue(case["remedy"], story)
        if rank is not None:
            self.assertEqual([culprit.get("rank") for culprit in case["culprits"]], [rank], story)
        return case, " | ".join(finding["reason"] for finding in case["findings"])


class Shipped(Torch):
    def test_a_torch_that_differs_names_who_has_it(self):
        code = ("torch.version.hip, version = ('7.1.0', (2, 21, 5)) if rank == 1 else ('6.2.1', (2, 20, 5))\n"
                "torch.distributed.is_nccl_available = lambda: True\ntorch.cuda.nccl.version = lambda: version\n"
                "if rank == 1: torch.__version__ = '9.9'")
        case, findings = self.fails(torch_check("torch_environment.py", code=code), rank=None)
        for name, value in (("torch", "9.9"), ("torch is built for", "ROCm 7.1.0"), ("the collectives' library", "RCCL 2.21.5")):
            self.assertIn(f'{name} is "', findings)
            self.assertIn(f'"{value}" on rank 1 on {support.HOST}', findings)

    def test_one_rank_has_nobody_to_talk_to(self):
        case, story = self.case(torch_check("torch_allreduce.py", ranks=1), "skip")
        self.assertEqual(case["reason"], "a single rank has no partner to sum with", story)


# Clocks of rank 1 that run slower: what it measures looks ten times as fast.
SLOW_CLOCK = "import time\nclock = time.perf_counter\nif rank == 1: time.perf_counter = lambda: clock() / 10\n"


class Readings(Torch):
    """Readings and labels are what docs/measuring.md says."""

    def rows(self, script, *arguments, ranks=2, **more):
        case, self.said = self.case(torch_check(script, *arguments, ranks=ranks, **more), "pass")
        return case["metrics"]

    def test_sums(self):
        for row in self.rows("torch_allreduce.py", "--sizes", "1KiB,1MiB", "--seconds", "0.05", ranks=3, code=SLOW_CLOCK):
            self.assertEqual((row["n"], row["where"]["backend"]), (3, "gloo"), self.said)
            # All ranks report that of the slowest.
            self.assertAlmostEqual(row["min"], row["max"], delta=1e-6 * row["max"], msg=self.said)
            if row["metric"] == "time":
                time = row["median"] * 1e-6
                continue
            size = {"1KiB": 1 << 10, "1MiB": 1 << 20}[row["where"]["size"]]
            self.assertAlmostEqual(row["median"] * 1e9 * time / size, 2 * 2 / 3, delta=0.01, msg=self.said)

    def test_tensors(self):
        rows = self.rows("torch_send_recv.py", "--side", "500", ranks=3)
        self.assertEqual([(row["metric"], row["n"], row["where"]) for row in rows],
                         [("bandwidth", 1, {"backend": "gloo", "to": to}) for to in ("1", "2")], self.said)

    def test_training(self):
        rows = {row["metric"]: row for row in self.rows("torch_ddp.py")}
        self.assertEqual({name: row["where"] for name, row in rows.items()},
                         {"samples": {"backend": "gloo"}, "loss": {}, "accuracy": {}}, self.said)
        self.assertEqual(rows["loss"]["min"], rows["loss"]["max"], "it is that of all ranks")
        self.assertEqual(rows["accuracy"]["min"], rows["accuracy"]["max"], "they have the same model")
        # 4 epochs of 50 steps of 60 images, in less time than the program had.
        self.assertGreater(rows["samples"]["min"], 4 * 50 * 60 / 60, self.said)

    def test_both_ways_of_starting(self):
        rows = self.rows("torch_launch.py", shell="sleep 2")
        self.assertEqual(sorted((row["metric"], row["where"]["way"], row["n"]) for row in rows),
                         [(metric, way, 2) for metric in ("startup", "training") for way in ("tasks", "torchrun")], self.said)
        at = {(row["metric"], row["where"]["way"]): row for row in rows}
        self.assertGreaterEqual(at["startup", "tasks"]["min"], 2, self.said)


class Pages(Torch):
    """Commands of docs/methods/pytorch.md and docs/training-before-a-large-job.md, typed as they stand there."""

    def all_pass(self, report):
        """Of a run of the folder as it is, on two ranks."""
        has_mpi4py = subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode == 0
        absent = () if has_mpi4py else ("mpi4py_ranks",)
        cases = [case for case in report["cases"] if "pytorch" in case["tags"]]
        self.assertEqual({case["check"]: case["verdict"] for case in cases},
                         {path.stem: "pass" if path.stem not in absent else "skip" for path in FOLDER.glob("*.toml")})
        for case in cases:
            if case["check"] in ("torch_allreduce", "torch_send_recv"):
                self.assertEqual({metric["where"].get("backend") for metric in case["metrics"]}, {"gloo"}, case)
        self.assertEqual(report["launches"][0]["ranks"], 2)
        self.assertEqual([str(path) for path in FOLDER.rglob("__pycache__")], [])

    def test_the_pages_and_all_pass_on_two_ranks(self):
        reader = pages_test.Reader()
        self.addCleanup(shutil.rmtree, reader.folder, True)
        reader.env |= {"PATH": f"{pathlib.Path(PYTHON).parent}:{reader.env['PATH']}", "SCRATCH": str(reader.folder), "nodes": support.HOST}
        typed = []
        for page in ("methods/pytorch", "training-before-a-large-job"):
            for fence in page_commands.fences_of(page):
                for command, _ in fence.steps():
                    # The same line stands on both pages.
                    if page_tests.test_of(fence, command) != page_tests.WITH_TORCH or page_commands.without_comment(command) in typed:
                        continue
                    typed.append(page_commands.without_comment(command))
                    # All checks of the folder run in the longer line of the second page.
                    is_part = typed[-1] == "muster run checks/pytorch"
                    done = reader.types(f"{typed[-1]} -n 'torch_environment|torch_allreduce'" if is_part else command)
                    self.assertEqual(done.returncode, 0, f"{page}: {command}\n{done.stdout}{done.stderr}")
                    if "checks/training checks/pytorch" in typed[-1]:
                        self.all_pass(json.loads((reader.checkout / "muster-runs/latest/report.json").read_text()))
                    if "--resume" in command:
                        report = (reader.checkout / "muster-runs/latest/report.json").read_text()
                        self.assertIn(f"resumed from {reader.folder}/before.pt", report)
        self.assertEqual(len(typed), 4, typed)
        self.assertTrue((reader.checkout / "before.json").exists())


class Backend(Torch):
    def test_nccl_that_is_demanded_and_can_not_be_used(self):
        case, reasons = self.fails(torch_check("torch_allreduce.py", backend="nccl"), "can't use nccl, which the check demands: ",
                                   "no GPU is visible")
        self.assertNotIn("gloo in place of nccl", reasons)
        self.assertFalse(any("sums of" in told for told in case.get("evidence", [])), case)

    def test_one_rank_that_would_take_another_backend(self):
        fake = "import muster_torch\nold = muster_torch.Device.__init__\n" \
               "def init(self, torch, place):\n    old(self, torch, place)\n" \
               "    if rank == 0: self.backend, self.why = 'nccl', ''\nmuster_torch.Device.__init__ = init\n"
        self.fails(torch_check("torch_allreduce.py", code=fake), "rank 1 on", "can't use nccl, which other ranks use: no GPU is visible",
                   rank=1)

    def test_gloo_when_it_was_asked_for(self):
        case, story = self.case(torch_check("torch_allreduce.py", backend="gloo"), "pass")
        self.assertTrue(any("gloo in place of nccl: no GPU is visible" in told for told in case["evidence"]), story)


class Interpreter(Torch):
    def venv(self, torch):
        """A folder as `python -m venv` makes it, whose python3 has another torch; for PATH."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-venv-"))
        self.addCleanup(shutil.rmtree, folder)
        (folder / "bin").mkdir()
        (folder / "lib" / "torch").mkdir(parents=True)
        (folder / "lib" / "torch" / "__init__.py").write_text(torch)
        python = folder / "bin" / "python3"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={folder}/lib exec {PYTHON} "$@"\n')
        python.chmod(0o755)
        return python

    def test_an_activated_environment_is_the_one_that_is_tried(self):
        python = self.venv("raise OSError('libtorch of the venv')\n")
        for named in ("", "python3"):
            case, _ = self.fails(torch_check("torch_ddp.py", python=named), "can't import it: OSError: libtorch of the venv",
                                 env={"PATH": f"{python.parent}:{os.environ['PATH']}"})
            self.assertRegex(" ".join(case["evidence"]), rf"run by {python} \(Python 3\.\d+\.\d+\S*\)")

    def test_a_pass_says_by_which_python(self):
        case, story = self.case(torch_check("torch_allreduce.py", "--sizes", "1KiB", "--seconds", "0.01"), "pass")
        self.assertRegex(" ".join(case["evidence"]), rf"run by {PYTHON} \(Python 3\.", story)

    def test_a_torch_that_ends_the_program_on_import(self):
        self.fails(torch_check("torch_allreduce.py", python=str(self.venv("import sys; sys.exit(0)\n"))),
                   "can't import it: SystemExit: 0")

    def test_what_is_no_python(self):
        for python, reason in (("/bin/true", "/bin/true is not a Python 3 that runs"),
                               ("/etc/passwd", "/etc/passwd is not a program that we may run")):
            case, _ = self.fails(torch_check("torch_ddp.py", python=python), reason, verdict="error")
            self.assertEqual([(culprit["kind"], culprit.get("node")) for culprit in case["culprits"]], [("program", None)])

    def test_arguments_that_are_none(self):
        for script, words, reason in (
                ("torch_allreduce.py", ["--sizes", "8parsec"], "'8parsec' is not a size such as 8B, 64KiB or 16MiB"),
                ("torch_ddp.py", ["--keep", "/none/x.pt"], "--keep /none/x.pt can't be written: /none is not a writable folder"),
                ("torch_ddp.py", ["--keep", "/etc/passwd"], "--keep /etc/passwd exists and is not a snapshot"),
                ("torch_ddp.py", ["--folder", "/none"], "--folder /none is not a writable folder")):
            case, _ = self.fails(torch_check(script, *words), reason)
            self.assertEqual({culprit["kind"] for culprit in case["culprits"]}, {"setting"})

    def test_a_port_that_is_none(self):
        self.fails(torch_check("torch_allreduce.py", shell="export MASTER_PORT=abc"), "MASTER_PORT=abc on", "is not a port")


class Rendezvous(Torch):
    def test_without_torch_it_is_a_skip(self):
        case, story = self.case(torch_check("torch_ddp.py", imports=["torch", "no_such_module"], python="", missing="skip"), "skip")
        self.assertIn("has torch and no_such_module", case["reason"], story)

    def test_a_named_python_without_torch_is_a_mistake_of_the_job(self):
        self.fails(torch_check("torch_ddp.py", imports=["no_such_module"]), f"{PYTHON} has no no_such_module", verdict="error")

    def test_a_wrong_address_on_one_rank(self):
        _, all_findings = self.fails(
            torch_check("torch_allreduce.py", "--patience", "3",
                        shell='[ $RANK = 1 ] && export MASTER_ADDR=nowhere.invalid; true'),
            f"rank 1 on {support.HOST} can't reach rank 0 at MASTER_ADDR=nowhere.invalid", "can't be resolved", rank=1)
        self.assertIn("rank 1 of 2 did not come to MASTER_ADDR=", all_findings)

    def test_a_wrong_port_on_one_rank(self):
        self.fails(torch_check("torch_allreduce.py", "--patience", "3",
                               shell='[ $RANK = 1 ] && export MASTER_PORT=1; true'),
                   "rank 1 on", "MASTER_PORT=1: connection refused", rank=1)

    def test_a_wrong_address_that_lets_anybody_in(self):
        with socket.create_server(("127.0.0.9", 0), backlog=16) as stranger:
            port = stranger.getsockname()[1]
            case, _ = self.fails(
                torch_check("torch_allreduce.py", "--patience", "3", deadline="40s",
                            shell=f"[ $RANK = 1 ] && export MASTER_ADDR=127.0.0.9 MASTER_PORT={port}; true"),
                f"rank 1 on {support.HOST}: what listens at MASTER_ADDR=127.0.0.9 MASTER_PORT={port} is not rank 0 of this job")
        self.assertIn(1, [culprit.get("rank") for culprit in case["culprits"]])
        self.assertNotIn(0, [culprit.get("rank") for culprit in case["culprits"]])

    def test_a_wrong_address_at_which_another_job_meets(self):
        serve = ("import sys, time, torch.distributed as d; s = d.TCPStore('127.0.0.1', 0, 1, True, wait_for_workers=False); "
                 "print(s.port, flush=True); time.sleep(60)")
        with subprocess.Popen([PYTHON, "-c", serve], stdout=subprocess.PIPE, text=True) as other:
            self.addCleanup(other.kill)
            port = int(other.stdout.readline())
            self.fails(torch_check("torch_allreduce.py", "--patience", "3", deadline="40s",
                                   shell=f"[ $RANK = 1 ] && export MASTER_ADDR=127.0.0.9 MASTER_PORT={port}; true"),
                       f"rank 1 on {support.HOST}: what listens at", "is not rank 0 of this job")
            other.kill()

    def test_an_address_of_rank_0_that_is_not_its_own(self):
        case, _ = self.fails(torch_check("torch_allreduce.py", "--patience", "3", deadline="40s",
                                         shell="[ $RANK = 0 ] && export MASTER_ADDR=192.0.2.1; true"),
                             f"rank 0 on {support.HOST} has MASTER_ADDR=192.0.2.1", "which does not lead to rank 0")
        self.assertIn(0, [culprit.get("rank") for culprit in case["culprits"]])

    def test_rank_0_that_comes_late(self):
        _, all_findings = self.fails(
            torch_check("torch_allreduce.py", "--patience", "3", deadline="40s", shell="[ $RANK = 0 ] && sleep 8; true"),
            "rank 0 is not at MASTER_ADDR=", "connection refused for 3 s", rank=0)

    def test_rank_0_that_is_stopped(self):
        _, all_findings = self.fails(torch_check("torch_allreduce.py", "--patience", "3", deadline="40s",
                                                 shell="[ $RANK = 0 ] && kill -STOP $$; true"),
                                     f"rank 0 on {support.HOST} was stopped (SIGSTOP or SIGTSTP) for 6 s", rank=0)
        self.assertIn("rank 0 is not at MASTER_ADDR=", all_findings)

    def test_an_exported_address_that_does_not_lead_to_rank_0(self):
        """The programs meet by muster's own; a job would not meet. No connection is made to the address of all hosts, while a gateway may
        answer for any other."""
        for given, why in (("nowhere.invalid", "the name can't be resolved"), ("255.255.255.255", "rank 0 does not answer at 255.255.255.255")):
            case, _ = self.fails(torch_check("torch_allreduce.py", "--sizes", "1KiB", "--seconds", "0.01"),
                                 f"MASTER_ADDR={given}: {why}", f"rank 0 is on {support.HOST}", env={"MASTER_ADDR": given})
            self.assertEqual([(culprit["kind"], culprit["name"]) for culprit in case["culprits"]], [("setting", "MASTER_ADDR")])
            self.assertIn(f"export MASTER_ADDR={support.HOST}", case["remedy"])
        self.case(torch_check("torch_allreduce.py", "--sizes", "1KiB", "--seconds", "0.01"), "pass", env={"MASTER_ADDR": "localhost"})

    def test_what_torchrun_left_in_the_environment(self):
        self.case(torch_check("torch_allreduce.py", "--sizes", "1KiB", "--seconds", "0.01"), "pass",
                  env={"TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "3"})

    def test_a_port_in_use(self):
        with socket.create_server(("", 0)) as taken:
            port = taken.getsockname()[1]
            case, _ = self.fails(torch_check("torch_allreduce.py", "--patience", "3", shell=f"export MASTER_PORT={port}"),
                                 f"rank 0 on {support.HOST} can't listen on MASTER_PORT={port}: the port is in use")
        self.assertEqual([culprit["name"] for culprit in case["culprits"]], ["MASTER_PORT"])

    def test_a_rank_that_never_comes(self):
        _, all_findings = self.fails(
            torch_check("torch_allreduce.py", "--patience", "3", deadline="12s", shell="[ $RANK = 1 ] && sleep 60; true"),
            "rank 1 of 2 did not come to MASTER_ADDR=", rank=1)
        self.assertIn("timed out after 12", all_findings)

    def test_torch_that_can_not_be_imported(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder, "torch")
            broken.mkdir()
            (broken / "__init__.py").write_text("raise OSError('libcudart.so.12: cannot open shared object file')\n")
            self.fails(torch_check("torch_ddp.py", shell=f"export PYTHONPATH={folder}"),
                       "can't import it: OSError: libcudart.so.12: cannot open shared object file")


class Faults(Torch):
    def test_a_killed_rank(self):
        code = FIFTH.format(function="all_reduce", action="os.kill(os.getpid(), signal.SIGKILL)")
        _, all_findings = self.fails(torch_check("torch_allreduce.py", "--patience", "10", code=code),
                                     f"rank 1 on {support.HOST} was ended by signal 9 (SIGKILL)", rank=1)
        self.assertIn('lost rank 1 in step "allreduce of 1KiB"', all_findings)

    def test_a_stopped_rank(self):
        """With the time that the shipped checks have for a step."""
        code = FIFTH.format(function="barrier", action="os.kill(os.getpid(), signal.SIGSTOP)")
        began = time.monotonic()
        _, all_findings = self.fails(torch_check("torch_ddp.py", deadline="80s", code=code),
                                     f"rank 1 on {support.HOST} was stopped (SIGSTOP or SIGTSTP) for 6 s", rank=1)
        self.assertIn("lost rank 1 in step", all_findings)
        # Not the 150 s of its deadline; imports of torch take their time on a busy machine.
        self.assertLess(time.monotonic() - began, 60 * support.SLOWNESS)

    def test_a_rank_that_hangs(self):
        """In a call that lets no other thread of Python run."""
        code = FIFTH.format(function="barrier", action="__import__('ctypes').PyDLL(None).pause()")
        self.fails(torch_check("torch_ddp.py", "--patience", "5", deadline="16s", code=code),
                   "rank 0 on", 'waited too long in step "', "for rank 1", rank=1)

    def test_a_rank_that_crashes(self):
        code = FIFTH.format(function="all_reduce", action="raise ValueError('a slip')")
        self.fails(torch_check("torch_allreduce.py", "--patience", "10", code=code),
                   f"rank 1 on {support.HOST} exited with 1 (expected 0); its last line: ValueError: a slip", rank=1)

    def test_a_wrong_sum(self):
        code = FIFTH.format(function="all_reduce", action="original(*arguments, **named); arguments[0][3] += 1; return")
        # The first call belongs to the meeting; this one is the next size's.
        code = code.replace("== 5", "== 2")
        self.fails(torch_check("torch_allreduce.py", "--sizes", "1KiB", code=code),
                   "rank 1 on", "got a wrong sum of 1KiB: element 3 of 256 is 13 instead of 12, 1 are wrong", rank=1)

    def test_a_tensor_that_arrives_damaged(self):
        code = ("original = distributed.recv\n"
                "def replaced(tensor, src=None):\n"
                "    original(tensor, src=src)\n"
                "    if tensor.numel() > 1: tensor[7, 11] = 0.5\n"
                "distributed.recv = replaced\n")
        case, _ = self.fails(torch_check("torch_send_recv.py", "--side", "300", code=code),
                             "rank 1 on", "row 7, column 11 is 0.5 instead of 10030, 1 of 90000 are wrong")
        self.assertEqual([culprit["rank"] for culprit in case["culprits"]], [0, 1])

    def test_models_that_drift_apart(self):
        code = ("step = torch.optim.SGD.step\n"
                "def replaced(self, *arguments, **named):\n"
                "    step(self, *arguments, **named)\n"
                "    if rank == 1: self.param_groups[0]['params'][0].data[0] *= 1.001\n"
                "torch.optim.SGD.step = replaced\n")
        self.fails(torch_check("torch_ddp.py", code=code), "after epoch 1 the models of ranks 0 and 1 differ")

    def test_a_network_that_does_not_learn(self):
        code = "torch.optim.SGD.step = lambda self, *arguments, **named: None\n"
        self.fails(torch_check("torch_ddp.py", code=code), "the network does not learn: loss 2.3")

    def test_a_snapshot_that_forgets_the_optimizer(self):
        self.fails(torch_check("torch_ddp.py", code="import training; training.Training.momenta = lambda self: {}"),
                   "the resumed training ends elsewhere than the one that was not interrupted")

    def test_a_second_writer(self):
        code = ("import training, snapshots\n"
                "save = training.Training.save\n"
                "def replaced(self, path):\n"
                "    save(self, path)\n"
                "    if rank == 1: snapshots.write_whole(path + '.1', lambda out: out.write(b'x'))\n"
                "training.Training.save = replaced\n")
        self.fails(torch_check("torch_ddp.py", code=code), "beside the snapshot lie other files: snapshot.pt, snapshot.pt.1")

    def test_a_sampler_that_is_not_told_the_epoch(self):
        code = "torch.utils.data.distributed.DistributedSampler.set_epoch = lambda self, epoch: None"
        self.fails(torch_check("torch_ddp.py", code=code), "every epoch has the same order of images")

    def test_a_foreign_snapshot(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "theirs.pt")
            make = ("import sys, torch; torch.save({'model': {'a': torch.ones(2)}, 'optimizer': {}, 'epochs_run': 3}, "
                    "sys.argv[1])")
            subprocess.run([PYTHON, "-c", make, path], check=True)
            case, _ = self.fails(torch_check("torch_ddp.py", "--resume", path),
                                 f"{path} is refused: another model's: it lacks 0.bias")
            self.assertEqual([(culprit["kind"], culprit["name"]) for culprit in case["culprits"]], [("file", path)])

    def test_a_snapshot_with_a_bit_that_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ours.pt")
            self.case(torch_check("torch_ddp.py", "--keep", path), "pass")
            change = ("import sys, torch; c = torch.load(sys.argv[1]); c['model']['module.0.bias'].view(torch.int32)[3] ^= 1; "
                      "torch.save(c, sys.argv[1])")
            subprocess.run([PYTHON, "-c", change, path], check=True)
            self.fails(torch_check("torch_ddp.py", "--resume", path),
                       f"{path} is refused: it was damaged after it was written: the checksum of model.0.bias is another")

    def test_gradients_that_are_zero(self):
        code = ("backward = torch.Tensor.backward\n"
                "import training\n"
                "epoch = training.Training.epoch\n"
                "def replaced(self):\n"
                "    seen = epoch(self)\n"
                "    if rank == 1: self.gradients[-1] = float('nan')\n"
                "    return seen\n"
                "training.Training.epoch = replaced\n")
        self.fails(torch_check("torch_ddp.py", code=code),
                   f"rank 1 on {support.HOST} has gradients that are zero or not finite: nan, nan", rank=1)

    def test_a_prefix_that_loses_a_parameter(self):
        code = ("import snapshots\n"
                "without = snapshots.without_prefix\n"
                "def replaced(state):\n"
                "    bare = without(state)\n"
                "    return {name: value * 0 if name == '0.bias' and next(iter(state)).startswith('module.') else value\n"
                "            for name, value in bare.items()}\n"
                "snapshots.without_prefix = replaced\n")
        _, all_findings = self.fails(torch_check("torch_ddp.py", code=code))
        self.assertIn("a model loaded from the wrapped one's state is not the same", all_findings)

    def test_a_snapshot_of_an_earlier_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ours.pt")
            self.case(torch_check("torch_ddp.py", "--keep", path), "pass")
            case, story = self.case(torch_check("torch_ddp.py", "--resume", path), "pass")
            self.assertIn(f"resumed from {path}: 4 epochs", " ".join(case["evidence"]), story)


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
class Launch(Torch):
    def test_ranks_that_share_one_core(self):
        first = min(os.sched_getaffinity(0))
        self.fails(torch_check("torch_launch.py", shell=f"taskset -pc {first} $$ >/dev/null"),
                   f"the 2 ranks of mpirun on {support.HOST} have CPU {first} together",
                   "a launcher inside a launcher")

    def test_torchrun_inside_a_task_with_one_core(self):
        # As under a scheduler whose control group gives the task no more.
        code = "def refuse(pid, mask):\n    if len(mask) > 1: raise OSError\nos.sched_setaffinity = refuse\n"
        first, second = sorted(os.sched_getaffinity(0))[:2]
        shell = f"[ $RANK = 0 ] && taskset -pc {first} $$ >/dev/null || taskset -pc {second} $$ >/dev/null"
        self.fails(torch_check("torch_launch.py", shell=shell, code=code),
                   f"the 2 workers of torchrun on {support.HOST} have CPU {first} together",
                   "torchrun inherits the CPUs of its one task of mpirun")


if __name__ == "__main__":
    support.main()
