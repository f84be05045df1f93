import { expect } from "vitest";
import type { PlainDraft, SimulatedWire } from "../scenes/simulated-wire.ts";

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
  const inbox = await wire.agent(who).view("inbox", {});
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
  const { correlation_id: correlationId, from: to } = await wire
    .agent(from)
    .view("resolve_id", { id });
  return { to: [to], type: "ack", subject: "ack", body: { acks: id, ...body }, correlationId };
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

/** What a file of decisions or incidents holds, but for lines that are no JSON. */
export function entriesOf(wire: SimulatedWire, name: string): Record<string, unknown>[] {
  return wire.lines(name).flatMap((line) => {
    try {
      return [JSON.parse(line) as Record<string, unknown>];
    } catch {
      return [];
    }
  });
}

/** Everybody whose daemon runs sees the same proposals and the same decisions. */
export async function expectSameEverywhere(wire: SimulatedWire): Promise<void> {
  const up = wire.roster.filter((each) => wire.isUp(each));
  const [first, ...others] = await Promise.all(up.map((each) => wire.outcome(each)));
  for (const other of others) {
    expect(other.proposals).toEqual(first?.proposals);
    expect(other.recorded).toEqual(first?.recorded);
  }
}
