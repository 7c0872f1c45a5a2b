"""From the launcher's line to the verdict: each of the five systems, simulated, two nodes, started by the batch script of its
page through the real Slurm. Ranks have the masks that slurmstepd (for ibrun: mpirun and muster-rank) set for them."""
import os
import pathlib
import re
import shlex
import shutil
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
# In the order of the cores, one hardware thread of each, without those that are reserved.
IN_ORDER = ["1-7", "9-15", "17-23", "25-31", "33-39", "41-47", "49-55", "57-63"]
# Masks for srun on LUMI, with options of the job and a line before muster; what cpu_affinity says of them.
WITH_RESERVED = "0xff000000000000,0xff00000000000000,0xff0000,0xff000000,0xff,0xff00,0xff00000000,0xff0000000000"
BAD_MASKS = [
    ("F01 all ranks on one core", ",".join(["0x2"] * 8), (), "", "share CPU 1"),
    ("F18 in the order of the cores", "0xfe,0xfe00,0xfe0000,0xfe000000,0xfe00000000,0xfe0000000000,0xfe000000000000,0xfe00000000000000",
     (), "", "far from its GPU"),
    ("F20 with the first core of each L3", WITH_RESERVED, ["--core-spec=0 --cpus-per-task=16"], "", "reserved for the system"),
    ("F22 over two NUMA domains", "0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0x1e0000001e,0xfe00,0xe000000000,0xfe0000000000",
     (), "export MPICH_OFI_NIC_POLICY=NUMA", "spans NUMA domains 0,2"),
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
        return self.finish(self.site.job(*options, **more))

    def finish(self, run):
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
        self.words = self.words_of(case)
        return run, case

    def words_of(self, case):
        return " ".join([case["reason"], *case["notes"], *(finding["reason"] for finding in case["findings"])])

    def without_binding(self):
        run = self.run_job("--bind", "none", "-n", "^cpu_affinity$")
        case = run.case("cpu_affinity")
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertTrue(case["remedy"].startswith("remove --bind none, or "), case["remedy"])
        self.assertIn("srun --cpu-bind=mask_cpu:", case["remedy"])
        self.assertEqual(self.binding(run), {"none (--bind none)"})

    def bound_to_cores(self):
        """GPUs are left out: --bind cores gives each rank its share in the order of the cores, wherever the GPUs are."""
        run = self.run_job("--bind", "cores", "-n", "^cpu_affinity$", "-S", "cpu_affinity.devices=any")
        case = run.case("cpu_affinity")
        self.assertEqual((run.status, case["verdict"]), (0, "pass"), self.said)
        self.assertEqual(self.facts(case, "mask"), IN_ORDER * 2, self.said)
        self.assertEqual(self.binding(run), {"cores, by the launcher (--bind cores)"})


# As LUMI's guide prints it, on two nodes.
LUMI_MASKS = ["0xfe000000000000", "0xfe00000000000000", "0xfe0000", "0xfe000000", "0xfe", "0xfe00", "0xfe00000000", "0xfe0000000000"]
LUMI_LINE = "srun --nodes=2 --ntasks-per-node=8 --cpu-bind=mask_cpu:"


class Lumi(SiteJob):
    SYSTEM = "lumi"

    def test_the_line_of_the_guide(self):
        run, case = self.run_line(LUMI_LINE + ",".join(LUMI_MASKS) + " singularity exec -B /scratch image.sif")
        self.assertEqual((run.status, case["verdict"]), (0, "pass"), self.said)
        self.assertIn("singularity", run.report()["launches"][0]["argv"])
        self.assertEqual(self.facts(case, "mask"), MASKS["lumi"] * 2, self.said)
        self.assertEqual(self.binding(run), {"the user's launch line"})
        self.assertNotIn("otherwise than muster bind", self.words)

    def test_the_line_with_masks_shifted_by_one(self):
        run, case = self.run_line(LUMI_LINE + ",".join(LUMI_MASKS[1:] + LUMI_MASKS[:1]))
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertIn("far from its GPU", self.words, self.said)
        self.assertIn("rank 0 on CPUs 57-63 (muster bind: 49-55)", self.words, self.said)
        self.assertRegex(self.words, r"; cost: \d ranks far from their GPU: ", self.said)

    def test_gate_with_masks_shifted_by_one(self):
        line = LUMI_LINE + ",".join(LUMI_MASKS[1:] + LUMI_MASKS[:1])
        run = self.run_job(command=f"muster gate --need 1 --launch {shlex.quote(line)} -x '^(p2p|memory|gpu_copy|network)' --print hosts")
        self.assertEqual(run.status, 125, self.said)
        self.assertEqual(self.said.count("far from its GPU 0000:c1:00.0"), 1, "once for all nodes")
        self.assertIn("all 2 nodes: not known to be good: cpu_affinity: on nid001 rank 0 runs on CPUs 57-63", self.said)
        self.assertIn("no node is at fault", self.said)

    def test_the_line_without_masks(self):
        """What it costs, counted on masks of slurmstepd."""
        run, case = self.run_line("srun --nodes=2 --ntasks-per-node=8 --cpu-bind=none")
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertIn("the launch line binds 8 of 8 ranks otherwise than muster bind would: rank 0 on CPUs ", self.words, self.said)
        self.assertIn("; cost: 8 ranks not confined to the NUMA domain of their GPU: 0, 1, 2, 3, 4, 5, 6 and 7; ", self.words, self.said)
        self.assertRegex(self.words, r"; 8 ranks share \d+ cores; likewise on nid002", self.said)

    def test_tasks_that_do_not_start_one_agent_each(self):
        """The others wait in MPI_Init for the task, which slurmstepd counts as one of the step."""
        wrapper = self.site.cluster.folder / "wrapper"
        for act, words in (("exec sleep 600", "4 tasks, 3 of which started muster's agent: not task 1"),
                           ('"$@"', "4 tasks, and 5 agents: task 1 started several")):
            with self.subTest(act):
                wrapper.write_text(f'#!/bin/sh\n[ "$SLURM_PROCID" = 1 ] && {act}\nexec "$@"\n')
                wrapper.chmod(0o755)
                run = self.run_job("-n", "^cpu_affinity$", command="MUSTER_STARTUP_TIMEOUT=10 muster run --launch "
                                   f"'srun --nodes=2 --ntasks=4 --ntasks-per-node=2 {wrapper}'")
                case = run.case("cpu_affinity")
                self.assertEqual((run.status, case["verdict"]), (2, "error"), self.said)
                self.assertIn("the line starts " + words, self.words_of(case), self.said)
                self.assertEqual([culprit["name"] for culprit in case["culprits"]], ["the launch line"], self.said)

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
        run, case = self.run_line("srun --nodes=2 --ntasks=4 --ntasks-per-node=2 torchrun --nproc-per-node=8 train.py", check="gpu_mapping")
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertIn("2 torchruns on one node share 8 GPUs", self.words, self.said)

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
        self.without_binding()

    def test_bound_to_cores(self):
        self.bound_to_cores()

    def test_a_job_on_a_part_of_the_node(self):
        """Slurm refuses the masks; the remedy that is printed helps."""
        part = ["--partition=standard", "--ntasks-per-node=8", "--cpus-per-task=8"]
        run = self.run_job("-n", "^cpu_affinity$", asks=part)
        case = run.case("cpu_affinity")
        self.assertEqual((run.status, case["verdict"]), (2, "error"), self.said)
        self.assertIn("request whole nodes (sbatch or salloc --exclusive)", case["remedy"])
        self.assertNotIn("--bind cores", case["remedy"], "where ranks would be far from their GPUs")
        run = self.run_job("-n", "^cpu_affinity$", asks=[*part, "--exclusive"])
        self.assertEqual((run.status, run.case("cpu_affinity")["verdict"]), (0, "pass"), self.said)

    def test_masks_with_reserved_cores(self):
        """F20 where the job leaves these cores to the system: Slurm refuses them."""
        run, case = self.run_line(LUMI_LINE + WITH_RESERVED)
        self.assertEqual((run.status, case["verdict"]), (2, "error"), self.said)
        self.assertIn("Slurm refuses the masks of the line", self.words, self.said)

    def gate(self, *options):
        run = self.run_job(*options, command="muster gate --need 2 -- srun --nodes=2 --ntasks=2 hostname")
        self.assertEqual((run.status, sorted(self.said.splitlines()[-2:])), (0, ["nid001", "nid002"]), self.said)
        self.assertIn("2 nodes good: nid[001-002]", self.said)
        self.assertEqual(run.report()["simulated"], "lumi-g")
        return run

    def test_lines_of_known_failures(self):
        """docs/failures.md, each by the line that has it so."""
        for row, masks, directives, before, said in BAD_MASKS:
            with self.subTest(row):
                run = self.run_job("-n", "^cpu_affinity$", f"-J=--cpu-bind=mask_cpu:{masks}", command=f"{before}\nmuster run",
                                   directives=directives)
                case = run.case("cpu_affinity")
                self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
                self.assertIn(said, self.words_of(case), self.said)
                self.assertTrue(case["remedy"].startswith("change the options given to the launcher (-J"), case["remedy"])
                self.assertIn("srun --cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,", case["remedy"], self.said)

    def test_two_variables_that_select_gpus(self):
        """F17: HIP counts within what ROCR leaves."""
        both = "bash -c 'ROCR_VISIBLE_DEVICES=$SLURM_LOCALID HIP_VISIBLE_DEVICES=$SLURM_LOCALID exec \"$0\" \"$@\"'"
        run, case = self.run_line(f"{LUMI_LINE}{','.join(LUMI_MASKS)} {both}", check="gpu_mapping")
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertIn("ROCR_VISIBLE_DEVICES", self.words, self.said)

    def test_a_gpu_for_each_task_and_local_rank_for_its_number(self):
        """F28."""
        number = "bash -c 'LOCAL_RANK=$SLURM_LOCALID exec \"$0\" \"$@\"'"
        run, case = self.run_line(f"{LUMI_LINE}{','.join(LUMI_MASKS)} --gpus-per-task=1 {number}", check="gpu_mapping")
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertIn("LOCAL_RANK", self.words, self.said)

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
        self.without_binding()

    def test_bound_to_cores(self):
        self.bound_to_cores()

    def test_gpu_bind_of_a_step_of_one_task(self):
        """F21: Slurm leaves that task all GPUs, whatever --gpu-bind requests."""
        run, case = self.run_line("srun --nodes=1 --ntasks=1 --gpus-per-node=8 --gpu-bind=map_gpu:4", check="environment")
        self.assertEqual((run.status, case["verdict"]), (0, "pass"), self.said)
        self.assertIn('--gpu-bind="map_gpu:4" has no effect on a step of one task: the task has ROCR_VISIBLE_DEVICES=0,1,2,3,4,5,6,7',
                      self.words, self.said)

    def test_the_line_without_cores_per_task(self):
        """OLCF's line without -c7: each rank on one core, seven of eight idle. This Slurm has other defaults, so OLCF's stand in it."""
        defaults = "--cpu-bind=threads --threads-per-core=1"
        run, case = self.run_line(f"srun --nodes=2 --ntasks-per-node=8 {defaults} --gpus-per-node=8 --gpu-bind=closest")
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertEqual({len(re.split("[,-]", mask)) for mask in self.facts(case, "mask")}, {1}, self.said)
        self.assertIn("48 of the 56 cores that muster bind assigns are idle", self.words, self.said)
        self.assertIn("gives 8 ranks less than half of the cores of profile frontier", self.words, self.said)


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
        self.assertIn("far from its GPU", " ".join(self.said.split()), "on the console, too")

    def test_in_a_container(self):
        """--environment shifter, as the page has it for a job that requested an image."""
        image = ["--image=nersc/pytorch:ngc-23.07-v0", "--module=gpu,nccl-2.18"]
        run = self.run_job(command="muster run --environment shifter", directives=image)
        verdicts = {case["check"]: case["verdict"] for case in run.report()["cases"]}
        self.assertEqual((run.status, set(verdicts.values())), (0, {"pass"}), self.said)
        self.assertIn("shifter", run.report()["launches"][0]["argv"])
        self.assertEqual(self.facts(run.case("cpu_affinity"), "mask"), MASKS["perlmutter"] * 2, self.said)
        self.assertEqual(self.facts(run.case("cpu_affinity"), "gpu"), self.published_gpus(), self.said)

    def test_submitted_into_a_container(self):
        """The page's own line, for another check."""
        line = self.site.page_line("muster run --submit", "--environment shifter")
        run = self.finish(self.site.on_login(line.replace("-t pytorch", "-n '^cpu_affinity$'")))
        self.assertEqual((run.status, run.case("cpu_affinity")["verdict"]), (0, "pass"), self.said)
        self.assertEqual(self.facts(run.case("cpu_affinity"), "mask"), MASKS["perlmutter"] * 2, self.said)
        self.assertIn("shifter", run.report()["launches"][0]["argv"])

    def test_in_a_container_of_a_job_without_an_image(self):
        run = self.run_job("-n", "^hello$", command="muster run --environment shifter")
        self.assertEqual((run.status, run.case("hello")["verdict"]), (2, "error"), self.said)
        self.assertIn("no image was specified", run.case("hello")["reason"])


class Vista(SiteJob):
    SYSTEM = "vista"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile vista, by the agent"})

    def test_submitted_from_the_login_node(self):
        """The page's own line, for another check: one task for each node, and not one for each core."""
        line = self.site.page_line("muster run --submit", "account=PROJECT")
        run = self.finish(self.site.on_login(line.replace("muster run", "muster run -n '^cpu_affinity$'").partition("#")[0]))
        self.assertEqual((run.status, run.case("cpu_affinity")["verdict"]), (0, "pass"), self.said)
        self.assertEqual(self.facts(run.case("cpu_affinity"), "mask"), MASKS["vista"] * 2, self.said)
        launch = run.report()["launches"][0]
        self.assertEqual((os.path.basename(launch["argv"][0]), launch["ranks"]), ("ibrun", 2), self.said)

    def test_one_node_of_the_job(self):
        """ibrun takes no names of nodes: it starts at the slot of the first one."""
        for slot, node in enumerate(self.site.cluster.names[:2]):
            with self.subTest(node):
                run = self.run_job("-n", "^hello$", "--nodes", node)
                self.assertEqual((run.status, run.case("hello")["verdict"]), (0, "pass"), self.said)
                launch = run.report()["launches"][0]
                self.assertEqual((launch["nodes"], launch["argv"][launch["argv"].index("-o") + 1]), ([node], str(slot)), self.said)
                self.assertEqual([row["node"] for row in run.case("hello")["rank_rows"]], [node], self.said)

    def test_the_users_line(self):
        """ibrun, alone and with a wrapper; what starts it decides on ranks and CPUs."""
        for line in ("ibrun", "ibrun -n 2 -o 0 singularity exec -B /scratch image.sif", "ibrun python3 train.py"):
            with self.subTest(line):
                run, case = self.run_line(line, check="environment")
                self.assertEqual((run.status, case["verdict"]), (0, "pass"), self.said)
                self.assertEqual(self.binding(run), {"the user's launch line"})
                self.assertEqual([(len(launch["nodes"]), launch["ranks"]) for launch in run.report()["launches"]], [(2, 2)], self.said)


class Zurada(SiteJob):
    SYSTEM = "zurada"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"profile zurada, by the launcher"})

    def test_two_ranks_for_each_gpu(self):
        """F02, F03, F31: a line that starts twice the ranks, two for each GPU."""
        run, case = self.run_line("srun --nodes=2 --ntasks=8 --ntasks-per-node=4 -c 8 --gpus-per-node=2", check="gpu_mapping")
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertIn("4 ranks", self.words, self.said)


