"""gpu_copy and gpu_memory on simulated machines whose GPU runtimes execute on the host: healthy, and with every fault."""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import on_gpus  # noqa: E402
import on_machine  # noqa: E402
from on_gpus import GPUS, LIBRARIES  # noqa: E402

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
FAULTS = {
    "wrong_bytes": "corrupt_copy 5",
    "rarely_wrong": "corrupt_copy 1 every 29",
    "wrong_and_lost": ["corrupt_copy 1", "fail cuMemcpyAsync 719 1 after 12"],
    "stuck_bit": "stuck_bit 2 0x4321 3",
    "idle_kernels": "idle_kernels all",
    "idle_check": "idle_kernels muster_check",
    "lost": "fail cuMemcpyAsync 719 3 after 9",
    "lost_peer": "fail cuMemcpyPeerAsync 719 6",
    "hangs": "hang cuMemcpyAsync after 5",
    "hangs_at_start": "hang cuInit",
    "hangs_when_asked": "hang cuDeviceGetUuid_v2 1",
    "crashes": "crash cuDevicePrimaryCtxRetain",
    "crashes_on_one": "crash cuMemcpyAsync 1 after 3",
    "staged": "set 0 peers no",
    "no_kernels": "fail cuModuleLoadData 222",
    "no_memory": "fail cuMemAlloc_v2 2 4",
    **{f"init_{code}": f"fail cuInit {code}" for code in (3, 34, 46, 100, 101, 802, 803, 804, 999)},
}


