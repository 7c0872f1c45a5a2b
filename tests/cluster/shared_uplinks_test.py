"""Twelve virtual nodes in three racks of four, each behind an uplink that two pairs fill: pairs of different racks slow each other
down by up to two thirds, which hides a node that is slower by less. Measured alone, they don't.

Links and uplinks are limited by token buckets, as in p2p_test.py, whose rules for a busy machine hold here, too.
"""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import node_links  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from p2p_test import READINGS, OnSlowLinks, main, named  # noqa: E402
from support import check  # noqa: E402

RACKS, OF_RACK = 3, 4
NODES = tuple(f"nid{number:03}" for number in range(1, RACKS * OF_RACK + 1))
HEALTHY, SLOW, UPLINK = "60mbit", "42mbit", "110mbit"
COUNTED = "pairs were slow while other pairs communicated"


class SharedUplinks(OnSlowLinks):
    NODES, RANKS = NODES, 1
    CHECKS = check("all_pairs", probe="p2p", timeout="90s", least_slowdown=0.15, **READINGS)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for rack in range(RACKS):
            cls.add_rack(rack)

    @classmethod
    def add_rack(cls, rack):
        """A switch of its own, and one cable to the others."""
        index = cls.cluster.index
        switch, up, down = f"vcrk{index}r{rack}", f"vcup{index}r{rack}", f"vcdn{index}r{rack}"
        vc.run("ip", "link", "add", switch, "type", "bridge")
        vc.run("ip", "link", "set", switch, "up")
        vc.run("ip", "link", "add", up, "type", "veth", "peer", "name", down)
        vc.run("ip", "link", "set", up, "master", switch, "up")
        vc.run("ip", "link", "set", down, "master", cls.cluster.bridge, "up")
        for node in NODES[rack * OF_RACK:(rack + 1) * OF_RACK]:
            vc.run("ip", "link", "set", cls.cluster.link(node), "master", switch)
        for device in (up, down):
            node_links.limit(node_links.End(device), UPLINK)

    def set_links(self, faults):
        for node in NODES:
            self.cluster.slow(node, SLOW if node in faults else HEALTHY)

    def is_right(self, case, faults):
        """The slow nodes are named, and no others. Of a pass, the evidence reports that pairs share something."""
        reasons = named(case)
        if not faults:
            return not reasons and any(COUNTED in text for text in case["evidence"])
        return set(reasons) == set(faults) and all(" is slow both ways: " in reason for reason in reasons.values())

    def expect(self, faults):
        """What pairs share must not be too much noise to tell."""
        try:
            super().expect(faults)
        except unittest.SkipTest as skipped:
            self.assertNotIn("too noisy", str(skipped))
            raise

    def test_healthy_nodes_behind_shared_uplinks(self):
        self.expect({})

    def test_a_slow_node_behind_a_shared_uplink(self):
        self.expect({"nid006": "both"})


if __name__ == "__main__":
    main()
