#!/bin/bash
#SBATCH --job-name=homaes
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --cpus-per-task=4
#SBATCH --mem=6G
# Evaluates one shard of a job per array task. SHARDS is the number of shards; 8 tasks run at a time:
#
#   sbatch --array=0-$((SHARDS-1))%8 --requeue deploy/slurm/job.sh JOB
#
# Add --gres=gpu:1 to give each task a GPU. Export HOMAES_DEVICE=cuda first, so that no task falls back to the
# processor.
#
# Exit code 75 (no room, or the store failed) requeues the task, and so does a kill, up to three times. Exit codes 1 and
# 2 fail the task and cancel the pending ones. After preemption or loss of a node Slurm itself restarts the task.
set -u
if [ $# != 1 ] || [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
    # shellcheck disable=SC2016 # for the reader's shell
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