class Generic(SiteJob):
    """A node with 8 GPUs and no profile: bound by `auto`."""
    SYSTEM = "generic"

    def test_healthy(self):
        run, _ = self.healthy()
        self.assertEqual(self.binding(run), {"auto, by the launcher"})

    def test_from_the_login_node(self):
        """salloc leaves the shell there, where no GPU is: a node of the job is asked for its own."""
        log = self.site.cluster.folder / "sruns"
        self.site.tool("srun", f'#!/bin/sh\necho "$*" >> {log}\nexec {shutil.which("srun")} "$@"\n')
        self.addCleanup((self.site.tools / "srun").unlink)
        run = self.finish(self.site.on_login("salloc --quiet --nodes=2 --exclusive --gpus-per-node=8 muster run -n '^cpu_affinity$'"))
        case = run.case("cpu_affinity")
        self.assertEqual((run.status, case["verdict"]), (0, "pass"), self.said)
        self.assertEqual(self.facts(case, "mask"), MASKS["generic"] * 2, self.said)
        self.assertEqual(self.binding(run), {"auto, by the launcher"})
        self.assertEqual(len([line for line in log.read_text().splitlines() if " node parts --machine=" in line]), 1, log.read_text())

    def test_ranks_far_from_their_gpus(self):
        """Judged by what the node has: there is no profile."""
        masks = [hex(sum(1 << cpu for cpu in range(14 * i, 14 * i + 14))) for i in reversed(range(8))]
        line = f"srun --nodes=2 --ntasks-per-node=8 --cpu-bind=mask_cpu:{','.join(masks)}"
        run, case = self.run_line(line)
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertIn("rank 0 runs on CPUs 98-111, NUMA domain 1, far from its GPU", self.words, self.said)
        self.assertTrue(case["remedy"].startswith("change the launch line: bind each rank next to its GPU"), case["remedy"])
        run = self.run_job("-n", "^cpu_affinity$", f"-J=--cpu-bind=mask_cpu:{','.join(masks)}")
        case = run.case("cpu_affinity")
        self.assertEqual((run.status, case["verdict"]), (1, "fail"), self.said)
        self.assertIn("far from its GPU", self.words_of(case), self.said)

    def test_without_binding(self):
        self.without_binding()


if __name__ == "__main__":
    reason = vc.why_not() or slurm_services.why_not()
    if reason:
        support.skip(reason)
    support.main(("mpirun", "srun"))
