import { expect } from "vitest";
import type { Outcome, PlainDraft, SimulatedWire } from "../scenes/simulated-wire.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

interface Asking {
  readonly thread?: string;
  readonly body?: object;
}

/** A message that asks for nothing. */
export function note(to: readonly string[], subject: string): PlainDraft {
  return { to, type: "feedback", subject, body: "x" };
}

/** What an agent's inbox holds: author and subject of each message. */
export async function subjectsOf(wire: SimulatedWire, who: string): Promise<string[]> {
  const { messages: inbox } = await wire.agent(who).view("inbox", {});
  return inbox.map(({ from, subject }) => `${from}: ${subject}`);
}

export function propose(
  wire: SimulatedWire,
  from: string,
  to: readonly string[],
  subject: string,
  asking: Asking = {},
): Promise<string> {
  return wire.send(from, proposalDraft(to, subject, asking));
}

export function proposalDraft(
  to: readonly string[],
  subject: string,
  { thread, body }: Asking = {},
): PlainDraft {
  return {
    to,
    type: "proposal",
    subject,
    body: { required: to, ...body },
    ackRequired: true,
    ...(thread === undefined ? {} : { correlationId: thread }),
  };
}

export async function threadOf(wire: SimulatedWire, who: string, id: string): Promise<string> {
  return (await wire.agent(who).view("resolve_id", { id })).correlation_id;
}

export async function ack(
  wire: SimulatedWire,
  from: string,
  id: string,
  body: object = {},
): Promise<string> {
  return wire.send(from, await ackDraft(wire, from, id, body));
}

export async function ackDraft(
  wire: SimulatedWire,
  from: string,
  id: string,
  body: object = {},
): Promise<PlainDraft> {
  const {
    correlation_id: correlationId,
    from: to,
    place,
  } = await wire.agent(from).view("resolve_id", { id });
  const approve = { acks: place, approve: true, ...body };
  return { to: [to], type: "ack", subject: "ack", body: approve, correlationId };
}

export async function statusOf(
  wire: SimulatedWire,
  who: string,
  id: string,
): Promise<string | undefined> {
  const { proposals } = await wire.outcome(who);
  return proposals.find((each) => each.id === id)?.status;
}

/** The automatic incidents that an agent's operator was told, by cause, in order. */
export async function causesOf(wire: SimulatedWire, who: string): Promise<string[]> {
  return (await wire.agent(who).view("notices", undefined)).map(({ cause }) => cause);
}

/** Everybody whose daemon runs sees the same proposals and the same decisions. */
export async function expectSameEverywhere(wire: SimulatedWire): Promise<void> {
  const up = wire.roster.filter((each) => wire.isUp(each));
  const [first, ...others] = await Promise.all(up.map((each) => wire.outcome(each)));
  // Each lists them in the order in which it has received them.
  const byId = ({ proposals = [] }: Partial<Outcome> = {}) =>
    proposals.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  for (const other of others) {
    expect(byId(other)).toEqual(byId(first));
    expect(other.recorded).toEqual(first?.recorded);
  }
}
