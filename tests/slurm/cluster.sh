# A Slurm of one node on loopback, without accounting, in a directory of its own. To be sourced; needs root.
#
# `cluster_start DIR` returns once the node is idle and sets SLURM_CONF; `cluster_stop` ends what it started. Daemons have their own munge
# key and socket and their own ports, so a Slurm that the machine already runs is not touched.

cluster_start() {
  cluster="$1"
  local port=$((20000 + $$ % 10000 * 2)) host
  host="$(hostname -s)"
  mkdir -p "$cluster"/{state,spool,log,munge}
  # Munge refuses keys that others can read, and clients must reach its socket.
  chmod 755 "$cluster" "$cluster/munge"
  (umask 077 && head -c 1024 /dev/urandom >"$cluster/munge/key")
  munged --force --foreground --key-file="$cluster/munge/key" --socket="$cluster/munge/socket" --pid-file="$cluster/munge/pid" \
    --seed-file="$cluster/munge/seed" --log-file="$cluster/log/munged.log" >"$cluster/log/munged.out" 2>&1 &
  munged_pid=$!

  # A daemon that knows how to do without cgroups (24.05 and later) wants to be told; older ones only use what the plugins below ask for.
  if printf '24.05\n%s\n' "$(slurmd -V | sed 's/^slurm[^0-9]*//')" | sort --check=quiet --version-sort; then
    echo CgroupPlugin=disabled >"$cluster/cgroup.conf"
  fi

  # No cgroups: they may not be writable in a container. Two CPUs whatever the machine has, so that shards run beside each other.
  cat >"$cluster/slurm.conf" <<CONF
ClusterName=loopback
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$cluster/munge/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.pid
SlurmctldLogFile=$cluster/log/slurmctld.log
SlurmdLogFile=$cluster/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0
ReturnToService=2
MinJobAge=3600
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=1024 State=UNKNOWN
PartitionName=loopback Nodes=$host Default=YES MaxTime=60 State=UP
CONF
  export SLURM_CONF="$cluster/slurm.conf"
  # Jobs of this shell rather than daemons, so that their ids are known to `cluster_stop`.
  slurmctld -D >"$cluster/log/slurmctld.out" 2>&1 &
  slurmctld_pid=$!
  slurmd -D -N "$host" >"$cluster/log/slurmd.out" 2>&1 &
  slurmd_pid=$!
  local tries
  for tries in $(seq 120); do
    if sinfo --noheader --format=%t 2>/dev/null | grep -q '^idle'; then return 0; fi
    sleep 0.25
  done
  echo "Slurm did not start in 30 s:" >&2
  tail -n 20 "$cluster"/log/* >&2
  return 1
}

cluster_stop() {
  local pid
  for pid in "${slurmd_pid:-}" "${slurmctld_pid:-}" "${munged_pid:-}"; do
    if [ -n "$pid" ]; then
      kill "$pid" 2>/dev/null || true
      wait "$pid" 2>/dev/null || true
    fi
  done
}
