"""What a reading is called is what was measured: CPUs, memory of GPUs, and no more than hardware can do."""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import on_gpus  # noqa: E402
import on_machine  # noqa: E402

MEMORY = """
[check.memory]
probe   = "memory_bandwidth"
summary = "One rank for the node."
ranks   = "one-per-node"
params  = { bytes = "4MiB", cap = "50ms" }
"""
ON_GPUS = """
[check.p2p]
probe   = "p2p"
summary = "Messages are right."
ranks   = { per_node = 3 }
params  = { sizes = ["64KiB"], memory = "256KiB", cap = "20ms" }
[check.allreduce]
probe   = "allreduce"
summary = "Sums are right."
ranks   = { per_node = 3 }
params  = { sizes = ["64KiB"], memory = "256KiB", types = ["float"], cap = "20ms" }
[check.training]
probe   = "training"
summary = "It learns."
ranks   = { per_node = 3 }
"""
PRODUCTS = """
[check.gpu_compute]
probe   = "gpu_compute"
summary = "Products are right."
ranks   = "one-per-gpu"
params  = { cap = "50ms", types = ["float16", "int8"], least_of_peak = 0 }
[check.gpu_copy]
probe   = "gpu_copy"
summary = "Copies are right."
ranks   = "one-per-gpu"
params  = { bytes = "64MiB", cap = "20ms", least_of_link = 0, least_of_memory = 0, least_of_peer = 0, least_of_like = 0 }
"""


def cores_and_first_cpu():
    """Logical CPUs of this machine, one for each core."""
    cores = set()
    for cpu in sorted(os.sched_getaffinity(0)):
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as file:
            cores.add(file.read().strip())
    return len(cores), min(os.sched_getaffinity(0))


class MemoryBandwidth(on_machine.OnMachine):
    def measure(self, *before, text=MEMORY):
        with open(os.path.join(self.folder, "memory.toml"), "w") as out:
            out.write(text)
        done = subprocess.run([*before, on_machine.MUSTER, "run", "memory.toml", "--report", "json=r.json"], cwd=self.folder,
                              capture_output=True, text=True, timeout=200, env={**os.environ, "NO_COLOR": "1"})
        self.output = done.stdout + done.stderr
        with open(os.path.join(self.folder, "r.json")) as file:
            case = json.load(file)["cases"][0]
        # That others use this machine meanwhile is another finding.
        self.reasons = [f["reason"] for f in case.get("findings", []) if "undisturbed" not in f["reason"]]
        self.where = [metric["where"] for metric in case["metrics"]]
        return case

    def test_one_rank_has_a_thread_on_each_core(self):
        cores, _ = cores_and_first_cpu()
        case = self.measure()
        self.assertEqual(self.reasons, [], self.output)
        told = case["rank_rows"][0]["facts"]["threads"]
        cpus = [part.split(" on CPUs ")[1] for part in told.split("; ")]
        self.assertEqual(sum(count(part) for part in cpus), cores, told)
        for where in self.where:
            self.assertNotIn("cpus", where, self.output)

    def test_less_than_the_node_is_called_by_its_cpus(self):
        cores, cpu = cores_and_first_cpu()
        if cores < 2:
            self.skipTest("this machine has one core")
        case = self.measure("taskset", "-c", str(cpu))
        self.assertEqual(case["verdict"], "unmeasured", self.output)
        self.assertEqual(len(self.reasons), 1, self.output)
        self.assertIn("domain=node is not measured on ", self.reasons[0])
        self.assertIn(f"CPUs {cpu} of ", self.reasons[0])
        self.assertRegex(case["rank_rows"][0]["facts"]["threads"], rf"^domain \d+ on CPUs {cpu}$")
        for where in self.where:
            self.assertEqual((where["cpus"], where["threads"]), (str(cpu), "1"), self.output)


    def test_two_ranks_measure_their_own_cpus_in_turn(self):
        cores, _ = cores_and_first_cpu()
        if cores < 2 or shutil.which("mpirun") is None:
            self.skipTest("two ranks need two cores and an mpirun")
        case = self.measure(text=MEMORY.replace('"one-per-node"', "{ per_node = 2 }"))
        self.assertEqual(case["verdict"], "unmeasured", self.output)
        self.assertIn("2 ranks share the node, and each measures its own CPUs (", self.reasons[0])
        self.assertEqual(len({where["cpus"] for where in self.where}), 2, self.where)
        for where in self.where:
            self.assertEqual(str(count(where["cpus"])), where["threads"], self.output)
            self.assertNotEqual(where["domain"], "node", self.output)

    def test_a_quota_of_cpu_time_is_no_whole_node(self):
        """As of docker --cpus, which leaves all CPUs in the mask."""
        cores, _ = cores_and_first_cpu()
        group = QuotaGroup(0.7 * cores)
        self.addCleanup(group.remove)
        if not group.is_made:
            self.skipTest("no control group can be made here")
        case = self.measure("sh", "-c", f"echo $$ > {group.folder}/cgroup.procs && exec \"$@\"", "sh")
        self.assertEqual(case["verdict"], "unmeasured", self.output)
        self.assertEqual(len(self.reasons), 1, self.output)
        self.assertIn(f"control groups allow {0.7 * cores:.3g} CPUs at a time, and {cores} threads share them", self.reasons[0])
        for where in self.where:
            self.assertNotEqual(where["domain"], "node", self.output)


