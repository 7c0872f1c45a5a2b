"""mpi4py as users have it: does it import, also after torch; is its MPI the one that starts ranks here; and do its processes
come to the ranks and the size of the job? For the last it is started once more, beside the ranks that ask."""
import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import muster_torch as muster
import relaunch

MARK = "MUSTER_MPI4PY "
BUILD = ("build it with the MPI that is loaded here: MPICC=\"cc -shared\" (Cray) or MPICC=mpicc pip install --no-cache-dir "
         "--no-binary=mpi4py mpi4py")
# In this order: most of MPICH's relatives name it, too.
FAMILIES = (("Open MPI", r"Open MPI v?(\d+\.\d+(?:\.\d+)?)"), ("Cray MPICH", r"CRAY MPICH version (\d+\.\d+(?:\.\d+)?)"),
            ("MVAPICH", r"MVAPICH2? Version\s*:\s*(\d+\.\d+(?:\.\d+)?)"), ("Intel MPI", r"Intel\(R\) MPI Library (\d+\.\d+)"),
            ("MPICH", r"MPICH Version:\s*(\d+\.\d+(?:\.\d+)?)"))
# Without the current folder, which may be one where others put files.
TORCH_FIRST = ("import sys; sys.path = [place for place in sys.path if place]; import torch, mpi4py; "
               "mpi4py.rc.initialize = False; mpi4py.rc.finalize = False; from mpi4py import MPI; "
               "print('" + MARK + "' + MPI.Get_library_version().splitlines()[0])")


def family_of(library):
    """("Open MPI", "4.1.4") from MPI_Get_library_version; empty texts for an unknown library."""
    for name, pattern in FAMILIES:
        found = re.search(pattern, library, re.IGNORECASE)
        if found:
            return name, found.group(1)
    return "", ""


def library_line(text):
    """The first line of what MPI_Get_library_version returns. Open MPI counts the final NUL, which mpi4py then keeps."""
    return text.splitlines()[0].strip("\0 ")


def import_mpi():
    """The module, before MPI_Init: a process below a rank can't be a rank. Ends with a finding where it can't be imported."""
    try:
        import mpi4py
        mpi4py.rc.initialize = False
        mpi4py.rc.finalize = False
        from mpi4py import MPI
    except (Exception, SystemExit) as problem:  # an import runs anything, and may fail in any way
        muster.stop(f"{sys.executable} on {muster.HOST} has mpi4py, but can't import it: {type(problem).__name__}: "
                    f"{muster.first_line(problem)}", BUILD, [{"program": sys.executable}])
    return mpi4py, MPI


# --- what it means ------------------------------------------------------------------------------------------------


def other_library(mine, launched):
    """(reason, remedy) where mpi4py's MPI is another than that of the ranks; None: the same, or not known."""
    (family, version), (wanted, wanted_version) = family_of(mine), family_of(launched)
    if not family or not wanted or (family, version.split(".")[0]) == (wanted, wanted_version.split(".")[0]):
        return None
    return (f"mpi4py is built with {family} {version}, the ranks here are started with {wanted} {wanted_version}",
            f"{BUILD}, or load the module of {family} {version}")


def wrong_ranks(reported, world):
    """(reason, remedy) where the started processes are not one job; the argument is a list of (rank, size, host)."""
    if len(reported) != world:
        return (f"{len(reported)} of {world} processes with mpi4py reported their rank", BUILD)
    if all(size == 1 for _, size, _ in reported) and world > 1:
        return (f"each of {world} processes with mpi4py is rank 0 of 1: its MPI does not know the launcher", BUILD)
    sizes = sorted({size for _, size, _ in reported})
    if sizes != [world]:
        return (f"processes with mpi4py have a size of {' and '.join(str(one) for one in sizes)} where {world} were started",
                BUILD)
    ranks = sorted(rank for rank, _, _ in reported)
    if ranks != list(range(world)):
        return (f"the ranks of {world} processes with mpi4py are {', '.join(str(rank) for rank in ranks[:16])}", BUILD)
    return None


def wrong_hosts(reported, hosts):
    """None, or where the ranks are on other nodes than they were asked to be."""
    here = sorted(host for _, _, host in reported)
    if here == sorted(hosts):
        return None
    return (f"processes with mpi4py are on {', '.join(dict.fromkeys(here))}, where {', '.join(dict.fromkeys(hosts))} was asked",
            "look at the launcher's options: nodes and tasks per node")


# --- asking -------------------------------------------------------------------------------------------------------


def hosts_of(place, seconds):
    """On rank 0: the host of every rank, sent by each over MASTER_PORT. Elsewhere None, after rank 0 has received it."""
    if place.rank == 0:
        return listen(place, seconds)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with socket.create_connection((place.address, place.port), timeout=seconds) as to_zero:
                to_zero.sendall((json.dumps([place.word, place.rank, muster.HOST]) + "\n").encode())
                to_zero.shutdown(socket.SHUT_WR)
                to_zero.settimeout(None)
                # Rank 0 closes it when the processes that it starts have ended: until then no rank leaves.
                with contextlib.suppress(OSError):
                    to_zero.recv(1)
                return None
        except OSError:
            time.sleep(0.1)
    muster.stop(f"rank {place.rank} on {muster.HOST} can't reach rank 0 at {place.where}", "look at what rank 0 printed",
                [{"rank": place.rank}], consequence=True)
    return None


