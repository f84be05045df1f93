import { join } from "node:path";
import { openIfThere } from "../../../storage/disk/disk.ts";
import { evidenceFor, keepEvidence, MAX_EVIDENCE_FILES } from "../../../storage/files/evidence.ts";
import { wholeLines } from "../../../storage/disk/line-splitter.ts";
import { parseMessage, type Message } from "../../../wire/message.ts";
import type { Files } from "../../session/world.ts";
import type { LineEntry } from "../../state/journal-entries.ts";
import type { JudgedLine } from "../judged-line.ts";
import { scanLog } from "../../state/log-reader.ts";
import type { LogIntake } from "../../state/agent-state.ts";
import type { Session } from "../../session/session.ts";
import { SEARCH_BYTES } from "./search-bounds.ts";

/** Of a rewritten log, so many of the lines that it lacks are kept, and of those in their place. */
const MAX_LINES_KEPT = 64;
/** A line that is in the log now can be read there: the beginning of it is enough. */
const MAX_CUT_BYTES = 4 * 1024;

/** One line of an evidence file: a line of the log, byte for byte in `line` unless `cut` says so. */
interface KeptLine {
  readonly which: "held" | "other";
  readonly id?: string;
  readonly seq?: number;
  readonly offset: number;
  /** When we took it in. */
  readonly received_at?: string;
  /** Absent when the log lacks it and it was never delivered. */
  readonly line?: string;
  readonly cut?: true;
}

/** Keeps both lines of a fork, before the operator is told of it. Returns where. Spec 1.6. */
export function keepFork(
  session: Pick<Session, "world" | "place" | "files">,
  intake: LogIntake,
  forking: JudgedLine,
): string {
  const { message, tail } = forking;
  if (message?.seq === undefined || tail.kind !== "line") return "";
  const held = contradicted(session, intake, message, tail.start);
  const other: KeptLine = {
    which: "other",
    id: message.id,
    seq: message.seq,
    offset: tail.start,
    received_at: new Date(forking.at).toISOString(),
    line: textOf(tail.bytes),
  };
  return kept(session, intake, {
    mark: String(message.seq),
    matter: message.id,
    about: { evidence: "log_forked", at: other.received_at, detail: forking.detail },
    lines: held === undefined ? [other] : [held, other],
  });
}

/** Keeps what a rewritten log held and what it holds instead. Returns where. Spec 1.6. */
export function keepRewriting(
  session: Pick<Session, "world" | "place" | "memory" | "files">,
  intake: LogIntake,
  detail: string,
): string {
  const at = new Date(session.world.clock.wallMs()).toISOString();
  return kept(session, intake, {
    mark: at.replace(/[-:]|\.\d+/g, ""),
    matter: detail,
    about: { evidence: "log_rewritten", at, detail },
    lines: [...missingLines(session, intake), ...otherLines(session, intake)],
  });
}

/** The files about a log in the evidence folder, oldest incident first. */
export function evidenceOf({ world, place }: Pick<Session, "world" | "place">, log: string) {
  const owner = place.layout.logs.get(log)?.owner ?? "";
  const { evidence } = place.paths;
  return evidenceFor(world.disk, evidence, owner, log).map((name) => join(evidence, name));
}

interface Kept {
  readonly mark: string;
  readonly matter: string;
  readonly about: object;
  readonly lines: readonly KeptLine[];
}

function kept(
  { world, place }: Pick<Session, "world" | "place">,
  { log }: LogIntake,
  what: Kept,
): string {
  const about = { ...what, peer: log.owner, log: log.name };
  const name = keepEvidence(world.disk, place.paths.evidence, about);
  // The file's name alone: what is told may be published on the wire.
  return name === undefined
    ? `no evidence was kept, since ${MAX_EVIDENCE_FILES} files about this log are there already`
    : `evidence: ${name}`;
}

