"""gpu_compute on simulated machines whose GPUs multiply on the host: healthy, and with every fault."""
import glob
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import on_gpus  # noqa: E402
import on_machine  # noqa: E402

ALL = ("float64", "float32", "tf32", "float16", "bfloat16", "int8")
PARAMS = """
[check.gpu_compute]
probe   = "gpu_compute"
summary = "Products are right."
ranks   = "one-per-gpu"
[check.gpu_compute.params]
"""


class OnGpus(on_gpus.OnGpus):
    CHECKS = PARAMS
    FAULTS = {
        "wrong": "wrong_product 5",
        "now_and_then": "wrong_product 2 every 3",
        "two_wrong": ["wrong_product 1", "wrong_product 6"],
        "all_wrong": [f"wrong_product {i}" for i in range(8)],
        "own_numbers": "stuck_bit 3 0 6",
        "no_handle": "fail cublasCreate_v2 1",
        "no_handle_on_one": "fail cublasCreate_v2 3 4",
        "no_handle_hip": "fail hipblasCreate 1",
        "refused": "fail cublasGemmEx 15",
        "fails": "fail cublasGemmEx 13 3 after 4",
        "lost": "fail cuLaunchKernel 719 6 after 9",
        "hangs": "hang cublasGemmEx 1 after 2",
        "hangs_at_start": "hang cublasCreate_v2 0",
        "crashes": "crash cublasGemmEx 1",
        "no_kernels": "fail cuModuleLoadData 222",
        "hot": ["set all power 512", "set 1 clock_sm 1200"],
    }

    def params(self, text):
        self.CHECKS = PARAMS + text + "\n"

    def passes(self, count):
        self.assertEqual(self.verdicts(), {"gpu_compute": "pass"}, self.output)
        self.assertIn(f"on {count}: the same bits, and the known answer", self.evidence("gpu_compute"))

    def all_blamed(self):
        """Name, rank and node of all culprits of all findings."""
        return {(culprit["name"], culprit["rank"], culprit["node"])
                for finding in self.cases["gpu_compute"]["findings"] for culprit in finding["culprits"]}

    def blamed(self, index, *words):
        """That GPU alone, by address and UUID, with a remedy."""
        case = self.cases["gpu_compute"]
        self.assertEqual(case["verdict"], "fail", self.output)
        self.assertEqual(self.all_blamed(), {(f"GPU {on_gpus.GPUS[index]}", index, on_machine.NODE)}, self.output)
        for finding in case["findings"]:
            self.assertIn(f"GPU {on_gpus.GPUS[index]} ({self.uuid(index)}) on {on_machine.NODE}", finding["reason"])
            self.assertTrue(finding["remedy"])
        for word in words:
            self.assertIn(word, self.reasons("gpu_compute"))

    def readings(self, metric):
        return [m for m in self.cases["gpu_compute"]["metrics"] if m["metric"] == metric]