def listen(place, seconds):
    hosts, kept = {0: muster.HOST}, []
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    server = socket.create_server(("", place.port), family=family, dualstack_ipv6=family == socket.AF_INET6)
    server.settimeout(0.2)
    deadline = time.monotonic() + seconds
    while len(hosts) < place.world and time.monotonic() < deadline:
        try:
            connection, _ = server.accept()
            connection.settimeout(5)
            with connection.makefile() as lines:
                word, rank, host = json.loads(lines.readline())
        except (OSError, ValueError):
            continue
        if word == place.word:
            hosts[rank] = host
            kept.append(connection)
    listen.kept = (server, kept)  # closed with the process
    missing = [rank for rank in range(place.world) if rank not in hosts]
    if missing:
        muster.stop(f"{muster.ranks_text(missing)} of {place.world} did not come to {place.where}",
                    "look at what those ranks printed", [{"rank": rank} for rank in missing[:16]], consequence=True)
    return [hosts[rank] for rank in range(place.world)]


def ask_ranks(hosts, launched, seconds):
    """[(rank, size, host)] of mpi4py started by the launcher; or why that was not tried, in words."""
    launcher = os.environ.get("MUSTER_LAUNCHER", "")
    front = relaunch.command(launcher, family_of(launched)[0], hosts)
    if front is None:
        return f"muster knows no way to start them below {launcher or 'this launcher'}"
    if shutil.which(front[0][0]) is None:
        return f"there is no {front[0][0]} here (inside of a container?)"
    output, status = relaunch.start(*front, [sys.executable, os.path.abspath(__file__), "--as-rank"], seconds)
    reported = [tuple(json.loads(line.partition(MARK)[2])) for line in output.splitlines() if MARK in line]
    if status is None or (status != 0 and not reported):
        print(output)
        output_lines = [line.strip() for line in output.splitlines() if any(letter.isalpha() for letter in line)]
        muster.stop(f"mpi4py started by {launcher} on {', '.join(dict.fromkeys(hosts))} failed: "
                    f"{(output_lines or ['no output'])[0][:200]}", BUILD, [{"program": sys.executable}])
    return reported


def be_rank():
    """A process that ask_ranks started."""
    from mpi4py import MPI
    line = MARK + json.dumps([MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size(), muster.HOST])
    os.write(1, (line + "\n").encode())
    MPI.Finalize()
    muster.leave(0)


def after_torch(seconds):
    """The library of mpi4py in a process that imported torch first; or why there is none, and whether torch is there."""
    import importlib.util
    if importlib.util.find_spec("torch") is None:
        return None
    done = subprocess.run([sys.executable, "-c", TORCH_FIRST], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=seconds)
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            return library_line(line[len(MARK):]), ""
    return "", ([line for line in done.stdout.splitlines() if line.strip()] or ["it printed nothing"])[-1].strip()[:200]


def judge_order(found, library):
    """(reason, remedy) where torch before mpi4py does other than mpi4py alone."""
    if found is None or found[0] == library:
        return None
    what = f"fails: {found[1]}" if not found[0] else f"has another MPI: {found[0]}"
    return (f"mpi4py imported after torch {what}", "import mpi4py before torch")


def main():
    options = muster.Arguments(description=__doc__)
    options.add_argument("--as-rank", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--patience", type=float, default=60, help="seconds to wait for other ranks, and for those started")
    asked = options.parse_args()
    if asked.as_rank:
        be_rank()
    place = muster.Place()
    mpi4py, mpi = import_mpi()
    library = library_line(mpi.Get_library_version())
    launched = os.environ.get("MUSTER_MPI", "")
    muster.same({"mpi4py": mpi4py.__version__, "mpi4py.__file__": os.path.realpath(mpi4py.__file__), "mpi4py's MPI": library})
    findings = [other_library(library, launched)]
    if place.local_rank == 0:
        findings.append(judge_order(after_torch(asked.patience), library))
    hosts = hosts_of(place, asked.patience)
    if hosts is not None and findings[0] is None:
        reported = ask_ranks(hosts, launched, asked.patience)
        if isinstance(reported, str):
            muster.evidence(f"rank and size of mpi4py were not looked at: {reported}")
        else:
            findings.append(wrong_ranks(reported, place.world) or wrong_hosts(reported, hosts))
            if findings[-1] is None:
                muster.evidence(f"{place.world} processes with mpi4py have ranks 0 to {place.world - 1} of {place.world}" if place.world > 1
                                else "the process with mpi4py has rank 0 of 1")
    findings = [one for one in findings if one]
    for reason, remedy in findings:
        muster.finding(f"{muster.HOST}: {reason}", remedy, [{"program": sys.executable}])
    if not findings and place.rank == 0:
        muster.evidence(f"mpi4py {mpi4py.__version__} uses {library}")
    muster.leave(1 if findings else 0)


if __name__ == "__main__":
    muster.run(main)
