"""Four virtual nodes with two ranks each, some links at a fifth of the others: p2p names the right nodes and ways.

All links are limited to 200 Mbit/s, so that the network is slow and not the processors that the nodes share, and a
faulty one to 40: the share that 200 Mbit/s are of a gigabit, which two busy cores do not reach. Ranks that wait for a
message sleep (`sleepy_yield.so`), or who measures would wait for its turn among them.

Each scenario is one launch with two cases: everybody with everybody, and three random rounds. What is left of the noise
is that of a busy machine: a case that goes wrong has to be right twice more; one that says itself that it was too noisy
to tell is asked again, and where it never can tell the scenario is skipped with that reason; while others use the
processors nothing is launched.
"""
import json
import os
import pathlib
import re
import struct
import sys
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import node_links  # noqa: E402
import support  # noqa: E402
import virtual_cluster as vc  # noqa: E402
from support import Run, check  # noqa: E402

NODES = ("nid001", "nid002", "nid003", "nid004")
MOST_BUSY, PATIENCE = 0.3, 20  # of the CPUs, before a launch; seconds that it may take to be less
MOST_LAUNCHES = 6  # of a scenario
HEALTHY, SLOW = "200mbit", "40mbit"
SLEEPY = support.BIN / "sleepy_yield.so"
CLAIMS = {"both": "is slow both ways", "sends": "is slow when it sends", "receives": "is slow when it receives"}
# Short, as links are slow: 128 KiB are under way at once. No reading ends early, or its neighbour would have the link.
READINGS = {"sizes": ["16KiB"], "window": 8, "memory": "1MiB", "cap": "100ms", "interval": 0.0001}
CHECKS = "".join(check(name, probe="p2p", timeout="60s", least_slowdown=0.5, **READINGS, **params)
                 for name, params in {"all_pairs": {}, "three_rounds": {"rounds": 3}}.items())


def named(case):
    """What was said of each culprit."""
    return {culprit["name"]: finding["reason"] for finding in case["findings"] for culprit in finding["culprits"]}


def is_right(case, faults):
    """The faulty nodes are named, each with its directions, and nobody else is. With none, all readings were compared."""
    reasons = named(case)
    if not faults:
        return not reasons and any(" compared, no node slow" in evidence for evidence in case["evidence"])
    return set(reasons) == set(faults) and all(
        reason.startswith(f"{node} {CLAIMS[faults[node]]}: ") for node, reason in reasons.items())


def is_too_noisy(case):
    """It says itself that it can't tell, and accuses nobody."""
    return case["verdict"] == "unmeasured" and not named(case) and str(case["reason"]).startswith("too noisy to identify")


def readings(run, case):
    """The bandwidths in MB/s, rank by rank, for whoever has to find out what went wrong."""
    lines = []
    for matrix in case["matrices"]:
        if matrix["metric"] != "bandwidth":
            continue
        with open(run.run_folder() / matrix["file"], "rb") as file:
            size = json.loads(file.readline())["size"]
            rows = [struct.unpack(f"<{size}f", file.read(4 * size)) for _ in range(size)]
        lines += [str(matrix["where"])] + [" ".join(f"{1000 * value:7.2f}" for value in row) for row in rows]
    return "\n".join(lines)


def busy_share(seconds):
    """Share of this machine's CPU time that is used, while nothing of ours runs."""
    def look():
        fields = [int(ticks) for ticks in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]
    total, idle = look()
    time.sleep(seconds)
    total_after, idle_after = look()
    return 1 - (idle_after - idle) / max(1, total_after - total)


class OnSlowLinks(support.EndToEnd):
    """NODES with RANKS each; what `set_links` makes slow is what `is_right` expects to be named."""
    NODES, RANKS, CHECKS = (), 2, ""
    PRELOADED = (SLEEPY,)
    was_busy = False

    @classmethod
    def setUpClass(cls):
        cls.context = vc.running(len(cls.NODES))
        cls.cluster = cls.context.__enter__()
        for node in cls.NODES:
            cls.cluster.set_apart(node)

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def wait_for_quiet(self):
        """Eight ranks need the two cores for themselves, or they are slower than their links."""
        end = time.monotonic() + (2 if OnSlowLinks.was_busy else PATIENCE)
        while (share := busy_share(0.5)) > MOST_BUSY:
            if time.monotonic() > end:
                OnSlowLinks.was_busy = True
                self.skipTest(f"others use {share:.0%} of the CPUs and do not stop")

    def run_p2p(self):
        self.wait_for_quiet()
        preloaded = ":".join(map(str, self.PRELOADED))
        run = Run(self.CHECKS, "--nodes", ",".join(self.NODES), "--ranks-per-node", str(self.RANKS), "--launcher", "mpirun",
                  "-J=-x", f"-J=LD_PRELOAD={preloaded}", env=self.cluster.environment(), wrapper=self.cluster.argv_on_login([]))
        self.addCleanup(run.clean)
        run.start()
        run.wait(120)
        return run

    def ask(self, faults, wanted, wrong):
        """One launch. `wanted` counts the right answers that are still to come, by check; `wrong` collects stories."""
        run = self.run_p2p()
        print(f"  {run.seconds:.1f} s", flush=True)
        for case in run.report()["cases"]:
            # Data is right however slow the links are.
            self.assertIn(case["verdict"], ("pass", "fail", "unmeasured"), run.story())
            self.assertNotIn("wrong data", str(case["reason"]), run.story())
            if self.is_right(case, faults):
                wanted[case["check"]] -= 1
                continue
            story = (f"  {case['check']}: {case['verdict']}, {list(named(case).values()) or [case['reason'], *case['evidence']]}\n"
                     f"{readings(run, case)}")
            print(story, flush=True)
            if not is_too_noisy(case):
                wanted[case["check"]] = 2
                wrong.setdefault(case["check"], []).append(story)

    def expect(self, faults):
        """Faults: `both`, `sends` or `receives`. Nobody else is named."""
        self.set_links(faults)
        wanted, wrong = dict.fromkeys(re.findall(r"^\[check\.(\w+)\]", self.CHECKS, re.MULTILINE), 1), {}
        for _ in range(MOST_LAUNCHES):
            self.ask(faults, wanted, wrong)
            if any(len(stories) > 1 for stories in wrong.values()):
                self.fail("\n".join(sum(wrong.values(), [])))
            if all(count <= 0 for count in wanted.values()):
                return
        unsettled = [check for check, count in wanted.items() if count > 0]
        self.skipTest(f"too noisy in {MOST_LAUNCHES} launches: {', '.join(unsettled)}")


