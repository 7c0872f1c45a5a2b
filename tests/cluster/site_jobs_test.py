"""From the launcher's line to the verdict: each of the five systems, simulated, two nodes, started by the batch script of its
page through the real Slurm. Ranks have the masks that slurmstepd (for ibrun: mpirun and muster-rank) set for them."""
import os
import pathlib
import shlex
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import slurm_services  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from on_site import site  # noqa: E402

PATIENCE_S = 300
# By local rank, as the pages publish them (LUMI user guide, NERSC's mask table, OLCF: -c7 on L3 i), else all cores that -c gives.
MASKS = {
    "lumi": ["49-55", "57-63", "17-23", "25-31", "1-7", "9-15", "33-39", "41-47"],
    "frontier": ["1-7", "9-15", "17-23", "25-31", "33-39", "41-47", "49-55", "57-63"],
    "perlmutter": ["48-63,112-127", "32-47,96-111", "16-31,80-95", "0-15,64-79"],
    "vista": ["0-71"],
    "zurada": ["0-15", "16-31"],
    "generic": ["0-13", "14-27", "28-41", "42-55", "56-69", "70-83", "84-97", "98-111"],
}
GPUS = {"lumi": [0, 1, 2, 3, 4, 5, 6, 7], "frontier": [4, 5, 2, 3, 6, 7, 0, 1], "perlmutter": [0, 1, 2, 3], "vista": [0], "zurada": [0, 1],
        "generic": [0, 1, 2, 3, 4, 5, 6, 7]}
# No network plugin of NCCL is published for these.
WITHOUT_PLUGIN = ("vista", "zurada", "generic")
# Where each rank sees its GPU alone, by the wrapper of an environment or by --gpu-bind.
SELECTED = ("lumi", "frontier", "perlmutter")
# Masks for srun on LUMI; what cpu_affinity says of them.
BAD_MASKS = [
    ("F01 all ranks on one core", ",".join(["0x2"] * 8), "share CPU 1"),
    ("F18 in the order of the cores", "0xfe,0xfe00,0xfe0000,0xfe000000,0xfe00000000,0xfe0000000000,0xfe000000000000,0xfe00000000000000",
     "far from its GPU"),
    ("F20 with the first core of each L3", "0xff000000000000,0xff00000000000000,0xff0000,0xff000000,0xff,0xff00,0xff00000000,0xff0000000000",
     "reserved for the system"),
    ("F22 over two NUMA domains", "0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0x1e0000001e,0xfe00,0xe000000000,0xfe0000000000",
     "spans NUMA domains 0,2"),
]
EVERYWHERE = {"allreduce", "cpu_affinity", "device_visibility", "environment", "gpu_copy", "gpu_mapping", "hello", "memory_bandwidth",
              "network_interfaces", "p2p", "training"}


class SiteJob(support.EndToEnd):
    SYSTEM = ""

    @classmethod
    def setUpClass(cls):
        cls.context = site(cls.SYSTEM)
        cls.site = cls.context.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def run_job(self, *options, **more):
        run = self.site.job(*options, **more)
        self.addCleanup(run.clean)
        run.start()
        run.wait(PATIENCE_S)
        self.said = run.said.read_text() if run.said.exists() else f"nothing\n{slurm_services.last_words(self.site.cluster)}"
        return run

    def healthy(self):
        run = self.run_job()
        self.assertTrue(run.report_path().exists(), self.said + run.story())
        cases = {case["check"]: case for case in run.report()["cases"]}
        not_passed = {name: (case["verdict"], case["reason"]) for name, case in cases.items() if case["verdict"] != "pass"}
        if self.SYSTEM in WITHOUT_PLUGIN:
            self.assertEqual(not_passed.pop("network_plugin")[0], "skip", self.said)
        self.assertEqual((run.status, not_passed), (0, {}), self.said)
        self.assertLessEqual(EVERYWHERE, set(cases))
        self.assertEqual(run.report()["simulated"], self.site.system.machine)
        self.assertEqual(self.facts(cases["cpu_affinity"], "mask"), MASKS[self.SYSTEM] * 2, self.said)
        self.assertEqual(self.facts(cases["gpu_mapping"], "device.address"), self.published_gpus(), self.said)
        if self.SYSTEM in SELECTED:
            self.assertEqual(self.facts(cases["cpu_affinity"], "gpu"), self.published_gpus(), self.said)
        if os.environ.get("MUSTER_TEST_TIMES"):
            print(self.SYSTEM, round(run.seconds, 1), {name: round(case["seconds"], 1) for name, case in cases.items()})
        return run, cases

    def facts(self, case, key):
        return [row["facts"].get(key) for row in sorted(case["rank_rows"], key=lambda row: row["rank"])]

    def published_gpus(self):
        """Of all ranks."""
        devices = self.site.gpus()
        return [devices[gpu] for gpu in GPUS[self.SYSTEM]] * 2

    def binding(self, run):
        return {node["facts"].get("binding") for node in run.report()["nodes"]}


    def run_line(self, line, check="cpu_affinity"):
        """The user's own line below the page's batch script."""
        run = self.run_job("-n", f"^{check}$", command=f"muster run --launch {shlex.quote(line)}")
        case = run.case(check)
        self.words = " ".join([case["reason"], *case["notes"], *(finding["reason"] for finding in case["findings"])])
        return run, case


