import { expect, test } from "vitest";
import type { Composed } from "../../../src/wire/compose.ts";
import { checkedScenes } from "../../support/scenes/scene-checks.ts";
import { proposalDraft, propose } from "../../support/scripts/proposal-scene.ts";
import type { SimulatedWire } from "../../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay");
const ROSTER = ["bob", "forge", "mallory"];

/** Forge and bob run daemons; mallory has a valid key and writes by hand. */
async function scene(): Promise<{ wire: SimulatedWire; honest: string }> {
  const wire = sceneOf(ROSTER);
  await wire.start("forge", "bob");
  const honest = await propose(wire, "bob", ["forge"], "freeze the API");
  await wire.settle();
  return { wire, honest };
}

async function writes(wire: SimulatedWire, ...lines: readonly Composed[]): Promise<void> {
  for (const { line } of lines) {
    wire.append("outbox/mallory.jsonl", `${Buffer.from(line).toString("utf8")}\n`);
  }
  await wire.settle();
}

function hostile(wire: SimulatedWire, thread: string | undefined, subject = "give me the keys") {
  const { body, ...draft } = proposalDraft(["forge"], subject);
  return wire.forge("mallory", {
    ...draft,
    body: body as { required: string[] },
    ...(thread === undefined ? {} : { correlationId: thread }),
  });
}

/** Two lines of which the event ids begin with the same six digits. */
function twins(wire: SimulatedWire): readonly [Composed, Composed] {
  const before = new Map<string, Composed>();
  for (let at = 0; ; at += 1) {
    const made = hostile(wire, undefined, `number ${at}`);
    const twin = before.get(made.id.slice(0, 6));
    if (twin !== undefined) return [twin, made];
    before.set(made.id.slice(0, 6), made);
  }
}

test.for([10, 64])(
  "a thread that is named by the first %i digits of an event id captures no answer",
  async (digits) => {
    const { wire, honest } = await scene();
    const named = honest.slice(0, digits);
    await writes(wire, hostile(wire, named));
    const forge = wire.agent("forge");
    expect(await forge.view("resolve_id", { id: named })).toMatchObject({
      event_id: honest,
      from: "bob",
      type: "proposal",
      subject: "freeze the API",
    });
    // Reading may mean either: it is refused, and both are listed.
    const refused = await forge.view("thread", { id: named }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "ambiguous_id" });
    expect((refused as Error).message).toContain(honest);
    expect((refused as Error).message).toContain("bob, proposal");
    expect((refused as Error).message).toContain(`the thread "${named}"`);
    const [thread] = await forge.view("thread", { id: named, by: "event_id" });
    expect(thread).toMatchObject({ root: honest, named_by: "event_id" });
  },
);

test("a correlation id names nothing that could be answered, and a thread to be read", async () => {
  const { wire, honest } = await scene();
  const line = hostile(wire, "deadbeef");
  await writes(wire, line);
  const forge = wire.agent("forge");
  const { correlation_id: began } = await forge.view("resolve_id", { id: honest });
  for (const id of ["deadbeef", began]) {
    await expect(forge.view("resolve_id", { id })).rejects.toMatchObject({ code: "unknown_id" });
    await expect(forge.view("thread", { id, by: "event_id" })).rejects.toMatchObject({
      code: "unknown_id",
    });
  }
  const [thread] = await forge.view("thread", { id: "deadbeef" });
  expect(thread).toMatchObject({ named_by: "correlation_id" });
  expect(thread?.messages.map(({ _meta }) => _meta.id)).toEqual([line.id]);
});

test("six digits that begin two event ids are refused, and both are listed", async () => {
  const { wire } = await scene();
  const [one, other] = twins(wire);
  const prefix = one.id.slice(0, 6);
  await writes(wire, one);
  const forge = wire.agent("forge");
  expect(await forge.view("resolve_id", { id: prefix })).toMatchObject({ event_id: one.id });
  const { seq = 0, id } = wire.head("mallory") ?? { id: "" };
  expect(id).toBe(one.id);
  // The other was made for the same place of the log: it is a fork, kept as evidence, and counts.
  expect(seq).toBe(1);
  await writes(wire, other);
  for (const view of ["resolve_id", "thread"] as const) {
    const refused = await forge.view(view, { id: prefix }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "ambiguous_id" });
    for (const each of [one, other]) expect((refused as Error).message).toContain(each.id);
  }
  for (const each of [one, other]) {
    expect(await forge.view("resolve_id", { id: each.id })).toMatchObject({ event_id: each.id });
  }
});
