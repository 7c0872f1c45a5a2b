"""What torch_launch makes of starts that were made up."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["MUSTER_SOURCE"], "checks", "pytorch"))

import torch_launch


def rows(*masks, node="a", cpus=64, startup=3.0, training=1.0):
    return [{"rank": rank, "node": node, "mask": list(mask), "cpus": cpus, "startup": startup, "training": training}
            for rank, mask in enumerate(masks)]


OWN = rows(range(0, 16), range(16, 32))


class Launch(unittest.TestCase):
    def only(self, tasks, told):
        found = torch_launch.judge("srun", tasks, {"a": told} if told else {})
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_both_ways_are_well(self):
        # torchrun binds nobody: its workers share what their task has.
        self.assertEqual(torch_launch.judge("srun", OWN, {"a": {"reports": rows(range(32), range(32))}}), [])
        self.assertEqual(torch_launch.describe(OWN, {"a": {"reports": rows(range(4), range(4))}}),
                         ["one task per rank: 3.0 s to start, 1.0 s for an epoch, each has CPUs of its own",
                          "torchrun: 3.0 s to start, 1.0 s for an epoch, sharing CPUs 0, 1, 2, 3"])

    def test_all_ranks_on_one_core(self):
        reason, remedy, culprits = self.only(rows([5], [5], [5]), None)
        self.assertTrue(reason.startswith("the 3 ranks of srun on a have CPU 5 together, of 64 on the node"), reason)
        self.assertIn("srun -n RANKS -c CORES", remedy)
        self.assertEqual(culprits[0], {"launcher": "srun", "node": "a"})

    def test_a_machine_of_one_cpu_has_no_choice(self):
        self.assertEqual(torch_launch.judge("mpirun", rows([0], [0], cpus=1), {"a": {"reports": rows([0], [0], cpus=1)}}), [])

    def test_torchrun_inherits_one_core(self):
        reason, remedy, culprits = self.only(OWN, {"reports": rows([0], [0])})
        self.assertIn("torchrun inherits the CPUs of its one task of srun", reason)
        self.assertIn("--cpu-bind=none torchrun", remedy)
        self.assertEqual(culprits, [{"launcher": "torchrun in srun", "node": "a"}])

    def test_ten_seconds_become_ten_minutes(self):
        wide = range(32)
        reason, _, _ = self.only(OWN, {"reports": rows(wide, wide, startup=61)})
        self.assertIn("needs 61.0 s to start, srun alone 3.0 s", reason)
        reason, _, _ = self.only(OWN, {"reports": rows(wide, wide, training=600)})
        self.assertIn("needs 600.0 s for the training, srun alone 1.0 s", reason)
        # Five times as long is not news as long as it is short.
        self.assertEqual(torch_launch.judge("srun", OWN, {"a": {"reports": rows(wide, wide, startup=16)}}), [])

    def test_torchrun_that_fails(self):
        reason, _, _ = self.only(OWN, {"problem": "it exited with 1; RuntimeError: no"})
        self.assertIn("failed where srun alone started the same training: it exited with 1; RuntimeError: no", reason)

    def test_the_launcher_is_known_by_what_it_sets(self):
        self.assertEqual(torch_launch.launcher_name({"OMPI_COMM_WORLD_SIZE": "2", "SLURM_STEP_ID": "0"}), "mpirun")
        self.assertEqual(torch_launch.launcher_name({"SLURM_STEP_ID": "0", "PMI_RANK": "1"}), "srun")
        self.assertEqual(torch_launch.launcher_name({}), "the launcher")


if __name__ == "__main__":
    unittest.main()
