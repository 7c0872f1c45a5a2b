"""What the PyTorch checks make of the log of NCCL and RCCL."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["MUSTER_SOURCE"], "checks", "pytorch"))

import transport

# As the LUMI user guide and newer plugins print them.
CXI = """nid1:9:9 [3] NCCL INFO NET/OFI Using aws-ofi-rccl 1.4.0
nid1:9:9 [3] NCCL INFO NET/OFI Selected Provider is cxi (found 4 nics)
nid1:9:9 [3] NCCL INFO Using network AWS Libfabric
"""
TCP = CXI.replace("is cxi", "is tcp")
SOCKETS = "nid1:9:9 [0] NCCL INFO NET/Socket : Using [0]hsn0:10.0.0.1<0>\nnid1:9:9 [0] NCCL INFO Using network Socket\n"


class Transport(unittest.TestCase):
    def test_what_the_log_says(self):
        seen = transport.read(CXI)
        self.assertEqual((seen.network, seen.provider, seen.plugin), ("AWS Libfabric", "cxi", "aws-ofi-rccl 1.4.0"))
        self.assertEqual(transport.describe(seen), "network AWS Libfabric (provider cxi, aws-ofi-rccl 1.4.0)")
        self.assertEqual(transport.read("NET/OFI Selected provider is cxi, fabric is cxi").provider, "cxi")
        self.assertEqual(transport.read("NCCL INFO Using network IB comm 0x55 nRanks 2").network, "IB")
        self.assertEqual(transport.describe(transport.read("nothing of it")), "")

    def test_slingshot_that_is_used(self):
        self.assertIsNone(transport.judge(transport.read(CXI), ["cxi0"], True))

    def test_another_provider_where_slingshot_is(self):
        reason, remedy = transport.judge(transport.read(TCP), ["cxi0", "cxi1"], True)
        self.assertEqual(reason, "data between nodes goes through libfabric's provider tcp, though cxi0 is there (by the log "
                                 "of NCCL or RCCL)")
        self.assertIn("libcxi.so.1", remedy)

    def test_sockets_where_slingshot_is(self):
        reason, _ = transport.judge(transport.read(SOCKETS), ["cxi0"], True)
        self.assertIn("goes through sockets, though cxi0 is there", reason)

    def test_what_is_no_fault(self):
        for log, devices, several in ((TCP, [], True), (TCP, ["cxi0"], False), ("", ["cxi0"], True)):
            self.assertIsNone(transport.judge(transport.read(log), devices, several))

    def test_devices_are_those_of_the_kernel(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(transport.slingshot(root), [])
            os.makedirs(os.path.join(root, "sys/class/cxi/cxi1"))
            os.makedirs(os.path.join(root, "sys/class/cxi/cxi0"))
            self.assertEqual(transport.slingshot(root), ["cxi0", "cxi1"])

    def test_the_log_is_asked_for_unless_the_user_did(self):
        kept = dict(os.environ)
        try:
            for name in transport.CHOSEN:
                os.environ.pop(name, None)
            path = transport.ask()
            self.assertEqual((os.environ["NCCL_DEBUG"], os.environ["NCCL_DEBUG_FILE"]), ("INFO", path))
            with open(path, "w") as out:
                out.write(CXI)
            self.assertEqual(transport.take(path), CXI)
            self.assertFalse(os.path.exists(os.path.dirname(path)))
            os.environ.update(NCCL_DEBUG="WARN")
            del os.environ["NCCL_DEBUG_FILE"]
            self.assertIsNone(transport.ask())
        finally:
            os.environ.clear()
            os.environ.update(kept)


if __name__ == "__main__":
    unittest.main()
