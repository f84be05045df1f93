import type { Log } from "../../../src/wire/layout.ts";
import type { Host } from "../stage/hosts.ts";
import type { Member, Stage } from "../stage/stage.ts";
import { kept } from "./broken.ts";
import type { Genuine, Notary } from "./genuine.ts";
import type { Ledger } from "./ledger.ts";

/** How far a file was read. */
interface Reading {
  /** Which file it is; a power cut may have changed all of it. */
  file: string;
  bytes: number;
}

/** One copy of a log, on a host where its author does not live. */
interface Copy extends Reading {
  readonly log: Log;
  readonly host: Host;
  /** The genuine lines in it. */
  lines: number;
  /** When the last heartbeat came into it, monotonic ms, and which line that is. */
  beatMs: number;
  beatSeq: number;
}

/** The shortest time after which a peer counts as silent. Spec 3.1. */
const SILENT_AFTER_MS = 300_000;

/**
 * What a transport promises, spec 5: a copy holds the lines of its author, each once and in their
 * order, and only grows; nobody is called silent but after a fetch that began late enough to see
 * that. Where all agents share one folder there is nothing to look at.
 */
export class Copies {
  readonly #stage: Stage;
  readonly #notary: Notary;
  readonly #copies: readonly Copy[];
  /** Silences that were looked at. */
  readonly #told = new Set<string>();
  readonly #journals = new Map<Member, Reading & { readonly path: string }>();

  constructor(stage: Stage, notary: Notary) {
    this.#stage = stage;
    this.#notary = notary;
    this.#copies = stage.hosts.flatMap((host) =>
      stage.logs
        .filter((log) => stage.home(log) !== host)
        .map((log) => ({ log, host, file: "", bytes: 0, lines: 0, beatMs: -Infinity, beatSeq: 0 })),
    );
    if (stage.remote === undefined) return;
    for (const member of stage.members.values()) {
      this.#journals.set(member, { path: stage.paths(member).journal, file: "", bytes: 0 });
    }
  }

  look(ledger: Ledger): void {
    for (const copy of this.#copies) this.#lookAt(copy, ledger);
    for (const [member, journal] of this.#journals) {
      for (const entry of newLines(member.host, journal.path, journal)) this.#hear(member, entry);
    }
  }

  /** Whether each copy has all lines that its author had then. */
  haveAll(counts: ReadonlyMap<string, number>): boolean {
    return this.#copies.every(({ log, lines }) => lines >= (counts.get(log.name) ?? 0));
  }

  #lookAt(copy: Copy, ledger: Ledger): void {
    const { log, host } = copy;
    const { file, bytes } = copy;
    const fresh = newLines(host, this.#stage.path(log), copy);
    const isAnother = copy.file !== file;
    const size = host.whole(this.#stage.path(log))?.size ?? 0;
    kept(2, isAnother || size >= bytes, () => `${log.name} has shrunk on ${host.name}`);
    if (isAnother) copy.lines = 0;
    for (const line of fresh) {
      const genuine = this.#notary.read(line);
      // What a power cut left of a line.
      if (genuine === undefined && host.powerCuts > 0) continue;
      this.#take(copy, genuine, ledger);
    }
  }

  #take(copy: Copy, genuine: Genuine | undefined, ledger: Ledger): void {
    const { log, host } = copy;
    const place = `the copy of ${log.name} on ${host.name}`;
    kept(7, genuine !== undefined, () => `${place} has a line that nobody signed`);
    if (genuine === undefined) return;
    copy.lines += 1;
    const { seq, id, type } = genuine;
    // After a power cut all of it is read again.
    if (type === "heartbeat" && seq > copy.beatSeq) {
      Object.assign(copy, { beatMs: this.#stage.timers.monoMs, beatSeq: seq });
    }
    kept(3, seq === copy.lines, () => `${place} has line ${seq} in place ${copy.lines}`);
    kept(1, ledger.byId.has(id), () => `${place} has line ${seq}, which its author never had`);
  }

  /** The journal's words of a silence that the operator was told of. */
  #hear(member: Member, entry: string): void {
    const [, peer = "", at = ""] = /"peer_silent:([a-z]+):(\d+)"/.exec(entry) ?? [];
    const { host } = member;
    if (peer === "" || this.#stage.member(peer).host === host) return;
    const told = `${member.handle} ${peer} ${at}`;
    if (this.#told.has(told)) return;
    this.#told.add(told);
    const { fetchedMs } = host;
    const beats = this.#copies
      .filter((copy) => copy.host === host && copy.log.owner === peer)
      .map(({ beatMs }) => beatMs);
    const fetched = `the last fetch began ${Math.round((this.#stage.timers.monoMs - fetchedMs) / 1_000)} s ago`;
    const isAsked = fetchedMs > Math.max(...beats);
    kept(10, isAsked, () => `${member.handle} calls ${peer} silent and did not ask: ${fetched}`);
    if (member.clockWasSet || member.clockOffMs !== 0) return;
    const wallMs = this.#stage.nowMs - this.#stage.timers.monoMs + fetchedMs;
    const isLate = wallMs >= Number(at) + SILENT_AFTER_MS;
    kept(10, isLate, () => `${member.handle} calls ${peer} silent too early: ${fetched}`);
  }
}

/** The whole lines that a file has beyond what was read of it; all of them when it is another one. */
function newLines(host: Host, path: string, read: Reading): string[] {
  const whole = host.whole(path);
  if (whole === undefined) return [];
  const file = `${whole.ino} ${host.powerCuts}`;
  if (file !== read.file) Object.assign(read, { file, bytes: 0 });
  if (whole.size <= read.bytes) return [];
  const fresh = Buffer.from(whole.read(whole.size - read.bytes, read.bytes));
  const end = fresh.lastIndexOf(0x0a) + 1;
  read.bytes += end;
  return fresh.subarray(0, end).toString("utf8").split("\n").slice(0, -1);
}
