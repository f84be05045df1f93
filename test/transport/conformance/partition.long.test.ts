import { afterEach, expect, test } from "vitest";
import type { NoticeKind } from "../../../src/protocol/agent-notices/agent-notice.ts";
import { amount } from "../../support/amounts.ts";
import { SharedWire, WAYS } from "./shared-wire.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const MOST_LOOKS = 60;
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

/** Both agents read what they have, and each knows that the other has: the times to answer run. */
async function readAll(): Promise<void> {
  await wire.settle();
  for (const handle of wire.roster) await wire.agent(handle).markRead("all");
  const isKnown = async (handle: string): Promise<boolean> => {
    const sent = await wire.agent(handle).view("sent", {});
    return sent.flatMap(({ receipts }) => receipts).every(({ state }) => state === "read");
  };
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const known = await Promise.all(wire.roster.map(isKnown));
    if (known.every(Boolean)) return;
    await wire.pass(5 * SECOND);
  }
  throw new Error("no beat says that it was read");
}

const propose = (by: string, to: string): Promise<string> =>
  wire.say(by, {
    ...{ to: [to], type: "proposal", subject: `use tabs, says ${by}`, ackRequired: true },
    body: { required: [to] },
  });

const incident = (by: string, to: string): Promise<string> =>
  wire.say(by, { to: [to], type: "incident", subject: "it burns", body: { severity: "low" } });

/** Both write on, for an hour. */
async function writeForAnHour(): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const handle of wire.roster) await wire.say(handle, { subject: `${handle} ${round}` });
    await wire.pass((60 * MINUTE) / ROUNDS);
  }
}

function expectAllHeard(): void {
  for (const [to, from] of [
    ["forge", "scribe"],
    ["scribe", "forge"],
  ] as const) {
    const said = wire.subjects(to).filter((subject) => /^\w+ \d+$/.test(subject));
    expect(said).toEqual(Array.from({ length: ROUNDS }, (_, at) => `${from} ${at}`));
  }
}

test.each([
  ["forge", "scribe"],
  ["scribe", "forge"],
])(
  "git: %s is cut off for an hour: it blames nobody for what it cannot see",
  async (cut, other) => {
    wire = new SharedWire("git", [["forge"], ["scribe"]]);
    await wire.start();
    const proposal = await propose(cut, other);
    const burning = await incident(cut, other);
    await readAll();
    wire.part(cut);
    // In time, and the one who asked cannot know it.
    for (const id of [proposal, burning]) await answer(other, cut, id);
    await writeForAnHour();
    expect(blamed(cut)).toEqual([]);
    expect(wire.process(cut).transport?.health().problem?.code).toBe("no_remote");
    expect(await statusOf(cut, proposal)).toBe("open");
    wire.heal(cut);
    await wire.pass(5 * MINUTE);
    await wire.check();
    expect(blamed(cut)).toEqual([]);
    for (const handle of wire.roster) {
      expect(await statusOf(handle, proposal)).toBe("ratified");
      const incidents = await wire.agent(handle).view("incidents", undefined);
      const [addressee] = incidents.flatMap((each) => each.addressees);
      expect(addressee).toMatchObject({ acked: true, escalated: false });
    }
    expectAllHeard();
  },
);

test("git: nobody reaches the remote for an hour: nobody is blamed, and all arrives after it", async () => {
  wire = new SharedWire("git", [["forge"], ["scribe"]]);
  await wire.start();
  const asked = [await propose("forge", "scribe"), await propose("scribe", "forge")];
  await readAll();
  wire.part("forge", "scribe");
  await writeForAnHour();
  for (const handle of wire.roster) {
    expect(blamed(handle)).toEqual([]);
    for (const id of asked) expect(await statusOf(handle, id)).toBe("open");
  }
  wire.heal("forge", "scribe");
  await wire.pass(5 * MINUTE);
  await wire.check();
  expectAllHeard();
});

test("git: what nobody has answered in such an hour ends after it", async () => {
  wire = new SharedWire("git", [["forge"], ["scribe"]]);
  await wire.start();
  const id = await propose("forge", "scribe");
  await readAll();
  wire.part("forge", "scribe");
  await wire.pass(60 * MINUTE);
  for (const handle of wire.roster) expect(await statusOf(handle, id)).toBe("open");
  wire.heal("forge", "scribe");
  await wire.pass(5 * MINUTE);
  await wire.check();
  for (const handle of wire.roster) expect(await statusOf(handle, id)).toBe("reverted");
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
  if (way === "git") wire.part("forge", "scribe");
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
  if (way === "git") wire.heal("forge", "scribe");
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