class SlowLinks(OnSlowLinks):
    NODES, CHECKS = NODES, CHECKS

    def set_links(self, faults):
        for node in NODES:
            self.cluster.slow(node, HEALTHY)
        for node, way in faults.items():
            self.cluster.slow(node, SLOW, way)

    def is_right(self, case, faults):
        return is_right(case, faults)

    def test_all_links_alike(self):
        self.expect({})

    def test_one_slow_node(self):
        self.expect({"nid003": "both"})

    def test_two_slow_nodes(self):
        self.expect({"nid001": "both", "nid003": "both"})

    def test_a_node_slow_when_it_sends(self):
        self.expect({"nid004": "sends"})

    def test_a_node_slow_when_it_receives(self):
        self.expect({"nid002": "receives"})


class SlowNics(OnSlowLinks):
    """Four NICs a node, hsn0 to hsn3, and four ranks, each of which uses the one of its number (`own_nic.so`): one at half
    rate is an eighth of its node. Ranks that share cores are not judged by timing, so with fewer than four cores it is two
    NICs on each of four nodes."""
    RANKS = 4 if len(os.sched_getaffinity(0)) >= 4 else 2
    NODES = NODES[:8 // RANKS]
    PRELOADED = (SLEEPY, support.BIN / "own_nic.so")
    CHECKS = check("all_pairs", probe="p2p", ranks=RANKS, timeout="60s", least_slowdown=0.3, **READINGS)
    NICS = ("hsn0", "hsn1", "hsn2", "hsn3")[:RANKS]
    HEALTHY, SLOW = "50mbit", "25mbit"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for node in cls.NODES:
            for nic in range(len(cls.NICS)):
                cls.add_nic(node, nic)

    @classmethod
    def outside(cls, node, nic):
        """The end of the cable that is in the switch."""
        return f"vc{cls.cluster.index}r{cls.cluster.node(node)['number']}{nic}"

    @classmethod
    def add_nic(cls, node, nic):
        """All of a node are in one network. What is sent from the address of one leaves by it, and only that one answers for it."""
        device, cluster = cls.NICS[nic], cls.cluster
        network = f"10.79.{cluster.index}.0/24"
        address = f"10.79.{cluster.index}.{16 * nic + cluster.node(node)['number']}"
        vc.run("ip", "link", "add", cls.outside(node, nic), "type", "veth", "peer", "name", device, "netns", str(cluster.holder(node)))
        vc.run("ip", "link", "set", cls.outside(node, nic), "master", cluster.bridge, "up")
        script = (f"ip address add {address}/24 dev {device} noprefixroute && ip link set {device} up && "
                  f"ip rule add from {address} table {100 + nic} && ip route add {network} dev {device} table {100 + nic} && "
                  "cd /proc/sys/net/ipv4/conf/all && echo 1 > arp_ignore && echo 2 > arp_announce")
        vc.run(*cluster.argv_in(node, ["sh", "-c", script]))

    def set_links(self, faults):
        for node in self.NODES:
            for nic, device in enumerate(self.NICS):
                way = faults.get((node, device), "")
                inside, outside = node_links.End(device, self.cluster.holder(node)), node_links.End(self.outside(node, nic))
                node_links.limit(inside, self.SLOW if way in ("both", "sends") else self.HEALTHY)
                node_links.limit(outside, self.SLOW if way in ("both", "receives") else self.HEALTHY)

    def is_right(self, case, faults):
        if not faults:
            return not case["findings"] and any(f" between 8 NICs of {len(self.NODES)} nodes compared, no NIC slow by " in text for text in case["evidence"])
        reasons = {(culprit["node"], culprit["name"]): finding["reason"]
                   for finding in case["findings"] for culprit in finding["culprits"]}
        return set(reasons) == {(node, f"NIC {nic}") for node, nic in faults} and all(
            reasons[node, f"NIC {nic}"].startswith(f"NIC {nic} of {node} {CLAIMS[way]}: ") for (node, nic), way in faults.items())

    def test_all_nics_alike(self):
        self.expect({})

    def test_one_nic_at_half_rate(self):
        self.expect({("nid002", "hsn1"): "both"})

    def test_one_nic_at_half_rate_when_it_sends(self):
        self.expect({("nid001", "hsn1"): "sends"})


def main():
    """Of tests of slow links."""
    reason = vc.why_not()
    if reason:
        support.skip(reason)
    if support.SLOWNESS > 1:
        support.skip("programs that are slower than the links, as with sanitizers, show nothing about links")
    support.main()


if __name__ == "__main__":
    main()
