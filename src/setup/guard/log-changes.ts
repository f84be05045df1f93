import type { WireLayout } from "../../carriers/carrier.ts";
import { readLine, type Problem } from "../../protocol/admit/read-line.ts";
import { isBlank, LineSplitter, NEWLINE } from "../../storage/disk/line-splitter.ts";
import { mayBeUnsigned, type SigningPolicy } from "../../trust/policy/config.ts";
import type { TrustStore } from "../../trust/store.ts";
import { verifySignature } from "../../wire/signature.ts";
import type { Blob, Changes } from "./changes.ts";
import type { Git } from "./git.ts";
import { linesIn, logPartOf, logsAmong, type StoredLog } from "./wire-logs.ts";
import { DeaddropError } from "../../api/errors.ts";

/** What is wrong with the change of a log. Spec 3.6. */
export interface LogProblem {
  readonly kind: "log_deleted" | "log_rewritten" | "line_refused";
  /** Path of the live file, in the wire's folder. */
  readonly log: string;
  /** Whose log it is; null: a file that several agents write. */
  readonly owner: string | null;
  /** The first line that differs, or the line that is refused; counted from 1. */
  readonly line: number | null;
  readonly detail: string;
}

/** One refused line says enough about a log; a person looks at the first ones. */
const MAX_REFUSED_LINES = 20;

/** A wire that is in the repository. */
interface WireInRepository {
  readonly git: Git;
  /** The wire's folder, from the top of the work tree, with `/`. */
  readonly folder: string;
  readonly layout: WireLayout;
  /** How lines are judged: by our pins. */
  readonly by: LineJudging;
}

interface LineJudging {
  readonly wireId: string;
  readonly store: TrustStore;
  readonly signing: SigningPolicy;
}

interface ChangedLog {
  readonly log: string;
  readonly before: readonly StoredLog[];
  readonly after: StoredLog;
}

/**
 * What a change does to the logs of a wire that it must not: they only grow, and what is added is let
 * by what each line says by itself. Archived parts and live file are one log. Spec 3.6.
 */
export function logProblems(wire: WireInRepository, changes: Changes): LogProblem[] {
  const { carriers } = wire.layout;
  const changed = changedLogs(wire, changes);
  const ids = changed.flatMap(({ before, after }) => [...before, after].flat());
  const contents = readBlobs(
    wire.git,
    ids.map(({ id }) => id),
  );
  const problems: LogProblem[] = [];
  const grown: GrownLog[] = [];
  for (const { log, before, after } of changed) {
    const owned = carriers.get(log);
    const lines = linesIn(after, contents);
    const earlier = before.map((each) => linesIn(each, contents));
    const problem = earlier.map((each) => rewriting(each, lines, after)).find((each) => each);
    if (problem !== undefined) problems.push({ ...problem, log, owner: owned?.owner ?? null });
    else if (owned !== undefined) {
      const { owner } = owned;
      grown.push({ log, owner, lines, known: Math.max(0, ...earlier.map(countLines)) });
    }
  }
  return [...problems, ...refusedLines(wire.by, grown).slice(0, MAX_REFUSED_LINES)];
}

/** The logs of which a file differs from one of the states before. */
function changedLogs({ folder, layout }: WireInRepository, changes: Changes): ChangedLog[] {
  const names = layout.parts;
  const states = [...changes.from, ...changes.replaced];
  const inWire = (path: string): string | undefined => {
    if (folder === "") return path;
    return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined;
  };
  const logOf = (path: string): string | undefined => {
    const inside = inWire(path);
    return inside === undefined ? undefined : logPartOf(names, inside)?.log;
  };
  const touched = new Set(
    states.flatMap(({ changed }) => changed.flatMap((path) => logOf(path) ?? [])),
  );
  if (touched.size === 0) return [];
  const logsIn = ({ files }: Pick<Changes, "files">) =>
    logsAmong(
      names,
      [...files(folder)].flatMap(([path, blob]): [string, Blob][] => {
        const inside = inWire(path);
        return inside === undefined ? [] : [[inside, blob]];
      }),
    );
  const after = logsIn(changes);
  const before = states.map((state) => logsIn(state));
  return [...touched].map((log) => ({
    log,
    before: before.map((logs) => logs.get(log) ?? []),
    after: after.get(log) ?? [],
  }));
}

