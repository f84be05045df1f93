import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Collaboration rounds a second time: written from the specification (6, 6.1) alone, and importing
 * nothing of the product. It reads and appends as the protocol's own scripts do: without a lock,
 * without a rename, and without a look at the documents.
 */

type Phase =
  | "drafting"
  | "reviewing"
  | "revising"
  | "decision_review"
  | "readiness_check"
  | "completed"
  | "blocked";

export const PHASES: readonly Phase[] = [
  "drafting",
  "reviewing",
  "revising",
  "decision_review",
  "readiness_check",
  "completed",
  "blocked",
];

export interface SecondRules {
  readonly schema: 1 | 2;
  readonly participants: readonly string[];
  readonly primary?: string | undefined;
}

export interface SecondEvent {
  readonly seq: number;
  readonly from: string;
  readonly event: string;
  readonly doc?: string | undefined;
  readonly role?: string | undefined;
}

export interface SecondState {
  readonly currentPhase: string;
  readonly proposalOwner: string;
  readonly waitingFor: readonly string[];
}

export type SecondVerdict =
  | { readonly ok: true; readonly state: SecondState }
  | { readonly ok: false; readonly seq: number; readonly reason: string };

/** What is remembered of the events so far. */
interface Memory {
  readonly phase: Phase | "nothing yet";
  readonly waitingFor: readonly string[];
  readonly drafted: boolean;
  readonly frozen: boolean;
  readonly passed: boolean;
  readonly classified: boolean;
}

/** An event and what it meets, as a row of the table sees it. */
interface Turn {
  readonly memory: Memory;
  readonly event: SecondEvent;
  readonly schema: 1 | 2;
  readonly owner: string;
  /** Sorted. */
  readonly all: readonly string[];
}

/** A row of the table in 6.1. */
interface Row {
  readonly schema2?: true;
  readonly allowedIn: readonly Memory["phase"][];
  readonly by: "the owner" | "one waited for" | "anybody";
  readonly lacks?: (turn: Turn) => string | undefined;
  readonly afterwards: (turn: Turn) => Partial<Memory>;
}

const NOTHING: Memory = {
  ...{ phase: "nothing yet", waitingFor: [] },
  ...{ drafted: false, frozen: false, passed: false, classified: false },
};

/** All who are waited for answer; when all have, the owner goes on in the next phase. */
function answered(next: Phase): Row["afterwards"] {
  return ({ memory, event, owner }) => {
    const waitingFor = memory.waitingFor.filter((each) => each !== event.from);
    return waitingFor.length > 0 ? { waitingFor } : { phase: next, waitingFor: [owner] };
  };
}

const toDecide: Row["afterwards"] = ({ owner }) => ({
  phase: "decision_review",
  waitingFor: [owner],
  classified: false,
});

const only =
  (isMet: (turn: Turn) => boolean, reason: string) =>
  (turn: Turn): string | undefined =>
    isMet(turn) ? undefined : reason;

const unchanged: Row["afterwards"] = () => ({});

const PRIMARY: Readonly<Record<string, Row>> = {
  deliverable_drafted: {
    schema2: true,
    allowedIn: ["drafting", "revising", "decision_review"],
    by: "the owner",
    afterwards: () => ({ drafted: true }),
  },
  deliverable_revised: {
    schema2: true,
    allowedIn: ["revising", "decision_review"],
    by: "the owner",
    lacks: only(({ memory }) => !memory.frozen, "it is frozen"),
    afterwards: unchanged,
  },
  deliverable_frozen: {
    schema2: true,
    allowedIn: ["readiness_check"],
    by: "the owner",
    lacks: only(({ memory }) => !memory.frozen, "it is frozen already"),
    afterwards: () => ({ frozen: true }),
  },
};

const SUPPORTING: Row = {
  schema2: true,
  allowedIn: PHASES,
  by: "anybody",
  afterwards: unchanged,
};

const TABLE: Readonly<Record<string, Row>> = {
  initialized: {
    allowedIn: ["nothing yet"],
    by: "anybody",
    afterwards: ({ owner }) => ({ phase: "drafting", waitingFor: [owner] }),
  },
  proposal_submitted: {
    allowedIn: ["drafting", "revising"],
    by: "the owner",
    lacks: ({ all, schema, memory }) => {
      if (all.length < 2) return "there is nobody to review it";
      return schema === 2 && !memory.drafted ? "there is no draft" : undefined;
    },
    afterwards: ({ all, owner }) => ({
      phase: "reviewing",
      waitingFor: all.filter((each) => each !== owner),
    }),
  },
  review_submitted: {
    allowedIn: ["reviewing"],
    by: "one waited for",
    afterwards: answered("revising"),
  },
  proposal_revised: { allowedIn: ["revising"], by: "the owner", afterwards: toDecide },
  decision_proposed: {
    allowedIn: ["revising", "decision_review"],
    by: "the owner",
    afterwards: toDecide,
  },
  question_classified: {
    allowedIn: ["decision_review"],
    by: "the owner",
    afterwards: ({ all }) => ({ waitingFor: all, classified: true }),
  },
  decision_accepted: {
    allowedIn: ["decision_review"],
    by: "one waited for",
    lacks: only(({ memory }) => memory.classified, "the questions are not classified"),
    afterwards: answered("readiness_check"),
  },
  readiness_passed: {
    allowedIn: ["readiness_check"],
    by: "the owner",
    lacks: only(({ memory, schema }) => schema === 1 || memory.frozen, "nothing is frozen"),
    afterwards: () => ({ passed: true }),
  },
  completed: {
    allowedIn: ["readiness_check"],
    by: "the owner",
    lacks: ({ memory, event }) => {
      if (!memory.passed) return "readiness has not been passed";
      return event.doc === "conclusion.md" ? undefined : "it names another document";
    },
    afterwards: () => ({ phase: "completed", waitingFor: [] }),
  },
  blocked: {
    allowedIn: PHASES,
    by: "anybody",
    afterwards: () => ({ phase: "blocked", waitingFor: [] }),
  },
};

