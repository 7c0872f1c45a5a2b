"""gpu_copy and gpu_memory on simulated machines whose GPU runtimes execute on the host: healthy, and with every fault."""
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import on_machine  # noqa: E402

DRIVERS = os.path.join(os.environ["MUSTER_BUILD"], "drivers")
LIBRARIES = os.path.join(os.environ["MUSTER_BUILD"], "libraries")
CHECKS = """
[check.gpu_copy]
probe   = "gpu_copy"
summary = "Copies are right."
ranks   = "one-per-gpu"
[check.gpu_memory]
probe   = "gpu_memory"
summary = "Memory is right."
ranks   = "one-per-gpu"
"""
GPUS = [f"0000:{bus:02x}:00.0" for bus in (0x1b, 0x2b, 0x3b, 0x4b, 0x9b, 0xab, 0xbb, 0xdb)]
FAULTS = {
    "wrong_bytes": "corrupt_copy 5",
    "stuck_bit": "stuck_bit 2 0x4321 3",
    "lost": "fail cuMemcpyAsync 719 3 after 9",
    "lost_peer": "fail cuMemcpyPeerAsync 719 6",
    "hangs": "hang cuMemcpyAsync after 5",
    "hangs_at_start": "hang cuInit",
    "crashes": "crash cuDevicePrimaryCtxRetain",
    "staged": "set all_peers no",
    "no_kernels": "fail cuModuleLoadData 222",
    "no_memory": "fail cuMemAlloc_v2 2 4",
    **{f"init_{code}": f"fail cuInit {code}" for code in (3, 34, 46, 100, 101, 802, 803, 804, 999)},
}


def description(count):
    devices = ", ".join(f'{{ address = "{address}", domain = {0 if i < 4 else 1} }}' for i, address in enumerate(GPUS[:count]))
    masks = ", ".join(f'"{3 << 2 * i:x}"' for i in range(count))
    text = f"""
[machine]
name      = "gpus{count}"
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
vendor  = "nvidia"
model   = "NVIDIA H100 80GB HBM3"
id      = "10de:2330"
memory  = "80GiB"
driver_version = "570.86"
devices = [{devices}]
[ranks]
masks = [{masks}]
"""
    for name, line in FAULTS.items():
        line = line.replace("all_peers", "0 peers") if name == "staged" else line
        text += f'[fault.{name}]\nsummary = "{name}"\ndriver = ["{line}"]\n'
    return text


class OnGpus(on_machine.OnMachine):
    def describe(self, count, *faults):
        machines = os.path.join(self.folder, "machines")
        os.makedirs(machines, exist_ok=True)
        with open(os.path.join(machines, f"gpus{count}.toml"), "w") as out:
            out.write(description(count))
        os.environ["MUSTER_MACHINES"] = machines
        try:
            self.write(f"gpus{count}", *[word for fault in faults for word in ("--fault", fault)])
        finally:
            del os.environ["MUSTER_MACHINES"]  # a run knows those of the systems

    def copy_and_test(self, *options, drivers=DRIVERS, **variables):
        with open(os.path.join(self.folder, "gpu.toml"), "w") as out:
            out.write(CHECKS)
        env = {**os.environ, "MUSTER_MACHINE": "machine", "MUSTER_DRIVERS": drivers, "OMPI_MCA_mpi_yield_when_idle": "1",
               "NO_COLOR": "1", "MUSTER_STARTUP_TIMEOUT": "120s", **variables}
        if drivers is None:
            del env["MUSTER_DRIVERS"]
        report = os.path.join(self.folder, "r.json")
        command = [on_machine.MUSTER, "run", "gpu.toml", "--report", "json=r.json", *options]
        done = on_machine.subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300, env=env)
        self.output = done.stdout + done.stderr
        self.assertTrue(os.path.exists(report), self.output)
        with open(report) as file:
            self.report = on_machine.json.load(file)
        self.cases = {case["check"]: case for case in self.report["cases"]}
        return done.returncode

    def verdicts(self):
        return {name: case["verdict"] for name, case in self.cases.items()}

    def uuid(self, index):
        with open(os.path.join(self.folder, "machine", "drivers.json")) as file:
            return on_machine.json.load(file)["devices"][index]["uuid"]

    def blamed(self, check, index, *words):
        """That GPU alone, by address and UUID, with a remedy."""
        case = self.cases[check]
        self.assertEqual(case["verdict"], "fail", self.output)
        self.assertEqual({culprit["name"] for culprit in case["culprits"]}, {f"GPU {GPUS[index]}"}, self.output)
        for finding in case["findings"]:
            self.assertIn(f"GPU {GPUS[index]} ({self.uuid(index)})", finding["reason"])
            self.assertTrue(finding["remedy"])
        for word in words:
            self.assertIn(word, self.reasons(check))