class Healthy(OnGpus):
    def test_eight_of_nvidia(self):
        self.describe("hot")
        self.assertEqual(self.check(), 0, self.output)
        self.passes("8 GPUs")
        self.assertEqual({(m["where"]["type"], m["where"]["by"], m["n"]) for m in self.readings("rate")},
                         {(type, "blas", 8) for type in ALL})
        # What the management library tells meanwhile.
        self.assertEqual({m["median"] for m in self.readings("power")}, {512.0})
        self.assertEqual({1200.0}, {m["max"] for m in self.readings("clock")})
        self.assertNotIn("own kernels", self.evidence("gpu_compute"))

    def test_eight_of_amd(self):
        for machine in ("lumi-g", None):
            with self.subTest(machine):
                if machine:
                    self.write(machine)
                else:
                    self.describe(vendor="amd")
                self.assertEqual(self.check(), 0, self.output)
                self.passes("8 GPUs")
                # rocBLAS has no tf32.
                self.assertEqual({m["where"]["type"] for m in self.readings("rate")}, set(ALL) - {"tf32"})

    def test_one_rank_with_all_of_them(self):
        self.describe()
        self.assertEqual(self.check("--ranks-per-node", "1", CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7"), 0, self.output)
        self.passes("8 GPUs")
        self.assertEqual({row["where"]["device"] for row in self.readings("rate")}, set(on_gpus.GPUS))

    def test_without_a_library_own_kernels_multiply_and_it_is_said(self):
        for vendor, library in (("nvidia", "libcublas.so"), ("amd", "libhipblas.so")):
            with self.subTest(vendor):
                self.describe(count=2, vendor=vendor)
                drivers = self.drivers_without("libcublas.so.12", "libhipblas.so.2")
                self.assertEqual(self.check(drivers=drivers), 0, self.output)
                self.passes("2 GPUs")
                self.assertIn(f"by our own kernels where there is no {library}", self.evidence("gpu_compute"))
                self.assertEqual({(m["where"]["type"], m["where"]["by"]) for m in self.readings("rate")},
                                 {(type, "own") for type in ("float64", "float32", "int8")})

    def test_types_and_size_are_chosen(self):
        self.describe(count=2)
        self.params('types = ["bfloat16"]\nsize = 100')
        self.assertEqual(self.check(), 0, self.output)
        self.assertIn("of bfloat16 on 2 GPUs", self.evidence("gpu_compute"))

    def test_what_the_library_refuses_is_no_fault_and_no_pass(self):
        self.describe("refused", count=2)
        self.assertEqual(self.check(), 2, self.output)
        self.assertEqual(self.verdicts(), {"gpu_compute": "unmeasured"}, self.output)
        self.assertIn("reported no product", self.reasons("gpu_compute"))


class Wrong(OnGpus):
    def test_one_gpu_computes_a_wrong_bit(self):
        self.describe("wrong")
        self.assertEqual(self.check(), 1, self.output)
        self.blamed(5, "products of bfloat16 differ from what 7 GPUs got and the known answer, first in row 32")
        for type in ALL:
            self.assertIn(f"13 of 13 products of {type} ", self.reasons("gpu_compute"))
        self.assertIn("take the GPU out of service", self.cases["gpu_compute"]["remedy"])

    def test_now_and_then(self):
        self.describe("now_and_then")
        self.params("repeats = 9")
        self.assertEqual(self.check(), 1, self.output)
        self.blamed(2, "4 of 12 products of float64 (intermittent) differ from what 7 GPUs got and the known answer")

    def test_by_own_kernels(self):
        self.describe("wrong")
        self.assertEqual(self.check(drivers=self.drivers_without("libcublas.so.12")), 1, self.output)
        self.blamed(5, "13 of 13 products of float32 differ from what 7 GPUs got and the known answer")

    def test_two_of_eight(self):
        self.describe("two_wrong")
        self.assertEqual(self.check(), 1, self.output)
        self.assertEqual({rank for _, rank, _ in self.all_blamed()}, {1, 6}, self.output)

    def test_without_a_known_answer_most_decide_and_of_two_nobody_does(self):
        self.params("known_answer = false")
        self.describe("wrong")
        self.assertEqual(self.check(), 1, self.output)
        self.blamed(5, "13 of 13 products of int8 differ from what 7 GPUs got")
        self.assertNotIn("known answer", self.reasons("gpu_compute"))
        self.FAULTS = {**self.FAULTS, "wrong": "wrong_product 1"}
        self.describe("wrong", count=2)
        self.assertEqual(self.check(), 1, self.output)
        self.assertEqual(sorted(self.culprits("gpu_compute")), [f"GPU {gpu}" for gpu in on_gpus.GPUS[:2]], self.output)
        self.assertIn(f"({self.uuid(0)}) on {on_machine.NODE} or GPU {on_gpus.GPUS[1]} ({self.uuid(1)})",
                      self.reasons("gpu_compute"))
        self.assertIn("known_answer = true", self.cases["gpu_compute"]["remedy"])

    def test_of_two_the_known_answer_decides(self):
        self.FAULTS = {**self.FAULTS, "wrong": "wrong_product 1"}
        self.describe("wrong", count=2)
        self.assertEqual(self.check(), 1, self.output)
        self.blamed(1, "differ from what 1 GPU got and the known answer")

    def test_one_alone(self):
        self.describe(count=1)
        self.assertEqual(self.check(), 0, self.output)
        self.passes("1 GPU")
        self.params("known_answer = false")
        self.assertEqual(self.check(), 2, self.output)
        self.assertIn("was not verified", self.reasons("gpu_compute"))
        self.params("")
        self.FAULTS = {**self.FAULTS, "wrong": "wrong_product 0"}
        self.describe("wrong", count=1)
        self.assertEqual(self.check(), 1, self.output)
        self.blamed(0, "13 of 13 products of float64 differ from the known answer")

    def test_all_alike_and_all_wrong(self):
        self.describe("all_wrong")
        self.assertEqual(self.check(), 1, self.output)
        self.assertIn("on all 8 GPUs are not the known answer", self.reasons("gpu_compute"))
        self.assertIn("the BLAS library", self.cases["gpu_compute"]["remedy"])

    def test_kernels_that_do_nothing_agree_on_all_gpus_and_fail(self):
        self.params("known_answer = false")
        for lines, words in ((["idle_kernels all"], "the kernel read 0 of "), (["idle_kernels muster_fingerprint"], "the kernel read 0 of "),
                             (["fail cublasCreate_v2 1", "idle_kernels muster_product64"], "words of a product of float64 were not written")):
            with self.subTest(lines=lines):
                self.FAULTS = {**self.FAULTS, "idle": lines}
                self.describe("idle", count=2)
                self.assertEqual(self.check(), 1, self.output)
                self.assertIn(words, self.reasons("gpu_compute"))

    def test_memory_that_changes_the_matrices(self):
        self.describe("own_numbers")
        self.assertEqual(self.check(), 1, self.output)
        self.blamed(3, "computes wrong")


class Failing(OnGpus):
    def test_the_library_makes_no_handle(self):
        self.describe("no_handle", count=2)
        self.assertEqual(self.check(), 1, self.output)
        self.assertIn("the BLAS library is unusable to GPU", self.reasons("gpu_compute"))
        self.assertIn("cublasCreate_v2 returned 1: CUBLAS_STATUS_NOT_INITIALIZED, the library was not initialized",
                      self.reasons("gpu_compute"))
        # Products were verified all the same.
        self.assertEqual({m["where"]["by"] for m in self.readings("rate")}, {"own"})
        self.describe("no_handle_hip", count=2, vendor="amd")
        self.assertEqual(self.check(), 1, self.output)
        self.assertIn("hipblasCreate returned 1: HIPBLAS_STATUS_NOT_INITIALIZED", self.reasons("gpu_compute"))

    def test_on_one_gpu_alone(self):
        self.describe("no_handle_on_one")
        self.assertEqual(self.check(), 1, self.output)
        self.blamed(4, "cublasCreate_v2 returned 3: CUBLAS_STATUS_ALLOC_FAILED")

    def test_a_product_fails(self):
        self.describe("fails")
        self.assertEqual(self.check(), 1, self.output)
        self.blamed(3, "failed while it multiplied: cublasGemmEx returned 13: CUBLAS_STATUS_EXECUTION_FAILED")

    def test_each_call_that_does_work_fails_in_turn(self):
        calls = ("cuCtxSetCurrent", "cuDevicePrimaryCtxRetain", "cuEventCreate", "cuEventElapsedTime_v2", "cuEventRecord", "cuLaunchKernel",
                 "cuMemAlloc_v2", "cuMemcpyAsync", "cuModuleGetFunction", "cuStreamCreate", "cuStreamSynchronize", "cublasCreate_v2",
                 "cublasGemmEx", "cublasSetStream_v2")
        codes = (1, 3, 7, 13, 14, 100, 201, 214, 400, 700, 719, 801, 999)
        self.params('types = "float32"')
        for first in (0, 7):
            # Seven GPUs, each with another call that fails; the last one is well.
            self.FAULTS = {"calls": [f"fail {call} {codes[(first + index) % len(codes)]} {index}"
                                     for index, call in enumerate(calls[first:first + 7])]}
            self.describe("calls")
            self.assertEqual(self.check(), 1, self.output)
            self.assertEqual(self.verdicts(), {"gpu_compute": "fail"}, self.output)
            self.assertEqual({name for name, _, _ in self.all_blamed()}, {f"GPU {gpu}" for gpu in on_gpus.GPUS[:7]}, self.output)

    def test_a_device_is_lost_in_the_middle(self):
        self.describe("lost")
        self.assertEqual(self.check(), 1, self.output)
        self.blamed(6, "cuLaunchKernel returned 719: CUDA_ERROR_LAUNCH_FAILED")

    def test_a_call_that_never_returns_is_located(self):
        for fault, call, index in (("hangs", "cublasGemmEx", 1), ("hangs_at_start", "cublasCreate_v2", 0)):
            with self.subTest(fault):
                self.describe(fault, count=2)
                self.assertEqual(self.check("--timeout", "8s"), 1, self.output)
                self.assertEqual(self.verdicts(), {"gpu_compute": "fail"}, self.output)
                self.assertIn(call, self.reasons("gpu_compute"), self.output)
                self.assertEqual({culprit["rank"] for culprit in self.cases["gpu_compute"]["culprits"]}, {index}, self.output)

    def test_a_library_that_crashes_is_no_pass(self):
        self.describe("crashes", count=2)
        self.assertEqual(self.check(), 1, self.output)
        self.assertEqual(self.verdicts(), {"gpu_compute": "fail"}, self.output)
        self.assertIn("cublasGemmEx", self.reasons("gpu_compute"), self.output)

    def test_no_code_for_kernels(self):
        self.describe("no_kernels", count=2)
        self.assertEqual(self.check(), 2, self.output)
        self.assertEqual(self.verdicts(), {"gpu_compute": "unmeasured"}, self.output)

    def test_the_library_lacks_functions_or_does_not_load(self):
        self.describe(count=2)
        drivers = self.drivers_without("libcublas.so.12")
        os.symlink(os.path.join(on_gpus.LIBRARIES, "liba_plugin.so"), os.path.join(drivers, "libcublas.so.12"))
        self.assertEqual(self.check(drivers=drivers), 1, self.output)
        self.assertIn(f"libcublas.so.12 on {on_machine.NODE} is unusable: it lacks cublasCreate_v2", self.reasons("gpu_compute"))
        self.assertEqual(self.culprits("gpu_compute"), [on_machine.NODE])
        os.unlink(os.path.join(drivers, "libcublas.so.12"))
        os.symlink(__file__, os.path.join(drivers, "libcublas.so.12"))
        self.assertEqual(self.check(drivers=drivers), 1, self.output)
        self.assertIn(f"libcublas.so.12 on {on_machine.NODE} is unusable", self.reasons("gpu_compute"))

    def test_the_real_library_without_a_driver_says_so_itself(self):
        real = sorted(glob.glob("/usr/local/cuda/lib64/libcublas.so.1[123]"))
        if not real or glob.glob("/dev/nvidia[0-9]*"):
            self.skipTest("there is no libcublas of a toolkit, or there is a GPU")
        self.describe(count=1)
        drivers = self.drivers_without("libcublas.so.12")
        os.symlink(os.path.realpath(real[-1]), os.path.join(drivers, os.path.basename(real[-1])))
        self.assertEqual(self.check(drivers=drivers), 1, self.output)
        self.assertIn("cublasCreate_v2 returned", self.reasons("gpu_compute"))
        self.assertIn("CUBLAS_STATUS_", self.reasons("gpu_compute"))


if __name__ == "__main__":
    on_gpus.main()
