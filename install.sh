#!/bin/sh
# Installs deaddrop for this user, or shows what it does. Safe to run again at any time.
# Inside a checkout it uses that checkout; piped from elsewhere it fetches the release below.
set -eu

RELEASE=v0.1.0
REPOSITORY=${DEADDROP_REPOSITORY:-}

DATA=${XDG_DATA_HOME:-$HOME/.local/share}/deaddrop
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/deaddrop
APP=$DATA/app
LINK=$HOME/.local/bin/deaddrop
PRIVATE_CONFIG=${XDG_CONFIG_HOME:-$HOME/.config}/inter-agent-deaddrop
PRIVATE_STATE=${XDG_STATE_HOME:-$HOME/.local/state}/inter-agent-deaddrop
DRY_RUN=no
SOURCE=

usage() {
  cat <<'TEXT'
usage: ./install.sh [--dry-run] <command>

  demo                        two agents on this machine: what deaddrop does, in a minute
  init --my-handle A --peer-handle B [--wire DIR] [--remote URL] ...
                              install, make a wire, start the daemon as a service;
                              --remote shares it through a git repository;
                              --github, --peer-github USER make a private one with gh
  join DIR|URL --my-handle B --peer-handle A ...
                              install, join a wire, start the daemon as a service
  test                        install the development tools and run the test suite
  upgrade                     install this version over the present one, restart the services
  uninstall [--purge]         stop the services, remove the program; --purge also removes keys
                              and inboxes (never a wire: that is shared)

  --dry-run                   print every step, change nothing

init and join take every flag of `deaddrop init` and `deaddrop join`. join shows the wire's policy; what
is weaker than the defaults is asked on a terminal, or agreed to with --accept-unsigned HANDLE,
--accept-limit NAME and --accept-domain NAME.
TEXT
}

say() { printf '%s\n' "$*"; }

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '  %s\n' "$2" >&2
  exit "${3:-1}"
}

# Every change goes through here.
run() {
  if [ "$DRY_RUN" = yes ]; then
    say "+ $*"
  else
    "$@"
  fi
}

run_in() {
  if [ "$DRY_RUN" = yes ]; then
    folder=$1
    shift
    say "+ (in $folder) $*"
  else
    (cd "$1" && shift && "$@")
  fi
}

# Runs quietly; shows what was printed only when it fails.
quietly() {
  if [ "$DRY_RUN" = yes ]; then
    run_in "$@"
    return
  fi
  transcript=$(mktemp)
  if run_in "$@" >"$transcript" 2>&1; then
    rm -f "$transcript"
  else
    cat "$transcript" >&2
    rm -f "$transcript"
    shift
    fail "failed: $*" "see its output above"
  fi
}

check_tools() {
  command -v git >/dev/null 2>&1 ||
    fail "git is not installed" "install it with your package manager (Debian: apt install git)" 2
  command -v node >/dev/null 2>&1 ||
    fail "Node.js is not installed" "install Node.js 20.19 or newer: https://nodejs.org" 2
  node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)
  ' || fail "Node.js $(node --version) is too old" "20.19 or newer is needed: https://nodejs.org" 2
  command -v npm >/dev/null 2>&1 ||
    fail "npm is not installed" "it comes with Node.js; some distributions package it apart" 2
}

# Locks are taken by a system call through koffi, an optional package; the program flock serves where
# koffi does not load.
check_locks() {
  [ "$DRY_RUN" = no ] || return 0
  if (cd "$SOURCE" && node -e 'require("koffi")') 2>/dev/null; then return 0; fi
  command -v flock >/dev/null 2>&1 ||
    fail "koffi does not load on this machine, and flock is not installed" \
      "flock is part of util-linux; on macOS: brew install flock" 2
}

is_checkout() {
  [ -f "$1/package.json" ] && [ -f "$1/src/cli/main.ts" ] &&
    grep -q '"name": "deaddrop"' "$1/package.json"
}

