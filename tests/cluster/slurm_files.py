"""What the Slurm of a virtual cluster reads: slurm.conf and gres.conf. Text only. Part of slurm_services.py."""
import os
import typing

import described_nodes


class Shape(typing.NamedTuple):
    """What every node says that it has."""

    cpus: int = len(os.sched_getaffinity(0))  # more than the machine has: ranks must not be bound by Slurm then
    gpus: int = 0  # that Slurm grants: files of its own
    more: str = ""  # further lines of slurm.conf
    machine: str = ""  # the description that nodes are of; empty: they are this machine
    site: str = ""  # ClusterName; empty: the cluster's own
    partitions: tuple = ()  # further ones, whose jobs have whole nodes
    features: str = ""  # for --constraint


# A time-out that is not here is as Slurm has it. Jobs of sbatch start at once, not with the next round.
SLURM_CONF = """ClusterName={site}
SlurmctldHost={login}({address})
CommunicationParameters=NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={private}/slurmd.pid
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdSpoolDir={private}/slurmd
TmpFS={private}
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
MpiDefault=pmix
SlurmdParameters=config_overrides
ReturnToService=2
AllowSpecResourcesUsage=1
GresTypes=gpu
NodeName={nodes} {node}
PartitionName=standard Nodes=ALL Default=YES MaxTime=60
PartitionName=debug Nodes=ALL MaxTime=5 PriorityTier=2
"""


def slurm_conf(cluster, shape, login):
    numbers = [name.removeprefix("nid") for name in cluster.names]
    nodes = f"nid[{numbers[0]}-{numbers[-1]}]" if len(numbers) > 1 else cluster.names[0]
    described = described_nodes.read(shape.machine) if shape.machine else None
    node = described_nodes.slurm_node(described) if described else f"CPUs={shape.cpus} RealMemory=1000"
    node += f" Gres=gpu:{gpus_of(shape)}" if gpus_of(shape) else ""
    node += f" Feature={shape.features}" if shape.features else ""
    more = "".join(f"PartitionName={name} Nodes=ALL OverSubscribe=EXCLUSIVE\n" for name in shape.partitions) + shape.more
    # PMIx does not expand %n, so every node sees a private folder under the same path.
    return SLURM_CONF.format(site=shape.site or cluster.name, login=login, address=cluster.login_address, folder=cluster.slurm,
                             private=cluster.folder / "tmp", nodes=nodes, node=node) + more


def gres_conf(cluster, shape):
    gpus = gpus_of(shape)
    flag = described_nodes.gpu_flag(described_nodes.read(shape.machine)) if shape.machine else ""
    devices = f"{cluster.slurm}/gpu{'0' if gpus == 1 else f'[0-{gpus - 1}]'}"
    return f"AutoDetect=off\nName=gpu File={devices}{f' Flags={flag}' if flag else ''}\n" if gpus else ""


def gpus_of(shape):
    return described_nodes.gpus_of(described_nodes.read(shape.machine)) if shape.machine else shape.gpus