# As LUMI's guide prints it, on two nodes.
LUMI_MASKS = ["0xfe000000000000", "0xfe00000000000000", "0xfe0000", "0xfe000000", "0xfe", "0xfe00", "0xfe00000000", "0xfe0000000000"]
LUMI_LINE = "srun --nodes=2 --ntasks-per-node=8 --cpu-bind=mask_cpu:"


class Lumi(SiteJob):
    SYSTEM = "lumi"

    def test_the_line_of_the_guide(self):
        run, case = self.run_line(LUMI_LINE + ",".join(LUMI_MASKS))
        self.assertEqual((run.status, case["verdict"]), (0, "pass"), self.said)
        self.assertEqual(self.facts(case, "mask"), MASKS["lumi"] * 2, self.said)
        self.assertEqual(self.binding(run), {"the user's launch line"})
        self.assertNotIn("otherwise than muster bind", self.words)

    def test_the_line_with_masks_shifted_by_one(self):
        run, case = self.run_line(LUMI_LINE + ",".join(LUMI_MASKS[1:] + LUMI_MASKS[:1]))
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertIn("far from its GPU", self.words, self.said)
        self.assertIn("rank 0 on CPUs 57-63 (muster bind: 49-55)", self.words, self.said)

    def test_the_line_with_masks_and_cores_per_task(self):
        run, case = self.run_line(LUMI_LINE + ",".join(LUMI_MASKS) + " -c 7")
        self.assertEqual((run.status, case["verdict"]), (2, "error"), self.said)
        self.assertIn("Slurm refuses the masks of the line", self.words, self.said)
        self.assertIn("a mask list or -c, never both", self.said)

    def test_the_line_with_a_gpu_for_each_task(self):
        """F16: Slurm itself leaves each task one GPU."""
        run, case = self.run_line(LUMI_LINE + ",".join(LUMI_MASKS) + " --gpus-per-task=1", check="gpu_mapping")
        self.assertEqual((run.status, case["verdict"]), (0, "pass"), self.said)
        self.assertEqual(len(set(self.facts(case, "device.address")[:8])), 8, self.said)

    def test_torchrun_in_each_of_two_tasks(self):
        run, case = self.run_line("srun --nodes=2 --ntasks=4 --ntasks-per-node=2 torchrun --nproc-per-node=8 train.py", check="environment")
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertIn("2 times on each node", self.words, self.said)

    def test_torchrun_in_the_batch_script(self):
        """F02: the line is that of a script, in a job of the same shape."""
        script = self.site.cluster.folder / "train.sh"
        script.write_text("#!/bin/bash\nmodule load pytorch\nsrun --nodes=2 --ntasks=4 --ntasks-per-node=2 \\\n"
                          "  singularity exec $SIF_OF_MINE bash -c 'torchrun --nproc-per-node=8 train.py'\n")
        run = self.run_job("-n", "^environment$", command=f"SIF_OF_MINE=image.sif muster run --launch @{script}")
        case = run.case("environment")
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertIn("2 times on each node", " ".join(finding["reason"] for finding in case["findings"]), self.said)
        self.assertIn(f"{script}:3: the launch line up to its program", self.said)

    def test_the_line_starts_no_agent(self):
        for program in ("true", "ls /no/such/folder"):
            run, case = self.run_line(f"srun --nodes=2 --ntasks-per-node=8 {program}")
            self.assertEqual((run.status, case["verdict"]), (2, "error"), self.said)
            self.assertRegex(case["remedy"], "end(s)? +(the line )?before the program", self.said)

    def test_the_line_starts_ranks_unevenly(self):
        run = self.run_job(command="muster run --launch 'srun --nodes=2 --ntasks=3'")
        self.assertEqual(run.status, 3, self.said)
        self.assertIn("the line starts different numbers of ranks: 2 on nid001 and 1 on nid002", self.said)

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile lumi, by the launcher"})

    def test_without_binding(self):
        run = self.run_job("--bind", "none", "-n", "^cpu_affinity$")
        self.assertEqual(run.status, 1, self.said)
        case = run.case("cpu_affinity")
        self.assertEqual(case["verdict"], "fail", self.said)
        self.assertIn("srun", case["remedy"])

    def gate(self, *options):
        run = self.run_job(*options, command="muster gate --need 2 -- srun --nodes=2 --ntasks=2 hostname")
        self.assertEqual((run.status, sorted(self.said.splitlines()[-2:])), (0, ["nid001", "nid002"]), self.said)
        self.assertIn("2 nodes good: nid[001-002]", self.said)
        self.assertEqual(run.report()["simulated"], "lumi-g")
        return run

    def test_lines_of_known_failures(self):
        """docs/failures.md, each by the line that has it so."""
        for row, masks, said in BAD_MASKS:
            with self.subTest(row):
                run = self.run_job("-n", "^cpu_affinity$", "-S", "cpu_affinity.numa=one", f"-J=--cpu-bind=mask_cpu:{masks}")
                case = run.case("cpu_affinity")
                self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
                words = " ".join([case["reason"], *(finding["reason"] for finding in case["findings"])])
                self.assertIn(said, words, self.said)
                self.assertIn("srun --cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,", case["remedy"], self.said)

    def test_gate(self):
        self.gate()

    def test_gate_in_a_container(self):
        run = self.gate("--environment", "container", "-J", "image=image.sif")
        self.assertIn("singularity", run.report()["launches"][0]["argv"])


