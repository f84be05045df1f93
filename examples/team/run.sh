#!/usr/bin/env bash
# Three teammates on one machine: a risky plan is rejected with feedback, a better one is approved, one
# shutdown is refused and one is approved. Everything is made in a new folder and ended at the end.
#
#   ./examples/team/run.sh

# shellcheck source=examples/prelude.sh
. "$(dirname "$0")/../prelude.sh"

# The event id of the newest request to an agent.
newest_request() {
  as "$1" requests --json | grep -o '"event_id":"[0-9a-f]*"' | tail -n 1 | cut -d '"' -f 4
}

say "a wire for lead, mate and scout"
"${deaddrop[@]}" init --local-pair --me lead --peer mate --peer scout \
  --wire "$DEADDROP_WIRE" >/dev/null
for who in lead mate scout; do
  # What would be a coding tool is a process that does nothing but live.
  sleep 600 &
  agent=$!
  children+=("$agent")
  [ "$who" != mate ] || mate_agent=$agent
  as "$who" config set hooks.on_stop "[\"kill\",\"$agent\"]" --yes --reason "an example" >/dev/null
done
start_daemons lead mate scout
for who in mate scout; do until_shows "$who  *online" as lead peers; done
as lead team

say "mate submits a plan, and does not begin"
as mate request plan_approval lead --plan "1. drop the old table 2. see what breaks"
until_shows "mate → lead" as lead requests
as lead team

say "lead rejects it, with feedback"
as lead respond "$(newest_request lead)" --reject --reason "back it up first"
until_shows "back it up first" as mate requests --all

say "a better plan is approved, and mate begins"
as mate request plan_approval lead --plan "1. back it up 2. drop it 3. compare"
until_shows "pending" as lead requests
as lead accept "$(newest_request lead)"
until_shows "approved" as mate requests --all
as mate status set --state busy --last-action "backing up the table" >/dev/null
as mate ship "the table is gone, the backup is kept" --to lead --state "done" --digest "$(printf 'ab%.0s' {1..32})"
as mate requests --all

say "lead asks both to finish: scout refuses, and goes on"
as lead request shutdown scout --body "The table is done."
until_shows "shutdown" as scout requests
as scout respond "$(newest_request scout)" --reject --reason "my tests still run"
until_shows "my tests still run" as lead requests --all

say "mate approves: its agent is ended, and its daemon stays"
as lead request shutdown mate --body "The table is done. Thank you."
until_shows "shutdown" as mate requests
as mate respond "$(newest_request mate)" --approve
until_shows "mate  *paused" as lead team
until_shows "approved  *lead → mate" as lead requests --all
if kill -0 "$mate_agent" 2>/dev/null; then echo "the agent of mate still lives" >&2 && exit 1; fi
as lead team

say "what is sent to mate now waits until it is woken"
as lead send "one more thing" "the release notes" --to mate
as mate wake
until_shows "mate  *online" as lead peers
until_shows "one more thing" as mate inbox --unread

say "what became of all that was asked"
as lead requests --all