# Sets SOURCE: the checkout that holds this script, or a fresh clone of the pinned release.
find_source() {
  # Piped into a shell, $0 is the shell's name, and its folder is whatever folder one is in.
  case ${0##*/} in
    install.sh) here=$(cd "$(dirname "$0")" 2>/dev/null && pwd) || here= ;;
    *) here= ;;
  esac
  if [ -n "$here" ] && [ -f "$here/install.sh" ] && is_checkout "$here"; then
    SOURCE=$here
    return
  fi
  [ -n "$REPOSITORY" ] || fail "this is not a checkout, and no repository is named" \
    "set DEADDROP_REPOSITORY to the git URL that you trust, or run install.sh inside a clone" 2
  SOURCE=$DATA/source-$RELEASE
  if is_checkout "$SOURCE"; then return; fi
  say "fetching $RELEASE from $REPOSITORY"
  run mkdir -p "$DATA"
  run rm -rf "$SOURCE"
  run git -c advice.detachedHead=false clone --quiet --depth 1 --branch "$RELEASE" -- \
    "$REPOSITORY" "$SOURCE"
}

# True when node_modules holds exactly what the lock file names.
modules_match() {
  [ -f "$1/node_modules/.package-lock.json" ] || return 1
  node - "$1" <<'JS'
const { readFileSync } = require("node:fs");
const read = (path) => JSON.parse(readFileSync(`${process.argv[2]}/${path}`, "utf8")).packages;
const wanted = read("package-lock.json");
const present = read("node_modules/.package-lock.json");
const same = (path) => wanted[path]?.integrity === present[path]?.integrity;
// An optional package may be for another machine; those that we name ourselves choose by themselves.
const named = Object.keys(wanted[""].optionalDependencies ?? {}).map((name) => `node_modules/${name}`);
const needed = Object.keys(wanted).filter(
  (path) => path !== "" && (!wanted[path].optional || named.includes(path)),
);
process.exit([...needed, ...Object.keys(present)].every(same) ? 0 : 1);
JS
}

is_built() {
  [ -f "$1/dist/commands/hook.cjs" ] &&
    [ -z "$(find "$1/src" "$1/build" "$1/tsconfig.json" "$1/tsconfig.build.json" "$1/package.json" \
      -newer "$1/dist/commands/hook.cjs" -print | head -n 1)" ]
}

build_source() {
  if ! modules_match "$SOURCE"; then
    say "installing dependencies"
    quietly "$SOURCE" npm ci --include=dev --prefer-offline --no-audit --no-fund
  fi
  check_locks
  if ! is_built "$SOURCE"; then
    say "building"
    quietly "$SOURCE" npm run --silent build
  fi
}

# The packages that the program needs at run time, from those that the lock file was checked
# against: no network, no second choice of versions.
copy_modules() {
  if [ "$DRY_RUN" = yes ]; then
    say "+ (copy what the program needs of $SOURCE/node_modules into $APP.new)"
    return
  fi
  node - "$SOURCE" "$APP.new" <<'JS'
const { cpSync, existsSync, readFileSync } = require("node:fs");
const [from, to] = process.argv.slice(2);
const { packages } = JSON.parse(readFileSync(`${from}/package-lock.json`, "utf8"));
for (const [path, { dev }] of Object.entries(packages)) {
  if (path === "" || dev || !existsSync(`${from}/${path}`)) continue;
  cpSync(`${from}/${path}`, `${to}/${path}`, { recursive: true });
}
JS
}

# True when the command is a link to the installed program.
link_is_installed() {
  [ -L "$LINK" ] && [ "$(readlink "$LINK")" = "$APP/bin/deaddrop.js" ]
}

