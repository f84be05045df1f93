import {
  eventNames,
  isDeliverableEvent,
  isEventName,
  type MachineEvent,
  type Schema,
} from "../machine/event.ts";
import { instantMs } from "./instant.ts";
import { isFields, parseJson, type Fields } from "./text.ts";

/** A line of `events.jsonl`. Spec 6. */
export interface CollabEvent extends MachineEvent {
  /** ISO 8601 with an offset; ours are in UTC and seconds. */
  readonly at: string;
  readonly summary: string;
  readonly reply_to?: number | undefined;
  /** Lower-case hex. */
  readonly sha256?: string | undefined;
}

/** The order in which the protocol's own scripts write the fields. */
const FIELDS = [
  "seq",
  "from",
  "event",
  "at",
  "summary",
  "doc",
  "reply_to",
  "role",
  "sha256",
] as const;

/** At these the scripts end a line, although JSON does not. */
const LINE_ENDS_OF_PYTHON = /[\p{Zl}\p{Zp}\u0085]/gu;

/** The line of an event, with its newline. Non-ASCII stays as it is. */
export function eventLine(event: CollabEvent): string {
  const ordered = Object.fromEntries(
    FIELDS.filter((name) => event[name] !== undefined).map((name) => [name, event[name]]),
  );
  const escaped = JSON.stringify(ordered).replace(
    LINE_ENDS_OF_PYTHON,
    (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
  return `${escaped}\n`;
}

export interface ReadEvents {
  /** Up to the first line that is none. */
  readonly events: readonly CollabEvent[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** All lines are events, and the machine may judge them. */
  readonly isWhole: boolean;
  /** The last line has its newline. */
  readonly isEnded: boolean;
}

/** A file with more lines, or more problems, is not read to its end. A round has some hundreds of events. */
const MAX_LINES = 100_000;
const MAX_PROBLEMS = 256;

/** Reads `events.jsonl`: lines end at `\n` only. Empty lines are none. */
export function readEvents(text: string, schema: Schema): ReadEvents {
  const isEnded = text === "" || text.endsWith("\n");
  const events: CollabEvent[] = [];
  const problems: string[] = [];
  const warnings: string[] = [];
  let isWhole = true;
  let previous: CollabEvent | undefined;
  for (const [index, line] of linesOf(text)) {
    const place = `events.jsonl line ${index + 1}: `;
    if (index >= MAX_LINES || problems.length >= MAX_PROBLEMS) {
      const why = index >= MAX_LINES ? `${MAX_LINES} lines` : "too many problems";
      problems.push(`${place}not read from here on: ${why} before it`);
      isWhole = false;
      break;
    }
    if (line.trim() === "") continue;
    const lineEnd = line.match(LINE_ENDS_OF_PYTHON)?.[0].codePointAt(0);
    if (lineEnd !== undefined && warnings.length < MAX_PROBLEMS) {
      const name = `U+${lineEnd.toString(16).toUpperCase().padStart(4, "0")}`;
      warnings.push(
        `${place}${name} is not escaped: the protocol's scripts end the line there and cannot read the round`,
      );
    }
    const read = readEvent(line, schema, events.length + 1, previous);
    problems.push(...read.problems.map((each) => place + each));
    if (warnings.length < MAX_PROBLEMS) warnings.push(...read.warnings.map((each) => place + each));
    if (read.event === undefined) isWhole = false;
    else if (isWhole) events.push(read.event);
    previous = read.event ?? previous;
  }
  if (!isEnded) {
    warnings.push(
      "events.jsonl: the last line has no newline: a program is still writing it, or stopped in the middle",
    );
  }
  return { events, problems, warnings, isWhole, isEnded };
}

function* linesOf(text: string): Generator<[index: number, line: string]> {
  for (let from = 0, index = 0; from < text.length; index += 1) {
    const end = text.indexOf("\n", from);
    const to = end < 0 ? text.length : end;
    yield [index, text.slice(from, to)];
    from = to + 1;
  }
}

const TORN =
  "no JSON object: a torn line. If nobody is writing it any more, remove that line by hand";

/** Why that is no event. */
export function unknownEvent(name: unknown, schema: Schema): string {
  const given = typeof name === "string" ? `'${name.slice(0, 80)}'` : "that is no text";
  return `unknown event ${given}; schema ${schema} has ${eventNames(schema).join(", ")}`;
}

interface ReadEvent {
  /** Undefined when it cannot be given to the machine. */
  readonly event: CollabEvent | undefined;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

function readEvent(
  line: string,
  schema: Schema,
  expectedSeq: number,
  previous: CollabEvent | undefined,
): ReadEvent {
  const fields = parseJson(line);
  if (!isFields(fields)) return { event: undefined, problems: [TORN], warnings: [] };
  const { seq, from, event, at, summary, reply_to } = fields;
  // The scripts may write null for what an event does not have.
  const [doc, role, sha256] = ["doc", "role", "sha256"].map((name) => fields[name] ?? undefined);
  const problems: string[] = [];
  const isNamed = isEventName(schema, event);
  if (!isCount(seq)) problems.push("seq must be a whole number from 1");
  if (typeof from !== "string") problems.push("from must be a participant");
  if (!isNamed) problems.push(unknownEvent(event, schema));
  for (const [name, value] of Object.entries({ doc, role, sha256 })) {
    if (value !== undefined && typeof value !== "string") problems.push(`${name} must be a text`);
  }
  const isGiven = problems.length === 0;
  problems.push(...formProblems(fields, previous));
  const reply = replyProblem(reply_to, expectedSeq);
  const isOwn = reply_to === expectedSeq && schema === 1;
  if (reply !== undefined && !isOwn) problems.push(reply);
  const warnings = isOwn && expectedSeq > 1 ? [`reply_to ${expectedSeq} is its own seq`] : [];
  if (!isGiven) return { event: undefined, problems, warnings };
  const read = {
    ...({ seq, from, event, doc, role, sha256 } as Omit<CollabEvent, "at" | "summary">),
    at: typeof at === "string" ? at : "",
    summary: typeof summary === "string" ? summary : "",
    reply_to: isCount(reply_to) ? reply_to : undefined,
  };
  return { event: read, problems, warnings };
}

function formProblems(
  { at, summary, event, doc, sha256 }: Fields,
  previous: CollabEvent | undefined,
): string[] {
  const problems: string[] = [];
  const atMs = instantMs(at);
  const previousMs = instantMs(previous?.at);
  if (atMs === undefined) {
    problems.push("at must be an instant with its offset, like 2026-01-31T12:00:00Z");
  } else if (previousMs !== undefined && atMs < previousMs) {
    problems.push("at must not be earlier than the previous event");
  }
  if (typeof summary !== "string" || summary.trim() === "") problems.push("summary must be a text");
  const isDeliverable = isEventName(2, event) && isDeliverableEvent(event);
  if (isDeliverable && typeof doc !== "string") problems.push("deliverable events require doc");
  if (event === "deliverable_frozen" && !isSha256(sha256)) {
    problems.push("deliverable_frozen requires sha256, 64 lower-case hex digits");
  }
  return problems;
}

/** Why an event may not answer that one. `seq`: its own. */
export function replyProblem(replyTo: unknown, seq: number): string | undefined {
  if (replyTo === undefined || replyTo === null) {
    return seq === 1 ? undefined : "reply_to is required after initialized";
  }
  if (isCount(replyTo) && replyTo < seq) return undefined;
  return `reply_to must be the seq of an earlier event, below ${seq}`;
}

export function isSha256(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{64}$/u.test(value);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}
