#!/usr/bin/env bash
# Two agents in one repository: mate may not commit what is lead's, until lead grants a claim; one commit
# overrides the guard, and lead hears of it. Everything is made in a new folder and ended at the end.
#
#   ./examples/guard/run.sh

# shellcheck source=examples/prelude.sh
. "$(dirname "$0")/../prelude.sh"

export GIT_CONFIG_NOSYSTEM=1 DEADDROP_AS=mate
export GIT_AUTHOR_NAME=mate GIT_AUTHOR_EMAIL=mate@example.org
export GIT_COMMITTER_NAME=mate GIT_COMMITTER_EMAIL=mate@example.org

# Changes a file and commits it, as the agent mate.
commit() {
  mkdir -p "$(dirname "$1")"
  echo "$RANDOM" >>"$1"
  git add -- "$1"
  git commit --quiet -m "change $1" -- "$1"
}

# The same, where the guard has to block it.
blocked() {
  if commit "$1"; then echo "this commit was not blocked: $1" >&2 && exit 1; fi
}

say "a repository with a wire, where src/api/ belongs to lead"
cd "$place"
git init --quiet
mkdir "$DEADDROP_WIRE"
cat >"$DEADDROP_WIRE/config.json" <<'JSON'
{
  "wire_id": "0123456789abcdef",
  "protocol_version": "v3.1",
  "roster": ["lead", "mate"],
  "domains": { "api": { "owner": "lead", "paths": ["src/api/"] } }
}
JSON
"${deaddrop[@]}" init --local-pair --me lead --peer mate --wire "$DEADDROP_WIRE" >/dev/null
start_daemons lead mate
until_shows "lead  *online" as mate peers
"${deaddrop[@]}" guard install
"${deaddrop[@]}" check src/api/routes.ts src/page.ts || true

say "mate commits a page; the routes are lead's"
commit src/page.ts
blocked src/api/routes.ts

say "mate claims the file, and lead grants it for an hour"
"${deaddrop[@]}" claim src/api/routes.ts --reason "two new routes"
until_shows "src/api/routes.ts" as lead claims
claim=$(as lead claims --json | grep -o '"event_id":"[0-9a-f]*"' | tail -n 1 | cut -d '"' -f 4)
as lead accept "$claim"
until_shows '"granted"' as mate claims --json
commit src/api/routes.ts
"${deaddrop[@]}" release

say "a commit that cannot wait goes through, and lead hears of it"
until_shows "No open claims." as mate claims
blocked src/api/hotfix.ts
ALLOW_HOTPATH=1 ALLOW_HOTPATH_REASON="the site is down" commit src/api/hotfix.ts
until_shows "the guard was overridden" as lead inbox --unread
as lead inbox --unread
"${deaddrop[@]}" guard status

say "uninstall puts the repository back"
"${deaddrop[@]}" guard uninstall
commit src/api/hotfix.ts

say "what was committed"
git log --reverse --format=%s
