"""The process that a virtual node consists of. Started inside new namespaces; never by hand.

It mounts what is the node's own, and answers on port 22 as an SSH daemon would, so that whoever wants to start
something on the node first has to reach it over the virtual network.
"""
import os
import signal
import socket
import subprocess
import sys


def say(word):
    print(word, flush=True)


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        say(f"{' '.join(words)}: {done.stderr.strip()}")
        sys.exit(1)


def mount_own(hosts, temporary):
    run("mount", "--make-rprivate", "/")
    run("mount", "--bind", hosts, "/etc/hosts")
    run("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
    run("mount", "-t", "tmpfs", "tmpfs", temporary)


def answer(server):
    """One greeting per caller. A holder that is stopped accepts (the kernel does) but does not greet."""
    while True:
        caller, _ = server.accept()
        try:
            caller.sendall(b"SSH-2.0-virtual-node\r\n")
        except OSError:
            pass
        caller.close()


def main():
    name, hosts, temporary, *addresses = sys.argv[1:]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    socket.sethostname(name)
    mount_own(hosts, temporary)
    say("made")
    if sys.stdin.readline().strip() != "go":
        sys.exit(1)
    run("ip", "link", "set", "lo", "up")
    for device, _, address in (one.partition("=") for one in addresses):
        run("ip", "address", "add", f"{address}/24", "dev", device)
        run("ip", "link", "set", device, "up")
    server = socket.create_server(("0.0.0.0", 22), backlog=64)
    say("ready")
    nowhere = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    answer(server)


main()
