"""Two virtual nodes of eight simulated GPUs each, whose runtime executes on the host. Shared, not a test."""
import json
import pathlib
import subprocess

import support
from on_nodes import OnSharedNodes
from support import Run

NODES = ("nid001", "nid002")
GPUS = 8
MACHINES = pathlib.Path(__file__).resolve().parent.parent.parent / "simulation/machines"


class TwoNodesOfEight(OnSharedNodes):
    NODES = NODES
    MACHINE = "lumi-g"

    def check(self, checks, *options, wait=400, driver=(), **variables):
        """Runs check files' text with a rank for each GPU, to its end; `driver`: lines of how its libraries misbehave."""
        folder = support.new_folder()
        run = Run(checks, "--simulated", "--nodes", ",".join(NODES), "--ranks-per-node", str(GPUS), "--launcher", "mpirun", *options,
                  folder=folder, wrapper=self.cluster.argv_on_login([]),
                  env={**self.cluster.environment(), "MUSTER_MACHINE": str(folder / "machine"),
                       "MUSTER_STARTUP_TIMEOUT": "120", "MUSTER_DRIVERS": str(support.STAND_INS),
                       **variables})
        self.addCleanup(run.clean)
        source = MACHINES / f"{self.MACHINE}.toml"
        if driver:
            text = source.read_text() + f'[fault.driver]\nsummary = "its driver"\ndriver = {json.dumps(driver)}\n'
            source = folder / source.name
            source.write_text(text)
        faults = ["--fault", "driver"] if driver else []
        subprocess.run([support.DRIVER, "machine", source, "--write", folder / "machine", "--nodes", ",".join(NODES), *faults],
                       check=True, stdout=subprocess.DEVNULL)
        run.start()
        run.wait(wait)
        return run

    def passes(self, checks, *options, **more):
        """As check(), and every case passes."""
        run = self.check(checks, *options, **more)
        verdicts = {case["check"]: case["verdict"] for case in run.report()["cases"]}
        self.assertEqual((run.status, set(verdicts.values())), (0, {"pass"}), f"{verdicts}\n{run.story()}")
        return run