class Healthy(OnGpus):
    def test_eight_of_nvidia(self):
        self.describe(8)
        self.assertEqual(self.copy_and_test(), 0, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "pass", "gpu_memory": "pass"})
        evidence = self.cases["gpu_copy"]["evidence"]
        # 8 GPUs with 7 kinds of copies, and 56 pairs by engine and kernel.
        self.assertIn("168 copies on 8 GPUs: all data was right", evidence)
        self.assertIn("pairs by link: 56 nvlink", evidence)
        peer = [m for m in self.cases["gpu_copy"]["metrics"] if m["metric"] == "peer_copy"]
        self.assertEqual({(m["where"]["by"], m["n"]) for m in peer}, {("engine", 56), ("kernel", 56)})
        self.assertEqual(len(self.cases["gpu_copy"]["matrices"]), 2)
        self.assertIn("in 8 GPUs kept every pattern", self.cases["gpu_memory"]["evidence"][0])

    def test_eight_of_amd(self):
        self.write("lumi-g")
        self.assertEqual(self.copy_and_test(), 0, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "pass", "gpu_memory": "pass"})
        # Each rank was given one GPU alone, and can't copy to the others'.
        self.assertIn("56 pairs not copied: no rank sees both GPUs", self.cases["gpu_copy"]["evidence"])

    def test_one_rank_with_all_of_them(self):
        self.describe(8)
        self.assertEqual(self.copy_and_test("--ranks-per-node", "1", CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7"), 0, self.output)
        self.assertIn("168 copies on 8 GPUs: all data was right", self.cases["gpu_copy"]["evidence"])

    def test_pairs_that_can_not_reach_each_other_are_staged_and_it_is_said(self):
        self.describe(2, "staged")
        self.assertEqual(self.copy_and_test(), 0, self.output)
        self.assertIn("pairs by link: 2 staged", self.cases["gpu_copy"]["evidence"])

    def test_without_code_for_kernels_copies_are_still_verified(self):
        self.describe(2, "no_kernels")
        self.assertEqual(self.copy_and_test(), 2, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "pass", "gpu_memory": "unmeasured"}, self.output)
        self.assertIn("not copied by kernels, and timed without a gate: no code for kernels",
                      self.cases["gpu_copy"]["evidence"])
        self.assertIn("cuModuleLoadData returned 222: CUDA_ERROR_UNSUPPORTED_PTX_VERSION", self.reasons("gpu_memory"))


class Ill(OnGpus):
    def test_wrong_bytes(self):
        self.describe(8, "wrong_bytes")
        self.assertEqual(self.copy_and_test(), 1, self.output)
        case = self.cases["gpu_copy"]
        self.assertEqual(case["verdict"], "fail", self.output)
        # Copies of others into its memory are wrong, too; copies between others are not.
        self.blamed("gpu_copy", 5, "a copy by engine from host to device of GPU", "bit 4 of byte 524288 is flipped")

    def test_a_stuck_bit(self):
        self.describe(8, "stuck_bit")
        self.assertEqual(self.copy_and_test(), 1, self.output)
        self.blamed("gpu_memory", 2, "1 word wrong under pattern zeros", "wrong bit 11",
                    "0x0000000000000800 instead of 0x0000000000000000", "(0x4320 into the tested 1MiB)")

    def test_a_device_is_lost_in_the_middle(self):
        self.describe(8, "lost")
        self.assertEqual(self.copy_and_test(), 1, self.output)
        self.blamed("gpu_copy", 3, "cuMemcpyAsync returned 719: CUDA_ERROR_LAUNCH_FAILED")

    def test_copies_to_others_fail(self):
        self.describe(8, "lost_peer")
        self.assertEqual(self.copy_and_test(), 1, self.output)
        self.blamed("gpu_copy", 6, "cuMemcpyPeerAsync returned 719")

    def test_no_memory_is_left(self):
        self.describe(8, "no_memory")
        self.assertEqual(self.copy_and_test(), 1, self.output)
        self.blamed("gpu_memory", 4, "cuMemAlloc_v2 returned 2: CUDA_ERROR_OUT_OF_MEMORY")

    def test_a_call_that_never_returns_is_located(self):
        # The sixth copy is in the middle of gpu_copy; gpu_memory makes no more than five.
        for fault, call, ill in (("hangs", "cuMemcpyAsync", ["gpu_copy"]),
                                 ("hangs_at_start", "cuInit", ["gpu_copy", "gpu_memory"])):
            with self.subTest(fault):
                self.describe(2, fault)
                self.assertEqual(self.copy_and_test("--timeout", "8s"), 1, self.output)
                self.assertEqual([name for name, verdict in self.verdicts().items() if verdict != "pass"], ill, self.output)
                self.assertEqual({self.cases[name]["verdict"] for name in ill}, {"fail"}, self.output)
                self.assertIn(call, self.reasons("gpu_copy"), self.output)

    def test_a_library_that_crashes_is_no_pass(self):
        self.describe(2, "crashes")
        self.assertEqual(self.copy_and_test(), 1, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "fail", "gpu_memory": "fail"}, self.output)
        self.assertIn("cuDevicePrimaryCtxRetain", self.reasons("gpu_copy"), self.output)


