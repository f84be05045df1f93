import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  leaveDrafts,
  memberAckFields,
  memberChangeDraft,
  membersView,
  type MemberChange,
} from "../../../src/agent/answers/members.ts";
import type { HeldLine } from "../../../src/store/store.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { isChained, placeJson } from "../../../src/wire/places.ts";
import { CoreWire, type CoreAgent } from "../../support/core-wire.ts";

let root = "";
let wire: CoreWire;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "members-"));
});
afterEach(() => {
  wire.close();
});
afterAll(() => {
  rmSync(root, { recursive: true });
});

async function start(...names: readonly string[]): Promise<void> {
  wire = new CoreWire(root, names);
  await wire.settle(1);
}

function propose(by: string, change: MemberChange): HeldLine {
  const { core } = wire.agent(by);
  const asked = memberChangeDraft(core, change);
  if (!asked.ok) throw new Error(asked.reason);
  const sent = core.send([asked.draft]);
  if (sent.is !== "sent" || sent.lines[0] === undefined) throw new Error(sent.is);
  core.publish();
  return sent.lines[0];
}

function answer(by: string, ask: HeldLine, approve = true): void {
  const agent = wire.agent(by);
  if (!isChained(ask)) throw new Error("a change is in a chain");
  const added = approve ? memberAckFields(agent.core, ask) : { ok: true as const, body: {} };
  if (!added.ok) throw new Error(added.reason);
  agent.say("answer", {
    ...{ type: "ack", to: [ask.author], correlationId: ask.thread },
    body: fromPlain({ ...added.body, acks: placeJson(ask), approve }),
  });
}

function leave(by: string): void {
  const { core } = wire.agent(by);
  expect(core.send(leaveDrafts(core)).is).toBe("sent");
  core.publish();
}

const shown = (agent: CoreAgent) => {
  const { roster, changes, changed_by: by, roster_forked: isForked } = membersView(agent.core);
  return {
    members: roster.flatMap(({ handle, is }) => (is === "member" ? [handle] : [])),
    left: roster.flatMap(({ handle, is }) => (is === "left" ? [handle] : [])),
    changes: changes.map(({ handle, becomes, status }) => `${handle} ${becomes}: ${status}`),
    ...{ by, isForked },
  };
};

describe("members and their changes (spec 3.11)", () => {
  test("what two members agree on changes the roster on both sides", async () => {
    await start("forge", "scribe");
    const ask = propose("forge", { add: "mason", chains: true });
    await wire.settle();
    for (const agent of wire.agents.values())
      expect(shown(agent)).toEqual({
        ...{ members: ["forge", "scribe"], left: [], by: null, isForked: false },
        changes: ["mason new: open"],
      });
    expect(membersView(wire.agent("scribe").core).changes).toMatchObject([
      { place: placeJson(ask), from: "forge", problem: null, waits_for: "an answer of scribe" },
    ]);
    answer("scribe", ask);
    await wire.settle();
    for (const agent of wire.agents.values()) {
      expect(shown(agent)).toEqual({
        ...{ members: ["forge", "scribe", "mason"], left: [], by: ask.id, isForked: false },
        changes: [],
      });
      expect([...agent.core.members]).toEqual([
        ["forge", true],
        ["scribe", true],
        ["mason", true],
      ]);
    }
  });

  test("the next change follows the one before, and a member that is removed has left", async () => {
    await start("forge", "scribe", "ann");
    const first = propose("forge", { remove: "ann" });
    await wire.settle();
    answer("scribe", first);
    await wire.settle();
    const second = propose("scribe", { add: "ann", chains: false });
    await wire.settle();
    expect(shown(wire.agent("forge"))).toMatchObject({
      ...{ members: ["forge", "scribe"], left: ["ann"], by: first.id },
      changes: ["ann back: open"],
    });
    answer("forge", second);
    await wire.settle();
    expect(shown(wire.agent("forge"))).toMatchObject({
      ...{ members: ["forge", "scribe", "ann"], left: [], by: second.id },
    });
    const row = membersView(wire.agent("forge").core).roster.find(({ handle }) => handle === "ann");
    expect(row).toMatchObject({ chains: false, since: expect.stringMatching(/^2026-/u) as string });
  });

  test("a leave needs nobody, ends the leaver's own changes, and the next change counts it", async () => {
    await start("forge", "scribe", "ann");
    propose("ann", { add: "mason", chains: true });
    await wire.settle();
    leave("ann");
    await wire.settle();
    expect(shown(wire.agent("forge"))).toMatchObject({
      ...{ members: ["forge", "scribe"], left: ["ann"], by: null },
      changes: ["ann left: announced"],
    });
    const ask = propose("forge", { add: "mason", chains: true });
    await wire.settle();
    answer("scribe", ask);
    await wire.settle();
    const { roster } = membersView(wire.agent("scribe").core);
    expect(shown(wire.agent("scribe"))).toMatchObject({
      ...{ members: ["forge", "scribe", "mason"], left: ["ann"], by: ask.id, changes: [] },
    });
    const ann = roster.find(({ handle }) => handle === "ann");
    expect(ann).toMatchObject({
      is: "left",
      leave: ["ann", expect.any(Number), expect.any(String)],
    });
  });

  test("who has taken one change takes no other one before that has ended", async () => {
    await start("forge", "scribe", "ann");
    propose("forge", { add: "mason", chains: true });
    const other = memberChangeDraft(wire.agent("forge").core, { add: "miller", chains: true });
    expect(other).toMatchObject({ ok: false, reason: "another_change" });
    const nothing = memberChangeDraft(wire.agent("scribe").core, { mark: "ann" });
    expect(nothing).toEqual({ ok: false, reason: "not_one_step" });
  });

  test("a rejected change leaves the roster as it is, and its proposer can propose again", async () => {
    await start("forge", "scribe");
    const first = propose("forge", { add: "mason", chains: true });
    await wire.settle();
    answer("scribe", first, false);
    await wire.settle();
    const second = propose("forge", { add: "miller", chains: true });
    await wire.settle();
    answer("scribe", second);
    await wire.settle();
    for (const agent of wire.agents.values())
      expect(shown(agent)).toMatchObject({ members: ["forge", "scribe", "miller"], changes: [] });
  });
});