function rewriting(
  before: Buffer,
  lines: Buffer,
  after: StoredLog,
): Pick<LogProblem, "kind" | "line" | "detail"> | undefined {
  if (before.equals(lines.subarray(0, before.length))) return undefined;
  if (after.length === 0) {
    const detail = `all ${countLines(before)} lines are deleted; a log may only grow`;
    return { kind: "log_deleted", line: null, detail };
  }
  const line = countLines(before.subarray(0, firstDifference(before, lines))) + 1;
  const detail = `line ${line} is changed or missing; lines may only be added behind the last one`;
  return { kind: "log_rewritten", line, detail };
}

function firstDifference(a: Buffer, b: Buffer): number {
  const end = Math.min(a.length, b.length);
  for (let at = 0; at < end; at++) if (a[at] !== b[at]) return at;
  return end;
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf("\n"); at >= 0; at = bytes.indexOf("\n", at + 1)) count += 1;
  return count;
}

interface GrownLog {
  readonly log: string;
  readonly owner: string;
  readonly lines: Buffer;
  /** So many lines were there before. */
  readonly known: number;
}

/** What was there before is not asked about. */
function refusedLines(by: LineJudging, grown: readonly GrownLog[]): LogProblem[] {
  return grown.flatMap(({ log, owner, lines, known }) =>
    [...new LineSplitter(0).feed(lines)].flatMap(({ bytes }, at): LogProblem[] => {
      if (at < known || (bytes !== undefined && isBlank(bytes))) return [];
      const problem = lineProblem(bytes, owner, by);
      if (problem === undefined) return [];
      const detail = `${problem.reason}: ${problem.detail}`;
      return [{ kind: "line_refused", log, owner, line: at + 1, detail }];
    }),
  );
}

/** Chained lines of others are copies that somebody wants. Spec 1.9. */
function lineProblem(
  bytes: Uint8Array | undefined,
  owner: string,
  { wireId, store, signing }: LineJudging,
): Problem | undefined {
  const read = readLine(bytes, wireId);
  if (!read.ok) return read.problem;
  const { line } = read;
  if (line.problem !== undefined) return line.problem;
  const { author, signed } = line;
  if (line.seq === null && author !== owner)
    return { reason: "wrong_file", detail: `it is of ${author}, in a file of ${owner}` };
  const isOfWire = line.seq === null ? (line.wire ?? wireId) === wireId : line.isOfWire;
  if (!isOfWire) return { reason: "wrong_wire", detail: "it is of another wire" };
  if (signed === undefined) {
    return mayBeUnsigned(signing, author)
      ? undefined
      : { reason: "unsigned", detail: `it has no signature, and the policy wants one` };
  }
  const key = store.peers.get(author)?.keys.find(({ keyId }) => keyId === signed.keyId);
  if (key === undefined)
    return { reason: "untrusted_key", detail: `${signed.keyId} is not pinned here` };
  if (verifySignature(key.key, signed.bytes, signed.signature)) return undefined;
  return { reason: "invalid_signature", detail: `it does not verify under ${signed.keyId}` };
}

/** The content of blobs by their ids, read by one process. */
function readBlobs(git: Git, ids: Iterable<string>): ReadonlyMap<string, Buffer> {
  const asked = [...new Set(ids)];
  const found = new Map<string, Buffer>();
  if (asked.length === 0) return found;
  const output = git(["cat-file", "--batch"], asked.map((id) => `${id}\n`).join(""));
  let at = 0;
  for (const id of asked) {
    const end = output.indexOf(NEWLINE, at);
    const [, type, size = ""] = output.toString("utf8", at, end).split(" ");
    if (type !== "blob") {
      throw new DeaddropError("refused", `git cannot read object ${id}`, {
        hint: "`git fsck` says what the repository lacks",
      });
    }
    at = end + 1;
    found.set(id, output.subarray(at, at + Number(size)));
    at += Number(size) + 1;
  }
  return found;
}