# True when the command is a link to a checkout, as README's quick start makes it.
link_is_checkout() {
  [ -L "$LINK" ] || return 1
  target=$(readlink "$LINK")
  case $target in
    /*/bin/deaddrop.js) is_checkout "${target%/bin/deaddrop.js}" ;;
    *) false ;;
  esac
}

# True when nothing, or a link of ours, is where the command goes.
link_is_ours() {
  if [ -L "$LINK" ]; then
    link_is_installed || link_is_checkout
  else
    [ ! -e "$LINK" ]
  fi
}

install_program() {
  link_is_ours || fail "$LINK is not a link of ours" "move it away, then run this again" 2
  build_source
  say "installing the program into $APP"
  run rm -rf "$APP.new" "$APP.old"
  run mkdir -p "$APP.new" "$(dirname "$LINK")"
  for part in bin dist docs schemas systemd launchd skills agent plugins README.md SECURITY.md \
    tiers.json package.json; do
    run cp -R "$SOURCE/$part" "$APP.new/"
  done
  copy_modules
  if [ -d "$APP" ]; then run mv "$APP" "$APP.old"; fi
  run mv "$APP.new" "$APP"
  run rm -rf "$APP.old"
  run ln -sfn "$APP/bin/deaddrop.js" "$LINK"
  run chmod +x "$APP/bin/deaddrop.js"
  case ":$PATH:" in
    *":$(dirname "$LINK"):"*) ;;
    *) say "note: $(dirname "$LINK") is not in your PATH; add it, or call $LINK" ;;
  esac
}

# Who and where, from the flags of init and join: the service is installed for that agent.
service_flags() {
  SERVICE_AS=
  SERVICE_WIRE=
  LOCAL_PAIR=no
  previous=
  for word in "$@"; do
    case $previous in
      --my-handle | --me | --as) SERVICE_AS=$word ;;
      --wire) SERVICE_WIRE=$word ;;
    esac
    case $word in
      --my-handle=* | --me=* | --as=*) SERVICE_AS=${word#*=} ;;
      --wire=*) SERVICE_WIRE=${word#*=} ;;
      --local-pair) LOCAL_PAIR=yes ;;
    esac
    previous=$word
  done
}

# In a dry run: what the command itself would do, when there is a build that can say so.
preview() {
  [ "$DRY_RUN" = yes ] || return 0
  if is_built "$SOURCE" && modules_match "$SOURCE"; then
    node "$SOURCE/bin/deaddrop.js" "$@" --dry-run
  fi
}

set_up() {
  verb=$1
  shift
  install_program
  service_flags "$@"
  if [ "$verb" = join ] && [ -z "$SERVICE_WIRE" ] && [ $# -gt 0 ] && [ -d "$1" ] &&
    ! [ -d "$1/objects" ]; then
    SERVICE_WIRE=$1
  fi
  run node "$APP/bin/deaddrop.js" "$verb" "$@"
  preview "$verb" "$@"
  # Two daemons: the operator starts them, with the commands that were just printed.
  if [ "$LOCAL_PAIR" = yes ]; then return; fi
  say ""
  say "installing the service${SERVICE_AS:+ of $SERVICE_AS}"
  set -- service install
  if [ -n "$SERVICE_WIRE" ]; then set -- "$@" --wire "$SERVICE_WIRE"; fi
  if [ -n "$SERVICE_AS" ]; then set -- "$@" --as "$SERVICE_AS"; fi
  # 1: no service manager answers here, and it has said how the daemon is run instead.
  run node "$APP/bin/deaddrop.js" "$@" || [ $? -eq 1 ] || exit 2
}

has_services() {
  for record in "$PRIVATE_CONFIG"/.services/*.env; do
    [ -e "$record" ] && return 0
  done
  return 1
}

# The agents whose daemons run without a service, one a line. The kernel knows who holds a lock.
running_agents() {
  for lock in "$PRIVATE_STATE"/*/*/identity.lock; do
    [ -e "$lock" ] || continue
    agent=${lock%/identity.lock}
    wire=${agent%/*}
    [ ! -e "$PRIVATE_CONFIG/.services/${wire##*/}:${agent##*/}.env" ] || continue
    is_free "$lock" || say "${agent##*/}"
  done
}

# True unless a process holds the kernel lock of a file; also where nothing here can tell.
is_free() {
  if command -v flock >/dev/null 2>&1; then
    flock --nonblock "$1" true
  elif [ -d "$APP/node_modules/koffi" ]; then
    (cd "$APP" && node - "$1") <<'JS'
const koffi = require("koffi");
const flock = koffi.load(null).func("int flock(int, int)");
const fd = require("node:fs").openSync(process.argv[2], "r");
process.exit(flock(fd, 2 | 4) === 0 ? 0 : 1);
JS
  fi
}

upgrade() {
  [ -d "$APP" ] || fail "deaddrop is not installed" "use ./install.sh init or join" 2
  install_program
  if has_services; then run node "$APP/bin/deaddrop.js" service install --all; fi
  done=upgraded
  [ "$DRY_RUN" = no ] || done="would be upgraded"
  say "$done to $(node -p 'require(process.argv[1]).version' "$SOURCE/package.json")"
  for running in $(running_agents); do
    say "note: the daemon of $running was not started by a service: start it again yourself"
  done
}

uninstall() {
  purge=no
  yes=no
  for word in "$@"; do
    case $word in
      --purge) purge=yes ;;
      --yes) yes=yes ;;
      *) fail "uninstall does not know $word" "it takes --purge and --yes" ;;
    esac
  done
  # Asked before anything is removed, so that a "no" changes nothing.
  if [ "$purge" = yes ] && [ "$DRY_RUN" = no ] && [ "$yes" = no ]; then
    [ -t 0 ] || fail "--purge destroys private keys and wants a terminal to ask" "or give --yes"
    printf 'Remove every private key, pin and inbox of this user? They cannot be made again.\n'
    printf 'Type "purge" to go on: '
    read -r answer
    [ "$answer" = purge ] || fail "nothing was removed"
  fi
  if has_services; then
    if [ -f "$APP/bin/deaddrop.js" ]; then
      run node "$APP/bin/deaddrop.js" service uninstall --all
    else
      fail "services are installed, but the program is gone" \
        "run ./install.sh init again (it changes no key and no log), then uninstall" 2
    fi
  fi
  for running in $(running_agents); do
    [ "$DRY_RUN" = yes ] || fail "the daemon of $running runs, and no service started it" \
      "end it where it was started, then run this again"
    say "the daemon of $running has to be ended first"
  done
  if [ -f "$APP/bin/deaddrop.js" ]; then
    run node "$APP/bin/deaddrop.js" integrate --remove --all ||
      say "note: a coding tool is left as it is, see above; its hooks are quiet without deaddrop"
  fi
  program="the program"
  if ! link_is_installed && [ ! -e "$DATA" ]; then program="nothing: the program was not here"; fi
  if link_is_installed; then run rm -f "$LINK"; fi
  run rm -rf "$DATA" "$CACHE"
  removed=removed
  [ "$DRY_RUN" = no ] || removed="would be removed"
  if [ "$purge" = yes ]; then
    run rm -rf "$PRIVATE_CONFIG" "$PRIVATE_STATE"
    say "$removed: program, keys, pins and inboxes; wires are shared and are left alone"
  else
    say "$removed: $program; keys, pins and inboxes stay in $PRIVATE_CONFIG and $PRIVATE_STATE"
  fi
}

