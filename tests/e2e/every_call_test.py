"""A few of the calls of every_call.py."""
import os
import sys

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
                    # The agent may start nothing. The driver calls nobody: agents call it.
                    self.assertTrue(statuses or (victim, kind) in (("agent", "fork"), ("driver", "connect")), "the calls are not seen")


if __name__ == "__main__":
    support.main(needs=())