export const EVENTS = [...Object.keys(TABLE), ...Object.keys(PRIMARY)];

function rowOf({ event, role, doc }: SecondEvent, primary: string | undefined): Row | string {
  const row = Object.hasOwn(TABLE, event) ? TABLE[event] : undefined;
  if (row !== undefined) return row;
  const ofPrimary = Object.hasOwn(PRIMARY, event) ? PRIMARY[event] : undefined;
  if (ofPrimary === undefined) return "there is no such event";
  if (doc === undefined) return "it names no document";
  if (role === "supporting") return SUPPORTING;
  if (role !== "primary") return "it has no role";
  return doc === primary ? ofPrimary : "it names another document";
}

/** Why an event may not follow. */
function refusal(turn: Turn, row: Row): string | undefined {
  const { memory, event, owner, all, schema } = turn;
  if (row.schema2 === true && schema === 1) return "schema 1 has no such event";
  if (!all.includes(event.from)) return "no participant says it";
  if (!row.allowedIn.includes(memory.phase)) return `not while ${memory.phase}`;
  if (row.by === "the owner" && event.from !== owner) return "only the owner says it";
  if (row.by === "one waited for" && !memory.waitingFor.includes(event.from)) {
    return "nobody waits for it";
  }
  return row.lacks?.(turn);
}

export function secondDerive(
  { schema, participants, primary }: SecondRules,
  events: readonly SecondEvent[],
): SecondVerdict {
  const [owner = ""] = participants;
  const all = sorted(participants);
  let memory = NOTHING;
  for (const [at, event] of events.entries()) {
    const row = rowOf(event, primary);
    const turn: Turn = { memory, event, schema, owner, all };
    const told = typeof row === "string" ? row : refusal(turn, row);
    const reason = event.seq === at + 1 ? told : "the seq does not go on";
    if (reason !== undefined) return { ok: false, seq: at + 1, reason };
    if (typeof row !== "string") memory = { ...memory, ...row.afterwards(turn) };
  }
  if (memory.phase === "nothing yet") return { ok: false, seq: 1, reason: "nothing has happened" };
  const { phase, waitingFor } = memory;
  return { ok: true, state: { currentPhase: phase, proposalOwner: owner, waitingFor } };
}

/** By code points, as Python sorts. */
function sorted(names: readonly string[]): string[] {
  return names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

interface ProtocolFile {
  readonly participants: readonly (string | { readonly id: string })[];
  readonly schemaVersion?: number;
  readonly deliverables?: {
    readonly mode: string;
    readonly dir: string;
    readonly primary: { readonly file: string };
  };
}

/** A line of `events.jsonl`. */
interface LoggedEvent extends SecondEvent {
  readonly at: string;
  readonly summary: string;
  readonly reply_to?: number | undefined;
  readonly sha256?: string | undefined;
}

/** What a participant says, for the script to number and date. */
export type SecondWish = Omit<LoggedEvent, "seq" | "at">;

/** Where Python's `splitlines` splits. */
const LINE_ENDS = /\r\n|[\n\r\u000b\u000c\u001c-\u001e\u0085\u2028\u2029]/u;

function readFolder(folder: string) {
  const protocol = JSON.parse(readFileSync(join(folder, "protocol.json"), "utf8")) as ProtocolFile;
  const lines = readFileSync(join(folder, "events.jsonl"), "utf8").split(LINE_ENDS);
  const { mode, dir, primary } = protocol.deliverables ?? {};
  const rules: SecondRules = {
    schema: protocol.schemaVersion === 2 ? 2 : 1,
    participants: protocol.participants.map((each) => (typeof each === "string" ? each : each.id)),
    primary: `${mode === "external" ? "external:" : `${dir ?? ""}/`}${primary?.file ?? ""}`,
  };
  const events = lines.filter((line) => line.trim() !== "");
  return { protocol, rules, events: events.map((line) => JSON.parse(line) as LoggedEvent) };
}

/** What follows from the events in a folder. */
export function secondRead(folder: string): SecondVerdict {
  const { rules, events } = readFolder(folder);
  return secondDerive(rules, events);
}

/** Appends an event in place, and rewrites `protocol.json` in place. Throws when it is not allowed. */
export function secondAppend(folder: string, wish: SecondWish, nowMs: number): void {
  const { protocol, rules, events } = readFolder(folder);
  const seq = events.length + 1;
  const { from, event, summary, doc, reply_to: reply, role, sha256 } = wish;
  if (seq > 1 && !(reply !== undefined && reply >= 1 && reply < seq)) throw new Error("reply_to");
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  const at = [now, events.at(-1)?.at ?? now].toSorted().at(-1) ?? now;
  const added = { seq, from, event, at, summary, doc, reply_to: reply, role, sha256 };
  const verdict = secondDerive(rules, [...events, added]);
  if (!verdict.ok) throw new Error(verdict.reason);
  appendFileSync(join(folder, "events.jsonl"), `${escaped(JSON.stringify(added))}\n`);
  const after = { ...protocol, ...verdict.state, updatedAt: at };
  writeFileSync(join(folder, "protocol.json"), scriptJson(after));
}

/** JSON escapes control characters itself, these it does not. */
function escaped(json: string): string {
  return json.replaceAll(
    /[\u0085\u2028\u2029]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** `protocol.json` as the scripts write it. */
export function scriptJson(value: object): string {
  return `${JSON.stringify(value, sortKeys, 2)}\n`;
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
