import type { Violation } from "./report.ts";
import type { CoreEvent } from "../protocol/events.ts";
import type { Env } from "../protocol/env.ts";
import { decisionEvent } from "../protocol/decisions/record/decision-entry.ts";
import { openIfThere, type Disk } from "../storage/disk/disk.ts";
import { isBlank, wholeLines } from "../storage/disk/line-splitter.ts";
import { wirePaths } from "../storage/paths.ts";
import { wholeLogs } from "../storage/archive/whole-logs.ts";
import { unownedLogs } from "../storage/unowned-logs.ts";
import { DEFAULT_CONFIG, type WireConfig } from "../trust/policy/config.ts";
import { DEFAULT_HEARTBEAT_TIERS, type HeartbeatTiers } from "../trust/policy/heartbeat-tiers.ts";
import type { TrustStore } from "../trust/store.ts";
import { rosterProblems } from "../wire/handle.ts";
import { makeLayout, ownLogs, type Layout } from "../wire/layout.ts";
import { MAX_ROSTER } from "../wire/limits.ts";
import { parseMessage, type Message } from "../wire/message.ts";
import type { AuditPlan, KeySource } from "./audit.ts";
import { notedAt, readJournalNotes } from "./journal-notes.ts";
import { fileSource, logSource, type AuditSource } from "./source.ts";

/** Whose signatures are believed in an audit. */
export interface Keys {
  readonly from: KeySource;
  readonly store: TrustStore;
}

/** A wire's logs with their archives, by a configuration that was pinned or is the wire's own. */
export function wirePlan(
  files: Disk,
  wireDir: string,
  keys: Keys,
  by: {
    readonly config: WireConfig;
    readonly tiers: HeartbeatTiers;
    readonly roster: readonly string[];
    /** The private journal of the agent that audits. */
    readonly journal: string | undefined;
    /** The agent that audits: a fork in a log of its own ends no chain. */
    readonly self?: string;
  },
): AuditPlan {
  const { config, roster } = by;
  const disk = wholeLogs(files, wireDir);
  const layout = makeLayout(config.layout, roster, config.left, config.closedLogs);
  const notes = by.journal === undefined ? new Map() : readJournalNotes(disk, by.journal);
  return {
    env: auditEnv(layout, config, by.tiers, keys.store),
    sources: [...layout.logs.values()].map((log) => logSource(disk, wireDir, log)),
    ctx: {
      wireId: config.wireId,
      signing: config.signing,
      limits: config.limits,
      store: keys.store,
      self: by.self ?? "",
      left: config.left,
    },
    keys: keys.from,
    logNameOf: ({ from }) => ownLogs(layout, from)[0]?.name ?? from,
    noted: (log, line) => notedAt(notes, log, line),
    unowned: () => unownedLogs(disk, wireDir, layout),
    decisions: () => decisionLines(disk, wireDir, keys.store),
  };
}

export type FilePlan =
  { readonly ok: true; readonly plan: AuditPlan } | { readonly ok: false; readonly detail: string };

/**
 * Files by themselves, signed or not: each sender counts as having a log of its own, whichever file
 * its lines are in.
 */
export function filePlan(disk: Disk, paths: readonly string[], keys: Keys): FilePlan {
  const met = sendersOf(disk, paths);
  const roster = [...met.handles];
  if (roster.length > MAX_ROSTER) {
    return { ok: false, detail: `these files name more than the ${MAX_ROSTER} agents of one wire` };
  }
  const pairwise = roster.length === 2 || (met.namesPairs && rosterProblems(roster).length === 0);
  const layout = makeLayout(pairwise ? "pairwise" : "outbox", roster);
  const logNameOf = (message: Message) => logName(layout, message);
  const plan: AuditPlan = {
    env: auditEnv(layout, DEFAULT_CONFIG, DEFAULT_HEARTBEAT_TIERS, keys.store),
    sources: paths.map((path) => soleSource(disk, path, layout, met.messagesOf.get(path) ?? [])),
    ctx: {
      wireId: undefined,
      signing: { enforceSigned: false, allowUnsignedFrom: [] },
      limits: DEFAULT_CONFIG.limits,
      store: keys.store,
      self: "",
    },
    keys: keys.from,
    logNameOf,
    noted: () => undefined,
    unowned: () => ({ names: [], count: 0 }),
    decisions: () => [],
  };
  return { ok: true, plan };
}

