"""What ssh is on a real cluster: AGENT [options] HOST COMMAND... runs COMMAND on a virtual node.

As ssh does, it first reaches the node over the network of whoever calls, fails with exit status 255 where that is
impossible, starts COMMAND in the home folder by a shell, and hands on no environment.
"""
import json
import os
import socket
import sys

PATIENCE_S = 4.0
WITH_VALUE = set("bcDEeFIiJLlmOopQRSWw")  # options of ssh that are followed by a word


def give_up(text):
    print(f"ssh: {text}", file=sys.stderr)
    sys.exit(255)


def read_arguments(words):
    """Host and command, as ssh finds them."""
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if len(option) == 2 and option[1] in WITH_VALUE and words:
            words.pop(0)
    if len(words) < 2:
        give_up("usage: AGENT [options] HOST COMMAND...")
    return words[0].rpartition("@")[2], " ".join(words[1:])


def reach(host, address):
    try:
        with socket.create_connection((address, 22), timeout=PATIENCE_S) as connection:
            if not connection.recv(64):
                give_up(f"connect to host {host} port 22: Connection closed by {address}")
    except TimeoutError:
        give_up(f"connect to host {host} port 22: Connection timed out")
    except OSError as problem:
        give_up(f"connect to host {host} port 22: {problem.strerror}")


def main():
    folder = sys.argv[1]
    host, command = read_arguments(sys.argv[2:])
    with open(os.path.join(folder, "state.json")) as file:
        state = json.load(file)
    nodes = {**state["nodes"], **{node["address"]: node for node in state["nodes"].values()}}
    if host not in nodes:
        give_up(f"Could not resolve hostname {host}: Name or service not known")
    node = nodes[host]
    reach(host, node["address"])
    home = os.environ.get("HOME", "/")
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": home, "USER": "root", "LOGNAME": "root",
           "SHELL": "/bin/sh", "LANG": "C.UTF-8", "TMPDIR": os.path.join(folder, "tmp"),
           "SSH_CONNECTION": f"virtual 0 {node['address']} 22"}
    if state.get("slurm"):  # elsewhere its configuration is where programs look for it
        env["SLURM_CONF"] = os.path.join(folder, "slurm", "slurm.conf")
    env |= state.get("machine", {}).get("daemons", {})
    words = ["nsenter", "-t", str(node["holder"]), "-n", "-u", "-m", "-i", "sh", "-c", f'cd "$HOME"; {command}']
    os.execvpe("nsenter", words, env)


main()
