"""Where ranks run: what --bind and a profile ask, what each launcher here makes of it, and what the kernel then says.

The witness is the kernel: each rank of probe `command` prints its own mask from /proc."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import support

BIN = pathlib.Path(os.environ.get("MUSTER_BUILD", "build")) / "bin"
PROFILE = """[system]
name = "here"
[[partition]]
name = "p"
[partition.node.bind]
policy = "compact"
masks  = [{masks}]
"""
SHOW = r'''m=$(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)
echo "{\"metric\": \"lowest\", \"value\": ${m%%[-,]*}, \"unit\": \"1\"}"; echo "mask $m"; echo "nproc $(nproc)"'''
CHECKS = """[check.affinity]
probe   = "cpu_affinity"
summary = "Masks."
ranks   = {{ per_node = 2 }}
timeout = "60s"
tags    = ["test"]
[check.witness]
probe   = "command"
summary = "What the kernel says."
ranks   = {{ per_node = 2 }}
timeout = "60s"
tags    = ["test"]
[check.witness.params]
argv = ["sh", "-c", {show}]
[check.alone]
probe   = "command"
summary = "One rank has the node."
ranks   = "one-per-node"
timeout = "60s"
tags    = ["test"]
[check.alone.params]
argv = ["sh", "-c", {show}]
"""
CPUS = sorted(os.sched_getaffinity(0))
WHOLE = re.sub(r".*:\s*", "", next(line for line in open("/proc/self/status", encoding="ascii") if line.startswith("Cpus_allowed_list:"))).strip()


class Binding(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-binding-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # The other way round than any launcher would.
        self.asked = [CPUS[-1], CPUS[0]]
        masks = ", ".join(f'"{hex(1 << cpu)}"' for cpu in self.asked)
        (self.folder / "profile.toml").write_text(PROFILE.format(masks=masks))
        (self.folder / "checks.toml").write_text(CHECKS.format(show=json.dumps(SHOW)))

    def stand_in(self, name, text):
        """A program that is found before all others."""
        program = self.folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
        return f"{program.parent}:{os.environ['PATH']}"

    def muster(self, command, *options, launcher="mpirun"):
        env = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "OMPI_MCA_mpi_yield_when_idle": "1", "COLUMNS": "400"}
        if launcher == "mpich":
            env["PATH"] = self.stand_in("mpirun", '#!/bin/sh\nexec mpirun.mpich "$@"\n')
            launcher = "mpirun"
        elif launcher == "ibrun":
            # As TACC's: -n ranks from slot -o; and whatever mpirun binds to by default stays, as an older one would leave it.
            env["PATH"] = self.stand_in("ibrun", '#!/bin/sh\nranks=$2; shift 4\nunset OMPI_MCA_hwloc_base_binding_policy\n'
                                        'exec mpirun --bind-to core --host localhost:$ranks -n $ranks "$@"\n')
        self.done = subprocess.run([str(BIN / "muster"), command, str(self.folder), "--system", "here", "--launcher", launcher, *options,
                                    *(["--output", str(self.folder / "runs")] if command == "run" else [])],
                                   cwd=self.folder, env=env, capture_output=True, text=True, timeout=120 * support.SLOWNESS)
        self.output = self.done.stdout + self.done.stderr
        return self.done.returncode

    def plan_json(self, *options):
        self.assertEqual(self.muster("plan", "--json", *options), 0, self.output)
        return self.done.stdout

    def run_it(self, *options, **named):
        status = self.muster("run", *options, **named)
        self.report = json.loads((self.folder / "runs" / "latest" / "report.json").read_text())
        return status

    def case(self, name):
        return next(case for case in self.report["cases"] if case["check"] == name)

    def lowest(self, name):
        metric = next(metric for metric in self.case(name)["metrics"] if metric["metric"] == "lowest")
        return [reading["median"] for reading in sorted(metric["readings"], key=lambda one: one["rank"])]

    def binding(self):
        return {node["facts"].get("binding") for node in self.report["nodes"]}

    def test_masks_of_the_profile_by_open_mpi(self):
        self.assertEqual(self.run_it(), 0, self.output)
        self.assertEqual(self.lowest("witness"), self.asked)
        self.assertEqual(self.case("affinity")["verdict"], "pass")
        self.assertEqual(self.binding(), {"profile here, by the launcher"})
        ranks = "; ".join(f"{i}: CPUs {cpu}" for i, cpu in enumerate(self.asked))
        self.assertEqual({node["facts"].get("bound_ranks") for node in self.report["nodes"]}, {ranks})
        self.assertIn("rank 0=localhost slot=", next((self.folder / "runs" / "latest").rglob("rankfile")).read_text())

    def test_masks_by_the_agent_where_the_launcher_has_no_option_for_them(self):
        self.assertEqual(self.run_it(launcher="ibrun"), 0, self.output)
        self.assertEqual(self.lowest("witness"), self.asked)
        self.assertEqual(self.case("affinity")["verdict"], "pass")
        self.assertEqual(self.binding(), {"profile here, by the agent"})

    def test_the_whole_node_below_a_launcher_that_binds_to_a_core(self):
        """mpirun of Open MPI binds a single rank to one core; the agent below ibrun frees itself."""
        self.assertEqual(self.run_it("-n", "alone", launcher="ibrun"), 0, self.output)
        self.assertIn(f"mask {WHOLE}", self.case("alone")["outputs"][0]["text"])
        self.assertEqual(self.binding(), {"the whole node, by the agent"})

    def test_masks_of_the_profile_by_hydra(self):
        if shutil.which("mpirun.mpich") is None or not (BIN / "muster-rank-mpich").exists():
            self.skipTest("there is no MPICH beside Open MPI")
        self.assertEqual(self.run_it(launcher="mpich"), 0, self.output)
        self.assertEqual(self.lowest("witness"), self.asked)
        self.assertEqual(self.binding(), {"profile here, by the launcher"})

    def test_the_only_rank_of_a_node_has_all_of_it(self):
        self.assertEqual(self.run_it("-n", "alone"), 0, self.output)
        self.assertEqual(self.lowest("alone"), [CPUS[0]])
        self.assertIn(f"mask {WHOLE}", self.case("alone")["outputs"][0]["text"])
        self.assertIn(f"nproc {len(CPUS)}", self.case("alone")["outputs"][0]["text"])

    def test_the_users_own_option_takes_precedence(self):
        self.assertEqual(self.run_it("-n", "witness", "-J=--bind-to", "-J=none"), 0, self.output)
        self.assertEqual(self.lowest("witness"), [CPUS[0]] * 2)
        self.assertEqual(self.binding(), {"options given to the launcher, not profile here"})

    def test_a_check_chooses_its_binding_and_the_command_line_replaces_it(self):
        checks = (self.folder / "checks.toml").read_text()
        (self.folder / "checks.toml").write_text(checks.replace("[check.witness]", '[check.witness]\nbind = "none"'))
        self.assertEqual(self.muster("plan"), 0, self.output)
        launches = [text for text in self.output.split("\nlaunch ") if " witness%" in text]
        self.assertEqual(len(launches), 1, self.output)
        self.assertNotIn("rankfile", launches[0])
        self.assertNotIn("affinity%", launches[0], "cases that are bound differently share no launch")
        self.assertEqual(self.muster("plan", "-n", "witness", "--bind", "profile"), 0, self.output)
        self.assertIn("--rankfile", self.output)

    def test_a_check_that_asks_for_a_profile_that_has_no_binding(self):
        (self.folder / "profile.toml").write_text('[system]\nname = "here"\n[[partition]]\nname = "p"\n')
        checks = (self.folder / "checks.toml").read_text()
        (self.folder / "checks.toml").write_text(checks.replace("[check.witness]", '[check.witness]\nbind = "profile"'))
        self.assertEqual(self.muster("plan", "-n", "witness"), 0, self.output)
        self.assertIn("the profile here has no [partition.node.bind]", self.output)

    def test_variables_of_each_rank(self):
        with (self.folder / "profile.toml").open("a") as profile:
            profile.write('[[environment]]\nname = "e"\nenv = { MY_GPU = "{gpu}", MY_NIC = "{nic}:1" }\n')
        show = r"""echo "{\"metric\": \"lowest\", \"value\": $MY_GPU, \"unit\": \"1\"}"; echo "nic ${MY_NIC-none}" """
        (self.folder / "checks.toml").write_text(CHECKS.format(show=json.dumps(show)))
        self.assertEqual(self.run_it("-n", "witness", "--environment", "e"), 0, self.output)
        self.assertEqual(self.lowest("witness"), [0, 1])
        self.assertIn("nic none", self.case("witness")["outputs"][0]["text"])

    def test_no_binding(self):
        self.assertEqual(self.muster("plan", "--bind", "none"), 0, self.output)
        self.assertNotIn("bind-to", self.output)
        self.assertNotIn("bound by", self.output)
        self.assertIn("  no binding option (--bind none)\n", self.output)

    def test_cores_instead_of_the_profile(self):
        self.assertEqual(self.muster("plan", "-n", "witness", "--bind", "cores"), 0, self.output)
        self.assertIn("--bind-to core", self.output)
        self.assertNotIn("bound by", self.output)
        self.assertIn("  bound to cores, by mpirun (--bind cores)\n", self.output)

    def test_a_profile_that_is_not_for_these_ranks(self):
        """--bind profile, and a check with one rank per core: that they are bound to cores is said."""
        checks = (self.folder / "checks.toml").read_text()
        (self.folder / "checks.toml").write_text(checks.replace("[check.witness]\nprobe   = \"command\"\nsummary = \"What the kernel says.\"\n"
                                                                "ranks   = { per_node = 2 }",
                                                                "[check.witness]\nprobe   = \"command\"\nranks   = \"one-per-core\""))
        why = "profile here binds ranks of GPUs, and these are one per core"
        self.assertEqual(self.muster("plan", "-n", "witness", "--bind", "profile"), 0, self.output)
        self.assertIn(f"  bound to cores: {why}\n", self.output)
        self.assertEqual(self.run_it("-n", "witness", "--bind", "profile"), 0, self.output)
        self.assertIn(f"ranks are bound to cores: {why}", self.case("witness")["notes"])
        self.assertIn(why, self.output, "on the console, too")
        self.assertEqual(self.muster("plan", "-n", "witness"), 0, self.output)
        self.assertIn("  bound to cores, by mpirun\n", self.output)

    def test_masks_for_another_number_of_ranks(self):
        self.assertEqual(self.muster("plan", "-n", "witness", "--bind", "profile", "--ranks-per-node", "3"), 0, self.output)
        self.assertIn("not bound: more ranks than cores" if len(CPUS) < 3 else "profile here has masks for 2 ranks of a node, not 3", self.output)

    def test_plan_shows_masks_and_who_sets_them(self):
        self.assertEqual(self.muster("plan", "-n", "witness"), 0, self.output)
        self.assertIn("bound by mpirun (profile here):", self.output)
        self.assertIn("--rankfile '<rankfile>'", self.output)
        self.assertIn(f"0: CPUs {self.asked[0]}; 1: CPUs {self.asked[1]}\n", self.output)
        shape = json.loads(self.plan_json("-n", "witness"))["launches"][0]["shape"]
        self.assertEqual([rank["cpus"] for rank in shape["binding"]["ranks"]], [str(cpu) for cpu in self.asked])

    def test_a_rank_that_is_not_where_it_was_asked_to_be(self):
        """muster-rank is started by something that binds it anew."""
        wrapper = self.folder / "agent"
        wrapper.write_text(f'#!/bin/sh\nMUSTER_BIND=$(echo "$MUSTER_BIND" | sed s/^agent/launcher/) '
                           f'exec taskset -c {CPUS[0]} {BIN.resolve()}/muster-rank "$@"\n')
        wrapper.chmod(0o755)
        self.assertEqual(self.run_it("-n", "affinity", "-S", "affinity.sharing=any", "--agent", str(wrapper)), 1, self.output)
        case = self.case("affinity")
        words = " ".join([case["reason"], *(finding["reason"] for finding in case["findings"])])
        self.assertIn(f"rank 0: asked CPU {self.asked[0]} (profile here), got CPU {CPUS[0]}", words)
        self.assertIn(0, [culprit.get("rank") for culprit in case["culprits"]])

    def test_masks_that_the_job_has_not(self):
        (self.folder / "profile.toml").write_text(PROFILE.format(masks='"0x1", "0xf000000000000000"'))
        self.assertEqual(self.muster("plan", "-n", "witness"), 0, self.output)
        self.assertIn("bound to cores: profile here needs CPUs 0,60-63, and the job has", self.output)
        self.assertEqual(self.run_it("-n", "witness"), 0, self.output)

    def test_a_misspelt_binding(self):
        self.assertEqual(self.muster("run", "--bind", "profil"), 3, self.output)
        self.assertIn('unknown binding "profil"; did you mean "profile"?', self.output)
        self.assertEqual(self.muster("run", "--bind", "xyzzy"), 3, self.output)
        self.assertIn('unknown binding "xyzzy"; known: none, profile, auto, cores\n', self.output)

    def test_a_profile_without_a_binding(self):
        (self.folder / "profile.toml").write_text('[system]\nname = "here"\n[[partition]]\nname = "p"\n')
        self.assertEqual(self.muster("run", "--bind", "profile"), 3, self.output)
        self.assertIn("the profile here has no [partition.node.bind]; write auto or cores", self.output)


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        support.skip("there is no mpirun")
    if len(CPUS) < 2:
        support.skip("this machine has one CPU")
    support.run_tests()