/** The line that we hold at that place of the chain, or next to it where the place is empty. */
function contradicted(
  session: Pick<Session, "world" | "place" | "files">,
  intake: LogIntake,
  { seq = 0, id }: Message,
  before: number,
): KeptLine | undefined {
  const { world, place } = session;
  const top = intake.admission.chain.head?.seq ?? 0;
  // Throws when the log is closed to us now: the batch is read again later, with the evidence.
  const file = openIfThere(world.disk, join(place.wire.folder, intake.log.path));
  if (file === undefined) return undefined;
  try {
    const isHeld = (found: Message) => found.id !== id && intake.admission.seen.has(found);
    for (const wanted of [seq, seq - 1, seq + 1].filter((each) => each >= 1 && each <= top)) {
      // A cheap look first: a log may have a million lines.
      const pattern = new RegExp(`"seq"\\s*:\\s*${wanted}[\\s,}]`);
      for (const { bytes, start } of wholeLines(file, Math.max(0, before - SEARCH_BYTES), before)) {
        if (bytes === undefined || !pattern.test(Buffer.from(bytes).toString("latin1"))) continue;
        const parsed = parseMessage(bytes);
        if (!parsed.ok || parsed.message.seq !== wanted || !isHeld(parsed.message)) continue;
        const entry = entryOf(session, intake, parsed.message.id);
        const at = entry === undefined ? {} : { received_at: new Date(entry.at).toISOString() };
        const { id: heldId } = parsed.message;
        const line = textOf(bytes);
        return { which: "held", id: heldId, seq: wanted, offset: start, ...at, line };
      }
    }
    return undefined;
  } finally {
    file.close();
  }
}

function entryOf(
  { files }: Pick<Session, "files">,
  { log }: LogIntake,
  id: string,
): LineEntry | undefined {
  for (const { entry } of files.journal.read()) {
    if (entry.k === "line" && entry.log === log.name && entry.id === id) return entry;
  }
  return undefined;
}

/** What the journal knows of the log and the log lacks; with the line itself if it was delivered. */
function missingLines(
  session: Pick<Session, "world" | "place" | "memory" | "files">,
  { log }: LogIntake,
): KeptLine[] {
  const { world, place, files } = session;
  const there = new Set<string>();
  scanLog(world.disk, place, log.name, (bytes) => {
    const parsed = parseMessage(bytes);
    if (parsed.ok) there.add(parsed.message.id);
    return "more";
  });
  const missing: KeptLine[] = [];
  for (const entry of knownEntries(session, log.name)) {
    const { id = "", start, end, inbox } = entry;
    if (there.has(id) || missing.length >= MAX_LINES_KEPT) continue;
    const bytes = inbox === undefined ? undefined : files.inbox.read(inbox, end - start - 1);
    missing.push({
      which: "held",
      id,
      offset: start,
      received_at: new Date(entry.at).toISOString(),
      ...(bytes === undefined ? {} : { line: textOf(bytes) }),
    });
  }
  return missing;
}

/** What is in the log and was never taken in from it. */
function otherLines(
  { world, place }: Pick<Session, "world" | "place">,
  { log, admission, awaited }: LogIntake,
): KeptLine[] {
  const others: KeptLine[] = [];
  scanLog(world.disk, place, log.name, (bytes, _line, end) => {
    const parsed = parseMessage(bytes);
    if (!parsed.ok || admission.seen.has(parsed.message)) return "more";
    const { id, seq } = parsed.message;
    if (awaited.has(id)) return "more";
    others.push({
      which: "other",
      id,
      ...(seq === undefined ? {} : { seq }),
      offset: end - bytes.length - 1,
      line: textOf(bytes.subarray(0, MAX_CUT_BYTES)),
      ...(bytes.length > MAX_CUT_BYTES ? { cut: true as const } : {}),
    });
    return others.length < MAX_LINES_KEPT ? "more" : "enough";
  });
  return others;
}

/** The journal's lines of a log with an id, duplicates too, since it was last rewritten and reset. */
export function* knownEntries(
  { files, memory }: Pick<Session, "files" | "memory">,
  name: string,
): Generator<LineEntry> {
  const wasReset = memory.state.logs.get(name)?.earlier !== undefined;
  for (const { entry } of files.journal.read(wasReset ? lastBeginning(files, name) : 0)) {
    if (entry.k === "line" && entry.log === name && entry.id !== undefined) yield entry;
  }
}

/** Where in the journal the log was last reset to its beginning. */
function lastBeginning({ journal }: Files, name: string): number {
  let from = 0;
  for (const { entry, end } of journal.read()) {
    if (entry.k !== "local" || entry.event.kind !== "reset") continue;
    const { logs } = entry.event;
    if (logs.some(({ log, lines }) => log === name && lines !== undefined)) from = end;
  }
  return from;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}
