#!/bin/sh
# Runs the tests of the project in the current folder, and says with one last line what came out.
#
#   run_tests.sh [--log FILE] [--print] [-- command…]
#
# Without a command it takes the one that the project has: npm, pnpm, yarn or bun by package.json and its lock
# file, make test, pytest, go, cargo, gradle, maven. --print says which, and runs nothing.
# Exit code: that of the tests; 2 when no command was found.
set -u

log=
print=
while [ "$#" -gt 0 ]; do
  case "$1" in
  -h | --help)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  --log)
    [ "$#" -ge 2 ] || {
      echo "--log needs a file" >&2
      exit 2
    }
    log=$2
    shift 2
    ;;
  --print)
    print=1
    shift
    ;;
  --)
    shift
    break
    ;;
  *)
    echo "unknown: $1 (a command comes after --)" >&2
    exit 2
    ;;
  esac
done

has() {
  command -v "$1" >/dev/null 2>&1
}
# A script "test" that somebody wrote; npm init leaves one that only fails.
has_npm_test() {
  [ -f package.json ] && has node && node -e '
    const { scripts } = JSON.parse(require("fs").readFileSync("package.json", "utf8"));
    process.exit(scripts?.test && !scripts.test.includes("no test specified") ? 0 : 1);
  ' 2>/dev/null
}

if [ "$#" -eq 0 ]; then
  if has_npm_test; then
    if [ -f pnpm-lock.yaml ]; then
      set -- pnpm test
    elif [ -f yarn.lock ]; then
      set -- yarn test
    elif [ -f bun.lockb ] || [ -f bun.lock ]; then
      set -- bun run test
    else
      set -- npm test
    fi
  elif [ -f Makefile ] && grep -Eq '^test[[:space:]]*:' Makefile; then
    set -- make test
  elif [ -f go.mod ]; then
    set -- go test ./...
  elif [ -f Cargo.toml ]; then
    set -- cargo test
  elif [ -f pytest.ini ] || [ -f tox.ini ] || { [ -f pyproject.toml ] && grep -q pytest pyproject.toml; }; then
    set -- python3 -m pytest
  elif [ -f setup.py ] || [ -f pyproject.toml ]; then
    set -- python3 -m unittest
  elif [ -x gradlew ]; then
    set -- ./gradlew test
  elif [ -x mvnw ]; then
    set -- ./mvnw -q test
  elif [ -f pom.xml ]; then
    set -- mvn -q test
  else
    echo "result: not run: no test command found here; give one after --"
    exit 2
  fi
fi

if [ -n "$print" ]; then
  echo "$*"
  exit 0
fi
if ! has "$1"; then
  echo "result: not run: $1 is not there"
  exit 2
fi

own=
if [ -z "$log" ]; then
  log=$(mktemp) || exit 2
  own=1
fi
echo "running: $*"
# A pipe would lose the exit code, so it goes through a file.
code_file=$(mktemp) || exit 2
{
  CI=${CI-1} "$@" 2>&1 </dev/null
  echo "$?" >"$code_file"
} | tee "$log"
code=$(cat "$code_file")
rm -f "$code_file"
[ -z "$own" ] || rm -f "$log"
if [ "$code" -eq 0 ]; then word=passed; else word=failed; fi
if [ -n "$own" ]; then
  echo "result: $word (exit code $code) command: $*"
else
  echo "result: $word (exit code $code) command: $* log: $log"
fi
exit "$code"
