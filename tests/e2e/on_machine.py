"""Runs the checks of one node on a described machine. Shared by the tests of machines, not a test."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import described_labels

MUSTER = os.path.join(os.environ["MUSTER_BUILD"], "bin", "muster")
AGENT = os.path.join(os.environ.get("MUSTER_AGENT_BUILD", os.environ["MUSTER_BUILD"]), "bin", "muster-rank")
CHECKS = """
[check.device_visibility]
probe   = "device_visibility"
summary = "Devices are there."
ranks   = "one-per-gpu"
[check.cpu_affinity]
probe   = "cpu_affinity"
summary = "Ranks are near their GPUs."
ranks   = "one-per-gpu"
params  = { smt = "apart", numa = "one" }
[check.gpu_mapping]
probe   = "gpu_mapping"
summary = "Every rank has a GPU of its own, near it."
ranks   = "one-per-gpu"
params  = { near = "required" }
[check.environment]
probe   = "environment"
summary = "Variables and limits agree."
ranks   = "one-per-gpu"
params  = { torch = "if set" }
[check.network_interfaces]
probe   = "network_interfaces"
summary = "NICs are up, alike and at their rate."
ranks   = "one-per-gpu"
params  = { interval = "10ms" }
[check.network_plugin]
probe   = "network_plugin"
summary = "The network plugin can be loaded."
ranks   = "one-per-gpu"
[check.hello]
probe   = "hello"
summary = "A timing that must not be judged."
ranks   = "one-per-gpu"
[[check.hello.expect]]
metric    = "barrier"
reference = { value = 1e-6, upper = 0.1, unit = "us" }
"""
PROFILE = """[system]
name = "site"
[[partition]]
name     = "gpu"
launcher = "mpirun"
[partition.node]
reserved_cores = {reserved}
gpus = {{ count = {gpus}, vendor = "{vendor}", name = "{name}" }}
{nics}
{bind}
"""
BIND = """[partition.node.bind]
policy = "gpu"
masks  = {masks}
"""
HSN = 'nics = { count = 4, name = "^hsn", rate = "200Gbit/s" }\nplugins = ["ofi"]\nplugins_from = "load the module"'
HCA = 'nics = { count = 1, name = "^mlx5_", rate = "%sGbit/s" }'
NICS = {"vista": HCA % 400, "zurada-gpu1h100": HCA % 200, "zurada-gpu2h100": HCA % 200}
WRAPPER = """#!/bin/sh
test -n "$OMPI_COMM_WORLD_LOCAL_RANK" || exec {agent} "$@"
rank=$OMPI_COMM_WORLD_LOCAL_RANK
set -- {masks}
shift "$rank"
exec taskset "$1" {agent}
"""
TRENTO = [0, 8, 16, 24, 32, 40, 48, 56]
SYSTEMS = {
    "lumi-g": (8, "amd", "^AMD Instinct MI250X", TRENTO),
    "frontier": (8, "amd", "^AMD Instinct MI250X", TRENTO),
    "perlmutter": (4, "nvidia", "^(NVIDIA )?A100-SXM4-(40|80)GB$", []),
    "vista": (1, "nvidia", "^NVIDIA GH200( 120GB)?$", []),
    "zurada-gpu1h100": (1, "nvidia", "^NVIDIA H100 NVL$", []),
    "zurada-gpu2h100": (2, "nvidia", "^NVIDIA H100 NVL$", []),
}
ALL = ["cpu_affinity", "device_visibility", "environment", "gpu_mapping", "network_interfaces", "network_plugin"]
# On a site without NCCL's network plugin.
SKIPPED = {"vista": ["network_plugin"], "zurada-gpu1h100": ["network_plugin"], "zurada-gpu2h100": ["network_plugin"]}
NODE = os.uname().nodename


class OnMachine(unittest.TestCase):
    timeout = "120s"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="muster-machines-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, machine, *options):
        done = subprocess.run([MUSTER, "machine", machine, "--write", "machine", *options], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def bind(self):
        """The profile's masks, and options. A fault has a script below mpirun that binds ranks otherwise: no profile may have such masks."""
        try:
            with open(os.path.join(self.folder, "machine", "machine.json")) as file:
                card = json.load(file)
        except OSError:  # a folder for each node
            return "", []
        if not card["faults"]:
            return BIND.format(masks=json.dumps(card["masks"])), []
        with open(os.path.join(self.folder, "agent"), "w") as script:
            script.write(WRAPPER.format(masks=" ".join(card["masks"]), agent=os.path.abspath(AGENT)))
        os.chmod(script.name, 0o755)
        return "", ["--bind", "none", "--agent", script.name]

    def run_checks(self, system, variables=None, options=(), shipped=None):
        """By a profile made here, or by a `shipped` one (`lumi:standard-g`)."""
        gpus, vendor, name, reserved = SYSTEMS[system]
        masks, binding = self.bind()
        profile = PROFILE.format(gpus=gpus, vendor=vendor, name=name, reserved=reserved, nics=NICS.get(system, HSN), bind=masks)
        for file, text in (("checks.toml", CHECKS), ("site.toml", profile)):
            with open(os.path.join(self.folder, file), "w") as out:
                out.write(text)
        env = {**os.environ, "MUSTER_MACHINE": "machine", "OMPI_MCA_mpi_yield_when_idle": "1", "NO_COLOR": "1",
               "MUSTER_STARTUP_TIMEOUT": "120s", **(variables or {})}
        site = ["--system", shipped, "--launcher", "mpirun"] if shipped else ["site.toml", "--system", "site"]
        command = [MUSTER, "run", "--simulated", "checks.toml", *site, "--timeout", self.timeout]
        command += ["--report", "json=r.json", "--report", "junit=r.xml", *([] if shipped else binding), *options]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=500, env=env)
        self.output = done.stdout + done.stderr
        self.said = " ".join(self.output.split())  # without the line breaks of a console
        self.assertTrue(os.path.exists(os.path.join(self.folder, "r.json")), self.output)
        with open(os.path.join(self.folder, "r.json")) as file:
            self.report = described_labels.check(json.load(file))
        self.cases = {case["check"]: case for case in self.report["cases"]}
        return done.returncode

    def healthy(self, system):
        self.write(system)
        status = self.run_checks(system, options=["-x", "hello"])
        wanted = {name: "skip" if name in SKIPPED.get(system, ()) else "pass" for name in ALL}
        self.assertEqual((status, {name: self.cases[name]["verdict"] for name in ALL}), (0, wanted), self.output)

    def ill(self, system, fault, variables=None):
        """Verdicts that are not pass."""
        self.write(system, "--fault", fault)
        self.assertEqual(self.run_checks(system, variables, ["-x", "hello"]), 1, self.output)
        return sorted(name for name in ALL if self.cases[name]["verdict"] not in ("pass", "skip"))

    def only_cause(self, cause):
        """Whatever else failed is said to follow from it."""
        self.assertNotIn("follows", self.cases[cause], self.output)
        for name in ALL:
            if name != cause and self.cases[name]["verdict"] not in ("pass", "skip"):
                self.assertEqual(self.cases[name].get("follows"), self.cases[cause]["id"], self.output)
                self.assertIn(f"repair {self.cases[cause]['id']} first", self.cases[name]["remedy"])

    def reasons(self, check):
        case = self.cases[check]
        return " | ".join(f["reason"] for f in case.get("findings", []) if f["verdict"] == case["verdict"])

    def culprits(self, check):
        return [culprit["name"] for culprit in self.cases[check]["culprits"]]


def main():
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True) if shutil.which("mpirun") else None
    if version is None or "Open MPI" not in version.stdout:
        print("skipped: there is no mpirun of Open MPI")
        sys.exit(77)
    unittest.main(module="__main__", verbosity=2)
