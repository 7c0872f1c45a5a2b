#!/usr/bin/env python3
"""An ordinary user who tries, over and over, what may turn another user's run: takes names in /tmp and /dev/shm, holds locks,
carries the launch's tag, signals processes, asks Slurm to drain. Ends with the process that started it. Not a test: tests start
it beside runs of root, which must end as they do without it (ports are in wire_test.py). It needs a /tmp and a /dev/shm of its
own, or it disturbs whatever else runs there.

hostile_user.py FOLDER [TMP]: where root keeps files, to be opened, locked and replaced, and what is its /tmp. Prints `ready`."""
import contextlib
import ctypes
import fcntl
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

NOBODY = 65534
kept = []
opened = set()


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    end_with_parent()  # A change of user takes that back.


def make(path, text="hostile\n"):
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        os.write(descriptor, text.encode())
        os.close(descriptor)


def take_names(temporary):
    """Those that are known before."""
    for number in range(4):
        make(f"/dev/shm/open_mpi.{number:04d}")
    for folder in (temporary, "/dev/shm"):
        make(f"{folder}/ucx.conf", "UCX_LOG_FILE=/root/hostile\nUCX_MODULE_DIR=/dev/shm\nUCX_TLS=none\n")
        make(f"{folder}/platform.py", "raise SystemExit('hostile')\n")
        for name in ("libfmt.so.9", "libmpi.so.40", "libuv.so.1", "core"):
            make(f"{folder}/{name}")
        with contextlib.suppress(OSError):
            os.symlink("/etc/passwd", f"{folder}/muster-runs")


def pretend_displays(temporary):
    """X servers that never answer."""
    with contextlib.suppress(OSError):
        os.mkdir(f"{temporary}/.X11-unix")
    for name in ("\0/tmp/.X11-unix/X0", f"{temporary}/.X11-unix/X0"):
        with contextlib.suppress(OSError):
            server = socket.socket(socket.AF_UNIX)
            server.bind(name)
            server.listen(64)
            kept.append(server)


def follow_recorders():
    """Their names have the tag of a launch: carry it, and take the names of neighbours and of the watchdog."""
    for path in pathlib.Path("/dev/shm").glob("muster-*-*"):
        tag, _, pid = path.name.removeprefix("muster-").rpartition("-")
        with contextlib.suppress(OSError):
            path.unlink()
        with contextlib.suppress(OSError):
            fcntl.flock(kept.append(open(path)) or kept[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        for number in range(8):
            make(f"/dev/shm/muster-{tag}-{int(pid) + number if pid.isdigit() else number}")
        if tag in kept:
            continue
        kept.append(tag)
        with contextlib.suppress(OSError):
            watchdog = socket.socket(socket.AF_UNIX)
            watchdog.bind(f"\0muster-watchdog-{tag}")
            kept.append(watchdog)
        environment = {"MUSTER_TAG": tag, "MUSTER_TAG_SECRET": "0" * 64, "MUSTER_PROGRAM": "1", "MUSTER_WIRE": "127.0.0.1:1",
                       "MUSTER_KEY": "0" * 64, "MUSTER_MACHINE": "/tmp", "MUSTER_CHECKS": "/tmp", "PATH": "/usr/bin:/bin"}
        kept.append(subprocess.Popen(["sleep", "300"], env=environment, preexec_fn=end_with_parent))


def touch_files(folder):
    for path in [folder, *(pathlib.Path(place) / name for place, folders, files in os.walk(folder) for name in folders + files)]:
        with contextlib.suppress(OSError):
            if os.stat(path).st_ino not in opened:
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                kept.append(descriptor)
                opened.add(os.fstat(descriptor).st_ino)
                fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        with contextlib.suppress(OSError):
            os.rename(path, f"{path}.old")
        with contextlib.suppress(OSError):
            os.symlink("/etc/passwd", path / "latest")


def signal_processes():
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                is_ours = os.stat(f"/proc/{entry}").st_uid == NOBODY
                if not is_ours and pathlib.Path(f"/proc/{entry}/comm").read_text().startswith(("muster", "mpirun", "orted", "hydra")):
                    os.kill(int(entry), signal.SIGKILL)


def ask_slurm():
    """Only operators may change nodes; names and comments of jobs are anyone's."""
    hostile = "x\x1b[31m\r\nJobState=COMPLETED Reason=muster[3f2a9c-1b7e]: hostile"
    for argv in (["scontrol", "update", "nodename=ALL", "state=drain", f"reason={hostile}"],
                 ["scontrol", "update", "nodename=ALL", f"comment={hostile}"],
                 ["sbatch", "--quiet", f"--job-name={hostile}", f"--comment={hostile}", "--output=/dev/null", "--chdir=/tmp", "--wrap=true"]):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=5)


def main():
    folder, temporary = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "/tmp"
    become_nobody()
    print("ready", flush=True)
    pretend_displays(temporary)
    turn = 0
    while os.getppid() != 1:
        take_names(temporary)
        follow_recorders()
        if turn % 20 == 0:
            touch_files(folder)
            signal_processes()
        if turn % 200 == 0 and "SLURM_CONF" in os.environ:
            ask_slurm()
        turn += 1
        time.sleep(0.02)


if __name__ == "__main__":
    main()
