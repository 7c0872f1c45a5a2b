"""allreduce and p2p on memory of simulated GPUs, over stand-ins of NCCL and RCCL: healthy, and with every fault."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import on_gpus  # noqa: E402

CHECKS = """
[check.allreduce]
probe   = "allreduce"
summary = "Sums are right."
ranks   = "one-per-gpu"
params  = { sizes = ["8B", "64KiB"], memory = "256KiB" }
[check.p2p]
probe   = "p2p"
summary = "Messages are right."
ranks   = "one-per-gpu"
params  = { sizes = ["64KiB"], memory = "256KiB" }
"""
FAULTS = {
    "wrong_sum": "corrupt_allreduce 3",
    "init_fails": "fail ncclCommInitRank 2",
    "init_fails_on_one": "fail ncclCommInitRank 2 5",
    "sum_fails": "fail ncclAllReduce 1 after 2",
    "hangs_in_init": "hang ncclCommInitRank 4",
    "hangs": "hang ncclAllReduce 6 after 3",
    "fails_later": "fail ncclCommGetAsyncError 6",
    "wrong_bytes": "corrupt_copy 2",
    "sockets": "set all nccl_network Socket",
    "no_version": "fail ncclGetVersion 3",
}


class OnGpus(on_gpus.OnGpus):
    CHECKS = CHECKS
    FAULTS = FAULTS

    def judge(self, *faults, vendor="nvidia", options=(), timeout="200s", **more):
        self.describe(*faults, vendor=vendor)
        return self.check("--timeout", timeout, *options, **more)


class Healthy(OnGpus):
    def passes(self, vendor, library, label):
        status = self.judge(vendor=vendor)
        self.assertEqual((status, self.verdicts()), (0, {"allreduce": "pass", "p2p": "pass"}), self.output)
        for check in ("allreduce", "p2p"):
            self.assertIn(f"memory of 8 GPUs over {library} 2.21.5", self.evidence(check), self.output)
            self.assertIn("P2P/CUMEM", self.evidence(check))
        with open(os.path.join(self.folder, "r.json")) as file:
            self.assertIn(f'"{label}"', file.read())
        self.assertEqual([name for name in os.listdir(os.path.join(self.folder, "machine")) if name.startswith("nccl-")], [])

    def test_nccl(self):
        self.passes("nvidia", "NCCL", "nccl")

    def test_rccl(self):
        self.passes("amd", "RCCL", "rccl")

    def test_host_memory_when_asked_for(self):
        status = self.judge(options=["-S", "allreduce.on=host", "-S", "p2p.transport=mpi"])
        self.assertEqual((status, set(self.verdicts().values())), (0, {"pass"}), self.output)
        for check in ("allreduce", "p2p"):
            self.assertNotIn("memory of", self.evidence(check))
            self.assertNotIn("on host memory", self.evidence(check))


class Libraries(OnGpus):
    def test_no_nccl_is_host_memory_and_is_said(self):
        status = self.judge(drivers=self.drivers_without("libnccl.so.2"))
        self.assertEqual((status, set(self.verdicts().values())), (0, {"pass"}), self.output)
        for check in ("allreduce", "p2p"):
            self.assertIn("on host memory: libnccl.so.2 is absent (all 8 ranks)", self.evidence(check))

    def test_no_nccl_though_asked_for(self):
        status = self.judge(drivers=self.drivers_without("libnccl.so.2"), options=["-S", "allreduce.transport=nccl", "-x", "p2p"])
        self.assertEqual((status != 0, self.verdicts()), (True, {"allreduce": "error"}), self.output)
        self.assertIn("libnccl.so.2 is absent", self.reasons("allreduce"))

    def test_gpu_memory_over_an_mpi_that_takes_none(self):
        status = self.judge(options=["-S", "allreduce.on=device", "-S", "allreduce.transport=mpi", "-x", "p2p"])
        self.assertEqual((status != 0, self.verdicts()), (True, {"allreduce": "error"}), self.output)
        self.assertIn("messages from GPU memory", self.reasons("allreduce"))
        self.assertIn("load an MPI that is built for GPUs", self.cases["allreduce"]["remedy"])

    def test_a_broken_library(self):
        folder = self.drivers_without("libnccl.so.2")
        with open(os.path.join(folder, "libnccl.so.2"), "w") as file:
            file.write("no library")
        self.judge(drivers=folder, options=["-x", "p2p"])
        self.assertEqual(self.verdicts(), {"allreduce": "error"}, self.output)
        self.assertIn("libnccl.so.2 is of no use", self.reasons("allreduce"))

    def test_a_library_that_answers_nothing(self):
        self.judge("no_version", options=["-x", "p2p"])
        self.assertEqual(self.verdicts(), {"allreduce": "error"}, self.output)
        self.assertIn("ncclGetVersion returned 3: internal error", self.reasons("allreduce"))


class Ill(OnGpus):
    def one(self, *faults, **more):
        """Of allreduce alone."""
        self.assertNotEqual(self.judge(*faults, **{"options": ["-x", "p2p"], **more}), 0, self.output)
        return self.cases["allreduce"]["verdict"], self.reasons("allreduce")

    def test_a_wrong_sum_on_one_rank(self):
        verdict, reason = self.one("wrong_sum")
        self.assertEqual(verdict, "fail", self.output)
        self.assertIn("rank 3 on", reason)
        self.assertIn("bit 4 is flipped", reason)
        self.assertIn("element ", reason)
        self.assertEqual(self.culprits("allreduce"), ["rank 3"])

    def test_no_communicator(self):
        verdict, reason = self.one("init_fails")
        self.assertEqual(verdict, "error", self.output)
        self.assertIn("ncclCommInitRank returned 2: unhandled system error", reason)
        self.assertIn("told to fail", reason)

    def test_no_communicator_on_one_gpu(self):
        verdict, reason = self.one("init_fails_on_one")
        self.assertEqual(verdict, "error", self.output)
        self.assertIn("ncclCommInitRank returned 2", reason)
        self.assertIn("rank 5", self.culprits("allreduce"))

    def test_a_sum_that_fails(self):
        verdict, reason = self.one("sum_fails")
        self.assertIn(verdict, ("fail", "error"), self.output)
        self.assertIn("ncclAllReduce returned 1: unhandled cuda error", reason)

    def test_all_on_one_gpu(self):
        verdict, reason = self.one(CUDA_VISIBLE_DEVICES="0")
        self.assertIn(verdict, ("fail", "error"), self.output)
        self.assertIn("Duplicate GPU detected", self.said)

    def test_a_call_that_never_returns_is_located(self):
        verdict, reason = self.one("hangs", timeout="25s")
        self.assertEqual(verdict, "fail", self.output)
        self.assertIn("rank 6", reason)
        self.assertIn("ncclAllReduce", reason)
        self.assertEqual(self.culprits("allreduce"), ["rank 6"])

    def test_what_is_not_done_in_time_is_given_up(self):
        verdict, reason = self.one("hangs", timeout="40s", options=["-x", "p2p", "-S", "allreduce.deadline=3s"])
        self.assertIn(verdict, ("fail", "error"), self.output)
        self.assertIn("ncclAllReduce was not done after 3s and was given up (ncclCommAbort)", self.said)

    def test_a_wrong_byte_of_a_message(self):
        self.assertNotEqual(self.judge("wrong_bytes", options=["-x", "allreduce"]), 0, self.output)
        self.assertEqual(self.cases["p2p"]["verdict"], "fail", self.output)
        self.assertIn("rank 2", " ".join(self.culprits("p2p")))


if __name__ == "__main__":
    on_gpus.main()
