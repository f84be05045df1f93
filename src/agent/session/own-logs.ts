import { join } from "node:path";
import type { AdmissionContext } from "../../admission/context.ts";
import { openLogWriter, type LogWriter, type OwnLine } from "../../storage/own-log/log-writer.ts";
import type { HeadsStore } from "../../storage/own-log/heads.ts";
import type { Quarantine } from "../../storage/files/quarantine.ts";
import type { RecoveryReport } from "../../storage/own-log/recovery-report.ts";
import { ownLogs, makeLayout, openLogs } from "../../wire/layout.ts";
import { parseMessage } from "../../wire/message.ts";
import { FAR_AHEAD_MS } from "../../wire/timestamp.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { reportRecovery } from "../intake/trouble/recovery-notices.ts";
import type { Memory } from "../state/agent-state.ts";
import { ownLine } from "./environment.ts";
import type { Session } from "./session.ts";
import type { Files, World } from "./world.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { readNewLines } from "../../storage/files/tail.ts";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";

const LOG_MODE = 0o640;

/** The logs that we write. */
export interface OwnLogs {
  readonly writer: LogWriter;
  /** Why none of them may take a line, by what is in the wire's folder. */
  readonly begunOutbox: StorageError | undefined;
  /** Lines that this process has just written and not yet read back: their signatures are ours. */
  readonly written: Set<string>;
  /** Whether a chained line with our signature is one that we wrote. Spec 1.6. */
  wroteOurselves(log: string, seq: number, id: string): boolean;
}

/** Reads nothing yet: `writer.recover()` does. */
export function openOwnLogs(
  world: World,
  place: AgentConfig,
  ctx: AdmissionContext,
  kept: { readonly heads: HeadsStore; readonly quarantine: Quarantine },
): OwnLogs {
  const { disk } = world;
  const writer = openLogWriter({
    disk,
    logs: ownLogs(place.layout, place.handle).map((log) => ({
      name: log.name,
      path: join(place.wire.folder, log.path),
      mode: LOG_MODE,
    })),
    pendingPath: place.paths.pending,
    copyPath: (log) => join(place.paths.ownCopies, `${log}.jsonl`),
    heads: kept.heads,
    quarantine: kept.quarantine,
    ownLine: (log, line) => ownLine(log, line, ctx),
    at: () => new Date(world.clock.wallMs()).toISOString(),
  });
  const written = new Set<string>();
  return {
    writer,
    begunOutbox: begunOutbox(world, place, ctx),
    written,
    wroteOurselves: (log, seq, id) => written.has(id) || writer.knows(log, seq, id),
  };
}

/**
 * After trouble with our own logs: looks at them again and restores them, when that is due; false when
 * it is not. Throws while nothing can be promised.
 */
export function recoverOwnLogs(
  session: Pick<Session, "world" | "memory" | "files" | "recorder">,
  when: "if needed" | "anyway" = "if needed",
): boolean {
  const { world, memory, files } = session;
  if (files.own.writer.stuck() !== undefined && !files.troubles.mayTry("own logs")) return false;
  const report = lookAtOwnLogs(files, when);
  noteSent(memory, report.restored, world.clock.wallMs());
  reportRecovery(session, report);
  return true;
}

/** Whether a log of ours is as we wrote it: it waits for no repair. */
export function isWholeLog({ own: { writer } }: Pick<Files, "own">, log: string): boolean {
  const problem = writer.broken ?? writer.stuck(log);
  return problem === undefined && writer.blocked(log)?.code !== "log_damaged";
}

/** Recovers them, and notes how that went; when no attempt is due it only looks at what is promised. */
export function lookAtOwnLogs(
  { own, troubles }: Pick<Files, "own" | "troubles">,
  when: "if needed" | "anyway" = "if needed",
): RecoveryReport {
  const problem = troubles.mayTry("own logs") ? undefined : troubles.problem("own logs");
  if (problem !== undefined) return own.writer.recoverPromises(problem);
  const report = own.writer.recover(when);
  const [stuck] = report.stuck;
  if (stuck === undefined) troubles.worked("own logs");
  else troubles.failed("own logs", stuck);
  return report;
}

/** Makes them durable, when idle. While that fails it is tried when it is due. */
export function syncOwnLogs(
  session: Pick<Session, "world" | "memory" | "files" | "recorder">,
): void {
  const { own, troubles } = session.files;
  recoverOwnLogs(session);
  if (own.writer.stuck() !== undefined) return;
  try {
    own.writer.flush();
  } catch (error) {
    if (!(error instanceof StorageError) || own.writer.stuck() !== error) throw error;
    troubles.failed("own logs", error);
  }
}

/**
 * Lines that go out only now, or wait for their log, may be newer than all that was read back: the
 * next one must be later.
 */
export function noteSent(
  { times }: Memory,
  lines: readonly Pick<OwnLine, "line">[],
  wallMs: number,
): void {
  for (const { line } of lines) {
    const parsed = parseMessage(line);
    if (!parsed.ok) continue;
    times.lastSent = laterTimestamp(times.lastSent, parsed.message.timestamp, wallMs);
  }
}

/**
 * Our logs are read one after the other: the newest time of all of them counts, but not one far
 * ahead of our clock, which the next line does not have to exceed either. Spec 1.2.
 */
export function laterTimestamp(last: string | undefined, next: string, wallMs: number): string {
  if (last === undefined || Date.parse(last) > wallMs + FAR_AHEAD_MS) return next;
  return next > last ? next : last;
}

/**
 * Why nothing is written to our logs while we pin a layout from before our own move: our outbox has
 * begun, so its closed logs take no line any more. Reading goes on. Spec 3.11.
 */
function begunOutbox(
  { disk }: Pick<World, "disk">,
  { layout, handle, wire }: Pick<AgentConfig, "layout" | "handle" | "wire">,
  ctx: AdmissionContext,
): StorageError | undefined {
  if (layout.kind !== "pairwise") return undefined;
  for (const { name, path } of openLogs(makeLayout("outbox", layout.roster), handle)) {
    const { lines } = readNewLines(disk, join(wire.folder, path), undefined, MAX_LINE_BYTES, {
      maxLines: 1,
    });
    const [first] = lines;
    if (first?.kind !== "line" || ownLine(name, first.bytes, ctx) === undefined) continue;
    const problem = `${handle} has moved to it, and your configuration is from before that`;
    return new StorageError("rolled_back", path, problem, { hint: "deaddrop layout accept" });
  }
  return undefined;
}
