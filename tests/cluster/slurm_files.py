"""What the Slurm of a virtual cluster reads: slurm.conf and gres.conf. Text only. Part of slurm_services.py."""
import os
import typing


class Shape(typing.NamedTuple):
    """What every node says that it has."""

    cpus: int = len(os.sched_getaffinity(0))  # more than the machine has: ranks must not be bound by Slurm then
    gpus: int = 4
    more: str = ""  # further lines of slurm.conf


# A time-out that is not here is as Slurm has it. Jobs of sbatch start at once, not with the next round.
SLURM_CONF = """ClusterName={name}
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
GresTypes=gpu
NodeName={nodes} CPUs={cpus} RealMemory=1000 Gres=gpu:{gpus}
PartitionName=standard Nodes=ALL Default=YES MaxTime=60
PartitionName=debug Nodes=ALL MaxTime=5 PriorityTier=2
"""


def slurm_conf(cluster, shape, login):
    numbers = [name.removeprefix("nid") for name in cluster.names]
    nodes = f"nid[{numbers[0]}-{numbers[-1]}]" if len(numbers) > 1 else cluster.names[0]
    # PMIx does not expand %n, so every node sees a private folder under the same path.
    return SLURM_CONF.format(name=cluster.name, login=login, address=cluster.login_address, folder=cluster.slurm,
                             private=cluster.folder / "tmp", nodes=nodes, cpus=shape.cpus, gpus=shape.gpus) + shape.more


def gres_conf(cluster, shape):
    devices = f"{cluster.slurm}/gpu{'0' if shape.gpus == 1 else f'[0-{shape.gpus - 1}]'}"
    return f"AutoDetect=off\nName=gpu File={devices}\n" if shape.gpus else ""
