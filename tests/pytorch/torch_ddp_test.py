"""Who is named when the models of ranks differ."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["MUSTER_SOURCE"], "checks", "pytorch"))

from torch_ddp import odd_ranks


class OddRanks(unittest.TestCase):
    def test_the_minority_is_named(self):
        self.assertEqual(odd_ranks(["a", "a", "a"]), [])
        self.assertEqual(odd_ranks(["a", "a", "b"]), [2])
        self.assertEqual(odd_ranks(["b", "a", "a", "c", "a"]), [0, 3])

    def test_without_a_majority_all_are(self):
        self.assertEqual(odd_ranks(["a", "b"]), [0, 1])
        self.assertEqual(odd_ranks(["a", "a", "b", "b"]), [0, 1, 2, 3])
        self.assertEqual(odd_ranks(["a", "b", "c"]), [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