interface Senders {
  readonly handles: ReadonlySet<string>;
  /** Some line was signed for a log of the form a_to_b. */
  readonly namesPairs: boolean;
  /** One message for each log that a file holds, by file. */
  readonly messagesOf: ReadonlyMap<string, readonly Message[]>;
}

function sendersOf(disk: Disk, paths: readonly string[]): Senders {
  const handles = new Set<string>();
  const messagesOf = new Map<string, Message[]>();
  let namesPairs = false;
  for (const path of paths) {
    const firsts = new Map<string, Message>();
    for (const { bytes } of fileSource(disk, path).lines()) {
      const parsed = bytes === undefined ? undefined : parseMessage(bytes);
      if (parsed?.ok !== true || handles.size > MAX_ROSTER) continue;
      const { message } = parsed;
      handles.add(message.from);
      for (const to of message.to ?? []) if (to !== "*") handles.add(to);
      if (message.log?.startsWith(`${message.from}_to_`) === true) namesPairs = true;
      const log = `${message.from} ${message.log ?? message.to?.[0] ?? ""}`;
      if (!firsts.has(log) && firsts.size <= MAX_ROSTER) firsts.set(log, message);
    }
    messagesOf.set(path, [...firsts.values()]);
  }
  return { handles, namesPairs, messagesOf };
}

/** A file that holds one log is that log, with the lines that cannot be read too. */
function soleSource(
  disk: Disk,
  path: string,
  layout: Layout,
  messages: readonly Message[],
): AuditSource {
  const names = new Set(messages.map((message) => logName(layout, message)));
  const [sole] = names;
  const log = names.size === 1 && sole !== undefined ? layout.logs.get(sole) : undefined;
  return { ...fileSource(disk, path), log };
}

function logName(layout: Layout, { from, to, log }: Message): string {
  const own = ownLogs(layout, from);
  const named = own.find((each) => each.name === log);
  const addressed = own.find((each) => to?.includes(each.addressee ?? "") === true);
  return (named ?? addressed ?? own[0])?.name ?? from;
}

function auditEnv(
  layout: Layout,
  config: WireConfig,
  tiers: HeartbeatTiers,
  store: TrustStore,
): Env {
  return {
    self: "",
    layout,
    policy: {
      domains: config.domains,
      cadences: tiers.cadencesMs,
      answerTimes: config.answerTimes,
      transitions: tiers.transitions,
    },
    tierOf: (handle) => {
      const peer = store.peers.get(handle);
      return { tier: peer?.tier, sinceMs: peer?.attestedSinceMs };
    },
    reading: { heldPeers: new Set(), holdsBack: () => false, caughtUp: () => true },
  };
}

function* decisionLines(
  disk: Disk,
  wireDir: string,
  store: TrustStore,
): Generator<CoreEvent | Violation> {
  const file = openIfThere(disk, wirePaths(wireDir).decisions);
  if (file === undefined) return;
  try {
    let line = 0;
    for (const { bytes } of wholeLines(file, 0, file.stat().size)) {
      line += 1;
      if (bytes !== undefined && isBlank(bytes)) continue;
      const event = bytes === undefined ? undefined : decisionEvent(bytes, store, 0);
      yield event ?? unreadable(line, bytes);
    }
  } finally {
    file.close();
  }
}

function unreadable(line: number, bytes: Uint8Array | undefined): Violation {
  const place = { log: "decisions", line, event_id: null };
  if (bytes !== undefined && isTorn(bytes)) {
    return {
      rule: "torn",
      ...place,
      detail: "the begin of an entry that was not written to its end",
    };
  }
  return { rule: "malformed", ...place, detail: "a line of decisions.jsonl is not a JSON object" };
}

/**
 * Whether a crash has left only a part of an entry: its beginning, or zero bytes, which no JSON
 * has.
 */
function isTorn(bytes: Uint8Array): boolean {
  return bytes[0] === 0x7b || bytes.includes(0);
}
