import { setTimeout as pauseFor } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { openWire, type Wire } from "../../src/library/open-wire.ts";
import { brokenPlaces } from "../support/chain-check.ts";
import { until } from "../support/processes/real-processes.ts";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";

const HANDLES = Array.from({ length: 12 }, (_, at) => `agent-${String(at + 1).padStart(2, "0")}`);
/** Each says something to all others once in this time. */
const EVERY_MS = 2_000;
const SENDS = process.env["DEADDROP_NIGHTLY"] === "1" ? 300 : 15;

afterEach(removeWires);

async function speak(wire: Wire, handle: string): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < SENDS; at += 1) {
    const body = { text: "x".repeat((at * 37) % 1_500) };
    const subject = `${handle} says ${at}`;
    const { messages } = await wire.send({ to: ["*"], type: "feedback", subject, body });
    ids.push(...messages.map(({ event_id }) => event_id));
    await pauseFor(EVERY_MS);
  }
  return ids;
}

function inboxOf(wire: LiveWire, handle: string): readonly string[] {
  return wire.privateLines(handle, "inbox").map(({ event_id }) => event_id);
}

it(`twelve daemons, ${SENDS} messages of each to all: nothing is lost and nothing is there twice`, async () => {
  const wire = makeWire({ handles: HANDLES, cadenceSeconds: 30 });
  const daemons = await Promise.all(HANDLES.map((handle) => wire.daemon(handle)));
  const clients = await Promise.all(
    HANDLES.map((handle) => openWire(wire.dir, { as: handle, env: wire.env })),
  );
  const said = await Promise.all(clients.map((client, at) => speak(client, HANDLES[at] ?? "")));
  for (const client of clients) client.close();
  const byHandle = new Map(HANDLES.map((handle, at) => [handle, said[at] ?? []]));
  for (const handle of HANDLES) {
    const expected = HANDLES.filter((other) => other !== handle).flatMap(
      (other) => byHandle.get(other) ?? [],
    );
    expect(expected).toHaveLength(SENDS * (HANDLES.length - 1));
    await until(`all is delivered to ${handle}`, () => {
      return inboxOf(wire, handle).length >= expected.length;
    });
    expect(inboxOf(wire, handle).toSorted()).toEqual(expected.toSorted());
    expect(wire.privateLines(handle, "quarantine")).toEqual([]);
    expect(brokenPlaces(wire, handle, `outbox/${handle}.jsonl`)).toEqual([]);
  }
  await Promise.all(daemons.map((daemon) => daemon.stop()));
});
