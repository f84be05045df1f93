#!/bin/sh
# A user manager of systemd for one user, where none runs: `user-manager.sh USER COMMAND...`, as root.
# Everything lives in namespaces and cgroups of its own and ends with the command.
set -eu
if [ "$1" != --inside ]; then
  slice=deaddrop-test-$$
  parts=
  for root in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do
    # The hierarchies that processes are put in: one of version 2, or both of a hybrid host.
    [ -e "$root/cgroup.procs" ] || continue
    mkdir "$root/$slice"
    parts="$parts $root/$slice"
    chown -R "$1" "$root/$slice"
  done
  code=0
  sh -c 'for part in '"$parts"'; do echo $$ >"$part/cgroup.procs"; done; exec "$@"' sh \
    setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc sh "$0" --inside "$@" || code=$?
  for part in $parts; do find "$part" -depth -type d -exec rmdir {} \;; done
  exit "$code"
fi
user=$2
shift 2
uid=$(id -u "$user")
# What the first process of a booted host has made before any user manager starts.
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/systemd/unit-root "/run/user/$uid"
chown "$user" "/run/user/$uid"
chmod 700 "/run/user/$uid"
exec setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups \
  env XDG_RUNTIME_DIR="/run/user/$uid" sh -c '
    /usr/lib/systemd/systemd --user >/dev/null 2>&1 &
    manager=$!
    attempts=0
    while kill -0 "$manager" 2>/dev/null && [ "$attempts" -lt 480 ]; do
      systemctl --user is-system-running >/dev/null 2>&1 && exec "$@"
      attempts=$((attempts + 1))
      sleep 0.25
    done
    echo "the user manager does not start" >&2
    exit 75
  ' sh "$@"
