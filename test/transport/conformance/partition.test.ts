import { afterEach, expect, test } from "vitest";
import type { NoticeKind } from "../../../src/protocol/agent-notices/agent-notice.ts";
import { amount } from "../../support/amounts.ts";
import { SharedWire, WAYS } from "./shared-wire.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ROUNDS = amount(6, 60);
const PAST_DEADLINES: readonly NoticeKind[] = [
  ...(["peer_silent", "reverted", "rejected", "escalated", "answer_late"] as const),
  ...(["request_expired", "safe_mode_begun"] as const),
];

let wire: SharedWire;
afterEach(() => wire.remove());

/** Which of these notices an agent was given. */
function blamed(handle: string): string[] {
  const { notices } = wire.told(handle);
  return notices.filter(({ kind }) => PAST_DEADLINES.includes(kind)).map(({ text }) => text);
}

/** What became of that proposal, for one of them. */
async function statusOf(handle: string, id: string): Promise<string | undefined> {
  const proposals = await wire.agent(handle).view("proposals", undefined);
  return proposals.find(({ proposal_id: of }) => of === id)?.status;
}

async function answer(by: string, to: string, id: string): Promise<void> {
  const { correlation_id: correlationId } = await wire.agent(by).view("resolve_id", { id });
  const body = { acks: id };
  await wire.say(by, { to: [to], type: "ack", subject: `ack of ${id}`, body, correlationId });
}

const propose = (by: string, to: string): Promise<string> =>
  wire.say(by, {
    ...{ to: [to], type: "proposal", subject: `use tabs, says ${by}`, ackRequired: true },
    body: { required: [to] },
  });

const incident = (by: string, to: string): Promise<string> =>
  wire.say(by, { to: [to], type: "incident", subject: "it burns", body: { severity: "low" } });

test("git: an hour apart makes nobody silent, and what was answered in time counts", async () => {
  wire = new SharedWire("git", [["forge"], ["scribe"]]);
  await wire.start();
  const asked: [by: string, to: string, id: string][] = [];
  for (const [by, to] of [
    ["forge", "scribe"],
    ["scribe", "forge"],
  ] as const) {
    asked.push([by, to, await propose(by, to)]);
    asked.push([by, to, await incident(by, to)]);
  }
  // Each has heard from the other that it has been read: the time to answer runs.
  await wire.pass(2 * MINUTE);
  wire.part();
  for (const [by, to, id] of asked) await answer(to, by, id);
  for (let round = 0; round < ROUNDS; round += 1) {
    await wire.say("forge", { subject: `forge ${round}` });
    await wire.say("scribe", { subject: `scribe ${round}` });
    await wire.pass((60 * MINUTE) / ROUNDS);
  }
  for (const handle of wire.roster) {
    expect(blamed(handle)).toEqual([]);
    expect(wire.process(handle).transport?.health().problem?.code).toBe("no_remote");
  }
  wire.heal();
  await wire.pass(5 * MINUTE);
  await wire.check();
  for (const handle of wire.roster) {
    expect(blamed(handle)).toEqual([]);
    const proposals = asked.filter((_, at) => at % 2 === 0);
    for (const [, , id] of proposals) expect(await statusOf(handle, id)).toBe("ratified");
    const incidents = await wire.agent(handle).view("incidents", undefined);
    const addressees = incidents.flatMap((each) => each.addressees);
    expect(addressees.map(({ acked, escalated }) => [acked, escalated])).toEqual([
      [true, false],
      [true, false],
    ]);
  }
  for (const [to, from] of [
    ["forge", "scribe"],
    ["scribe", "forge"],
  ] as const) {
    const said = wire.subjects(to).filter((subject) => /^\w+ \d+$/.test(subject));
    expect(said).toEqual(Array.from({ length: ROUNDS }, (_, at) => `${from} ${at}`));
  }
});

test("git: what nobody has answered in such an hour ends after it", async () => {
  wire = new SharedWire("git", [["forge"], ["scribe"]]);
  await wire.start();
  const id = await propose("forge", "scribe");
  await wire.pass(2 * MINUTE);
  wire.part();
  await wire.pass(60 * MINUTE);
  const before = await statusOf("forge", id);
  expect(before).toBe(await statusOf("scribe", id));
  wire.heal();
  await wire.pass(60 * MINUTE);
  await wire.check();
  const after = await statusOf("forge", id);
  expect(after).not.toBe(before);
  expect(await statusOf("scribe", id)).toBe(after);
});

test("folder: the daemon of one is down for an hour; all is delivered when it is back", async () => {
  // One folder cannot be in two parts. Who is down is silent, and that is told.
  wire = new SharedWire("folder", [["forge"], ["scribe"]]);
  await wire.start();
  await wire.say("scribe", { subject: "last" });
  await wire.pass(2 * MINUTE);
  wire.kill("scribe");
  for (let round = 0; round < ROUNDS; round += 1) {
    await wire.say("forge", { subject: `forge ${round}` });
    await wire.pass((60 * MINUTE) / ROUNDS);
  }
  await wire.start("scribe");
  await wire.say("scribe", { subject: "back" });
  await wire.pass(5 * MINUTE);
  await wire.check();
  expect(wire.subjects("scribe")).toEqual(Array.from({ length: ROUNDS }, (_, at) => `forge ${at}`));
  expect(wire.subjects("forge")).toEqual(["last", "back"]);
});

test.each(WAYS)("%s: a year ends for both while they do not hear of each other", async (way) => {
  wire = new SharedWire(way, [["forge"], ["scribe"]]);
  await wire.start();
  await wire.say("forge", { subject: "forge old" });
  await wire.say("scribe", { subject: "scribe old" });
  const id = await propose("forge", "scribe");
  await wire.pass(MINUTE);
  await answer("scribe", "forge", id);
  await wire.pass(5 * MINUTE);
  expect(await statusOf("forge", id)).toBe("ratified");
  wire.suspend(Date.UTC(2027, 0, 1) - 2 * MINUTE - wire.nowMs);
  await wire.pass(MINUTE);
  if (way === "git") wire.part();
  await wire.say("forge", { subject: "forge late" });
  await wire.say("scribe", { subject: "scribe late" });
  await wire.pass(2 * MINUTE);
  for (const handle of wire.roster) {
    const { files } = await wire.agent(handle).archive();
    expect(files.filter(({ outcome }) => outcome === "archived")).not.toEqual([]);
    expect(files.filter(({ outcome }) => outcome === "failed")).toEqual([]);
  }
  await wire.say("forge", { subject: "forge new" });
  await wire.say("scribe", { subject: "scribe new" });
  await wire.pass(2 * MINUTE);
  if (way === "git") wire.heal();
  await wire.pass(5 * MINUTE);
  await wire.check();
  for (const [to, from] of [
    ["forge", "scribe"],
    ["scribe", "forge"],
  ] as const) {
    const said = wire.subjects(to).filter((subject) => subject.startsWith(`${from} `));
    expect(said).toEqual(["old", "late", "new"].map((each) => `${from} ${each}`));
  }
});
