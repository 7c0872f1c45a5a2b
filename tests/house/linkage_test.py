"""The driver needs neither MPI nor a GPU library at run time: its dynamic section says so."""
import os
import re
import subprocess
import sys

BUILD = os.environ["MUSTER_BUILD"]
FORBIDDEN = re.compile(r"lib(mpi|open-rte|open-pal|pmix|psm|ucp|cuda|nvidia|nccl|rccl|amdhip|hsa|rocm|amd_smi)", re.IGNORECASE)


def needed(program):
    """Names in the dynamic section and, as ldd finds them, in those of all libraries it pulls in."""
    section = subprocess.run(["readelf", "-d", program], check=True, capture_output=True, text=True).stdout
    direct = re.findall(r"\(NEEDED\).*\[(.*)\]", section)
    everything = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return direct, [line.split()[0] for line in everything.splitlines() if line.strip()]


direct, everything = needed(os.path.join(BUILD, "bin", "muster"))
assert any(name.startswith("libc.so") for name in direct), direct
bad = sorted({name for name in direct + everything if FORBIDDEN.search(name)})
agent, _ = needed(os.path.join(BUILD, "bin", "muster-rank"))
assert any(FORBIDDEN.search(name) for name in agent), f"the agent must link MPI, or this test sees nothing: {agent}"
print(f"muster needs {', '.join(direct)}")
if bad:
    print(f"and must not need {', '.join(bad)}")
sys.exit(1 if bad else 0)