main() {
  while [ $# -gt 0 ]; do
    case $1 in
      --dry-run) DRY_RUN=yes ;;
      -h | --help | help)
        usage
        return
        ;;
      *) break ;;
    esac
    shift
  done
  [ $# -gt 0 ] || { usage >&2; exit 1; }
  verb=$1
  shift
  # --dry-run may stand anywhere; the other words keep their order.
  count=$#
  while [ "$count" -gt 0 ]; do
    word=$1
    shift
    if [ "$word" = --dry-run ]; then DRY_RUN=yes; else set -- "$@" "$word"; fi
    count=$((count - 1))
  done
  if [ "$DRY_RUN" = yes ]; then export NODE_DISABLE_COMPILE_CACHE=1; fi
  case $verb in
    demo | test | init | join | upgrade)
      check_tools
      find_source
      ;;
    uninstall) ;;
    *) fail "no command \"$verb\"" "./install.sh --help lists them" ;;
  esac
  case $verb in
    demo)
      build_source
      run node "$SOURCE/bin/deaddrop.js" demo "$@"
      ;;
    test) run_in "$SOURCE" npm cit ;;
    init | join) set_up "$verb" "$@" ;;
    upgrade) upgrade ;;
    uninstall) uninstall "$@" ;;
  esac
}

# Called last, so that a download that was cut short runs nothing.
main "$@"
