"""A few of the moments of kill_nine.py."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kill_nine  # noqa: E402
import support  # noqa: E402


class KillNine(unittest.TestCase):
    def test_a_few_moments_of_each(self):
        self.assertEqual(kill_nine.campaign(kill_nine.VICTIMS, 2, 17), dict.fromkeys(kill_nine.VICTIMS, 2))


if __name__ == "__main__":
    support.main()
