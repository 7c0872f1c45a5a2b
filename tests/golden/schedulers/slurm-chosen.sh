#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH '--chdir=/home/me/50% full'
#SBATCH --output=/home/me/muster-runs/x/job/output
#SBATCH --open-mode=append
#SBATCH --time=5
#SBATCH --job-name=mine
#SBATCH --export=NONE
#SBATCH --exclusive=user
# Written by muster run --submit.

# A job that is cancelled: muster ends its launch and writes its report, then this goes on.
trap : TERM INT
start=/home/me/muster-runs/x/job/"${SLURM_RESTART_COUNT:-0}"
/opt/muster run --run-folder "$start"
status=$?
echo "$status" > "$start.status"
exit "$status"