class Libraries(OnGpus):
    CODES = {3: "NOT_INITIALIZED", 34: "STUB_LIBRARY", 46: "DEVICE_UNAVAILABLE", 100: "NO_DEVICE", 101: "INVALID_DEVICE",
             802: "SYSTEM_NOT_READY", 803: "SYSTEM_DRIVER_MISMATCH", 804: "COMPAT_NOT_SUPPORTED_ON_DEVICE", 999: "UNKNOWN"}
    REMEDIES = {34: "LD_LIBRARY_PATH", 100: "CUDA_VISIBLE_DEVICES", 802: "nvidia-fabricmanager", 803: "reboot",
                804: "cuda-compat", 999: "nvidia_uvm"}

    def test_init_fails_with_each_code(self):
        for code, name in self.CODES.items():
            with self.subTest(code):
                self.describe(2, f"init_{code}")
                self.assertEqual(self.copy_and_test(), 1, self.output)
                for check in ("gpu_copy", "gpu_memory"):
                    self.assertIn(f"is of no use: cuInit returned {code}: CUDA_ERROR_{name}", self.reasons(check))
                    self.assertIn(self.REMEDIES.get(code, ""), self.cases[check]["remedy"])
                self.assertEqual(self.culprits("gpu_copy"), [on_machine.NODE])

    def folder_with(self, **files):
        drivers = os.path.join(self.folder, "drivers")
        shutil.rmtree(drivers, ignore_errors=True)
        os.mkdir(drivers)
        for name, source in files.items():
            os.symlink(source, os.path.join(drivers, name))
        return drivers

    def test_the_library_is_absent(self):
        self.describe(2)
        self.assertEqual(self.copy_and_test(drivers=self.folder_with()), 1, self.output)
        self.assertIn(f"libcuda.so.1 is not on {on_machine.NODE}, which has 2 GPUs", self.reasons("gpu_copy"))

    def test_the_library_does_not_load(self):
        self.describe(2)
        self.assertEqual(self.copy_and_test(drivers=self.folder_with(**{"libcuda.so.1": __file__})), 1, self.output)
        self.assertIn("libcuda.so.1", self.reasons("gpu_copy"))
        self.assertIn("is of no use", self.reasons("gpu_copy"))

    def test_the_library_lacks_functions(self):
        self.describe(2)
        other = os.path.join(LIBRARIES, "liba_plugin.so")
        self.assertEqual(self.copy_and_test(drivers=self.folder_with(**{"libcuda.so.1": other})), 1, self.output)
        self.assertIn("it lacks cuInit", self.reasons("gpu_copy"))

    def test_without_stand_ins_a_simulated_machine_has_nothing_to_say(self):
        self.describe(2)
        self.assertEqual(self.copy_and_test(drivers=None), 2, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "skip", "gpu_memory": "skip"}, self.output)

    def test_nothing_is_visible(self):
        self.describe(2)
        self.assertEqual(self.copy_and_test(CUDA_VISIBLE_DEVICES=""), 1, self.output)
        self.assertIn("cuInit returned 100", self.reasons("gpu_copy"))


if __name__ == "__main__":
    on_machine.main()
