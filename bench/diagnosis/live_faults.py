"""Faults that live runs meet: functions of a FaultContext (live_machines.py). Each leaves its undoing to the end of the cluster, or of the scene.
Part of live.py."""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import slurm_services
import support
from this_machine import run as command

HERE = pathlib.Path(__file__).resolve().parent
BIN = support.DRIVER.parent
HALF_DUTY_S = 0.05


class Missed(Exception):
    """The run ended before the fault could hit it."""


def send(pids, number):
    if not pids:
        raise Missed
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            raise Missed from None


def rank_pid(scene, node, rank):
    pids = scene.wait_for(lambda: scene.ranks(node))
    return [pids[rank]] if rank in pids else []


def signal_rank(number, which="rank"):
    """`which`: `rank`, `other rank`, or `ranks`: all of the node."""
    def strike(scene):
        if which == "ranks":
            return send(list(scene.ranks(scene.node).values()), number)
        node, rank = (scene.node, scene.rank) if which == "rank" else (scene.other, scene.other_rank)
        return send(rank_pid(scene, node, rank), number)
    return strike


def signal_daemon(number):
    return lambda scene: send(scene.wait_for(lambda: scene.daemons(scene.node)), number)


def signal_launcher(number):
    return lambda scene: send(scene.wait_for(scene.launchers), number)


def signal_driver(number):
    return lambda scene: send(scene.drivers(), number)


def half_duty(scene):
    """The rank is stopped for half of the time."""
    pids = rank_pid(scene, scene.node, scene.rank)

    def alternate():
        while not scene.ended.is_set():
            for number in (signal.SIGSTOP, signal.SIGCONT):
                try:
                    os.kill(pids[0], number)
                except ProcessLookupError:
                    return
                time.sleep(HALF_DUTY_S)
    if not pids:
        raise Missed
    threading.Thread(target=alternate, daemon=True).start()


def freeze(scene):
    """Everything on the node stops, as in a kernel that hangs."""
    scene.cluster.is_as_made = False
    send(scene.cluster.processes(scene.node), signal.SIGSTOP)


# --- links and nodes ----------------------------------------------------------------------------------------------


def cut(scene):
    scene.cluster.cut(scene.node)


def cut_data(scene):
    scene.cluster.cut_data(scene.node)


def cut_data_of_other(scene):
    scene.cluster.cut_data(scene.other)


def drop_in_switch(scene):
    scene.cluster.cut_data(scene.node, keeps_carrier=True)


def remove(scene):
    scene.cluster.remove(scene.node)


def remove_other(scene):
    scene.cluster.remove(scene.other)


def slow(rate, way="both"):
    return lambda scene: scene.cluster.slow(scene.node, rate, way)


def in_bursts(scene):
    """The link is down for 0.2 s of each second."""
    scene.cluster.is_as_made = False
    link = scene.cluster.link(scene.node)

    def alternate():
        while not scene.ended.wait(0.8):
            for state in ("down", "up"):
                command("ip", "link", "set", link, state)
                time.sleep(0.2 if state == "down" else 0)
    threading.Thread(target=alternate, daemon=True).start()


def flap(scene):
    """The link is down once, for 1.5 s."""
    scene.cluster.is_as_made = False
    link = scene.cluster.link(scene.node)
    command("ip", "link", "set", link, "down")
    timer = threading.Timer(1.5, lambda: command("ip", "link", "set", link, "up"))
    timer.daemon = True
    timer.start()


def lossy(percent, of_data=False):
    """The node's link loses that share of the packets in both directions, as a cable does: neither end sees one fail."""
    def rules(device):
        return ("nft add table netdev live && "
                f"nft add chain netdev live in '{{ type filter hook ingress device {device} priority 0; }}' && "
                f"nft add rule netdev live in numgen random mod 100 '<' {percent} drop")

    def strike(scene):
        scene.on(scene.node, rules("hsn0" if of_data else "eth0"))
        far_end = scene.cluster.data_link(scene.node) if of_data else scene.cluster.link(scene.node)
        scene.at_end.append(("nft", "delete", "table", "netdev", "live"))
        command("sh", "-c", rules(far_end))
    return strike


def kill_slurmd(scene):
    scene.cluster.is_as_made = False
    slurm_services.kill_slurmd(scene.cluster, scene.node)


# --- disks, memory and limits -------------------------------------------------------------------------------------


def fill_shm(scene):
    scene.cluster.fill(scene.node, "/dev/shm")


