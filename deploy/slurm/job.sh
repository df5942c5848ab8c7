#!/bin/bash
#SBATCH --job-name=homaes
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --cpus-per-task=4
#SBATCH --mem=6G
# One shard of a job for each task of an array. SHARDS is the job's number of shards, and 8 the number of tasks at a time:
#
#   sbatch --array=0-$((SHARDS-1))%8 --requeue deploy/slurm/job.sh JOB
#
# With --gres=gpu:1 each task has a GPU of its own; export HOMAES_DEVICE=cuda first, so that none computes on the processor instead.
#
# Exit code 75 (no room, trouble of a store) puts the task back into the queue, and so does a kill, three times. 1 and 2 fail, and no other task of the
# array starts any more. After preemption and the loss of a node Slurm itself starts the task again.
set -u
if [ $# != 1 ] || [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
    echo 'usage: sbatch --array=0-$((SHARDS-1))%8 --requeue deploy/slurm/job.sh JOB' >&2
    exit 2
fi
task=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID

homaes job run-shard "$1" --index-env SLURM_ARRAY_TASK_ID --threads "${SLURM_CPUS_PER_TASK:-1}"
code=$?
again() {
    echo "task $task: exit code $code, again" >&2
    scontrol requeue "$task" || exit "$code"
    # Slurm ends this script
    sleep 60
}
case $code in
    1 | 2) scancel --state=PENDING "$SLURM_ARRAY_JOB_ID" ;;
    75) again ;;
    137) [ "${SLURM_RESTART_COUNT:-0}" -ge 3 ] || again ;;
esac
exit "$code"
