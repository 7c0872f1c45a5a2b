"""The shipped check gpu_mapping on made-up machines, with good and bad environments, eight ranks on whatever is here."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = os.path.join(os.environ["MUSTER_BUILD"], "bin")
CHECK = os.path.join(os.environ["MUSTER_SOURCE"], "checks", "devices", "gpu_mapping.toml")

H100 = "gpus 8; nics 2; nic 1 numa=1; cpus 0 1"
# Buses and domains of an MI250X node.
MI250X = (
    "gpus 8 MI250X; gpu 0 at=c1 numa=3; gpu 1 at=c6 numa=3; gpu 2 at=c9 numa=1; gpu 3 at=ce numa=1; "
    "gpu 4 at=d1 numa=0; gpu 5 at=d6 numa=0; gpu 6 at=d9 numa=2; gpu 7 at=de numa=2; nics 4 hsn"
)
# The wrapper gives every rank the GPU of its local rank, in each of the variables named before the program.
WRAPPER = """#!/bin/sh
for name in @NAMES@; do export "$name=$OMPI_COMM_WORLD_LOCAL_RANK"; done
exec "$@"
"""
PROFILE = """[system]
name = "made"
[[environment]]
name = "plain"
[[environment]]
name = "wrapped"
wrapper = [{wrapper}]
[[partition]]
name = "gpu"
launcher = "mpirun"
node.gpus = {{ count = 8 }}
"""


class GpuMapping(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="muster-mapping-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def judge(self, machine, variables=(), wrapped=()):
        """Verdict and reason of the one case; `variables` go to all ranks, `wrapped` are set to the local rank."""
        root = os.path.join(self.folder, "root")
        subprocess.run([os.path.join(BIN, "write_machine"), root, machine], check=True)
        wrapper = os.path.join(self.folder, "wrapper")
        with open(wrapper, "w") as file:
            file.write(WRAPPER.replace("@NAMES@", " ".join(wrapped)))
        os.chmod(wrapper, 0o755)
        with open(os.path.join(self.folder, "made.toml"), "w") as file:
            file.write(PROFILE.format(wrapper=json.dumps(wrapper)))
        command = [os.path.join(BIN, "muster"), "run", CHECK, "made.toml", "--system", "made", "--report", "json=r.json"]
        command += ["--environment", "wrapped" if wrapped else "plain", "-S", "gpu_mapping.root=" + root]
        for variable in variables:
            command += ["-J=-x", "-J=" + variable]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)
        with open(os.path.join(self.folder, "r.json")) as file:
            case = json.load(file)["cases"][0]
        findings = [f["reason"] for f in case.get("findings", []) if f["verdict"] == case["verdict"]]
        return done.returncode, case["verdict"], findings or case.get("evidence", [])

    def test_every_rank_takes_the_gpu_of_its_local_rank(self):
        status, verdict, evidence = self.judge(H100)
        self.assertEqual((status, verdict), (0, "pass"), evidence)
        self.assertEqual(evidence[0], "8 ranks on 1 node use 8 GPUs, each its own")

    def test_all_ranks_on_gpu_0(self):
        status, verdict, reasons = self.judge(H100, ["CUDA_VISIBLE_DEVICES=0"])
        self.assertEqual((status, verdict, len(reasons)), (1, "fail", 1), reasons)
        self.assertIn("use the same GPU 0000:1b:00.0: CUDA_VISIBLE_DEVICES=0 leaves them no other", reasons[0])

    def test_an_ordinal_beyond_the_last_ends_the_list(self):
        status, verdict, reasons = self.judge(H100, ["CUDA_VISIBLE_DEVICES=0,1,2,3,9,4,5,6"])
        self.assertEqual((status, verdict, len(reasons)), (1, "fail", 1), reasons)
        self.assertIn('"9" is beyond the 8 GPUs (0 to 7), so the list ends after 4 of its entries', reasons[0])

    def test_rocr_alone_is_right(self):
        status, verdict, evidence = self.judge(MI250X, wrapped=["ROCR_VISIBLE_DEVICES"])
        self.assertEqual((status, verdict), (0, "pass"), evidence)

    def test_hip_counts_within_what_rocr_leaves(self):
        status, verdict, reasons = self.judge(MI250X, wrapped=["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"])
        self.assertEqual((status, verdict, len(reasons)), (1, "fail", 1), reasons)
        self.assertIn('HIP_VISIBLE_DEVICES="1" counts within the one GPU (0)', reasons[0])


if __name__ == "__main__":
    # Other launchers name the local rank otherwise.
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True) if shutil.which("mpirun") else None
    if version is None or "Open MPI" not in version.stdout:
        print("skipped: there is no mpirun of Open MPI")
        sys.exit(77)
    unittest.main(verbosity=2)
