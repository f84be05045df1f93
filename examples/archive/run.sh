#!/usr/bin/env bash
# The turn of a year: two agents agree on something, both logs and the decisions go to the archive and are
# compressed, and everything is still there: for who reads, who searches, and who audits. Everything is made
# in a new folder and ended at the end.
#
#   ./examples/archive/run.sh

# shellcheck source=examples/prelude.sh
. "$(dirname "$0")/../prelude.sh"

year=$(date -u +%Y)

say "two agents agree on something"
"${deaddrop[@]}" init --local-pair --me lead --peer mate --wire "$DEADDROP_WIRE" >/dev/null
start_daemons lead mate
until_shows "lead  *online" as mate peers
as lead propose "Use tabs" --body "one habit less to argue about"
until_shows "Use tabs" as mate inbox
as mate accept "$(as mate proposals --json | grep -o "[0-9a-f]\{64\}" | head -n 1)"
until_shows "Use tabs" as lead decisions

say "the year is closed, by hand; at its end the daemons do this by themselves"
as lead archive --year "$year"
as mate archive --year "$year" --compress

say "they go on, and nothing is lost"
as mate send "what did we agree on?" "tabs" >/dev/null
until_shows "what did we agree on" as lead inbox
as lead decisions
as mate search "Use tabs"
as lead audit
ls "$DEADDROP_WIRE/archive/$year"
