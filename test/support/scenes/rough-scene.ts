import type { Draft } from "../../../src/wire/compose.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { Crashed } from "../disk/memory-disk.ts";
import { SimulatedWire, type SceneOptions } from "./simulated-wire.ts";
import { Witness } from "../disk/witness.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;

/** A wire on which processes die and disks fail, and somebody who watches. */
export interface RoughScene {
  readonly wire: SimulatedWire;
  readonly witness: Witness;
}

/** All of them run, each has said something, and all of it is durable. */
export async function roughScene(
  roster: readonly string[],
  options: SceneOptions = {},
): Promise<RoughScene> {
  const wire = new SimulatedWire(roster, { ...options, rough: true });
  const scene = { wire, witness: new Witness(wire, options.layout) };
  await wire.start();
  for (const handle of roster) await send(scene, handle, say("before"));
  await wire.pass(3 * SECOND);
  await wire.rest();
  return scene;
}

export function say(subject: string): Draft {
  return { to: ["*"], type: "feedback", subject, body: fromPlain({ text: "x".repeat(200) }) };
}

export function incident(to: string): Draft {
  return {
    to: [to],
    type: "incident",
    subject: "it burns",
    body: fromPlain({ severity: "low" }),
  };
}

export function proposal(to: string, subject: string): Draft {
  const body = fromPlain({ required: [to] });
  return { to: [to], type: "proposal", subject, body, ackRequired: true };
}

/** One group; what its sender is told is promised. Returns the id of its first line. */
export async function send(
  { wire, witness }: RoughScene,
  from: string,
  ...drafts: readonly Draft[]
): Promise<string | undefined> {
  const answers = await wire.attempt(from, (agent) => agent.send([drafts]));
  const lines = answers?.[0]?.messages ?? [];
  witness.promised(lines);
  return lines[0]?.event_id;
}

export async function ack(scene: RoughScene, from: string, id: string): Promise<void> {
  const thread = await scene.wire.attempt(from, (agent) => agent.view("resolve_id", { id }));
  if (thread === undefined) return;
  const { correlation_id: correlationId, from: to } = thread;
  const draft = { to: [to], type: "ack", subject: "ack", body: fromPlain({ acks: id }) };
  await send(scene, from, { ...draft, correlationId });
}

/** Starts a daemon as that process; false when it died or failed in it. */
export async function up(
  { wire }: RoughScene,
  handle: string,
  process = wire.disk.process(),
): Promise<boolean> {
  try {
    await wire.begin(handle, process);
    return true;
  } catch (error) {
    if (error instanceof Crashed || error instanceof StorageError) return false;
    throw error;
  }
}

/** Whoever is down comes up again, time passes, and all promises have been kept. */
export async function aftermath({ wire, witness }: RoughScene): Promise<void> {
  for (const handle of wire.roster) {
    if (!wire.isUp(handle)) await wire.begin(handle, wire.disk.process());
    witness.checkClaims(handle);
  }
  await wire.pass(2 * SECOND);
  await wire.rest();
  await wire.pass(4 * MINUTE);
  await witness.check();
}
