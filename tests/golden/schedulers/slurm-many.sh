#!/bin/bash -l
#SBATCH --job-name=muster-3f2a9c
#SBATCH --nodes=3
#SBATCH --nodelist=nid[001-002,004]
#SBATCH --ntasks-per-node=8
#SBATCH --time=1-2:01:00
#SBATCH --exclusive
#SBATCH --export=ALL
#SBATCH --chdir=/home/me
#SBATCH --output=/home/me/muster-runs/x/job/output
#SBATCH --open-mode=append
#SBATCH --account=project_1
#SBATCH --qos=debug
#SBATCH --gpus-per-node=8
#SBATCH '--comment=it'\''s # a test'
# Written by muster run --submit.

# A job that is cancelled: muster ends its launch and writes its report, then this goes on.
trap : TERM INT
start=/home/me/muster-runs/x/job/"${SLURM_RESTART_COUNT:-0}"
module load rocm/6.2.4 || { echo 'muster: module load rocm/6.2.4 failed' >&2; echo 3 > "$start.status"; exit 3; }
module load rccl-net-plugin || { echo 'muster: module load rccl-net-plugin failed' >&2; echo 3 > "$start.status"; exit 3; }
/opt/muster run 'my checks/' --environment=container -S=p2p.sizes=8B,1MiB --run-folder "$start"
status=$?
echo "$status" > "$start.status"
exit "$status"
