"""N virtual nodes on this machine: namespaces on a bridge, real host names, real TCP. See docs/proving-ground.md.

Use as a command (`tests/cluster/cluster`) or as a module:

    with virtual_cluster.running(2) as cluster:
        cluster.execute("nid001", ["hostname"])
        cluster.cut("nid002")
"""
import contextlib
import os
import pathlib
import subprocess
import sys
import zlib

# What callers know by this module's name is made in several.
import described_nodes
import slurm_services
from cluster_state import LOGIN, TOKEN, Cluster, recorded, registry, state_root
from slurm_files import Shape
from this_machine import (ClusterError, environment_of, every_pid, find_rank, network_of, run, start_ticks, why_not)

HERE = pathlib.Path(__file__).resolve().parent
__all__ = ["LOGIN", "TOKEN", "Cluster", "ClusterError", "Shape", "environment_of", "every_pid", "find_rank", "network_of", "recorded",
           "registry", "run", "running", "state_root", "sweep", "up", "why_not"]


def up(count, name="vc", owner=0, slurm=None, machine=None, data_network=False):
    """Brings up `count` nodes. `owner`: pid without which the cluster has no right to exist. `slurm`: shape of the
    nodes of a Slurm, where one is to run. `machine`: description that the nodes are of; else the one that `slurm` names.
    `data_network`: MPI has a network of its own (hsn0), beside the one of names and of the remote shell."""
    reason = why_not()
    if reason:
        raise ClusterError(reason)
    if not 1 <= count <= 250:
        raise ClusterError(f"{count} nodes: 1 to 250 fit into one address range")
    sweep()
    cluster = reserve(count, name, owner, data_network)
    try:
        build(cluster)
        if machine or (slurm and slurm.machine):
            described_nodes.take(cluster, machine or slurm.machine)
        if slurm:
            slurm_services.start(cluster, slurm)
    except BaseException:
        cluster.down()
        raise
    return cluster


def sweep():
    """Takes down clusters whose owner is dead."""
    with registry() as root:
        names = recorded(root)
    for name in names:
        with contextlib.suppress(ClusterError):
            cluster = Cluster.load(name)
            owner = cluster.state["owner"]
            if owner["pid"] and start_ticks(owner["pid"]) != owner["ticks"]:
                cluster.down()


def reserve(count, name, owner, data_network=False):
    """Records name and address range before anything is made, so that whatever happens can be undone."""
    with registry() as root:
        folder = root / name
        if (folder / "state.json").exists():
            raise ClusterError(f"cluster {name} is already up; `cluster down --name {name}` first")
        taken = {Cluster.load(other).index for other in recorded(root)}
        used = run("ip", "-o", "address")
        first = zlib.crc32(name.encode()) % 250
        index = next((k for k in ((first + i) % 250 + 1 for i in range(250))
                      if k not in taken and f"vcbr{k} " not in used and f"10.77.{k}." not in used and f"10.78.{k}." not in used), None)
        if index is None:
            raise ClusterError("no address range 10.77.K.0/24 is free")
        (folder / "tmp").mkdir(mode=0o700, parents=True)
        nodes = {f"nid{i:03d}": {"number": i, "address": f"10.77.{index}.{i}", "holder": 0, "ticks": 0, "network": ""}
                 for i in range(1, count + 1)}
        cluster = Cluster(folder, {"name": name, "index": index, "nodes": nodes, "token": f"{name}-{os.urandom(8).hex()}",
                                   "owner": {"pid": owner, "ticks": start_ticks(owner) if owner else 0},
                                   "data_network": data_network})
        cluster.save()
        return cluster


def build(cluster):
    write_files(cluster)
    networks = [(cluster.bridge, cluster.subnet, cluster.link, "eth0")]
    if cluster.has_data_network:
        networks.append((cluster.data_bridge, cluster.data_subnet, cluster.data_link, "hsn0"))
    for bridge, subnet, _, _ in networks:
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "address", "add", subnet.replace(".0/", ".254/"), "dev", bridge)
        run("ip", "link", "set", bridge, "up")
    holders = {name: start_holder(cluster, name) for name in cluster.names}
    cluster.children = list(holders.values())
    try:
        for name, holder in holders.items():
            expect(holder, "made", name)
            node = cluster.node(name)
            node.update(holder=holder.pid, ticks=start_ticks(holder.pid), network=network_of(holder.pid))
        cluster.save()
        for name, holder in holders.items():
            for bridge, _, link_of, device in networks:
                link = link_of(name)
                run("ip", "link", "add", link, "type", "veth", "peer", "name", device, "netns", holder.pid)
                run("ip", "link", "set", link, "master", bridge, "up")
            holder.stdin.write("go\n")
            holder.stdin.flush()
        for name, holder in holders.items():
            expect(holder, "ready", name)
    except BaseException:
        for holder in holders.values():
            holder.kill()
        raise
    finally:
        for holder in holders.values():
            holder.stdin.close()
            holder.stdout.close()


def write_files(cluster):
    lines = ["127.0.0.1 localhost", f"{cluster.login_address} {LOGIN}"]
    lines += [f"{node['address']} {name}" for name, node in cluster.state["nodes"].items()]
    pathlib.Path(cluster.hosts).write_text("\n".join(lines) + "\n")
    agent = pathlib.Path(cluster.agent)
    # The interpreter by its own path and without site packages: an agent is started once per node and launch.
    agent.write_text(f'#!/bin/sh\nexec "{os.path.realpath(sys.executable)}" -ESB "{HERE}/rsh_agent.py" '
                     f'"{cluster.folder}" "$@"\n')
    agent.chmod(0o755)


def start_holder(cluster, name):
    addresses = [f"eth0={cluster.node(name)['address']}"]
    if cluster.has_data_network:
        addresses.append(f"hsn0={cluster.data_address(name)}")
    words = ["unshare", "--net", "--uts", "--mount", "--ipc", os.path.realpath(sys.executable), "-ESB",
             HERE / "node_holder.py", name, cluster.hosts, cluster.folder / "tmp", *addresses]
    return subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            start_new_session=True)


def expect(holder, word, name):
    line = holder.stdout.readline().strip()
    if line != word:
        raise ClusterError(f"node {name} did not come up: {line or 'its holder died'}")


@contextlib.contextmanager
def running(count, name=None, slurm=None, machine=None, data_network=False):
    """A cluster for the length of a `with` block. It goes down whatever happens, also when this process is killed:
    then by a guard that waits for the other end of its pipe to close."""
    name = name or f"vc{os.getpid()}"
    cluster = up(count, name, owner=os.getpid(), slurm=slurm, machine=machine, data_network=data_network)
    guard = subprocess.Popen([sys.executable, "-B", str(HERE / "cluster"), "guard", "--name", name],
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield cluster
    finally:
        cluster.down()
        guard.stdin.close()
        guard.wait()
