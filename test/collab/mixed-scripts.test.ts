import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PRIMARY, script, ScriptedRound } from "./scripted-round.ts";

// What programs that were written for the protocol's own scripts rely on, beside the texts of docs/collab.md.

const AT = ["--folder", "round", "--participant", "bob"];

test("wait takes fractions of a second", async () => {
  const round = new ScriptedRound(1);
  await round.init();
  const wait = (...flags: string[]) => script("wait_turn", round.cwd, ...AT, ...flags);
  expect(await wait("--interval", "0.1", "--timeout", "0.5")).toMatchObject({
    code: 1,
    stderr: "timeout: waiting for ann after seq 1\n",
  });
  for (const [flag, value, least] of [
    ["--interval", "0.05", "0.1"],
    ["--timeout", "soon", "0"],
    ["--timeout", "-1", "0"],
  ] as const) {
    expect(await wait(flag, value)).toEqual({
      code: 2,
      stdout: "",
      stderr: `error: ${flag} must be a number of seconds, at least ${least}; not ${value}\n`,
    });
  }
});

test.each([1, 2] as const)(
  "a new round of schema %i has an open item: nobody accepts before it is resolved",
  async (schema) => {
    const round = new ScriptedRound(schema);
    await round.init();
    await round.propose();
    await round.review();
    await round.say("ann", "proposal_revised");
    const open = round.read("readiness.md");
    await round.say("ann", "question_classified");
    round.write("readiness.md", open);
    const accept = ["--reply-to", String(round.lastSeq)];
    const refused = await round.append("bob", "decision_accepted", ...accept);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining("unresolved readiness"),
    ]);
    round.write("readiness.md", open.replace("[unresolved]", "[resolved]"));
    await round.say("bob", "decision_accepted");
  },
);

test.each([1, 2] as const)(
  "a protocol.json of schema %i without createdAt and updatedAt is valid, and goes on",
  async (schema) => {
    const round = new ScriptedRound(schema);
    await round.init();
    round.change("protocol.json", (protocol) => {
      delete protocol["createdAt"];
      delete protocol["updatedAt"];
    });
    expect(await round.validate()).toMatchObject({ code: 0, stdout: "ACP validation passed\n" });
    await round.propose();
    expect(await round.validate()).toMatchObject({ code: 0 });
  },
);

/** A round whose second event has that time; then ann's append. */
async function withTime(at: string) {
  const round = new ScriptedRound(2);
  await round.init();
  const event = { seq: 2, from: "ann", event: "deliverable_drafted", at, summary: "-" };
  const rest = { doc: PRIMARY, reply_to: 1, role: "primary" };
  appendFileSync(join(round.folder, "events.jsonl"), `${JSON.stringify({ ...event, ...rest })}\n`);
  return round;
}

test.each([
  ["2026-11-21T13:00:00+01:00", "12:00:00Z"],
  ["2026-11-21T11:30:01-00:30", "12:00:01Z"],
  ["2026-11-21 12:00:02Z", "12:00:02Z"],
  ["20261121T120003Z", "12:00:03Z"],
  ["2026-W47-6T12:00:04Z", "12:00:04Z"],
  ["2026W476T12:00:05+0000", "12:00:05Z"],
  ["2026-11-21T12:00:06.25+00:00", "12:00:07Z"],
  ["2026-11-21T13:01+01", "12:01:00Z"],
])("an event at %s is read, and the next one is not before it", async (at, next) => {
  const round = await withTime(at);
  await round.say("ann", "proposal_submitted");
  const last = JSON.parse(round.read("events.jsonl").trimEnd().split("\n").at(-1) ?? "") as object;
  expect(last).toMatchObject({ seq: 3, at: `2026-11-21T${next}` });
  expect(await round.validate()).toMatchObject({ code: 0 });
});

test.each([
  "2026-11-21T11:59:59Z",
  "2026-11-21T12:59:59+01:00",
  "2026-11-21T12:00:00",
  "2026-02-30T12:00:00Z",
  "2026-W54-1T12:00:00Z",
  "2026-11-21T24:00:00Z",
  "1795262400",
])("an event at %s is refused", async (at) => {
  const round = await withTime(at);
  expect(await round.validate()).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(/line 2: at must (?:not be earlier|be an instant)/u) as string,
  });
});

test("every section of a new deliverable is followed by an empty line, the last one too", async () => {
  for (const type of ["adr", "design-spec", "test-plan"]) {
    const round = new ScriptedRound(2);
    await round.init("--primary-deliverable-type", type);
    const text = round.read(`deliverables/${type}.md`);
    const headings = text.match(/^## .*$/gmu) ?? [];
    expect(headings.length).toBeGreaterThan(4);
    for (const heading of headings) expect(text).toContain(`${heading}\n\n`);
  }
});

test("a decision with a wrong heading is told all that it lacks at once", async () => {
  const round = new ScriptedRound(2);
  await round.init();
  round.write("decisions.md", "### 1. Bad heading\n\n- Decision: x\n\n### D2. Other\n");
  const { stdout } = await round.validate();
  expect(stdout.split("\n").filter((line) => line.includes("accepted decision"))).toEqual([
    "ERROR: accepted decision headings must use D<number>: ### 1. Bad heading",
    "ERROR: accepted decision D1 requires Reflected in",
    "ERROR: accepted decision D2 requires Decision",
    "ERROR: accepted decision D2 requires Reflected in",
  ]);
});

test("next says the last event and for whom the round waits as the scripts do", async () => {
  const round = new ScriptedRound(1);
  await round.init();
  await round.say("ann", "proposal_submitted");
  expect((await round.next("bob")).stdout.split("\n")).toEqual(
    expect.arrayContaining(["waiting for: bob", "last event: seq 2 proposal_submitted from ann"]),
  );
  await round.say("bob", "blocked");
  expect((await round.next("bob")).stdout.split("\n")).toEqual(
    expect.arrayContaining(["waiting for: none", "last event: seq 3 blocked from bob"]),
  );
});

test.each(["\u2028", "\u2029", "\u0085"])(
  "validate warns of a line end of the scripts that is not escaped (%j)",
  async (end) => {
    const round = await withTime("2026-11-21T12:00:00Z");
    const name = `U+${(end.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
    round.write("events.jsonl", round.read("events.jsonl").replace('"-"', `"a${end}b"`));
    expect(await round.validate()).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(
        `WARNING: events.jsonl line 2: ${name} is not escaped`,
      ) as string,
    });
  },
);
