"""A few of the calls of every_call.py."""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import every_call  # noqa: E402
import support  # noqa: E402


class EveryCall(support.EndToEnd):
    def test_some_of_each_in_driver_and_agent(self):
        for victim in every_call.VICTIMS:
            for kind in every_call.CALLS:
                with self.subTest(victim=victim, kind=kind):
                    statuses, problems = every_call.loop(victim, kind, lambda calls: {(calls + 1) // 2} - {0})
                    self.assertEqual(problems, [])
                    # The agent may start nothing. The driver calls nobody (agents call it), and has no threads.
                    self.assertTrue(statuses or (victim, kind) in (("agent", "fork"), ("driver", "connect"), ("driver", "thread")), "the calls are not seen")


# Ends with 1 where its last step failed. READER: `pipe`: this program reads a pipe; `libuv`: libuv reads what it woke itself by.
READ_A_PIPE = """
import ctypes, os, sys
uv = ctypes.CDLL("libuv.so.1")
uv.uv_loop_size.restype = uv.uv_handle_size.restype = ctypes.c_size_t
woken, reader, writer = [], *os.pipe()
os.write(writer, b"x")
loop, handle = ctypes.create_string_buffer(uv.uv_loop_size()), ctypes.create_string_buffer(uv.uv_handle_size(1))
call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: woken.append(True))
assert uv.uv_loop_init(loop) == 0 and uv.uv_async_init(loop, handle, call) == 0 and uv.uv_async_send(handle) == 0
if sys.argv[1] == "pipe":
    os.read(reader, 1)
elif sys.argv[1] == "libuv":
    uv.uv_run(loop, 2)
    assert woken
"""


class WhatFails(unittest.TestCase):
    """Reads by which libuv wakes itself can't fail in the kernel; those of anyone else can, of a pipe too."""

    def count(self, reader, failing=0):
        with tempfile.TemporaryDirectory() as folder:
            counted = pathlib.Path(folder) / "count"
            done = subprocess.run([sys.executable, "-B", "-c", READ_A_PIPE, reader], capture_output=True, text=True, timeout=60, env={
                **os.environ, "LD_PRELOAD": str(support.FAILING_CALLS), "FAIL_KIND": "read", "FAIL_CALL": str(failing), "FAIL_ERRNO": "5",
                "FAIL_COUNT_FILE": str(counted)})
            return done.returncode, done.stderr, int.from_bytes(counted.read_bytes(), "little")

    def test_reads_of_libuv_that_wake_it_are_spared_and_those_of_others_are_not(self):
        status, said, without = self.count("none")
        self.assertEqual(status, 0, said)
        self.assertEqual(self.count("libuv", without + 1)[0::2], (0, without))
        status, said, reads = self.count("pipe", without + 1)
        self.assertEqual((status, reads), (1, without + 1), said)
        self.assertIn("Input/output error", said)


class GoesOn(unittest.TestCase):
    """The long way, in parts: with made-up runs of five calls, of which call 3 is a finding."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.kept, self.made, self.bad, self.late = pathlib.Path(folder.name) / "kept", [], {3}, 0

    def one(self, victim, kind, call):
        self.made.append((victim, kind, call))
        if call == 0 and self.late > 0:
            self.late -= 1
            return 1, 0, ""
        return 0, 5, "hangs" if call in self.bad else ""

    def main(self, *words):
        self.made = []
        with unittest.mock.patch.object(every_call, "one", self.one), contextlib.redirect_stdout(io.StringIO()) as out:
            return every_call.main(["--only", "read", "--kept", str(self.kept), *words]), out.getvalue()

    def test_calls_that_passed_are_not_made_again(self):
        self.assertEqual(self.main("--first", "2", "--step", "2", "driver")[0], 0)
        self.assertEqual([call for _, _, call in self.made], [0, 2, 4])
        status, said = self.main("driver")
        self.assertEqual((status, [call for _, _, call in self.made]), (1, [0, 1, 3, 5]))
        self.assertIn("hangs", said)
        self.assertIn("driver, read: 5 calls, 5 made to fail, statuses {0: 5}, 1 problems", said)
        self.bad = set()
        self.assertEqual(self.main("driver")[0], 0)
        self.assertEqual([call for _, _, call in self.made], [0, 3])

    def test_a_run_without_a_failure_that_misses_a_deadline_is_tried_again(self):
        self.late = 2
        self.assertEqual(self.main("--first", "5", "driver")[0], 0)
        self.assertEqual([call for _, _, call in self.made], [0, 0, 0, 5])
        self.late = 3
        self.assertEqual(self.main("--first", "5", "driver")[0], 1)

    def test_time_that_is_over_is_no_pass(self):
        self.assertEqual(self.main("--seconds", "0")[0], 3)
        self.bad = {0}
        self.assertEqual(self.main("agent")[0], 1)


if __name__ == "__main__":
    support.main(needs=())
