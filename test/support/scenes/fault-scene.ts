import type { Draft } from "../../../src/wire/compose.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { Crashed } from "../disk/memory-disk.ts";
import { SimulatedWire, type SceneOptions } from "./simulated-wire.ts";
import { PromiseChecker } from "./promise-checker.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;

/** A simulated wire on which processes die and disks fail, with a check of what was promised. */
export interface FaultScene {
  readonly wire: SimulatedWire;
  readonly checker: PromiseChecker;
}

/** All agents run, each has sent a line, and everything is durable. */
export async function faultScene(
  roster: readonly string[],
  options: SceneOptions = {},
): Promise<FaultScene> {
  const wire = new SimulatedWire(roster, { ...options, withFaults: true });
  const scene = { wire, checker: new PromiseChecker(wire) };
  await wire.start();
  for (const handle of roster) await send(scene, handle, say("before"));
  await wire.pass(3 * SECOND);
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

/** Sends one group of lines; the answer is a promise to check. Returns the id of the first line. */
export async function send(
  { wire, checker }: FaultScene,
  from: string,
  ...drafts: readonly Draft[]
): Promise<string | undefined> {
  const answers = await wire.attempt(from, (agent) => agent.send([drafts]));
  const lines = answers?.[0]?.messages ?? [];
  checker.promised(lines);
  return lines[0]?.event_id;
}

export async function ack(scene: FaultScene, from: string, id: string): Promise<void> {
  const thread = await scene.wire.attempt(from, (agent) => agent.view("resolve_id", { id }));
  if (thread === undefined) return;
  const { correlation_id: correlationId, from: to, place, type } = thread;
  const body = fromPlain(type === "proposal" ? { acks: place, approve: true } : { about: place });
  const draft = { to: [to], type: "ack", subject: "ack", body };
  await send(scene, from, { ...draft, correlationId });
}

/** Starts a daemon as that process; false when the process died or the disk failed. */
export async function up(
  { wire }: FaultScene,
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

/**
 * Starts the agents that are down, lets time pass, and checks that every promise was kept.
 *
 * @param trueAlarms what agents may be told, since it has happened
 */
export async function recoverAndCheck(
  { wire, checker }: FaultScene,
  trueAlarms: readonly string[] = [],
): Promise<void> {
  for (const handle of wire.roster) {
    if (!wire.isUp(handle)) await wire.begin(handle, wire.disk.process());
  }
  // What a daemon could not write as it began it tries again after a second.
  await wire.pass(2 * SECOND);
  for (const handle of wire.roster) checker.checkClaims(handle);
  await wire.pass(4 * MINUTE);
  await checker.check(trueAlarms);
}