class OnGpus(on_gpus.OnGpus):
    CHECKS = CHECKS
    FAULTS = FAULTS

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
        self.describe()
        self.assertEqual(self.check(), 0, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "pass", "gpu_memory": "pass"})
        evidence = self.cases["gpu_copy"]["evidence"]
        # 8 GPUs with 7 kinds of copies, and 56 pairs by engine and kernel.
        self.assertIn("168 series of copies on 8 GPUs: all compared data was right", evidence)
        self.assertIn("pairs by link: 56 nvlink", evidence)
        peer = [m for m in self.cases["gpu_copy"]["metrics"] if m["metric"] == "peer_copy"]
        self.assertEqual({(m["where"]["by"], m["n"]) for m in peer}, {("engine", 56), ("kernel", 56)})
        self.assertEqual(len(self.cases["gpu_copy"]["matrices"]), 2)
        self.assertIn("in 8 GPUs kept every pattern", self.cases["gpu_memory"]["evidence"][0])

    def test_eight_of_amd(self):
        self.write("lumi-g")
        self.assertEqual(self.check(), 0, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "pass", "gpu_memory": "pass"})
        # Each rank was given one GPU alone, and can't copy to the others'.
        self.assertIn("56 pairs not copied: no rank sees both GPUs", self.cases["gpu_copy"]["evidence"])

    def test_one_rank_with_all_of_them(self):
        self.describe()
        self.assertEqual(self.check("--ranks-per-node", "1", CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7"), 0, self.output)
        self.assertIn("168 series of copies on 8 GPUs: all compared data was right", self.cases["gpu_copy"]["evidence"])
        labels = {}
        for check in ("gpu_copy", "gpu_memory"):
            for row in self.cases[check]["metrics"]:
                where = row["where"]
                labels.setdefault(row["metric"], set()).add((where["device"], where.get("to", where.get("pattern"))))
        self.assertEqual(labels["host_to_device"], {(gpu, None) for gpu in GPUS})
        self.assertEqual(labels["peer_copy"], {(gpu, other) for gpu in GPUS for other in GPUS if gpu != other})
        self.assertEqual(labels["pattern_rate"],
                         {(gpu, pattern) for gpu in GPUS for pattern in ("zeros", "stripes", "bytes", "address", "random")})

    def test_pairs_that_can_not_reach_each_other_are_staged_and_it_is_said(self):
        self.describe("staged", count=2)
        self.assertEqual(self.check(), 0, self.output)
        self.assertIn("pairs by link: 2 staged", self.cases["gpu_copy"]["evidence"])

    def test_links_that_no_source_shows_are_unknown(self):
        """NVLinks of the machine, in a container without NVML: not called PCIe."""
        self.describe(count=2)
        self.assertEqual(self.check("-n", "^gpu_copy$", drivers=self.drivers_without("libnvidia-ml.so.1")), 0, self.output)
        self.assertIn("pairs by link: 2 unknown", self.cases["gpu_copy"]["evidence"])

    def test_without_code_for_kernels_copies_are_still_verified(self):
        self.describe("no_kernels", count=2)
        self.assertEqual(self.check(), 2, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "pass", "gpu_memory": "unmeasured"}, self.output)
        evidence = " | ".join(self.cases["gpu_copy"]["evidence"])
        self.assertRegex(evidence, r"not copied by kernels, and timed without a gate: [^|]*cuModuleLoadData returned 222")
        self.assertIn("cuModuleLoadData returned 222: CUDA_ERROR_UNSUPPORTED_PTX_VERSION", self.reasons("gpu_memory"))


class Ill(OnGpus):
    def test_wrong_bytes(self):
        self.describe("wrong_bytes")
        self.assertEqual(self.check(), 1, self.output)
        case = self.cases["gpu_copy"]
        self.assertEqual(case["verdict"], "fail", self.output)
        # Copies of others into its memory are wrong, too; copies between others are not.
        self.blamed("gpu_copy", 5, "a copy by engine from host to device of GPU", "bit 4 of byte 524288 is flipped")

    def compare_more(self, times):
        """As many copies as on a real machine, which are compared for `times` as long as the timed ones took."""
        settings = (f"verify={times}", "cap=20ms", "least_of_peer=0.1")
        return self.check("-n", "^gpu_copy$", *[word for one in settings for word in ("-S", f"gpu_copy.{one}")], MUSTER_SELFTEST="speed")

    def test_rarely_wrong_bytes(self):
        """In one copy of 29: every one of the further copies is compared, and not only what the last of them left."""
        self.describe("rarely_wrong", count=2)
        self.assertEqual(self.compare_more(5), 1, self.output)
        self.blamed("gpu_copy", 1, "bit 4 of byte 524288 is flipped")
        shares = [tuple(map(int, share)) for share in re.findall(r", in (\d+) of (\d+) copies compared", self.reasons("gpu_copy"))]
        self.assertTrue(any(wrong < compared for wrong, compared in shares), self.output)

    def test_wrong_bytes_are_noted_before_the_gpu_fails(self):
        """It fails among the further copies of the first series."""
        self.describe("wrong_and_lost", count=2)
        self.assertEqual(self.check("-n", "^gpu_copy$", "-S", "gpu_copy.verify=200"), 1, self.output)
        reasons = self.reasons("gpu_copy")
        self.assertIn("gave wrong data: bit 4 of byte 524288 is flipped", reasons)

    def test_the_share_of_copies_that_are_compared(self):
        self.describe(count=2)
        shares = []
        for times in ("0", "2"):
            self.assertEqual(self.compare_more(times), 0, self.output)
            evidence = " | ".join(self.cases["gpu_copy"]["evidence"])
            shares.append([int(number) for number in re.search(r"copies compared whole: (\d+) of (\d+) of 1MiB", evidence).groups()])
        # 2 GPUs with 6 kinds of one copy and one of two; a pair both ways, by engine and kernel.
        self.assertEqual(shares[0][0], 2 * 8 + 4)
        self.assertGreater(shares[0][1], 10 * shares[0][0], "the last one of many")
        self.assertGreater(shares[1][0], 3 * shares[0][0])

    def test_a_stuck_bit(self):
        self.describe("stuck_bit")
        self.assertEqual(self.check(), 1, self.output)
        self.blamed("gpu_memory", 2, "1 word wrong under pattern zeros", "wrong bit 11",
                    "0x0000000000000800 instead of 0x0000000000000000", "(0x4320 into the tested 1MiB)")

    def test_kernels_that_do_nothing(self):
        self.describe("idle_kernels", count=2)
        self.assertEqual(self.check(), 1, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "fail", "gpu_memory": "fail"}, self.output)
        self.assertIn("the kernel checked 0 of ", self.reasons("gpu_memory"))
        self.assertIn("by kernel", self.reasons("gpu_copy"))
        self.describe("idle_check", count=2)
        self.assertEqual(self.check(), 1, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "pass", "gpu_memory": "fail"}, self.output)

    def test_each_call_that_does_work_fails_in_turn(self):
        calls = ("cuCtxSetCurrent", "cuDevicePrimaryCtxRetain", "cuEventCreate", "cuEventElapsedTime_v2", "cuEventRecord", "cuLaunchKernel",
                 "cuMemAlloc_v2", "cuMemGetInfo_v2", "cuMemHostAlloc", "cuMemcpyAsync", "cuMemsetD32Async", "cuModuleGetFunction",
                 "cuStreamCreate", "cuStreamSynchronize")
        codes = (1, 2, 3, 46, 101, 201, 214, 400, 700, 709, 719, 801, 999)
        self.CHECKS = "[check.gpu_memory]" + CHECKS.split("[check.gpu_memory]")[1]
        for first in (0, 7):
            # Seven GPUs, each with another call that fails; the last one is well.
            self.FAULTS = {"calls": [f"fail {call} {codes[(first + index) % len(codes)]} {index}"
                                     for index, call in enumerate(calls[first:first + 7])]}
            self.describe("calls")
            self.assertEqual(self.check(), 1, self.output)
            self.assertEqual(self.verdicts(), {"gpu_memory": "fail"}, self.output)
            self.assertEqual({culprit["name"] for finding in self.cases["gpu_memory"]["findings"] for culprit in finding["culprits"]},
                             {f"GPU {gpu}" for gpu in GPUS[:7]}, self.output)
            for call in calls[first:first + 7]:
                self.assertIn(call, self.reasons("gpu_memory"))

    def test_each_call_of_a_copy_fails_in_turn(self):
        calls = ("cuCtxSetCurrent", "cuDevicePrimaryCtxRetain", "cuEventCreate", "cuEventElapsedTime_v2", "cuEventRecord", "cuLaunchKernel",
                 "cuMemAlloc_v2", "cuMemHostAlloc", "cuMemcpyAsync", "cuMemcpyPeerAsync", "cuModuleGetFunction", "cuStreamCreate",
                 "cuStreamSynchronize", "cuCtxEnablePeerAccess")
        codes = (1, 2, 3, 46, 101, 201, 214, 400, 700, 709, 719, 801, 999)
        self.CHECKS = CHECKS.split("[check.gpu_memory]")[0]
        for index, call in enumerate(calls):
            with self.subTest(call):
                self.FAULTS = {"call": f"fail {call} {codes[index % len(codes)]} 1"}
                self.describe("call", count=2)
                self.check()
                case = self.cases["gpu_copy"]
                # Without peer access copies go by way of the host, and a note says so.
                allowed = ("fail", "pass") if call == "cuCtxEnablePeerAccess" else ("fail",)
                self.assertIn(case["verdict"], allowed, self.output)
                if case["verdict"] == "fail":
                    self.assertIn(f"GPU {GPUS[1]}", {culprit["name"] for culprit in case["culprits"]}, self.output)

    def test_a_device_is_lost_in_the_middle(self):
        self.describe("lost")
        self.assertEqual(self.check(), 1, self.output)
        self.blamed("gpu_copy", 3, "cuMemcpyAsync returned 719: CUDA_ERROR_LAUNCH_FAILED")

    def test_copies_to_others_fail(self):
        self.describe("lost_peer")
        self.assertEqual(self.check(), 1, self.output)
        self.blamed("gpu_copy", 6, "cuMemcpyPeerAsync returned 719")

    def test_no_memory_is_left(self):
        self.describe("no_memory")
        self.assertEqual(self.check(), 1, self.output)
        self.blamed("gpu_memory", 4, "cuMemAlloc_v2 returned 2: CUDA_ERROR_OUT_OF_MEMORY")

    def test_a_call_that_never_returns_is_located(self):
        # The sixth copy is in the middle of gpu_copy; gpu_memory makes no more than five.
        for fault, call, ill in (("hangs", "cuMemcpyAsync", ["gpu_copy"]),
                                 ("hangs_at_start", "cuInit", ["gpu_copy", "gpu_memory"])):
            with self.subTest(fault):
                self.describe(fault, count=2)
                self.assertEqual(self.check("--timeout", "8s"), 1, self.output)
                self.assertEqual([name for name, verdict in self.verdicts().items() if verdict != "pass"], ill, self.output)
                self.assertEqual({self.cases[name]["verdict"] for name in ill}, {"fail"}, self.output)
                self.assertIn(call, self.reasons("gpu_copy"), self.output)

    def test_a_job_of_one_rank_names_it_with_its_gpu(self):
        self.describe("hangs", count=1)
        self.assertEqual(self.check("--timeout", "8s", "-n", "^gpu_copy$"), 1, self.output)
        self.assertEqual((self.cases["gpu_copy"]["verdict"], self.culprits("gpu_copy")), ("fail", ["rank 0"]), self.output)
        for word in (f"rank 0 on {on_machine.NODE}, the only rank, is in cuMemcpyAsync", f"(GPU {GPUS[0]} ({self.uuid(0)}))"):
            self.assertIn(word, self.reasons("gpu_copy"))
        for word in ("nvidia-smi", "dmesg", "nvidia-fabricmanager", on_machine.NODE):
            self.assertIn(word, self.cases["gpu_copy"]["remedy"])

    def test_a_gpu_that_does_not_answer_is_the_one_that_is_named(self):
        """Not the last one that another library was asked about."""
        self.describe("hangs_when_asked", count=3)
        self.assertEqual(self.check("--timeout", "6s", "-n", "^gpu_copy$", CUDA_VISIBLE_DEVICES="1"), 1, self.output)
        self.assertIn(f"in cuDeviceGetUuid_v2, step inventory since", self.reasons("gpu_copy"))
        self.assertEqual(self.culprits("gpu_copy"), [on_machine.NODE])
        self.assertEqual(self.check("--timeout", "6s", "--ranks-per-node", "1", "-n", "^gpu_copy$"), 1, self.output)
        self.assertIn(f"in cuDeviceGetUuid_v2, step inventory (GPU {GPUS[1]}) since", self.reasons("gpu_copy"))

    def test_a_crash_inside_of_a_call_names_the_gpu(self):
        self.describe("crashes_on_one", count=2)
        self.assertEqual(self.check("-n", "^gpu_copy$", CUDA_VISIBLE_DEVICES="1"), 1, self.output)
        self.assertIn(f"inside of cuMemcpyAsync (GPU {GPUS[1]} ({self.uuid(1)}))", self.reasons("gpu_copy"))
        self.assertIn("NVRM, Xid", self.cases["gpu_copy"]["remedy"])

    def test_a_library_that_crashes_is_no_pass(self):
        self.describe("crashes", count=2)
        self.assertEqual(self.check(), 1, self.output)
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
                self.describe(f"init_{code}", count=2)
                self.assertEqual(self.check(), 1, self.output)
                for check in ("gpu_copy", "gpu_memory"):
                    self.assertIn(f"is unusable: cuInit returned {code}: CUDA_ERROR_{name}", self.reasons(check))
                    self.assertIn(self.REMEDIES.get(code, ""), self.cases[check]["remedy"])
                self.assertEqual(self.culprits("gpu_copy"), [on_machine.NODE])

    def test_the_library_is_absent(self):
        self.describe(count=2)
        self.assertEqual(self.check(drivers=self.drivers_of()), 1, self.output)
        self.assertIn(f"libcuda.so.1 is not on {on_machine.NODE}, which has 2 GPUs", self.reasons("gpu_copy"))

    def test_the_library_does_not_load(self):
        self.describe(count=2)
        self.assertEqual(self.check(drivers=self.drivers_of(**{"libcuda.so.1": __file__})), 1, self.output)
        self.assertIn("libcuda.so.1", self.reasons("gpu_copy"))
        self.assertIn("is unusable", self.reasons("gpu_copy"))

    def test_the_library_lacks_functions(self):
        self.describe(count=2)
        other = os.path.join(LIBRARIES, "liba_plugin.so")
        self.assertEqual(self.check(drivers=self.drivers_of(**{"libcuda.so.1": other})), 1, self.output)
        self.assertIn("it lacks cuInit", self.reasons("gpu_copy"))
        self.assertIn(f"it is {os.path.realpath(other)}", self.reasons("gpu_copy"))
        self.assertIn("out of the search path", self.cases["gpu_copy"]["remedy"])

    def test_without_stand_ins_a_simulated_machine_has_nothing_to_say(self):
        self.describe(count=2)
        self.assertEqual(self.check(drivers=None), 2, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "skip", "gpu_memory": "skip"}, self.output)

    def test_a_folder_of_stand_ins_that_is_not_there(self):
        self.describe(count=2)
        self.assertEqual(self.check(drivers="/no/folder"), 2, self.output)
        self.assertEqual(self.verdicts(), {"gpu_copy": "error", "gpu_memory": "error"}, self.output)
        self.assertIn("MUSTER_DRIVERS: /no/folder is not a folder", self.reasons("gpu_copy"))

    def test_a_rank_that_sees_nothing_beside_others(self):
        """Its node's library is well; the GPU that nobody tested is named."""
        self.MORE = '[ranks.environment]\nCUDA_VISIBLE_DEVICES = ["0", "9", "2"]\n'
        self.describe(count=3)
        self.assertEqual(self.check(), 1, self.output)
        for check in ("gpu_copy", "gpu_memory"):
            self.assertIn(f"rank 1 on {on_machine.NODE} sees no GPU, where others see 2 GPUs: libcuda.so.1 is unusable to it: "
                          "cuInit returned 100", self.reasons(check))
            self.assertIn(f"not tested: GPU {GPUS[1]} ({self.uuid(1)})", self.reasons(check))
            self.assertEqual(self.culprits(check), [f"GPU {GPUS[1]} ({self.uuid(1)})", "rank 1"])
            self.assertIn("CUDA_VISIBLE_DEVICES", self.cases[check]["remedy"])

    def test_a_gpu_that_no_rank_sees_is_said(self):
        self.describe(count=3)
        self.assertEqual(self.check("-n", "^gpu_copy$", CUDA_VISIBLE_DEVICES="0,2"), 0, self.output)
        self.assertIn(f"not tested on {on_machine.NODE}, as no rank sees it: GPU {GPUS[1]} ({self.uuid(1)})",
                      self.evidence("gpu_copy"))

    def test_nothing_is_visible(self):
        self.describe(count=2)
        self.assertEqual(self.check(CUDA_VISIBLE_DEVICES=""), 1, self.output)
        self.assertIn("cuInit returned 100", self.reasons("gpu_copy"))


if __name__ == "__main__":
    on_gpus.main()
