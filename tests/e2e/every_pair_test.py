"""Every pair of faults of a node of a described machine: both are named, and nothing else.

The answers are those of every_fault_test.py, together; what hides another fault is listed here. Of two machines, as there are 488 pairs;
of all with MUSTER_ALL_PAIRS=1, as ./dev bench does."""
import itertools
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import every_fault_test as single  # noqa: E402
import on_gpus  # noqa: E402

MACHINES = single.EXPECTED if os.environ.get("MUSTER_ALL_PAIRS") else ("a10g-vm", "frontier")
MOST = 20  # nodes with a fault in a launch
# What is gone, answers nothing or has not started shows no other fault. A later one hides an earlier one; what is applied after a
# device is gone would be about the next one.
HIDES = ("mig_without_instances", "mig", "no_fabric", "nic_down", "nic_missing", "driver_mismatch", "gpu_lost", "gpu_missing")
KERNEL = {"gpu_narrow"}  # seen without the driver's library
FABRIC = {"fabric_degraded", "fabric_route", "fabric_domain"}
NIC = {"nic_down", "nic_slow", "nics_swapped"}
# Made by the stand-in of the library, which numbers the GPUs that are left.
BY_NUMBER = {"ecc_uncorrected", "row_remap", "hot", "power_brake", "nvlink_down", "id_differs", "leftover", "mig_off", "mig_pending",
             "mig_without_instances"} | FABRIC
ONE_NIC = {"vista", "zurada-gpu1h100", "zurada-gpu2h100"}
# Of these a GPU has one.
CONTRARY = [{"fabric_degraded", "fabric_route"}, {"mig_off", "mig_pending"}, {"mig_off", "mig_without_instances"}, {"mig", "mig_without_instances"}]


def pairs(name):
    order = list(single.shown_here(name))
    order.sort(key=lambda fault: HIDES.index(fault) if fault in HIDES else -1)
    return [pair for pair in itertools.combinations(order, 2) if set(pair) not in CONTRARY]


def answers(name, pair):
    """What every_fault_test expects of each, without what the other hides."""
    one, other = pair
    first, second = (single.EXPECTED[name][fault] for fault in pair)
    is_seen_by_library = first is not None and first[0] == single.SEEN and one not in KERNEL
    is_of_gpu = first is not None and (first[1] == single.EXPECTED[name]["gpu_lost"][1] or one == "gpu_whole")
    if other == "gpu_missing" and one == "no_fabric":
        return [(first[0], [gpu for gpu in first[1] if gpu not in single.EXPECTED[name]["gpu_lost"][1]], first[2]), second]
    if other == "gpu_missing" and one in BY_NUMBER:
        return [(first[0], ["GPU "], first[2]), second]
    if other == "nic_missing" and one == "few_files" and name in ONE_NIC:
        return [(first[0], ["nofile"], first[2]), second]  # locked memory is what networks need
    hidden = (other in ("gpu_missing", "gpu_lost") and is_of_gpu or other == "driver_mismatch" and is_seen_by_library or
              # A GPU that is split has no NVLinks.
              other in ("mig", "mig_without_instances") and one == "nvlink_down" or
              other == "no_fabric" and one in FABRIC or other == "nic_missing" and one in NIC or
              # A port that is down has no rate.
              (one, other) == ("nic_slow", "nic_down"))
    return [second] if hidden else [first, second]


class EveryPair(unittest.TestCase):
    pass


def fails_as_expected(name):
    def test(self):
        every = pairs(name)
        for first in range(0, len(every), MOST):
            machine = single.Machine(name, every[first:first + MOST])
            self.assertEqual(machine.status, 1, machine.output)
            for host, found in machine.found.items():
                faults = machine.faults_of.get(host, ())
                with self.subTest(faults or "without a fault"):
                    single.check_found(self, found, answers(name, faults) if faults else [], "")
    return test


for machine in MACHINES:
    setattr(EveryPair, f"test_{machine.replace('-', '_')}", fails_as_expected(machine))


if __name__ == "__main__":
    on_gpus.main()
