import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import type {
  DecisionsView,
  ObligationView,
  ProposalView,
  StatusView,
} from "../../src/api/views.ts";
import type { SendAnswer } from "../../src/api/client.ts";
import type { LayoutView } from "../../src/protocol/logs/layout-change.ts";
import { amount } from "../support/amounts.ts";
import { brokenPlaces } from "../support/chain-check.ts";
import { jsonLines, makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";
import { LIBRARY, start, until, type Started } from "../support/processes/real-processes.ts";

const SENDER = fileURLToPath(new URL("../support/processes/sender-process.js", import.meta.url));
const EACH = amount(40, 400);
const REASON = ["--yes", "--reason", "a test"];
const SENDERS = [
  ["forge", "scribe", "north"],
  ["forge", "scribe", "east"],
  ["scribe", "forge", "south"],
  ["scribe", "forge", "west"],
] as const;

interface Answer {
  readonly outcome: string;
  readonly event_id: string;
}

afterEach(removeWires);

async function say(wire: LiveWire, from: string, ...args: readonly string[]): Promise<string> {
  const { messages } = await wire.json<SendAnswer>(from, ...args);
  return messages[0]?.event_id ?? "";
}

const ratified = async (wire: LiveWire, who: string, id: string): Promise<boolean> =>
  (await wire.json<ProposalView[]>(who, "proposals")).some(
    (each) => each.proposal_id === id && each.status === "ratified",
  );

/** Both agents agree to move, and know it. */
async function agree(wire: LiveWire): Promise<void> {
  await wire.json("forge", "layout", "outbox");
  const proposed = async () => (await wire.json<LayoutView>("scribe", "layout")).pairs[0];
  await until("scribe knows", async () => (await proposed())?.status === "open");
  await say(wire, "scribe", "accept", (await proposed())?.proposal_id ?? "");
  for (const who of ["forge", "scribe"]) {
    await until(`${who} knows`, async () => (await wire.json<LayoutView>(who, "layout")).agreed);
  }
}

const isMoved = async (wire: LiveWire, who: string): Promise<boolean> => {
  const { layout, closed } = await wire.json<LayoutView>(who, "layout");
  return layout === "outbox" && closed.length > 0 && closed.every(({ by }) => by !== null);
};

/** Ids of what is unread, and of what is owed. */
async function openMatters(wire: LiveWire, who: string): Promise<readonly string[][]> {
  const unread = jsonLines((await wire.run(who, "inbox", "--unread", "--json")).stdout);
  const owed = await wire.json<ObligationView[]>(who, "pending");
  return [
    (unread as { event_id: string }[]).map(({ event_id: id }) => id),
    owed.flatMap(({ event_id: id, owed_by: by }) => (by === who ? [id] : [])).toSorted(),
  ];
}

function sendersOf(wire: LiveWire): Started[] {
  return SENDERS.map(([from, to, name]) =>
    start(process.execPath, [SENDER, LIBRARY, wire.dir, from, to, name, String(EACH)], {
      env: wire.env,
    }),
  );
}

function expectWhole(wire: LiveWire, who: string): void {
  const pair = who === "forge" ? "forge_to_scribe" : "scribe_to_forge";
  expect(brokenPlaces(wire, who, pair)).toEqual([]);
  expect(brokenPlaces(wire, who, who, `outbox/${who}.jsonl`)).toEqual([]);
  const outbox = wire.lines(`outbox/${who}.jsonl`);
  const last = wire.lines(`${pair}.jsonl`).at(-1);
  expect(last?.body).toEqual({ closes: pair, into: who });
  expect(outbox[0]?.body).toEqual({
    continues: [{ log: pair, seq: last?.seq, event_id: last?.event_id }],
  });
}

test("a pair moves to outboxes while four senders write: nothing is lost, and all that is open goes on", async () => {
  const wire = makeWire({
    cadenceSeconds: 1,
    config: { limits: { rate_limit_msg_per_min: 60_000 } },
  });
  const daemons = [await wire.daemon("forge"), await wire.daemon("scribe")];
  const done = await say(wire, "scribe", "propose", "done", "--decision", "decided before");
  await until("forge has it", async () =>
    (await wire.json<ProposalView[]>("forge", "proposals")).some(
      (each) => each.proposal_id === done,
    ),
  );
  await say(wire, "forge", "accept", done);
  await until("it is decided", () => ratified(wire, "scribe", done));
  await agree(wire);
  const unread = await say(wire, "forge", "send", "unread", "nobody has read it");
  const owed = await say(wire, "forge", "send", "owed", "an ack", "--ack-required");
  const open = await say(wire, "forge", "propose", "open", "--decision", "still open");
  await until("it is there", async () => (await openMatters(wire, "scribe"))[1]?.length === 2);
  const before = await openMatters(wire, "scribe");
  expect(before[0]).toEqual(expect.arrayContaining([unread, owed, open]));

  const senders = sendersOf(wire);
  await until("they write", () => senders.every(({ stdout }) => stdout().includes("\n")));
  await wire.json("forge", "layout", "accept", ...REASON);
  await wire.json("scribe", "layout", "accept", ...REASON);
  const ends = await Promise.all(senders.map(({ ended }) => ended));
  for (const { code, stderr } of ends) expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  for (const who of ["forge", "scribe"]) await until(`${who} moved`, () => isMoved(wire, who));

  const said = ends.map(({ stdout }) =>
    (jsonLines(stdout) as Answer[]).map((each) => each.event_id),
  );
  expect(said.map((ids) => ids.length)).toEqual(SENDERS.map(() => EACH));
  for (const [reader, all] of [
    ["scribe", said.slice(0, 2).flat()],
    ["forge", said.slice(2).flat()],
  ] as const) {
    const received = () => wire.privateLines(reader, "inbox").map((line) => line.event_id);
    await until(`${reader} has all`, () => all.every((id) => received().includes(id)));
    const counts = new Set(all);
    expect(
      received()
        .filter((id) => counts.has(id))
        .toSorted(),
    ).toEqual(all.toSorted());
  }
  const after = await openMatters(wire, "scribe");
  expect(after[0]).toEqual(expect.arrayContaining(before[0] ?? []));
  expect(after[1]).toEqual(before[1]);

  // Both are answered in the outbox, and count for what was asked before it.
  await say(wire, "scribe", "ack", owed);
  await say(wire, "scribe", "accept", open);
  await until("it is ratified", () => ratified(wire, "forge", open));
  await until("nothing is owed", async () => (await openMatters(wire, "scribe"))[1]?.length === 0);
  const recorded = async () => (await wire.json<DecisionsView>("forge", "decisions")).in_force;
  await until("both are recorded", async () => (await recorded()).length === 3);
  expect((await recorded()).map(({ proposal_id: id }) => id)).toEqual(
    expect.arrayContaining([done, open]),
  );

  for (const who of ["forge", "scribe"]) {
    expectWhole(wire, who);
    const { daemon } = await wire.json<StatusView>(who, "status");
    expect(daemon.pid).toBe(daemons[who === "forge" ? 0 : 1]?.child.pid);
  }
  const audit = await wire.json<{ violations: unknown[] }>("forge", "audit");
  expect(audit.violations).toEqual([]);
  await Promise.all(daemons.map((daemon) => daemon.stop()));
  // From the journal and the logs alone it is the same.
  const again = await openMatters(wire, "scribe");
  expect(again[1]).toEqual([]);
});

test("one side is away for the whole of the other's move, and takes it when it comes back", async () => {
  const wire = makeWire({ cadenceSeconds: 1 });
  let scribe = await wire.daemon("scribe");
  const forge = await wire.daemon("forge");
  await agree(wire);
  const open = await say(wire, "forge", "propose", "open", "--decision", "still open");
  await until("scribe has it", async () =>
    (await wire.json<ProposalView[]>("scribe", "proposals")).some(
      (each) => each.proposal_id === open,
    ),
  );
  await scribe.stop();
  await wire.json("forge", "layout", "accept", ...REASON);
  await until("forge has closed its log", async () =>
    (await wire.json<LayoutView>("forge", "layout")).closed.some(({ by }) => by !== null),
  );
  const later = await say(wire, "forge", "send", "while you were away", "in the outbox");
  // It goes on in the log of the pair until its own operator takes the new layout.
  scribe = await wire.daemon("scribe");
  await say(wire, "scribe", "accept", open);
  await until("it is ratified", () => ratified(wire, "forge", open));
  expect(wire.privateLines("scribe", "inbox").some(({ event_id: id }) => id === later)).toBe(false);
  await wire.json("scribe", "layout", "accept", ...REASON);
  const has = () => wire.privateLines("scribe", "inbox").filter(({ event_id: id }) => id === later);
  await until("it has the message", () => has().length === 1);
  await until("it sees the decision", () => ratified(wire, "scribe", open));
  for (const who of ["forge", "scribe"]) {
    await until(`${who} moved`, () => isMoved(wire, who));
    expectWhole(wire, who);
  }
  expect((await wire.json<{ violations: unknown[] }>("forge", "audit")).violations).toEqual([]);
  await Promise.all([forge.stop(), scribe.stop()]);
});
