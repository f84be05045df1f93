# What each example begins with: a new folder with a home of its own, and what it calls things. Sourced.
#
# DEADDROP names the program, for a checkout: DEADDROP="node bin/deaddrop.js" ./examples/team/run.sh
# shellcheck shell=bash
set -euo pipefail

read -r -a deaddrop <<<"${DEADDROP:-deaddrop}"
if [ -e "${deaddrop[-1]}" ]; then deaddrop[-1]=$(realpath "${deaddrop[-1]}"); fi

# What is piped in would be taken for the body of a message.
exec </dev/null
place=$(mktemp -d)
export HOME="$place/home" XDG_CONFIG_HOME="$place/config" XDG_STATE_HOME="$place/state"
export DEADDROP_WIRE="$place/_coordination" NO_COLOR=1
mkdir -p "$HOME"
children=()
end() {
  for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$place"
}
trap end EXIT

as() {
  local who=$1
  shift
  "${deaddrop[@]}" "$@" --as "$who"
}

say() { printf '\n== %s\n' "$1"; }

# Until the output of a command holds a text: what is sent reaches the others within moments.
until_shows() {
  local text=$1
  shift
  for _ in $(seq 1 300); do
    if "$@" 2>/dev/null | grep -q -- "$text"; then return 0; fi
    sleep 0.2
  done
  echo "this never came: $text" >&2
  exit 1
}

# A daemon of each of these. Without a shell between: what is told to end is the daemon itself.
start_daemons() {
  for who in "$@"; do
    (exec "${deaddrop[@]}" daemon --as "$who") >"$place/$who.log" 2>&1 &
    children+=($!)
  done
}
