"""Where ranks run: what --bind and a profile ask, what each launcher here makes of it, and what the kernel then says.

The witness is the kernel: each rank of probe `command` prints its own mask from /proc."""
import json
import os
import pathlib
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
echo "{\"metric\": \"lowest\", \"value\": ${m%%[-,]*}, \"unit\": \"1\"}"; echo "mask $m"'''
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


class Binding(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-binding-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # The other way round than any launcher would.
        self.asked = [CPUS[-1], CPUS[0]]
        masks = ", ".join(f'"{hex(1 << cpu)}"' for cpu in self.asked)
        (self.folder / "profile.toml").write_text(PROFILE.format(masks=masks))
        (self.folder / "checks.toml").write_text(CHECKS.format(show=json.dumps(SHOW)))

    def muster(self, command, *options, launcher="mpirun"):
        env = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "OMPI_MCA_mpi_yield_when_idle": "1", "COLUMNS": "400"}
        if launcher == "mpich":
            wrapper = self.folder / "bin" / "mpirun"
            wrapper.parent.mkdir(exist_ok=True)
            wrapper.write_text('#!/bin/sh\nexec mpirun.mpich "$@"\n')
            wrapper.chmod(0o755)
            env["PATH"] = f"{wrapper.parent}:{env['PATH']}"
        self.done = subprocess.run([str(BIN / "muster"), command, str(self.folder), "--system", "here", "--launcher", "mpirun", *options,
                                    *(["--output", str(self.folder / "runs")] if command == "run" else [])],
                                   cwd=self.folder, env=env, capture_output=True, text=True, timeout=120 * support.SLOWNESS)
        self.output = self.done.stdout + self.done.stderr
        return self.done.returncode

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
        self.assertEqual(self.binding(), {"profile here, by the agent"})

    def test_masks_of_the_profile_by_hydra(self):
        if shutil.which("mpirun.mpich") is None or not (BIN / "muster-rank-mpich").exists():
            self.skipTest("there is no MPICH beside Open MPI")
        self.assertEqual(self.run_it(launcher="mpich"), 0, self.output)
        self.assertEqual(self.lowest("witness"), self.asked)
        self.assertEqual(self.binding(), {"profile here, by the launcher"})

    def test_the_only_rank_of_a_node_has_all_of_it(self):
        self.assertEqual(self.run_it("-n", "alone"), 0, self.output)
        self.assertEqual(self.lowest("alone"), [CPUS[0]])
        mask = next(output["text"] for output in self.case("alone")["outputs"])
        self.assertIn(f"mask {CPUS[0]}-{CPUS[-1]}" if len(CPUS) > 1 else f"mask {CPUS[0]}", mask)

    def test_the_users_own_option_takes_precedence(self):
        self.assertEqual(self.run_it("-n", "witness", "-J=--bind-to", "-J=none"), 0, self.output)
        self.assertEqual(self.lowest("witness"), [CPUS[0]] * 2)
        self.assertEqual(self.binding(), {None})

    def test_no_binding(self):
        self.assertEqual(self.muster("plan", "--bind", "none"), 0, self.output)
        self.assertNotIn("bind-to", self.output)
        self.assertNotIn("bound by", self.output)

    def test_cores_instead_of_the_profile(self):
        self.assertEqual(self.muster("plan", "-n", "witness", "--bind", "cores"), 0, self.output)
        self.assertIn("--bind-to core", self.output)
        self.assertNotIn("bound by", self.output)

    def test_plan_shows_masks_and_who_sets_them(self):
        self.assertEqual(self.muster("plan", "-n", "witness"), 0, self.output)
        self.assertIn("bound by muster-rank (profile here):", self.output)
        self.assertIn(f"0: CPUs {self.asked[0]}; 1: CPUs {self.asked[1]}\n", self.output)

    def test_a_rank_that_is_not_where_it_was_asked_to_be(self):
        """muster-rank is started by something that binds it anew."""
        wrapper = self.folder / "agent"
        wrapper.write_text(f'#!/bin/sh\nMUSTER_BIND=$(echo "$MUSTER_BIND" | sed s/^agent/launcher/) '
                           f'exec taskset -c {CPUS[0]} {BIN.resolve()}/muster-rank "$@"\n')
        wrapper.chmod(0o755)
        self.assertEqual(self.run_it("-n", "affinity", "-S", "affinity.sharing=any", "--agent", str(wrapper)), 1, self.output)
        case = self.case("affinity")
        words = " ".join([case["reason"], *(finding["reason"] for finding in case["findings"])])
        self.assertIn(f"rank 0 was asked onto CPU {self.asked[0]} by profile here, and got CPU {CPUS[0]}", words)
        self.assertIn(0, [culprit.get("rank") for culprit in case["culprits"]])

    def test_masks_that_the_job_has_not(self):
        (self.folder / "profile.toml").write_text(PROFILE.format(masks='"0x1", "0xf000000000000000"'))
        self.assertEqual(self.muster("plan", "-n", "witness"), 0, self.output)
        self.assertIn("bound to cores: profile here needs CPUs 0,60-63, and the job has", self.output)
        self.assertEqual(self.run_it("-n", "witness"), 0, self.output)

    def test_a_misspelt_binding(self):
        self.assertEqual(self.muster("run", "--bind", "profil"), 3, self.output)
        self.assertIn('unknown binding "profil"; did you mean "profile"?', self.output)

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
