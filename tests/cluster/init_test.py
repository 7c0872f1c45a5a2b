"""`muster init` on a real Slurm with four partitions: the profile lints clean at once, and runs and jobs take it."""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tomllib

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import page_commands  # noqa: E402
import page_tests  # noqa: E402
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402

PARTITIONS = ("standard", "debug", "gpu-long", "small")
# As docs/site.md has them.
INIT, LINT = (shlex.split(command)[1:] for fence in page_commands.fences() if fence.page == "site" for command, _ in fence.steps())
PROFILE = INIT[-1]


class Init(support.EndToEnd):
    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(2, slurm=vc.Shape(gpus=8, partitions=PARTITIONS[2:], site="mycluster"))
        cls.cluster = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def setUp(self):
        self.folder = support.new_folder()
        self.addCleanup(shutil.rmtree, self.folder)

    def muster(self, *words, status=0, where=None):
        argv = [support.DRIVER, *map(str, words)]
        if where:  # a command on a node begins in another folder
            argv = self.cluster.argv_in(where, ["env", "-C", self.folder, *argv])
        else:
            argv = self.cluster.argv_on_login(argv)
        done = subprocess.run(argv, cwd=self.folder, env=self.cluster.environment(), capture_output=True, text=True,
                              timeout=120 * support.SLOWNESS)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def profile(self, **more):
        self.muster(*INIT, **more)
        return tomllib.loads((self.folder / PROFILE).read_text())

    def test_four_partitions_lint_clean_and_are_used(self):
        profile = self.profile()
        self.assertIn("well formed", self.muster(*LINT))
        self.assertEqual(sorted(one["name"] for one in profile["partition"]), sorted(PARTITIONS))
        self.assertEqual([one["name"] for one in profile["partition"] if one.get("default")], ["standard"])
        for one in profile["partition"]:
            self.assertEqual(one["scheduler_options"], [f"--partition={one['name']}", "--gpus-per-node=8"])
            self.assertEqual(one["node"]["gpus"]["count"], 8)
            self.assertEqual(one["launcher"], "srun")
        self.assertEqual(profile["system"]["detect"], [{"env": "SLURM_CLUSTER_NAME", "matches": "^mycluster$"},
                                                             {"file": "/etc/muster/mycluster.toml"}])
        self.assertEqual(profile["system"]["login"]["host"], "^vclogin\\d*")
        script = self.muster("run", PROFILE, "--system", "mycluster:gpu-long", "--submit", "--dry-run")
        self.assertIn("#SBATCH --partition=gpu-long\n#SBATCH --gpus-per-node=8\n", script)
        self.assertNotIn("no profile describes", script)

    def test_on_a_compute_node_its_partition_is_described(self):
        profile = self.profile(where="nid001")
        self.assertIn("well formed", self.muster(*LINT))
        described = [one for one in profile["partition"] if "architecture" in one["node"].get("cpu", {})]
        self.assertEqual([one["name"] for one in described], ["standard"])
        self.assertNotIn("login", profile["system"])

    def test_in_a_job_the_partition_of_the_job_is_described(self):
        # Each node is in all four partitions.
        argv = self.cluster.argv_on_login(["srun", "-p", "gpu-long", "-N1", "-n1", "-D", self.folder, support.DRIVER, *INIT])
        subprocess.run(argv, env=self.cluster.environment(), check=True, capture_output=True, timeout=60 * support.SLOWNESS)
        profile = tomllib.loads((self.folder / PROFILE).read_text())
        self.assertEqual([one["name"] for one in profile["partition"] if "architecture" in one["node"].get("cpu", {})], ["gpu-long"])
        self.assertEqual([one["name"] for one in profile["partition"]], ["gpu-long", "standard", "debug", "small"])

    def test_the_example_of_the_help(self):
        (command,) = [command for fence in page_commands.help_fences() if fence.page == "help init" for command, _ in fence.steps()
                      if command.startswith("srun ")]
        command = page_tests.substitute(command, {"-p gpu ": "-p gpu-long "})
        env = {**self.cluster.environment(), "PATH": f"{support.BIN}:{os.environ['PATH']}"}
        done = subprocess.run(self.cluster.argv_on_login(["bash", "-c", command]), cwd=self.folder, env=env, capture_output=True, text=True,
                              timeout=60 * support.SLOWNESS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(tomllib.loads((self.folder / PROFILE).read_text())["system"]["name"], "mycluster")

    def test_what_is_refused(self):
        self.assertIn("is there already", self.profile() and self.muster(*INIT, status=3))
        self.assertIn("name", self.muster("init", "my cluster", status=3))


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(())
