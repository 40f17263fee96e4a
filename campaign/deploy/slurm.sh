#!/usr/bin/env bash
# Workers on a Slurm cluster: one a task of the array. Start the server on a computer that the nodes
# reach, then
#
#   export KPSIM_SERVER=tls://head.example:4222 KPSIM_KEY=$HOME/kpsim/worker.nk
#   sbatch slurm.sh                     # or sbatch --array=0-999 --cpus-per-task=1 slurm.sh
#
# KPSIM_CA names the certificate of a server that signed its own, KPSIM_IDLE after what time with
# nothing to do a worker ends, KPSIM_CACHE where kernels are kept (all tasks may share the folder).
#
# A unit that a killed worker had begun is made by another one when its lease ends.
#SBATCH --job-name=kpsim-worker
#SBATCH --array=0-249
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=1G
#SBATCH --time=08:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@60
set -euo pipefail

: "${KPSIM_SERVER:?set it to the address of kpsim-campaign serve, as in tls://head.example:4222}"
: "${KPSIM_KEY:?set it to the file worker.nk of the folder of the server}"
options=()
if [[ -n ${KPSIM_CA:-} ]]; then
	options+=(--tls-ca "$KPSIM_CA")
fi

kpsim-campaign work --nats "$KPSIM_SERVER" --nkey "$KPSIM_KEY" --cores "${SLURM_CPUS_PER_TASK:-1}" \
	--idle "${KPSIM_IDLE:-10m}" --cache "${KPSIM_CACHE:-$HOME/.cache/kpsim-campaign}" "${options[@]}" &
worker=$!

# SIGTERM comes from scancel, or before Slurm takes the node for another job; it then requeues this
# one by itself. SIGUSR1 comes a minute before the time is over: there is more to do.
requeue=
trap 'kill -TERM "$worker" 2>/dev/null || true' TERM INT
trap 'requeue=1; kill -TERM "$worker" 2>/dev/null || true' USR1

status=0
wait "$worker" || status=$? # a signal ends this wait early
while kill -0 "$worker" 2>/dev/null; do
	status=0
	wait "$worker" || status=$?
done
if [[ -n $requeue ]]; then
	exec scontrol requeue "${SLURM_JOB_ID:?}"
fi
exit "$status"
