"""Profiles as the driver takes them: which one is found, which partition of it, login nodes, cores that are reserved."""
import getpass
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
import page_commands  # noqa: E402

MUSTER = os.path.join(os.environ["MUSTER_BUILD"], "bin", "muster")
HOST = os.uname().nodename
CHECK = """[check.wide]
probe = "hello"
ranks = "one-per-core"
"""
PROFILE = """[system]
name = "mine"
detect = { env = "MINE", matches = "^yes$" }
login = { host = "^%s$", gpus = 64 }
[[partition]]
name = "few"
launcher = "srun"
[partition.node]
cores = 8
reserved_cores = [0, 4]
[[partition]]
name = "many"
like = "few"
launcher = "local"
"""
# What a job around the test would have set.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "LUMI_", "NERSC_", "TACC_", "LMOD_"))}


def shipped(name):
    with open(os.path.join(os.environ["MUSTER_SOURCE"], "checks", "systems", f"{name}.toml"), "rb") as file:
        return tomllib.load(file)


class Profiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in (("check.toml", CHECK), ("mine.toml", PROFILE % re.escape(HOST))):
            with open(os.path.join(self.folder.name, name), "w") as out:
                out.write(text)

    def muster(self, *words, status=0, **variables):
        done = subprocess.run([MUSTER, *words], cwd=self.folder.name, env={**CLEAN, **variables, "NO_COLOR": "1"},
                              capture_output=True, text=True, timeout=60)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def plan(self, *words, **variables):
        return json.loads(self.muster("plan", "check.toml", "mine.toml", "--json", *words, **variables))

    def doctor(self, **variables):
        lines = json.loads(self.muster("doctor", "--json", status=None, **variables))
        return next(line for line in lines if line["subject"] == "system")

    def test_each_system_is_found_by_what_it_sets(self):
        self.assertEqual(self.doctor()["says"], "generic:default: no other profile matches")
        for variables, says in (({"LUMI_STACK_NAME": "LUMI"}, 'lumi:standard-g: LUMI_STACK_NAME is "LUMI"'),
                                ({"LUMI_STACK_NAME": "LUMI", "SLURM_JOB_PARTITION": "dev-g"}, "lumi:dev-g: "),
                                ({"LMOD_SYSTEM_NAME": "frontier"}, "frontier:batch: "),
                                ({"NERSC_HOST": "perlmutter"}, "perlmutter:gpu: "),
                                ({"TACC_SYSTEM": "vista"}, "vista:gh: "),
                                ({"SLURM_CLUSTER_NAME": "zurada", "SLURM_JOB_PARTITION": "gpu2h100"}, "zurada:gpu2h100: "),
                                ({"SLURM_CLUSTER_NAME": "zurada", "SLURM_JOB_PARTITION": "hgxh200"}, "zurada:hgxh200: ")):
            with self.subTest(variables):
                self.assertIn(says, self.doctor(**variables)["says"])

    def test_two_that_match_are_said_and_nothing_starts(self):
        both = {"LUMI_STACK_NAME": "LUMI", "NERSC_HOST": "perlmutter"}
        said = self.muster("run", "-n", "hello", status=3, **both)
        self.assertIn('the profiles lumi (LUMI_STACK_NAME is "LUMI") and perlmutter (NERSC_HOST is "perlmutter") all match', said)
        self.assertIn("choose one with --system lumi", said)
        self.assertEqual(self.doctor(**both)["health"], "bad")

    def test_a_partition_has_to_be_said_where_nobody_knows_it(self):
        said = self.muster("plan", "-n", "hello", "--system", "zurada", status=3)
        self.assertIn("choose one: --system zurada:gpu1h100", said)

    def test_a_profile_may_say_how_many_ranks_a_node_gets(self):
        shapes = lambda *words: {case["shape"]["ranks_per_node"] for case in
                                 self.plan("--system", "vista:gh", "--launcher", "mpirun", *words)["cases"]}
        self.assertEqual(shapes(), {1}, "not one for each of 72 cores")
        self.assertEqual(shapes("--ranks-per-node", "2"), {2})

    @unittest.skipUnless(shutil.which("sbatch"), "there is no sbatch")
    def test_shifter_without_an_image_is_not_submitted(self):
        words = ["run", "--submit", "--system", "perlmutter", "--environment", "shifter", "-n", "^hello$", "-J", "account=x"]
        said = self.muster(*words, status=3)
        self.assertIn('nothing fills {image} in "--image={image}"; write -J image=VALUE', " ".join(said.split()))

    def test_options_that_vista_refuses(self):
        """TACC's table of sbatch options: the scheduler rejects a script with one of them."""
        for option in ("gres=gpu:1", "gpus-per-task=1", "mem=64G", "gpus-per-node=1", "gpus=1"):
            with self.subTest(option):
                said = self.muster("run", "--submit", "--system", "vista", "-n", "^hello$", "-J", "account=x", "-J", option, status=3)
                self.assertIn(f"vista:gh refuses jobs with --{option.split('=')[0]}; leave it out", " ".join(said.split()))

    def test_sources_of_variables(self):
        """A repository with its commit and a file, so that a reader finds the sentence again."""
        for name in ("frontier", "lumi", "perlmutter", "vista", "zurada"):
            for variable in shipped(name).get("variable", []):
                with self.subTest(name, variable=variable["name"]):
                    self.assertRegex(variable["source"], r"@[0-9a-f]{7} \S+\.(rst|md|sh)")

    def test_references_hold_where_their_sources_measured(self):
        """lumi:gpu of osu_check.py (24,044 is of lumi:cpu), and RCCL's figures for ranks on the published masks."""
        figures = {}
        for name in ("frontier", "lumi", "perlmutter", "vista", "zurada"):
            for partition in shipped(name)["partition"]:
                for one in partition.get("reference", []):
                    where = one["where"]
                    value = one.get("bandwidth", one.get("busbw"))
                    figures[(name, partition["name"], one["check"], where.get("nodes"))] = (
                        value["value"], value["unit"], where["memory"], where["transport"], where.get("binding"))
        self.assertEqual(figures, {
            ("lumi", "standard-g", "p2p_site", None): (23820, "MB/s", "device", "mpi", None),
            ("lumi", "standard-g", "allreduce_site", 1): (125.0, "GB/s", "device", "rccl", "masks"),
            ("lumi", "standard-g", "allreduce_site", 2): (85.0, "GB/s", "device", "rccl", "masks"),
        })

    def test_what_a_container_of_lumi_gets(self):
        wrappers = {one["name"]: one["wrapper"] for one in shipped("lumi")["environment"] if "wrapper" in one}
        for name, active in (("container", "yes"), ("laifs", "")):
            with self.subTest(name):
                at = wrappers[name].index("bash")
                folder = f"/tmp/{getpass.getuser()}-miopen-cache-4711"
                self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
                shown = 'echo "$MIOPEN_USER_DB_PATH|$MIOPEN_CUSTOM_CACHE_DIR|$ACTIVE|$1"'
                done = subprocess.run([*wrappers[name][at:], "sh", "-c", shown, "x", "a  b"], capture_output=True, text=True,
                                      env={**os.environ, "SLURM_NODEID": "4711", "WITH_CONDA": "export ACTIVE=yes"})
                self.assertEqual(done.stdout, f"{folder}|{folder}|{active}|a  b\n", done.stderr)
                self.assertTrue(os.path.isdir(folder))
        binds = [wrappers["container"][i + 1] for i, word in enumerate(wrappers["container"]) if word == "-B"]
        self.assertIn("/usr/lib64/libcxi.so.1", binds)
        self.assertIn("/projappl", ",".join(binds).split(","))

    def test_reserved_cores_are_no_ranks(self):
        shapes = [case["shape"] for case in self.plan("--system", "mine:few", "--launcher", "mpirun")["cases"]]
        self.assertEqual([shape["ranks_per_node"] for shape in shapes], [6])

    def test_a_profile_that_was_given_is_found_before_shipped_ones(self):
        plan = self.plan("--launcher", "local", MINE="yes", SLURM_JOB_PARTITION="many", LUMI_STACK_NAME="LUMI")
        self.assertEqual((plan["system"], plan["cases"][0]["partition"]), ("mine", "many"))

    def test_bindings_of_the_pages(self):
        """The commands that stand in the text of docs/systems, as they stand there."""
        printed = {}
        for page, command in page_commands.inline():
            if command.startswith("muster bind "):
                printed[page] = self.muster(*shlex.split(command)[1:])
        self.assertEqual(sorted(printed), ["frontier", "lumi", "perlmutter", "vista", "zurada"])
        for page, words in (("lumi", "mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,"), ("frontier", "mask_cpu:0xfe,0xfe00,0xfe0000,"),
                            ("perlmutter", "mask_cpu:0xffff000000000000ffff000000000000,0xffff000000000000ffff00000000,")):
            self.assertIn(words, printed[page])
        self.assertIn("0-71", printed["vista"])

    def test_a_login_node_is_said(self):
        said = self.muster("run", "check.toml", "mine.toml", "--system", "mine:few", status=2)
        self.assertIn(f"{HOST} is a login node of mine", " ".join(said.split()))
        run = ["run", "mine.toml", "--system", "mine:many", "-n", "^environment$", "--ranks-per-node", "1", "--report", "json=-"]
        said = self.muster(*run, status=None)
        self.assertIn(f"{HOST} is a login node (by the profile: its name, and outside of a job)", said)
        said = self.muster(*run, status=None, SLURM_JOB_ID="7", SLURM_JOB_NODELIST=HOST)
        self.assertIn('"verdict"', said)
        self.assertNotIn("is a login node", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
