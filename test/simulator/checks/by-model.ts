import { parseMessage } from "../../../src/wire/message.ts";
import type { HeldLine } from "../../../src/store/store.ts";
import { findingsOf, type ModelLine } from "../../model/model.ts";
import { WIRE_ID, type CoreAgent } from "../../support/core-wire.ts";
import type { Stage } from "../stage/stage.ts";
import { check } from "./broken.ts";

const STATES: Readonly<Record<string, readonly string[]>> = {
  pending: ["open", "waits"],
  approved: ["approved"],
  rejected: ["ended"],
  ended: ["ended"],
  disputed: ["contested"],
};

/** What an agent says of asks and members is what the model says of the lines that it holds. */
export function checkModel({ cast }: Stage, { name, core }: CoreAgent): void {
  const { store } = core;
  const lines = store
    .lines({ after: 0, limit: 100_000 })
    .filter(({ type, seq }) => seq !== null || type !== "heartbeat")
    .flatMap((line) => modelLine(line) ?? []);
  const unchained = [...cast.roster].flatMap(([handle, chains]) => (chains ? [] : [handle]));
  const pinned = { wireId: WIRE_ID, roster: [...cast.roster.keys()], unchained, epoch: 0 };
  const { asks, roster } = findingsOf(pinned, lines);
  const threads = new Map(lines.map(({ id, thread = "" }) => [id, thread]));
  for (const { ask, of, outcome } of asks) {
    const [author, seq, id] = ask;
    const parts = store.asks
      .ofThread(threads.get(id) ?? "", 1_000)
      .filter((part) => part.ask.place.id === id && (of === undefined || part.party === of));
    const [part] = parts;
    const isSame = part === undefined || STATES[outcome]?.includes(part.state) === true;
    check("outcomes agree", isSame, () => {
      return `${author} ${seq} is ${part?.state} for ${name}, and ${outcome} for the model`;
    });
  }
  const members = Object.fromEntries(core.members);
  const isSame = sorted(members) === sorted(roster.members);
  check("outcomes agree", isSame, () => {
    return `members are ${sorted(members)} for ${name}, and ${sorted(roster.members)} for the model`;
  });
}

function modelLine({ author, seq, id, prev, thread, bytes }: HeldLine): ModelLine | undefined {
  const parsed = parseMessage(bytes);
  if (!parsed.ok) return undefined;
  const { timestamp, type, to, body } = parsed.message;
  return {
    ...{ author, seq, id, prev: prev ?? null, timestamp, type, to, body },
    ...{ thread: thread === "" ? undefined : thread, isSigned: true },
  };
}

function sorted(members: Readonly<Record<string, boolean>>): string {
  return JSON.stringify(
    Object.entries(members).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}
