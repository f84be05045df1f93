import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { makeWire, removeWires } from "../support/processes/live-wire.ts";
import { LIBRARY, start } from "../support/processes/real-processes.ts";

afterEach(removeWires);

const LEAD = fileURLToPath(new URL("../support/processes/program-lead.js", import.meta.url));
const MATE = fileURLToPath(new URL("../support/processes/program-mate.js", import.meta.url));

const DAEMON_TYPES = ["heartbeat", "trust_tier_announcement", "correction"];

test("two programs on the library plan, claim, ship, propose, counter and decide, each write repeated", async () => {
  const wire = makeWire({ cadenceSeconds: 1, deadlineSeconds: 60 });
  await wire.daemon("forge");
  await wire.daemon("scribe");
  writeFileSync(join(wire.folder, "file.txt"), "what is shipped\n");
  const at = { env: wire.env, cwd: wire.folder };
  const lead = start(process.execPath, [LEAD, LIBRARY, wire.dir, "scribe"], at);
  const mate = start(process.execPath, [MATE, LIBRARY, wire.dir, "file.txt"], at);
  const [led, done] = await Promise.all([lead.ended, mate.ended]);
  expect({ code: led.code, stderr: led.stderr }).toEqual({ code: 0, stderr: "" });
  expect({ code: done.code, stderr: done.stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(led.stdout)).toEqual({
    ...{ peer: "scribe", plan: "1. write 2. ship", claimed: ["src/**"] },
    shipped: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
    ...{ countered: "We release on Tuesday.", last: "all is decided" },
  });
  expect(JSON.parse(done.stdout)).toEqual({
    ...{ approved: true, proposed: "We release on Monday.", decided: "We release on Tuesday." },
  });
  // What daemons say by themselves aside, each thing was said once: forge's daemon takes its proposal
  // back when the other one is decided.
  const said = (log: string) => wire.lines(log).filter(({ type }) => !DAEMON_TYPES.includes(type));
  expect(said("scribe_to_forge.jsonl").map(({ type }) => type)).toEqual([
    ...["request", "claim", "ship", "release", "proposal", "feedback"],
  ]);
  expect(said("forge_to_scribe.jsonl").map(({ type }) => type)).toEqual([
    ...["ack", "proposal", "ack"],
  ]);
});
