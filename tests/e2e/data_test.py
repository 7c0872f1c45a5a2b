"""A bit that changes on its way to one rank: p2p and allreduce see it, and say whose, where and which. And the way that
messages take: sockets within a node are seen."""
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import support  # noqa: E402
from support import Run  # noqa: E402

FLIPPED_BIT = support.BIN / "flipped_bit.so"
MIB = 1 << 20


class Shipped(Run):
    """`muster run -n NAME`, as a user types it: the shipped program, its agent and its check."""

    def __init__(self, name, *options, env=None):
        super().__init__("", *options, agent=None, env=env)
        self.argv = [str(support.BIN / "muster"), "run", "-n", f"^{name}$", "--ranks-per-node", "2", "--output",
                     str(self.output), "--agent", str(support.AGENTS / "muster-rank"), *map(str, options)]


class FullLoopback:
    """A process that sends to itself over lo, as fast as it can, until the block ends."""

    PROGRAM = """
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listener.getsockname())
receiver, _ = listener.accept()
block = bytearray(1 << 20)
threading.Thread(target=lambda: all(iter(lambda: receiver.recv_into(bytearray(1 << 20)), 0)), daemon=True).start()
print("sending", flush=True)
while True:
    sender.sendall(block)
"""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", self.PROGRAM], stdout=subprocess.PIPE)
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Data(support.EndToEnd):
    def run_flipped(self, name, *options, **flip):
        """The case `name`; flips as told (in=, rank=, ...), or not at all."""
        preload = ["-J=-x", f"-J=LD_PRELOAD={FLIPPED_BIT}"] if flip else []
        env = {f"FLIP_{key.upper()}": str(value) for key, value in flip.items()}
        env["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        run = Shipped(name, "--launcher", "mpirun", *preload, *options, env=env)
        self.addCleanup(run.clean)
        run.finish(60)
        self.assert_clean(run)
        case = run.case(name)
        print(f"  {run.seconds:.1f} s: {case['verdict']}: {case['reason'] or '; '.join(case['evidence'])}")
        return run, case

    def assert_wrong(self, run, case, *patterns):
        self.assert_status(run, 1)
        self.assertEqual(case["verdict"], "fail", run.story())
        for pattern in patterns:
            self.assertTrue(re.search(pattern, case["reason"]), f"{pattern} is not in: {case['reason']}")
        self.assertTrue(case["remedy"])

    P2P = ("-S", "p2p.sizes=1MiB", "-S", "p2p.latency_sizes=24B", "-S", "p2p.cap=30ms")

    def test_p2p_of_a_healthy_machine(self):
        run, case = self.run_flipped("p2p", *self.P2P)
        self.assert_status(run, 0)
        self.assertEqual(case["verdict"], "pass", run.story())

    def test_the_library_alone_changes_nothing(self):
        run, case = self.run_flipped("p2p", *self.P2P, **{"in": "recv", "rank": 1, "bytes": 24, "call": 0})
        self.assertEqual(case["verdict"], "pass", run.story())

    def test_one_bit_of_one_short_message(self):
        """Once, in the third message of the latency's thousands: each has its own part of memory."""
        run, case = self.run_flipped("p2p", *self.P2P,
                                     **{"in": "recv", "rank": 1, "bytes": 24, "call": 3, "byte": 17, "bit": 5})
        self.assert_wrong(run, case, r"^rank 1 on \S+ received wrong data from rank 0 on \S+ \(latency, 24B\): ",
                          r"bit 5 of byte 17 is flipped \(0x[0-9a-f]{2} instead of 0x[0-9a-f]{2}\), in 1 of \d+ messages compared$")
        self.assert_blames(run, case, 0)
        self.assert_blames(run, case, 1)
        self.assertIn({"kind": "link", "name": "rank 0 -> rank 1"},
                      [{key: culprit[key] for key in ("kind", "name")} for culprit in case["culprits"]])

    def test_a_bit_of_long_messages(self):
        """Of every long message from the second on: what came before into the same part of memory is not looked at."""
        run, case = self.run_flipped("p2p", *self.P2P, **{"in": "waitall", "rank": 0, "bytes": MIB, "call": 2, "stays": 1,
                                                          "byte": 700_001, "bit": 0})
        self.assert_wrong(run, case, r"^rank 0 on \S+ received wrong data from rank 1 on \S+ \(bandwidth, 1MiB\): ",
                          r"bit 0 of byte 700001 is flipped", r"readings were wrong$")

    # One buffer for all messages: what the last one leaves there is right in 19 readings of 20.
    RARE = ("-S", "p2p.buffers=reused", "-S", "p2p.sizes=64KiB", "-S", "p2p.verify=20")

    def test_one_wrong_message_in_twenty(self):
        run, case = self.run_flipped("p2p", *self.P2P, *self.RARE, **{"in": "waitall", "rank": 1, "bytes": 65536, "every": 20,
                                                                     "byte": 40_001, "bit": 6})
        self.assert_wrong(run, case, r"^rank 1 on \S+ received wrong data from rank 0 on \S+ \(b\w+, 64KiB\): bit 6 of byte 40001 is "
                          r"flipped \(0x[0-9a-f]{2} instead of 0x[0-9a-f]{2}\), .*in \d+ of \d+ messages compared")
        self.assertEqual([culprit["name"] for culprit in case["culprits"]], ["rank 0 -> rank 1", "rank 0", "rank 1"])

    def test_the_share_that_was_compared_is_evidence(self):
        run, case = self.run_flipped("p2p", *self.P2P, *self.RARE)
        self.assert_status(run, 0)
        share = [text for text in case["evidence"] if text.startswith("messages compared whole: ")]
        self.assertEqual(len(share), 1, run.story())
        counts = re.search(r" (\d+) of (\d+) of 64KiB \(\S+ %\)", share[0])
        self.assertTrue(counts, share)
        compared, received = map(int, counts.groups())
        self.assertGreater(compared, 10)
        self.assertRegex(share[0], rf"one wrong message in .*{int(compared / math.log(100))} of 64KiB is found with 99 %$")
        self.assertLess(run.seconds, 20 * support.SLOWNESS)

    SOCKETS = ("-J=--mca", "-J=pml", "-J=ob1", "-J=--mca", "-J=btl", "-J=tcp,self")

    def needs_open_mpi(self):
        if "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout:
            self.skipTest("mpirun is another MPI's")

    def test_sockets_within_a_node(self):
        self.needs_open_mpi()
        run, case = self.run_flipped("p2p", *self.P2P, *self.SOCKETS)
        self.assert_wrong(run, case, r"^messages within a node go through sockets on lo instead of shared memory \(2 of 2 "
                          r"ranks, proven by the interface's byte counters\)$")
        self.assert_blames(run, case, 0)

    def test_sockets_within_a_node_may_be_allowed(self):
        self.needs_open_mpi()
        run, case = self.run_flipped("p2p", *self.P2P, *self.SOCKETS, "-S", "p2p.sockets=allowed")
        self.assertEqual(case["verdict"], "pass", run.story())

    def test_other_traffic_on_lo_is_not_the_ranks(self):
        """Interfaces count all processes: a neighbour that fills lo does not make shared memory look like sockets."""
        with FullLoopback():
            run, case = self.run_flipped("p2p", *self.P2P)
        self.assertNotIn("sockets", case["reason"], run.story())
        self.assertNotEqual(case["verdict"], "fail", run.story())

    ALLREDUCE = ("-S", "allreduce.sizes=1MiB", "-S", "allreduce.types=float,int64", "-S", "allreduce.cap=30ms")

    def test_allreduce_of_a_healthy_machine(self):
        run, case = self.run_flipped("allreduce", *self.ALLREDUCE)
        self.assert_status(run, 0)
        self.assertEqual(case["verdict"], "pass", run.story())

    def test_a_bit_of_a_sum_on_one_rank(self):
        run, case = self.run_flipped("allreduce", *self.ALLREDUCE, "-S", "allreduce.types=float",
                                     **{"in": "allreduce", "rank": 1, "bytes": MIB, "call": 1, "stays": 1, "byte": 4001,
                                        "bit": 2})
        self.assert_wrong(run, case, r"^rank 1 on \S+ has a wrong sum of float \(1MiB\): element 1000 is ",
                          r"bit 10 is flipped")
        self.assert_blames(run, case, 1)
        self.assertEqual([culprit["rank"] for culprit in case["culprits"]], [1])

    def test_one_wrong_sum_in_twenty(self):
        run, case = self.run_flipped("allreduce", *self.ALLREDUCE, "-S", "allreduce.types=float", "-S", "allreduce.sizes=64KiB",
                                     "-S", "allreduce.buffers=reused", "-S", "allreduce.verify=50",
                                     **{"in": "allreduce", "rank": 1, "bytes": 65536, "every": 20, "byte": 4001, "bit": 2})
        self.assert_wrong(run, case, r"^rank 1 on \S+ has a wrong sum of float \(64KiB\): element 1000 is .*\(bit 10 is flipped\), "
                          r".*in \d+ of \d+ sums compared")
        self.assertEqual([culprit["rank"] for culprit in case["culprits"]], [1])


if __name__ == "__main__":
    if not FLIPPED_BIT.exists():
        sys.exit(f"{FLIPPED_BIT} is missing; set MUSTER_BUILD to a build folder and build all")
    support.main()
