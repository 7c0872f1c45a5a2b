"""Which network NCCL or RCCL took, by their own log. Reading and judging are pure; who collects is job.py."""
import contextlib
import os
import re
import shutil
import tempfile

CHOSEN = ("NCCL_DEBUG", "NCCL_DEBUG_FILE")  # what the user set stays


class Transport:
    """Empty: not given."""

    def __init__(self, network="", provider="", plugin=""):
        self.network = network  # AWS Libfabric, IB, Socket
        self.provider = provider  # of libfabric: cxi, tcp
        self.plugin = plugin  # aws-ofi-rccl 1.4.0


def ask():
    """Before the process group is made: lets the library write its log. The file, or None where the user has chosen."""
    if any(os.environ.get(name) for name in CHOSEN):
        return None
    path = os.path.join(tempfile.mkdtemp(prefix="muster-nccl-"), "log")
    os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,NET", NCCL_DEBUG_FILE=path)
    return path


def take(path):
    """The log, whose folder is removed."""
    text = ""
    with contextlib.suppress(OSError), open(path, errors="replace") as file:
        text = file.read(1 << 20)
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)
    return text


def read(log):
    seen = Transport()
    for line in log.splitlines():
        for name, pattern in (("network", r"Using network (.+?)(?: comm |$)"), ("provider", r"Selected [Pp]rovider is (\w+)"),
                              ("plugin", r"(?:Using|Initializing) (aws-ofi-\S+(?: \S+)?)")):
            found = re.search(pattern, line)
            if found:
                setattr(seen, name, found.group(1).strip())
    return seen


def slingshot(root="/"):
    """Devices of Slingshot: cxi0 ..."""
    folder = os.path.join(root, "sys/class/cxi")
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def judge(seen, devices, several_nodes):
    """None, or (reason, remedy) where the fabric is there and not used."""
    if not several_nodes or not devices:
        return None
    if seen.provider and seen.provider != "cxi":
        way = f"libfabric's provider {seen.provider}"
    elif seen.network == "Socket":
        way = "sockets"
    else:
        return None
    return (f"data between nodes goes through {way}, though {devices[0]} is there (by the log of NCCL or RCCL)",
            "let the library load its OFI plugin and libfabric's cxi provider: load the plugin's module; in a container bind "
            "libcxi.so.1 and /opt/cray; unset FI_PROVIDER. network_plugin checks whether the plugin can be loaded")


def describe(seen):
    """A sentence; empty where the log names neither."""
    if not seen.network:
        return ""
    more = [f"provider {seen.provider}"] if seen.provider else []
    more += [seen.plugin] if seen.plugin else []
    return f"network {seen.network}" + (f" ({', '.join(more)})" if more else "")
