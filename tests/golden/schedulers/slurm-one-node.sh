#!/bin/bash
#SBATCH --job-name=muster-3f2a9c
#SBATCH --nodes=1
#SBATCH --time=0:20:00
#SBATCH --exclusive
#SBATCH --export=ALL
#SBATCH --chdir=/home/me
#SBATCH --output=/home/me/muster-runs/x/job/output
#SBATCH --open-mode=append
# Written by muster run --submit.

# A job that is cancelled: muster ends its launch and writes its report, then this goes on.
trap : TERM INT
start=/home/me/muster-runs/x/job/"${SLURM_RESTART_COUNT:-0}"
/opt/muster run --run-folder "$start"
status=$?
echo "$status" > "$start.status"
exit "$status"
