"""allreduce and p2p on memory of simulated GPUs, over stand-ins of NCCL and RCCL: healthy, and with every fault."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import on_gpus  # noqa: E402
import on_machine  # noqa: E402

CHECKS = """
[check.allreduce]
probe   = "allreduce"
summary = "Sums are right."
ranks   = "one-per-gpu"
params  = { sizes = ["8B", "64KiB"], memory = "256KiB", types = ["float", "int64", "half", "bfloat16"] }
[check.p2p]
probe   = "p2p"
summary = "Messages are right."
ranks   = "one-per-gpu"
params  = { sizes = ["64KiB"], memory = "256KiB" }
"""
FAULTS = {
    "wrong_sum": "corrupt_allreduce 3",
    "meeting_fails": "fail ncclCommInitRankConfig 2",
    "meeting_fails_on_one": "fail ncclCommInitRankConfig 2 5",
    "meeting_hangs": "hang ncclCommInitRankConfig 4",
    "meeting_stalls": "stall ncclCommInitRankConfig 4",
    "init_fails_on_one": "fail ncclCommInitRank 2 5",
    "hangs_in_init": "hang ncclCommInitRank 4",
    "no_id": "fail ncclGetUniqueId 3",
    "sum_fails": "fail ncclAllReduce 1 after 2",
    "sum_fails_on_one": ["fail ncclAllReduce 1 5 after 2", "set all nccl_notices yes"],
    "hangs": "hang ncclAllReduce 6 after 3",
    "fails_later": "fail ncclCommGetAsyncError 6",
    "wrong_bytes": "corrupt_copy 2",
    "no_peers": [f"set {gpu} peers no" for gpu in range(8)],
    "no_version": "fail ncclGetVersion 3",
    "recoveries": "later 2 nvlink_recoveries 4 after 1",
    "corrected": "later 2 ecc_corrected 7 after 1",
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
        for metric in self.cases["p2p"]["metrics"]:
            self.assertIn("cpu_link", metric["where"], "what CPUs share is no link of GPUs")
            self.assertNotIn("link", metric["where"])
        self.assertEqual([name for name in os.listdir(os.path.join(self.folder, "machine")) if name.startswith("nccl-")], [])

    def test_nccl(self):
        self.passes("nvidia", "NCCL", "nccl")

    def test_rccl(self):
        self.passes("amd", "RCCL", "rccl")

    def test_a_library_of_before_2_14(self):
        folder = self.drivers_without("libnccl.so.2")
        os.symlink(os.path.join(on_gpus.DRIVERS + "-2021", "libnccl.so.2"), os.path.join(folder, "libnccl.so.2"))
        status = self.judge(drivers=folder)
        self.assertEqual((status, self.verdicts()), (0, {"allreduce": "pass", "p2p": "pass"}), self.output)
        self.assertIn("over NCCL 2.8.4", self.evidence("allreduce"))

    def test_a_communicator_that_does_not_block(self):
        """Every call may return that it goes on; the stand-in refuses the next one until it was asked."""
        status = self.judge(NCCL_COMM_BLOCKING="0")
        self.assertEqual((status, self.verdicts()), (0, {"allreduce": "pass", "p2p": "pass"}), self.output)
        for check in ("allreduce", "p2p"):
            self.assertIn("memory of 8 GPUs over NCCL", self.evidence(check))

    def test_half_and_bfloat16_are_summed(self):
        self.judge(options=["-x", "p2p"])
        types = {m["where"]["type"] for m in self.cases["allreduce"]["metrics"]}
        self.assertEqual(types, {"float", "int64", "half", "bfloat16"}, self.output)

    def test_a_way_round_nvlink_is_a_failure(self):
        """The GPUs can't reach each other's memory, though NVLink is there."""
        status = self.judge("no_peers")
        self.assertEqual((status, self.verdicts()), (1, {"allreduce": "fail", "p2p": "fail"}), self.output)
        for check in ("allreduce", "p2p"):
            reason = self.cases[check]["reason"]
            self.assertIn("data between GPUs of one node goes through the host's memory (SHM), though NVLink links them "
                          "(8 pairs: rank 0 -> rank 1 on ", reason)
            self.assertIn("NCCL_P2P_DISABLE", self.cases[check]["remedy"])

    def test_host_memory_when_asked_for(self):
        status = self.judge(options=["-S", "allreduce.on=host", "-S", "allreduce.types=float,int64", "-S", "p2p.on=host"])
        self.assertEqual((status, set(self.verdicts().values())), (0, {"pass"}), self.output)
        for check in ("allreduce", "p2p"):
            self.assertNotIn("memory of", self.evidence(check))
            self.assertNotIn("on host memory", self.evidence(check))


class Libraries(OnGpus):
    def test_no_nccl_is_no_reason_to_measure_the_host(self):
        for transport, why in (("auto", "libnccl.so.2 is absent (all 8 ranks)"), ("mpi", "messages from GPU memory")):
            with self.subTest(transport):
                status = self.judge(drivers=self.drivers_without("libnccl.so.2"),
                                    options=["-S", f"*.transport={transport}", "-S", "allreduce.types=float"])
                self.assertEqual((status, set(self.verdicts().values())), (2, {"error"}), self.output)
                for check in ("allreduce", "p2p"):
                    self.assertIn(why, self.reasons(check))
                    self.assertIn("on=host measures host memory", self.cases[check]["remedy"])
                    self.assertEqual(self.cases[check]["metrics"], [])

    def test_no_nccl_though_asked_for(self):
        status = self.judge(drivers=self.drivers_without("libnccl.so.2"), options=["-S", "allreduce.transport=nccl", "-x", "p2p"])
        self.assertEqual((status != 0, self.verdicts()), (True, {"allreduce": "error"}), self.output)
        self.assertIn("libnccl.so.2 is absent", self.reasons("allreduce"))

    def test_gpu_memory_over_an_mpi_that_takes_none(self):
        status = self.judge(options=["-S", "allreduce.on=device", "-S", "allreduce.transport=mpi", "-S", "allreduce.types=float", "-x", "p2p"])
        self.assertEqual((status != 0, self.verdicts()), (True, {"allreduce": "error"}), self.output)
        self.assertIn("messages from GPU memory", self.reasons("allreduce"))
        self.assertIn("load an MPI that is built for GPUs", self.cases["allreduce"]["remedy"])

    def test_a_broken_library(self):
        folder = self.drivers_without("libnccl.so.2")
        with open(os.path.join(folder, "libnccl.so.2"), "w") as file:
            file.write("no library")
        self.judge(drivers=folder, options=["-x", "p2p"])
        self.assertEqual(self.verdicts(), {"allreduce": "error"}, self.output)
        self.assertIn("libnccl.so.2 is unusable", self.reasons("allreduce"))

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

    def blamed(self, rank, *words):
        """That rank alone, with its node, its GPU by address and UUID, and a remedy."""
        case = self.cases["allreduce"]
        self.assertEqual(self.culprits("allreduce"), [f"rank {rank}"], self.output)
        self.assertIn(f"rank {rank} on {on_machine.NODE}", self.reasons("allreduce"))
        self.assertIn(f"GPU {on_gpus.GPUS[rank]} ({self.uuid(rank)})", self.reasons("allreduce"), self.output)
        self.assertTrue(case["remedy"])
        for word in words:
            self.assertIn(word, self.reasons("allreduce"), self.output)

    def test_no_communicator(self):
        verdict, reason = self.one("meeting_fails")
        self.assertEqual(verdict, "error", self.output)
        self.assertIn("ncclCommInitRankConfig returned 2: unhandled system error", reason)
        self.assertIn("fails by order", reason)

    def test_no_communicator_on_one_gpu(self):
        for fault, call in (("meeting_fails_on_one", "ncclCommInitRankConfig"), ("init_fails_on_one", "ncclCommInitRank")):
            with self.subTest(fault):
                verdict, _ = self.one(fault)
                self.assertEqual(verdict, "error", self.output)
                self.blamed(5, f"{call} returned 2: unhandled system error")

    def test_no_id(self):
        verdict, _ = self.one("no_id")
        self.assertEqual(verdict, "error", self.output)
        self.blamed(0, "ncclGetUniqueId returned 3: internal error")

    def test_an_init_that_never_returns_is_located(self):
        for deadline in ("300s", "3s"):
            with self.subTest(deadline):
                verdict, _ = self.one("meeting_hangs", timeout="10s",
                                      options=["-x", "p2p", "-S", f"allreduce.deadline={deadline}"])
                self.assertEqual(verdict, "fail", self.output)
                self.blamed(4, "in ncclCommInitRankConfig", "7 ranks wait for it")
                self.assertIn("NCCL_DEBUG=INFO", self.cases["allreduce"]["remedy"])

    def test_an_init_that_goes_on_for_ever_is_given_up(self):
        verdict, reason = self.one("meeting_stalls", timeout="60s", options=["-x", "p2p", "-S", "allreduce.deadline=3s"])
        self.assertEqual(verdict, "error", self.output)
        self.assertIn("ncclCommInitRankConfig was not done after 3s on 8 of 8 ranks and was given up (ncclCommAbort)", reason)

    def test_asking_again_and_again_is_no_progress(self):
        """The library goes on for ever, and the check's timeout comes before the deadline."""
        verdict, reason = self.one("meeting_stalls", timeout="10s")
        self.assertEqual(verdict, "fail", self.output)
        self.assertIn("all 8 ranks are in step make communicator since", reason)
        self.assertNotIn("at work", reason)

    def test_a_blocking_init_that_never_returns(self):
        """Of an old library, which can't be asked meanwhile: all ranks are inside of it."""
        verdict, reason = self.one("hangs_in_init", timeout="10s", drivers=self.old_drivers())
        self.assertEqual(verdict, "fail", self.output)
        self.assertIn("all 8 ranks are in ncclCommInitRank", reason)
        self.assertIn("NCCL_DEBUG=INFO", self.cases["allreduce"]["remedy"])

    def old_drivers(self):
        folder = self.drivers_without("libnccl.so.2")
        os.symlink(os.path.join(on_gpus.DRIVERS + "-2021", "libnccl.so.2"), os.path.join(folder, "libnccl.so.2"))
        return folder

    def test_a_sum_that_fails_on_one_gpu(self):
        verdict, _ = self.one("sum_fails_on_one", timeout="60s")
        self.assertEqual(verdict, "fail", self.output)
        self.blamed(5, "ncclAllReduce returned 1: unhandled cuda error")
        self.assertNotIn("returned 6", self.reasons("allreduce"))

    def test_a_sum_that_fails(self):
        verdict, reason = self.one("sum_fails")
        self.assertIn(verdict, ("fail", "error"), self.output)
        self.assertIn("ncclAllReduce returned 1: unhandled cuda error", reason)

    def test_all_on_one_gpu(self):
        verdict, reason = self.one(CUDA_VISIBLE_DEVICES="0")
        self.assertIn(verdict, ("fail", "error"), self.output)
        self.assertIn("Duplicate GPU detected", self.said)

    def test_a_call_that_never_returns_is_located(self):
        verdict, reason = self.one("hangs", timeout="12s")
        self.assertEqual(verdict, "fail", self.output)
        self.assertIn("rank 6", reason)
        self.blamed(6, "in ncclAllReduce")
        self.assertIn("NCCL_DEBUG=INFO", self.cases["allreduce"]["remedy"])

    def test_what_is_not_done_in_time_is_given_up(self):
        """By those that wait, who are not to blame; the call that hangs keeps its rank."""
        self.one("hangs", timeout="20s", options=["-x", "p2p", "-S", "allreduce.deadline=3s"])
        self.assertEqual(self.cases["allreduce"]["verdict"], "fail", self.output)
        self.blamed(6, "in ncclAllReduce")

    def test_counters_of_gpus_that_change_while_data_moves(self):
        """The sums come first: what they changed is not of the messages."""
        self.assertEqual(self.judge("recoveries"), 1, self.output)
        self.assertEqual(self.verdicts(), {"allreduce": "fail", "p2p": "pass"}, self.output)
        self.assertIn("had 4 NVLink recoveries of link 0 more under load", self.reasons("allreduce"))
        self.assertEqual(self.culprits("allreduce"), [f"GPU {on_gpus.GPUS[2]}"])
        self.assertEqual(self.judge("corrected"), 0, self.output)
        self.assertIn("had 7 corrected memory errors more under load", " ".join(self.cases["allreduce"]["notes"]))

    def test_a_wrong_byte_of_a_message(self):
        self.assertNotEqual(self.judge("wrong_bytes", options=["-x", "allreduce"]), 0, self.output)
        self.assertEqual(self.cases["p2p"]["verdict"], "fail", self.output)
        self.assertIn("rank 2", " ".join(self.culprits("p2p")))


if __name__ == "__main__":
    on_gpus.main()
