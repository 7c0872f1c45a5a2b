"""How fast the cable of a virtual node is. Part of virtual_cluster.py."""
import subprocess
import typing

from this_machine import run


class End(typing.NamedTuple):
    """One end of a cable. It can hold up what is sent from there, not what arrives."""

    device: str
    holder: int = 0  # of the node that it is in; 0: outside of nodes

    def inside(self, *words):
        return [*(("nsenter", "-t", str(self.holder), "-n") if self.holder else ()), *words]


# A small bucket, soon empty: a rate means something for short messages, too. Segments of up to 64 KiB, which a virtual
# link hands on whole, are cut by the bucket, so its queue has to hold many: a second of them, or half are lost.
BUCKET, QUEUE = "16kb", "1s"


def limit(end, rate):
    run(*end.inside("tc", "qdisc", "replace", "dev", end.device, "root", "tbf", "rate", rate, "burst", BUCKET,
                    "latency", QUEUE))


def unlimit(end):
    words = end.inside("tc", "qdisc", "del", "dev", end.device, "root")
    subprocess.run(words, capture_output=True)  # fails where it was not limited