class Frontier(SiteJob):
    SYSTEM = "frontier"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile frontier, by the launcher"})

    def test_without_binding(self):
        run = self.run_job("--bind", "none", "-n", "^cpu_affinity$")
        self.assertEqual(run.status, 1, self.said)
        self.assertEqual(run.case("cpu_affinity")["verdict"], "fail", self.said)
        self.assertIn("srun", run.case("cpu_affinity")["remedy"])


    def test_the_line_without_cores_per_task(self):
        """OLCF's line without -c7: each rank on one core, seven of eight idle."""
        run, case = self.run_line("srun --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 --gpu-bind=closest")
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)


class Perlmutter(SiteJob):
    SYSTEM = "perlmutter"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile perlmutter, by the launcher"})


    def test_the_sites_simple_line(self):
        """F19, -c 32 --cpu-bind=cores: far from every GPU, and only noted."""
        run = self.run_job("-n", "^cpu_affinity$", "-J=--cpus-per-task=32", "-J=--cpu-bind=cores")
        case = run.case("cpu_affinity")
        self.assertEqual((run.status, case["verdict"]), (0, "pass"), self.said)
        self.assertEqual(self.facts(case, "mask")[:4], ["0-15,64-79", "16-31,80-95", "32-47,96-111", "48-63,112-127"], self.said)
        self.assertIn("far from its GPU", " ".join(case["notes"]), self.said)


class Vista(SiteJob):
    SYSTEM = "vista"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile vista, by the agent"})


class Zurada(SiteJob):
    SYSTEM = "zurada"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile zurada, by the launcher"})


class Generic(SiteJob):
    """A node with 8 GPUs and no profile: bound by `auto`."""
    SYSTEM = "generic"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"auto, by the launcher"})


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("mpirun", "srun"))