def fill_shm_of_other(scene):
    scene.cluster.fill(scene.other, "/dev/shm")


def read_only_shm(scene):
    scene.on(scene.node, "mount -o remount,ro /dev/shm")


def fill_tmp(scene):
    scene.on(scene.node, 'mount -t tmpfs -o size=256k tmpfs "$TMPDIR" && { cat /dev/zero > "$TMPDIR/full" 2>/dev/null; test -s "$TMPDIR/full"; }')


def read_only_tmp(scene):
    scene.on(scene.node, 'mount -t tmpfs -o ro tmpfs /tmp; mount -o remount,ro "$TMPDIR"')


def little_memory(scene):
    scene.on(scene.node, "awk '/^MemAvailable/ { $2 = 1000 } { print }' /proc/meminfo > /tmp/meminfo.$$ && "
                         "mount --bind /tmp/meminfo.$$ /proc/meminfo; rm -f /tmp/meminfo.$$")


def limited_daemon(limit):
    """orted of the node, and what it starts, below a limit: a line of shell."""
    def strike(scene):
        real = "$(readlink -f /usr/bin/orted)"
        scene.on(scene.node, f'cp {real} "$TMPDIR/orted" && printf "#!/bin/sh\\n%s\\nexec $TMPDIR/orted \\"\\$@\\"\\n" "$0" > "$TMPDIR/limited" && '
                             f'chmod +x "$TMPDIR/limited" && mount --bind "$TMPDIR/limited" {real}', limit)
    return strike


def control_group(controller, file, value):
    """orted of the node in a control group of its own."""
    def strike(scene):
        group = pathlib.Path(f"/sys/fs/cgroup/{controller}/{scene.cluster.name}-{scene.node}")
        group.mkdir(exist_ok=True)
        (group / file).write_text(str(value))
        scene.groups.append(group)
        limited_daemon(f"echo $$ > {group}/cgroup.procs")(scene)
    return strike


# --- programs on a node -------------------------------------------------------------------------------------------


def not_installed(scene):
    for folder in {BIN.resolve(), scene.agent().parent.resolve()}:
        scene.on(scene.node, 'mount -t tmpfs tmpfs "$0"', folder)


def library_missing(scene):
    scene.on(scene.node, 'for one in /usr/lib/*/libhwloc.so.15; do mount --bind /dev/null "$one"; done')


def bind_script(path, text):
    """Another program in the place of one."""
    return lambda scene: scene.on(scene.node, 'printf %b "$1" > "$TMPDIR/other" && chmod +x "$TMPDIR/other" && mount --bind "$TMPDIR/other" "$0"',
                                  os.path.realpath(path), text)


def another_version(scene):
    text = "#!/bin/sh\\necho '{\"node\":\"" + scene.node + "\",\"cores\":2,\"numa_domains\":1,\"gpus\":0,\"muster\":\"0.0.1\"}'\\n"
    bind_script(support.DRIVER, text)(scene)


def agent_of_another_mpi(scene):
    scene.on(scene.node, 'mount --bind "$1" "$0"', support.AGENT, support.AGENT_MPICH)


def daemon_fails(scene):
    bind_script("/usr/bin/orted", "#!/bin/sh\\nexit 1\\n")(scene)


def home_not_mounted(scene):
    home = scene.run.folder / "home"
    home.mkdir()
    scene.run.env["HOME"] = str(home)
    scene.on(scene.node, 'mount -t tmpfs tmpfs "$0" && mount -t tmpfs tmpfs "$1"', scene.run.folder, BIN)


def hanging_folder(folder_of):
    """A file system of which the server does not answer, at that folder of the node."""
    def strike(scene):
        scene.cluster.is_as_made = False
        server = scene.background(scene.node, [sys.executable, "-B", HERE / "hanging_folder.py", folder_of(scene)])
        if server.stdout.readline() != "mounted\n":
            raise RuntimeError("FUSE does not mount")
    return strike


# --- names and clocks ---------------------------------------------------------------------------------------------


def other_name(scene):
    scene.on(scene.node, "hostname elsewhere")


def name_of_other(scene):
    scene.cluster.set_apart(scene.node)  # of the others: one machine, where no speed is judged
    scene.on(scene.node, 'hostname "$0"', scene.other)


def busy(scene):
    """Two processes that use the processors for as long as the run takes."""
    for _ in range(2):
        scene.helpers.append(subprocess.Popen([sys.executable, "-c", "while True: pass"], stdout=subprocess.PIPE, text=True))
