#!/bin/sh
# Formats the files that git says are changed, with the formatters that the project has itself.
# Nothing is downloaded or installed, and no other file is touched.
#
#   format.sh [--check] [file…]
#
# Exit code 0: done, or nothing to do. 1: with --check, a file is not formatted, or a formatter failed.
set -u

check=
case "${1-}" in
-h | --help)
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  exit 0
  ;;
--check)
  check=1
  shift
  ;;
esac

top=$(git rev-parse --show-toplevel) || exit 1
here=$(pwd)
list=$(mktemp) || exit 1
work=$(mktemp) || exit 1
trap 'rm -f "$list" "$work"' EXIT
trap 'exit 130' INT TERM

if [ "$#" -gt 0 ]; then
  for file in "$@"; do
    case "$file" in /*) printf '%s\n' "$file" ;; *) printf '%s\n' "$here/$file" ;; esac
  done >"$list"
  cd "$top" || exit 1
else
  cd "$top" || exit 1
  # Changed and staged files, then new ones; not what was deleted.
  {
    git diff --name-only --diff-filter=d HEAD -- 2>/dev/null || git diff --cached --name-only --diff-filter=d
    git ls-files --others --exclude-standard
  } | sort -u >"$list"
fi

status=0
# The files with these endings, one a line, into $work; fails when there are none.
chosen() {
  grep -E "\.($1)\$" "$list" | while IFS= read -r file; do
    if [ -f "$file" ] && [ ! -L "$file" ]; then printf '%s\n' "$file"; fi
  done >"$work"
  [ -s "$work" ]
}
# Runs a formatter on each file of $work: name, then the words before the file.
each() {
  name=$1
  shift
  done_files=
  while IFS= read -r file; do
    if "$@" "$file" </dev/null; then
      done_files="$done_files $file"
    else
      echo "$name: $file is not formatted, or cannot be" >&2
      status=1
    fi
  done <"$work"
  if [ -n "$done_files" ]; then
    if [ -n "$check" ]; then echo "checked with $name:$done_files"; else echo "formatted with $name:$done_files"; fi
  fi
}
# gofmt says by its output, not by its exit code, that a file is not formatted.
gofmt_check() {
  [ -z "$(gofmt -l "$1")" ]
}
has() {
  command -v "$1" >/dev/null 2>&1
}

if chosen 'js|jsx|mjs|cjs|ts|tsx|mts|cts|json|css|scss|html|md|ya?ml'; then
  if [ -x node_modules/.bin/biome ] && [ -f biome.json ]; then
    if [ -n "$check" ]; then each biome node_modules/.bin/biome format; else each biome node_modules/.bin/biome format --write; fi
  elif [ -x node_modules/.bin/prettier ]; then
    if [ -n "$check" ]; then each prettier node_modules/.bin/prettier --log-level warn --ignore-unknown --check; else each prettier node_modules/.bin/prettier --log-level warn --ignore-unknown --write; fi
  else
    echo "no formatter of the project for: $(tr '\n' ' ' <"$work")"
  fi
fi
if chosen 'py|pyi'; then
  if has ruff && grep -qs 'ruff' pyproject.toml ruff.toml .ruff.toml; then
    if [ -n "$check" ]; then each ruff ruff format --quiet --check; else each ruff ruff format --quiet; fi
  elif has black && grep -qs 'black' pyproject.toml; then
    if [ -n "$check" ]; then each black black --quiet --check; else each black black --quiet; fi
  else
    echo "no formatter of the project for: $(tr '\n' ' ' <"$work")"
  fi
fi
if chosen 'go'; then
  if has gofmt; then
    if [ -n "$check" ]; then each gofmt gofmt_check; else each gofmt gofmt -w; fi
  else
    echo "gofmt is not there, for: $(tr '\n' ' ' <"$work")"
  fi
fi
if chosen 'rs'; then
  if has rustfmt; then
    if [ -n "$check" ]; then each rustfmt rustfmt --check --quiet; else each rustfmt rustfmt --quiet; fi
  else
    echo "rustfmt is not there, for: $(tr '\n' ' ' <"$work")"
  fi
fi
exit "$status"
