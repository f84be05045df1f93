import { openIfThere, StorageError } from "../../../storage/disk/disk.ts";
import { wholeLines } from "../../../storage/disk/line-splitter.ts";
import type { OwnLine } from "../../../storage/own-log/log-writer.ts";
import { ownLogs } from "../../../wire/layout.ts";
import { parseMessage } from "../../../wire/message.ts";
import type { ReclaimAnswer } from "../../../api/client.ts";
import { codeOfStorage, DeaddropError } from "../../../api/errors.ts";
import { ownLine } from "../../session/environment.ts";
import type { Session } from "../../session/session.ts";
import { reportRecovery } from "../../intake/trouble/recovery-notices.ts";

/** Of missing lines, how many ranges are named. */
const MAX_NAMED_RANGES = 8;

/**
 * Takes our own lines from files that the operator has found: copies of our log from anywhere, or
 * inboxes of peers. Each has to carry our signature and to link to the one before it; a log goes on
 * after the last, and never past a hole. Nothing is changed when any line is missing. Spec 1.6.
 */
export function reclaimFrom(session: Session, from: readonly string[]): ReclaimAnswer {
  const { place, files } = session;
  const { writer } = files.own;
  const answer: ReclaimAnswer = { logs: [], given_up: [], kept_in: null };
  const names = ownLogs(place.layout, place.handle).map(({ name }) => name);
  const chains = reading(() => {
    const found = linesIn(session, from, names);
    return names.flatMap((name) => {
      const lines = found.filter(({ log }) => log === name);
      if (lines.length === 0 && writer.blocked(name)?.code !== "log_damaged") return [];
      return [{ name, chain: wholeChain(session, name, lines) }];
    });
  });
  for (const { name, chain } of chains) {
    const last = chain.at(-1);
    if (last === undefined) continue;
    reportRecovery(session, writer.putBack(name, chain));
    const blocked = writer.blocked(name);
    if (blocked?.code === "log_damaged") throw notRestored(blocked);
    answer.logs.push({ log: name, seq: last.seq, event_id: last.id });
  }
  if (answer.logs.length > 0) return answer;
  throw new DeaddropError("refused", `no line of "${place.handle}" is in ${from.join(", ")}`, {
    hint: `name a copy of ${names.map((name) => `${name}.jsonl`).join(" or ")}, or the inbox.jsonl of a peer`,
  });
}

/** Files that somebody has named: what is wrong with one of them is no trouble of our own disk. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const { code, message, hint } = error;
    const problem = `nothing was changed; ${message}`;
    throw new DeaddropError(codeOfStorage(code), problem, { hint, cause: error });
  }
}

function notRestored({ code, message, hint }: StorageError): DeaddropError {
  return new DeaddropError(codeOfStorage(code), `the lines are kept, and ${message}`, { hint });
}

/** Every line of ours in these files, whatever else is in them. */
function linesIn(
  { world, ctx }: Pick<Session, "world" | "ctx">,
  paths: readonly string[],
  names: readonly string[],
): OwnLine[] {
  const lines: OwnLine[] = [];
  for (const path of paths) {
    const file = openIfThere(world.disk, path);
    if (file === undefined) {
      throw new DeaddropError("usage", `${path}: there is no such file`, {
        hint: "give the whole path of a copy of our log, or of a peer's inbox.jsonl",
      });
    }
    try {
      for (const { bytes } of wholeLines(file, 0, file.stat().size)) {
        if (bytes === undefined) continue;
        const text = Buffer.from(bytes).toString("latin1");
        // A body may speak of another log of ours.
        for (const log of names.filter((name) => text.includes(`"log":"${name}"`))) {
          const head = ownLine(log, bytes, ctx);
          if (head !== undefined) lines.push({ log, ...head, line: Buffer.from(bytes) });
        }
      }
    } finally {
      file.close();
    }
  }
  return lines;
}

/** One unbroken chain of what was found and what is here, up to the last line that is known. */
function wholeChain(
  { files }: Pick<Session, "files">,
  name: string,
  found: readonly OwnLine[],
): readonly OwnLine[] {
  const { writer } = files.own;
  const bySeq = new Map<number, OwnLine>();
  for (const line of [...writer.lines(name), ...found]) {
    const before = bySeq.get(line.seq);
    if (before !== undefined && before.id !== line.id) throw twice(name, before, line);
    bySeq.set(line.seq, line);
  }
  const seqs = [...bySeq.keys()].toSorted((a, b) => a - b);
  const record = files.heads.own(name);
  // What is promised follows the last line that was ever written.
  const promised = writer.unplaced(name)[0]?.seq ?? 1;
  const end = Math.max(record?.seq ?? 0, seqs.at(-1) ?? 0, promised - 1);
  const chain: OwnLine[] = [];
  const missing: number[] = [];
  const [first = 1] = seqs;
  for (let seq = writer.mayBegin(name, first) ? first : 1; seq <= end; seq += 1) {
    const line = bySeq.get(seq);
    if (line === undefined) missing.push(seq);
    else if (isLinked(chain.at(-1), line)) chain.push(line);
    else throw twice(name, chain.at(-1) ?? line, line);
  }
  if (missing.length > 0) throw lacking(name, missing);
  const known = record === undefined ? undefined : bySeq.get(record.seq);
  if (known !== undefined && known.id !== record?.id) throw twice(name, known, known);
  return chain;
}

/** Whether a line names the one before it, where that one is known. Spec 1.6. */
function isLinked(before: OwnLine | undefined, { seq, line }: OwnLine): boolean {
  if (before?.seq !== seq - 1) return true;
  const parsed = parseMessage(line);
  return parsed.ok && parsed.message.prev === before.id;
}

function lacking(name: string, missing: readonly number[]): DeaddropError {
  const ranges: [number, number][] = [];
  for (const seq of missing) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === seq - 1) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  const named = ranges
    .slice(0, MAX_NAMED_RANGES)
    .map(([a, b]) => (a === b ? `${a}` : `${a} to ${b}`));
  const more = ranges.length > MAX_NAMED_RANGES ? " and others" : "";
  return new DeaddropError("refused", `${name}: lines ${named.join(", ")}${more} are missing`, {
    hint: "nothing was changed; name another copy as well (--from FILE --from FILE): a peer's inbox has no heartbeats",
  });
}

function twice(name: string, one: OwnLine, other: OwnLine): DeaddropError {
  const problem = `${name}: line ${other.seq} (${other.id.slice(0, 12)}) does not belong to the chain of line ${one.seq} (${one.id.slice(0, 12)})`;
  return new DeaddropError("refused", problem, {
    hint: "nothing was changed; two programs have written with our key: keep the copy that peers have read",
  });
}
