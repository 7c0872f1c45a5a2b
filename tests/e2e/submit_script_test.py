"""The job that `muster run --submit` requests on each of the five systems, beside the batch scripts that their pages publish."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster")]
import page_commands  # noqa: E402
import support  # noqa: E402

# System: lines that must be there; options that must not.
# Sources: OLCF user guide (srun -n8 -c7, eight GPUs a node), LUMI user guide (lumig-job), NERSC (nersc-dl-multigpu), TACC's guide of Vista (one task a
# node, no --gres, --gpus-per-task or --mem), ularc/zurada (software/pytorch.rst: two tasks of 16 cores).
PUBLISHED = {
    "frontier": (["--nodes=2", "--ntasks-per-node=8", "--cpus-per-task=7", "--partition=batch", "--gpus-per-node=8"], ["--mem"]),
    "lumi": (["--nodes=2", "--ntasks-per-node=8", "--cpus-per-task=7", "--partition=standard-g", "--gpus-per-node=8", "--mem=480G"], []),
    "perlmutter": (["--nodes=2", "--ntasks-per-node=4", "--cpus-per-task=32", "--constraint=gpu", "--qos=regular", "--gpus-per-node=4"], ["--mem"]),
    "vista": (["--nodes=2", "--ntasks-per-node=1", "--partition=gh"], ["--cpus-per-task", "--gres", "--gpus-per-node", "--gpus-per-task", "--mem"]),
    "zurada:gpu1h100": (["--nodes=2", "--ntasks-per-node=1", "--partition=gpu1h100", "--gpus-per-node=1"], ["--cpus-per-task"]),
    "zurada:gpu2h100": (["--nodes=2", "--ntasks-per-node=2", "--cpus-per-task=16", "--partition=gpu2h100", "--gpus-per-node=2"], []),
}


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-script-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in ("sbatch", "sinfo"):
            (self.folder / name).write_text("#!/bin/sh\nexit 1\n")
            (self.folder / name).chmod(0o755)

    def options(self, system, *more, nodes="2"):
        """Of the script that would be submitted: lines and names of options."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        done = subprocess.run([str(support.BIN / "muster"), "run", "--submit", "--dry-run", "--nodes", nodes, "--system", system, *more],
                              cwd=self.folder, env={**env, "PATH": f"{self.folder}:{env['PATH']}"}, capture_output=True, text=True,
                              timeout=60 * support.SLOWNESS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [line.removeprefix("#SBATCH ") for line in done.stdout.splitlines() if line.startswith("#SBATCH ")]
        return lines, [line.split("=")[0] for line in lines]

    def test_a_line_end_in_the_name_of_a_folder(self):
        """It would end a line of the script, and what follows be a command."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        hostile = self.folder / "a\ntouch planted"
        hostile.mkdir()
        for folder, output in ((hostile, self.folder / "runs"), (self.folder, hostile / "runs")):
            done = subprocess.run([str(support.BIN / "muster"), "run", "--submit", "--dry-run", "--nodes", "1", "--output", str(output)],
                                  cwd=folder, env={**env, "PATH": f"{self.folder}:{env['PATH']}"}, capture_output=True, text=True,
                                  timeout=60 * support.SLOWNESS)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertIn("has a line end or another control character in its name", done.stderr)

    def test_tasks_and_cores_of_each_system(self):
        for system, (wanted, unwanted) in PUBLISHED.items():
            with self.subTest(system=system):
                account = [] if system.startswith("zurada") else ["-J", "account=p1"]
                lines, names = self.options(system, *account)
                self.assertEqual([line for line in wanted if line not in lines], [], lines)
                self.assertEqual([name for name in unwanted if name in names], [], lines)
                self.assertEqual(len(names), len(set(names)), "each option once")

    def test_the_script_of_the_page(self):
        """docs/submit.md, but for what each run has of its own."""
        fences = page_commands.fences_of("submit")
        (command,) = [command for fence in fences for command, _ in fence.steps() if "--dry-run" in command]
        (script,) = [fence.text for fence in fences if fence.is_script]
        words = page_commands.without_comment(command).split()
        self.assertEqual((words[:4], words[-1]), (["muster", "run", "--submit", "--nodes"], "--dry-run"))
        lines, _ = self.options("lumi", *words[5:-1], nodes=words[4])

        def common(lines):
            return [re.sub(r"^(--job-name|--chdir|--output)=.*", r"\1", line) for line in lines]
        published = [line.removeprefix("#SBATCH ") for line in script.splitlines() if line.startswith("#SBATCH ")]
        self.assertEqual(common(published), common(lines))

    def test_options_that_were_chosen_take_precedence(self):
        lines, names = self.options("lumi", "-J", "account=p1", "-J", "cpus-per-task=14")
        self.assertIn("--cpus-per-task=14", lines)
        self.assertEqual(names.count("--cpus-per-task"), 1)
        self.assertIn("--ntasks-per-node=4", self.options("lumi", "-J", "account=p1", "--ranks-per-node", "4")[0])
        self.assertIn("--cpus-per-task=14", self.options("lumi", "-J", "account=p1", "--ranks-per-node", "4")[0])


if __name__ == "__main__":
    support.run_tests()
