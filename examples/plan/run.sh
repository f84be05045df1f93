#!/usr/bin/env bash
# A plan of four steps, four agents with a daemon each: lead runs it, ann, bob and cat do their steps and
# report. What works is a script in the place of a coding tool. Everything is made in a new folder.
#
#   ./examples/plan/run.sh

# shellcheck source=examples/prelude.sh
. "$(dirname "$0")/../prelude.sh"
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
worker="node '$here/worker.js'"

say "a wire for lead, ann, bob and cat"
"${deaddrop[@]}" init --local-pair --me lead --peer ann --peer bob --peer cat \
  --wire "$DEADDROP_WIRE" >/dev/null
start_daemons lead ann bob cat
for who in ann bob cat; do until_shows "$who  *online" as lead peers; done

say "the plan, and who does what"
mkdir -p "$place/project/agent"
cd "$place/project"
cp "$here/../../agent/examples/csv-upload.yaml" agent/plan.yaml
echo '{"Architect": "ann", "Backend": "bob", "Frontend": "cat"}' >agent/roles.json
as lead plan validate agent/plan.yaml
as lead plan graph agent/plan.yaml --format text

say "three workers take what they are sent"
for who in ann bob cat; do
  (exec "${deaddrop[@]}" plan work --as "$who" --exec "$worker") >"$place/$who.work" 2>&1 &
  children+=($!)
done

say "lead runs the plan: 2 and 3 share time, 4 is its own"
as lead plan run agent/plan.yaml --exec "$worker" --yes

say "what it has come to"
as lead plan status agent/plan.yaml
cat agent/artifacts/plans/csv-upload/report.md
find schemas server web e2e -type f | sort
