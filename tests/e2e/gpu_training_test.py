"""training on simulated GPUs whose runtime executes on the host: healthy, without libraries, and with every fault."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import on_gpus  # noqa: E402
from on_gpus import GPUS  # noqa: E402

CHECKS = """
[check.training]
probe   = "training"
summary = "Ranks learn together."
ranks   = "one-per-gpu"
"""
# Too short to learn much.
SHORT = ["-S", "training.epochs=2", "-S", "training.max_loss=3", "-S", "training.min_accuracy=0.01"]
FAULTS = {
    "wrong_bytes": "corrupt_copy 1",
    "wrong_update": "wrong_kernel 2 muster_train_update after 40",
    "wrong_product": "wrong_kernel 3 muster_train_product after 100",
    "wrong_activation": "wrong_kernel 1 muster_train_bias after 30",
    "wrong_loss": "wrong_kernel 0 muster_train_tally bit 25",
    "wrong_sum": "corrupt_allreduce 3",
    "lost": "fail cuLaunchKernel 719 3 after 400",
    "lost_on_amd": "fail hipModuleLaunchKernel 719 3 after 400",
    "sum_fails": "fail ncclAllReduce 1 2 after 20",
    "no_memory": "fail cuMemAlloc_v2 2 2 after 5",
    "hangs": "hang cuLaunchKernel 3 after 400",
    "hangs_in_sum": "hang ncclAllReduce 1 after 20",
    "broken_nccl": "fail ncclGetVersion 3",
    "no_kernels": "fail cuModuleLoadData 222",
    "recoveries": "later 1 nvlink_recoveries 4 after 1",
    "no_uuid": "fail cuDeviceGetUuid_v2 999 1",
    "not_freed": "fail cuMemFree_v2 700 1",
}


class Training(on_gpus.OnGpus):
    CHECKS = CHECKS
    FAULTS = FAULTS

    def train(self, *options, faults=(), count=4, vendor="nvidia", **more):
        self.describe(*faults, count=count, vendor=vendor)
        status = self.check(*options, **more)
        self.case = self.cases["training"]
        print(f"  {self.case['verdict']}: {self.case['reason'] or self.evidence('training')}")
        return status

    def passes(self, *options, **more):
        self.assertEqual((self.train(*options, **more), self.case["verdict"]), (0, "pass"), self.output)
        return self.evidence("training")

    def ill(self, fault, *options, **more):
        self.assertEqual((self.train(*SHORT, *options, faults=[fault], **more), self.case["verdict"]), (1, "fail"), self.output)
        self.assertTrue(self.case["remedy"], self.output)

    def uuid(self, index):
        uuid = super().uuid(index)
        return f"GPU-{int(uuid):016x}" if uuid.isdigit() else uuid  # AMD's: as the kernel has it, and as the runtime does

    def blamed(self, index, pattern):
        """That GPU alone, by address and UUID."""
        self.assertEqual([(culprit["kind"], culprit["name"], culprit["rank"]) for culprit in self.case["culprits"]],
                         [("device", f"GPU {GPUS[index]} ({self.uuid(index)})", index)], self.output)
        self.assertIn(f"rank {index} on ", self.case["reason"])
        self.assertIn(f"GPU {GPUS[index]} ({self.uuid(index)})", self.case["reason"])
        self.assertRegex(self.case["reason"], pattern)

    def curve(self):
        return {int(m["where"]["step"]): m["median"] for m in self.case["metrics"] if m["metric"] == "loss"}


class Healthy(Training):
    def test_the_curve_is_the_hosts(self):
        told = self.passes(count=8)
        self.assertIn(f"(GPU {GPUS[0]}, cuBLAS 12.8.4)", told)
        self.assertIn("memory of 8 GPUs over NCCL 2.21.5", told)
        self.assertRegex(told, r"the first 100 losses are those of one rank alone on the host \(largest deviation")
        self.assertIn("8 ranks have the same parameters to the bit after each step; 21 steps after the checkpoint are, too", told)
        on_gpus = self.curve()
        self.assertEqual(len(on_gpus), 50)
        self.assertNotIn("on the host", self.passes("-S", "training.on=host", count=8))
        on_host = self.curve()
        for step in (step for step in on_host if step < 100):
            self.assertLessEqual(abs(on_gpus[step] - on_host[step]), 1e-3 * max(on_host[step], 0.1), f"step {step}")

    def test_amd(self):
        told = self.passes(vendor="amd", count=8)
        self.assertIn("hipBLAS", told)
        self.assertIn("memory of 8 GPUs over RCCL 2.21.5", told)

    def test_one_gpu_alone(self):
        self.assertIn("memory of 1 GPU over NCCL", self.passes("-S", "training.epochs=4", count=1))


class Libraries(Training):
    def test_without_a_blas_own_kernels_do(self):
        told = self.passes(*SHORT, drivers=self.drivers_without("libcublas.so.12"))
        self.assertRegex(told, r"own kernels \(libcublas\.so\.\d+ is absent\)")
        self.assertIn("own kernels)", self.passes(*SHORT, "-S", "training.blas=plain"))

    def test_without_nccl_sums_go_by_way_of_the_host(self):
        told = self.passes(*SHORT, drivers=self.drivers_without("libnccl.so.2"))
        self.assertIn("memory of 4 GPUs over MPI by way of the host (libnccl.so.2 is absent)", told)
        self.assertIn("by way of the host", self.passes(*SHORT, "-S", "training.transport=staged"))

    def test_nccl_that_was_asked_for(self):
        self.assertEqual(self.train("-S", "training.transport=nccl", drivers=self.drivers_without("libnccl.so.2")), 2)
        self.assertEqual(self.case["verdict"], "error", self.output)
        self.assertIn("libnccl.so.2 is absent", self.case["reason"])

    def test_nccl_that_is_of_no_use(self):
        self.assertEqual(self.train(faults=["broken_nccl"]), 2, self.output)
        self.assertIn("ncclGetVersion returned 3: internal error", self.case["reason"])

    def test_two_ranks_on_one_gpu(self):
        self.assertEqual(self.train(count=2, CUDA_VISIBLE_DEVICES="0"), 2, self.output)
        self.assertIn("Duplicate GPU detected", self.said)

    def test_without_code_for_kernels_nothing_is_trained(self):
        self.assertEqual(self.train(faults=["no_kernels"]), 2, self.output)
        self.assertIn("no code for kernels", self.case["reason"])
        self.assertIn("install the run-time compiler that belongs to the driver (NVRTC)", self.case["remedy"])


class Ill(Training):
    def test_a_wrong_byte_of_a_copy(self):
        self.ill("wrong_bytes")
        self.blamed(1, "ranks start from different parameters")

    def test_a_wrong_update(self):
        self.ill("wrong_update")
        self.blamed(2, r"since step 13: .* made another update of the same parameters and gradients$")

    def test_a_wrong_product(self):
        self.ill("wrong_product", "-S", "training.blas=plain")
        self.blamed(3, "computes wrongly: from the same parameters and samples it makes other gradients than the host does")

    def test_a_wrong_activation(self):
        self.ill("wrong_activation")
        self.blamed(1, "computes wrongly")

    def test_kernels_that_do_nothing(self):
        for kernel in ("all", "muster_train_product", "muster_train_bias", "muster_train_mask", "muster_train_sum_rows",
                       "muster_train_classify", "muster_train_tally", "muster_train_update"):
            with self.subTest(kernel):
                self.FAULTS = {**self.FAULTS, "idle": f"idle_kernels {kernel}"}
                own = ["-S", "training.blas=plain"] if kernel == "muster_train_product" else []
                self.assertEqual(self.train(*SHORT, *own, faults=["idle"], count=2), 1, self.output)
                self.assertEqual(self.case["verdict"], "fail", self.output)

    def test_a_wrong_loss(self):
        self.ill("wrong_loss")
        self.blamed(0, "computes wrongly")

    def test_a_wrong_sum(self):
        self.ill("wrong_sum")
        self.blamed(3, "got another sum of gradients$")

    def test_an_nvlink_that_is_trained_again_meanwhile(self):
        self.ill("recoveries")
        self.assertIn("had 4 NVLink recoveries of link 0 more under load", self.case["reason"])
        self.assertEqual([culprit["name"] for culprit in self.case["culprits"]], [f"GPU {GPUS[1]}"], self.output)

    def test_calls_that_fail_without_stopping_anything(self):
        for fault, call in (("no_uuid", "cuDeviceGetUuid_v2 returned 999"), ("not_freed", "cuMemFree_v2 returned 700")):
            with self.subTest(fault):
                self.ill(fault)
                self.assertIn("had a call fail: " + call, self.case["reason"])
                self.assertEqual([culprit["name"] for culprit in self.case["culprits"]], [f"GPU {GPUS[1]}"], self.output)

    def test_a_gpu_that_is_lost_in_the_middle(self):
        self.ill("lost")
        self.blamed(3, r"failed in step \d+: cuLaunchKernel returned 719: CUDA_ERROR_LAUNCH_FAILED")
        self.ill("lost", drivers=self.drivers_without("libnccl.so.2"))
        self.blamed(3, r"failed in step \d+: cuLaunchKernel returned 719")

    def test_a_gpu_of_amd_that_is_lost(self):
        self.ill("lost_on_amd", vendor="amd")
        self.blamed(3, r"failed in step \d+: hipModuleLaunchKernel returned 719")

    def test_a_sum_that_fails_on_one(self):
        self.ill("sum_fails")
        self.blamed(2, r"failed in step \d+: ncclAllReduce returned 1: unhandled cuda error")

    def test_no_memory(self):
        self.ill("no_memory")
        self.blamed(2, r"cuMemAlloc_v2 returned 2: CUDA_ERROR_OUT_OF_MEMORY")

    def test_calls_that_never_return_are_located(self):
        for fault, rank, call in (("hangs", 3, "cuLaunchKernel"), ("hangs_in_sum", 1, "ncclAllReduce")):
            with self.subTest(fault):
                self.ill(fault, "--timeout", "10s")
                self.assertRegex(self.case["reason"], rf"rank {rank} on .* is behind: in {call}, step train")
                self.assertIn(f"GPU {GPUS[rank]} ({self.uuid(rank)})", self.case["reason"])
                self.assertEqual({culprit["rank"] for culprit in self.case["culprits"]}, {rank}, self.output)


if __name__ == "__main__":
    on_gpus.main()
