"""Runs checks on described machines whose GPUs are played by stand-ins of the vendors' libraries. Shared, not a test."""
import json
import os
import subprocess

import described_labels
import on_machine

DRIVERS = os.path.join(os.environ.get("MUSTER_STAND_INS", os.environ["MUSTER_BUILD"]), "drivers")
LIBRARIES = os.path.join(os.environ["MUSTER_BUILD"], "libraries")
GPUS = [f"0000:{bus:02x}:00.0" for bus in (0x1b, 0x2b, 0x3b, 0x4b, 0x9b, 0xab, 0xbb, 0xdb)]
VENDORS = {
    "nvidia": ("NVIDIA H100 80GB HBM3", "10de:2330", "570.86"),
    "amd": ("AMD Instinct MI300X", "1002:74a1", "6.10.5"),
}
MACHINE = """[machine]
name      = "{name}"
synthetic = true
sources   = ["made up"]
[cpu]
cores  = 16
smt    = 1
caches = {{ count = 2, size = "32MiB" }}
[[domain]]
cpus   = "0-7"
memory = "64GiB"
[[domain]]
cpus   = "8-15"
memory = "64GiB"
[gpus]
vendor  = "{vendor}"
model   = "{model}"
id      = "{id}"
memory  = "80GiB"
driver_version = "{driver}"
devices = [{devices}]
[ranks]
masks = [{masks}]
"""


def description(name, count=8, vendor="nvidia", faults=None, more="", ranks=None):
    """A machine file: GPUs on two domains, two cores for each rank, and `faults`, lines of `driver` by name."""
    model, id_, driver = VENDORS[vendor]
    devices = ", ".join(f'{{ address = "{address}", domain = {0 if i < 4 else 1} }}' for i, address in enumerate(GPUS[:count]))
    masks = ", ".join(f'"{3 << 2 * i:x}"' for i in range(ranks or count))
    text = MACHINE.format(name=name, vendor=vendor, model=model, id=id_, driver=driver, devices=devices, masks=masks) + more
    for fault, lines in (faults or {}).items():
        lines = [lines] if isinstance(lines, str) else lines
        text += f'[fault.{fault}]\nsummary = "{fault}"\ndriver = {json.dumps(lines)}\n'
    return text


class OnGpus(on_machine.OnMachine):
    CHECKS = ""  # the check file
    FAULTS = {}  # lines of `driver` by name
    MORE = ""    # further tables of the machine file
    RANKS = None  # that the machine has places for; None: one for each GPU

    def describe(self, *faults, count=8, vendor="nvidia"):
        """Writes the machine with those faults."""
        name = f"{vendor}{count}"
        machines = os.path.join(self.folder, "machines")
        os.makedirs(machines, exist_ok=True)
        with open(os.path.join(machines, name + ".toml"), "w") as out:
            # Only those: others may be about GPUs that a smaller machine has not.
            out.write(description(name, count, vendor, {fault: self.FAULTS[fault] for fault in faults}, self.MORE, self.RANKS))
        os.environ["MUSTER_MACHINES"] = machines
        try:
            self.write(name, *[word for fault in faults for word in ("--fault", fault)])
        finally:
            del os.environ["MUSTER_MACHINES"]  # a run knows those of the systems

    def check(self, *options, drivers=DRIVERS, **variables):
        """Runs CHECKS on what was described; the exit status."""
        with open(os.path.join(self.folder, "gpu.toml"), "w") as out:
            out.write(self.CHECKS)
        env = {**os.environ, "MUSTER_MACHINE": "machine", "MUSTER_DRIVERS": drivers, "OMPI_MCA_mpi_yield_when_idle": "1",
               "NO_COLOR": "1", "MUSTER_STARTUP_TIMEOUT": "120s", **variables}
        if drivers is None:
            del env["MUSTER_DRIVERS"]
        report = os.path.join(self.folder, "r.json")
        command = [on_machine.MUSTER, "run", "--simulated", "gpu.toml", "--report", "json=r.json", *options]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=400, env=env)
        self.output = done.stdout + done.stderr
        self.said = " ".join(self.output.split())  # without the line breaks of a console
        self.assertTrue(os.path.exists(report), self.output)
        with open(report) as file:
            self.report = described_labels.check(json.load(file))
        self.cases = {case["check"]: case for case in self.report["cases"]}
        return done.returncode

    def verdicts(self):
        return {name: case["verdict"] for name, case in self.cases.items()}

    def evidence(self, check):
        return " | ".join(self.cases[check].get("evidence", []))

    def uuid(self, index):
        with open(os.path.join(self.folder, "machine", "drivers.json")) as file:
            return json.load(file)["devices"][index]["uuid"]

    def drivers_without(self, *names):
        """A folder with all stand-ins but those."""
        return self.drivers_of(**{name: os.path.join(DRIVERS, name) for name in os.listdir(DRIVERS) if name not in names})

    def drivers_of(self, **files):
        """A folder with those alone."""
        folder = os.path.join(self.folder, "drivers")
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        for name, source in files.items():
            os.symlink(source, os.path.join(folder, name))
        return folder


def main():
    if not os.path.exists(os.path.join(DRIVERS, "libcuda.so.1")):
        print("skipped: there are no stand-ins of drivers")
        raise SystemExit(77)
    on_machine.main()