class QuotaGroup:
    """A control group of either version that allows so many CPUs at a time."""

    def __init__(self, cpus):
        self.is_made = False
        for top, write in (("/sys/fs/cgroup/cpu", self.first_version), ("/sys/fs/cgroup", self.second_version)):
            self.folder = f"{top}/muster-test-{os.getpid()}"
            try:
                os.mkdir(self.folder)
                write(int(cpus * 100000))
                self.is_made = True
                return
            except OSError:
                self.remove()

    def first_version(self, quota):
        self.put("cpu.cfs_quota_us", quota)

    def second_version(self, quota):
        self.put("cpu.max", f"{quota} 100000")

    def put(self, name, value):
        if not os.path.exists(f"{self.folder}/{name}"):
            raise FileNotFoundError(name)
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(str(value))

    def remove(self):
        try:
            os.rmdir(self.folder)
        except OSError:
            pass


def count(cpus):
    return sum(int(part.split("-")[-1]) - int(part.split("-")[0]) + 1 for part in cpus.split(","))


class HostMemory(on_gpus.OnGpus):
    """Three ranks and two GPUs, or three of which one is hidden."""
    CHECKS = ON_GPUS
    RANKS = 3

    def refused(self, why, rank):
        self.assertEqual(self.verdicts(), {name: "error" for name in ("p2p", "allreduce", "training")}, self.output)
        for name, case in self.cases.items():
            self.assertIn(why, case["reason"], name)
            self.assertEqual([culprit["rank"] for culprit in case["culprits"]], [rank], self.output)
            self.assertEqual(case["metrics"], [], name)
            self.assertEqual(case.get("evidence", []), [], name)
            self.assertIn("on=host measures host memory", case["remedy"], name)

    def test_more_ranks_than_gpus(self):
        self.describe(count=2)
        self.assertEqual(self.check(), 2, self.output)
        self.refused("no data on GPUs: no GPU is left for a rank (libcuda.so.1 shows 2 GPUs) (rank 2 on ", 2)

    def test_a_gpu_that_is_hidden_from_one_rank(self):
        self.MORE = '[ranks.environment]\nCUDA_VISIBLE_DEVICES = ["0,1,2", "", "0,1,2"]\n'
        self.describe(count=3)
        self.assertEqual(self.check(), 2, self.output)
        self.refused("no data on GPUs: ", 1)

    def test_gpus_that_no_library_shows(self):
        for missing, drivers in (("libraries", None), ("cuda", self.drivers_without("libcuda.so.1"))):
            with self.subTest(missing):
                self.describe(count=3)
                self.assertEqual(self.check("-n", "^allreduce", drivers=drivers), 2, self.output)
                self.assertEqual(self.verdicts(), {"allreduce": "error"}, self.output)
                self.assertIn("no library shows a GPU here (rank 0 on ", self.cases["allreduce"]["reason"])
                self.assertIn("with the driver's libraries (libcuda, libamdhip64) on the node", self.cases["allreduce"]["remedy"])

    def test_training_says_where_it_computed(self):
        self.describe(count=2)
        quick = ("-n", "^training", "--ranks-per-node", "2", "-S", "training.epochs=2", "-S", "training.max_loss=3",
                 "-S", "training.min_accuracy=0")
        for on, memory in (("auto", "device"), ("host", None)):
            with self.subTest(on):
                self.check(*quick, "-S", f"training.on={on}")
                where = {metric["metric"]: metric["where"].get("memory") for metric in self.cases["training"]["metrics"]}
                self.assertEqual((where["step_time"], where["throughput"], where["loss"]), (memory, memory, None), self.output)

    def test_host_memory_is_a_case_of_its_own(self):
        self.describe(count=2)
        self.assertEqual(self.check("-S", "*.on=host", "-x", "training"), 0, self.output)
        self.assertEqual(set(self.verdicts().values()), {"pass"}, self.output)
        for case in self.cases.values():
            self.assertEqual({metric["where"].get("memory") for metric in case["metrics"]}, {None})


class FasterThanPossible(on_gpus.OnGpus):
    CHECKS = PRODUCTS
    FAULTS = {"nothing": "set 1 slow 0.000001"}

    def test_a_gpu_whose_work_takes_no_time(self):
        self.describe("nothing", count=2)
        # Speed is judged as it is measured, though the machine is simulated.
        self.assertEqual(self.check(MUSTER_SELFTEST="speed"), 2, self.output)
        # What is copied to it by another GPU takes no time either.
        for check, metric, ranks in (("gpu_compute", "rate", {1}), ("gpu_copy", "local_copy", {1}),
                                     ("gpu_copy", "both_ways", {1}), ("gpu_copy", "peer_copy", {0, 1})):
            with self.subTest(metric):
                case = self.cases[check]
                self.assertEqual(case["verdict"], "unmeasured", self.output)
                found = [f for f in case["findings"] if f["reason"].startswith(f"faster than possible: {metric} of rank ")]
                self.assertEqual(len(found), 1, self.output)
                self.assertRegex(found[0]["reason"], r" is \S+ (TFLOP|GB)/s, at most \S+ (TFLOP|GB)/s is possible")
                self.assertEqual({culprit["rank"] for culprit in found[0]["culprits"]}, ranks, self.output)
                for row in case["metrics"]:
                    if row["metric"] == metric and row["n"] > 0:
                        self.assertLess(row["max"], 1e5, "it is not among the values")


if __name__ == "__main__":
    on_gpus.main()
