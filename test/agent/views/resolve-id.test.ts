import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { realWorld } from "../../../src/client/direct-client.ts";
import { silentLogger } from "../../../src/agent/session/world.ts";
import { StorageTroubles } from "../../../src/agent/state/storage-troubles.ts";
import { loadMemory } from "../../../src/agent/state/checkpoint.ts";
import { loadPlace } from "../../../src/agent/config/agent-config.ts";
import { sendGroups } from "../../../src/agent/effects/append-own.ts";
import { takeInAll } from "../../../src/agent/intake/take-in.ts";
import { closeSession, openSession } from "../../../src/agent/session/open-session.ts";
import type { Session } from "../../../src/agent/session/session.ts";
import { view } from "../../../src/agent/views/views.ts";
import { placesFrom } from "../../../src/storage/paths.ts";
import { composeLine, type ChainHead, type Composed } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import {
  makeWire,
  removeWires,
  WIRE_ID,
  type LiveWire,
} from "../../support/processes/live-wire.ts";

afterEach(removeWires);

function writerOf(wire: LiveWire, handle: string) {
  const signer = makeSigner(handle, readFileSync(wire.paths(handle).identity.key));
  const beginMs = Date.now() - 3_600_000;
  const make = (at: number, head?: ChainHead): Composed =>
    composeLine(
      { to: ["forge"], type: "feedback", subject: `${handle} ${at}`, body: "" },
      {
        timestamp: new Date(beginMs + at).toISOString(),
        log: handle,
        wireId: WIRE_ID,
        head,
      },
      signer,
    );
  const write = ({ line }: Composed): void =>
    appendFileSync(
      join(wire.dir, "outbox", `${handle}.jsonl`),
      `${Buffer.from(line).toString()}\n`,
    );
  return { make, write };
}

/** A line of each, of which the event ids begin with the same six digits. */
function twins(wire: LiveWire): readonly [Composed, Composed] {
  const [bob, mallory] = [writerOf(wire, "bob"), writerOf(wire, "mallory")];
  const seen = { bob: new Map<string, Composed>(), mallory: new Map<string, Composed>() };
  for (let at = 0; ; at += 1) {
    const [honest, hostile] = [bob.make(at), mallory.make(at)];
    seen.bob.set(honest.id.slice(0, 6), honest);
    seen.mallory.set(hostile.id.slice(0, 6), hostile);
    const toBob = seen.bob.get(hostile.id.slice(0, 6));
    const toMallory = seen.mallory.get(honest.id.slice(0, 6));
    const pair = toBob === undefined ? [honest, toMallory] : [toBob, hostile];
    if (pair[1] === undefined) continue;
    bob.write(pair[0] as Composed);
    mallory.write(pair[1]);
    return pair as [Composed, Composed];
  }
}

async function sessionOf({ env, dir }: LiveWire): Promise<Session> {
  const places = placesFrom(env, env["HOME"] ?? "");
  const world = realWorld(places, dir, silentLogger);
  const place = loadPlace(world.disk, places, { wireDir: dir, handle: "forge" });
  const memory = loadMemory(world.disk, place, world.clock.monoMs());
  const { clock, log } = world;
  const troubles = new StorageTroubles({ clock, log, room: () => Infinity });
  const session = openSession(world, { place, memory, troubles });
  await takeInAll(session);
  return session;
}

/** What memory does with the threads untouched for longest once there are too many. */
function drop({ memory }: Session, id: string): void {
  for (const [name, { messages }] of memory.state.threads.threads) {
    if (messages.some((message) => message.id === id)) memory.state.threads.threads.delete(name);
  }
}

test("a prefix is unique only in memory and files together, whichever holds which of two", async () => {
  const wire = makeWire({ handles: ["bob", "forge", "mallory"] });
  const [honest, hostile] = twins(wire);
  const prefix = honest.id.slice(0, 6);
  const session = await sessionOf(wire);
  for (const dropped of [[], [honest.id], [honest.id, hostile.id]]) {
    for (const id of dropped) drop(session, id);
    for (const name of ["resolve_id", "thread"] as const) {
      const asked = () => view(session, name, { id: prefix }, false);
      expect(asked).toThrow(expect.objectContaining({ code: "ambiguous_id" }));
      expect(asked).toThrow(`${honest.id}: bob, feedback`);
      expect(asked).toThrow(`${hostile.id}: mallory, feedback`);
    }
    for (const { id } of [honest, hostile]) {
      expect(view(session, "resolve_id", { id }, false).event_id).toBe(id);
    }
  }
  closeSession(session);
});

test("what memory has dropped is answered and read all the same", async () => {
  const wire = makeWire({ handles: ["bob", "forge", "mallory"] });
  const bob = writerOf(wire, "bob");
  const line = bob.make(1);
  bob.write(line);
  const session = await sessionOf(wire);
  const before = {
    resolved: view(session, "resolve_id", { id: line.id.slice(0, 8) }, false),
    thread: view(session, "thread", { id: line.id }, false),
  };
  expect(before.resolved).toMatchObject({ subject: "bob 1", to: ["forge"], from: "bob" });
  expect(before.thread[0]?.messages).toMatchObject([{ subject: "bob 1" }]);
  drop(session, line.id);
  expect(view(session, "resolve_id", { id: line.id.slice(0, 8) }, false)).toEqual(before.resolved);
  expect(view(session, "thread", { id: line.id }, false)).toEqual(before.thread);
  closeSession(session);
});

/** Threads that memory holds, and some. */
const MORE_THREADS_THAN_MEMORY = 4_096 + 512;

test("a message can be answered while its line is there, however many threads came after it", async () => {
  const wire = makeWire({ handles: ["bob", "forge", "mallory"] });
  const bob = writerOf(wire, "bob");
  const lines: Composed[] = [];
  for (let at = 0; at < MORE_THREADS_THAN_MEMORY; at += 1) {
    const last = lines.at(-1);
    lines.push(bob.make(at, last === undefined ? undefined : { seq: at, id: last.id }));
  }
  const texts = lines.map(({ line }) => `${Buffer.from(line).toString()}\n`);
  appendFileSync(join(wire.dir, "outbox", "bob.jsonl"), texts.join(""));
  const session = await sessionOf(wire);
  const { id } = lines[0] as Composed;
  expect(session.memory.state.threads.dropped).toBeGreaterThan(0);
  // What `search` prints can be answered.
  const { messages: found } = view(session, "search_page", { text: "bob 0", limit: 9 }, false);
  expect(found.map(({ _meta }) => _meta.id)).toContain(id);
  const parent = view(session, "resolve_id", { id: id.slice(0, 16) }, false);
  expect(parent).toMatchObject({ event_id: id, from: "bob", subject: "bob 0" });
  const body = fromPlain({ acks: id });
  const answer = { to: ["bob"], type: "ack", subject: "ack", body };
  sendGroups(session, [[{ ...answer, correlationId: parent.correlation_id }]]);
  expect(readFileSync(join(wire.dir, "outbox", "forge.jsonl"), "utf8")).toContain(id);
  closeSession(session);
});
