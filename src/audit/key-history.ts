import { authenticate } from "../admission/authenticate.ts";
import type { PinnedKey, TrustStore } from "../trust/store.ts";
import type { Message } from "../wire/message.ts";
import type { AuditPlan } from "./audit.ts";
import type { AuditSource } from "./source.ts";

/** A line that the key has validly signed, in any log. */
export interface KeyLine {
  readonly log: string;
  /** Counted from 1, archives included. */
  readonly line: number;
  readonly seq: number | null;
  readonly event_id: string;
  readonly type: string;
  readonly subject: string;
  /** Our receipt, when we noted it; else what the line says, though not before the line before it. */
  readonly at: string;
  /** Whether `at` is our own receipt time. */
  readonly received: boolean;
  /** Signed with a stopped key after the last line noted then: no reader has to believe it. */
  readonly after_the_end: boolean;
  /** Event ids of corrections that name it, signed with another key. */
  readonly corrected_by: string[];
}

interface Correction {
  readonly id: string;
  readonly names: readonly string[];
}

/**
 * What one key has signed from `sinceMs` on, in the order of each log, whether the key is still
 * believed or not. Lines after the key was stopped are listed whatever time they state: who
 * stole the key can write any time. Spec 2.1, 2.5.
 */
export function keyHistory(plan: AuditPlan, key: PinnedKey, sinceMs: number): KeyLine[] {
  const lines: KeyLine[] = [];
  const corrections: Correction[] = [];
  for (const source of plan.sources) {
    for (const met of messagesOf(plan, source, key)) {
      const { message } = met;
      if (met.signedByKey) {
        if (met.afterTheEnd || met.atMs >= sinceMs) lines.push(keyLine(met));
      } else if (message.type === "correction") {
        corrections.push({ id: message.id, names: namesOf(message) });
      }
    }
  }
  const byTarget = new Map<string, string[]>();
  for (const { id, names } of corrections) {
    for (const name of names) byTarget.set(name, [...(byTarget.get(name) ?? []), id]);
  }
  return lines.map((line) => ({ ...line, corrected_by: byTarget.get(line.event_id) ?? [] }));
}

/** Spec 1.7: the event id is in the body; reverts correct, too. */
function namesOf({ body }: Message): readonly string[] {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return [];
  const { corrects, reverts } = body as Readonly<Record<string, unknown>>;
  return [...new Set([corrects, reverts])].filter((name) => typeof name === "string");
}

interface Met {
  readonly log: string;
  readonly line: number;
  readonly message: Message;
  readonly atMs: number;
  readonly received: boolean;
  readonly signedByKey: boolean;
  readonly afterTheEnd: boolean;
}

/** The lines of one source that this key has signed, and the authentic ones of all others. */
function* messagesOf(plan: AuditPlan, source: AuditSource, key: PinnedKey): Generator<Met> {
  const { ctx } = plan;
  const alive = { ...ctx, store: withActive(ctx.store, key) };
  const log = source.log?.name ?? source.name;
  const place = { owner: source.log?.owner, log: source.log?.name };
  const anywhere = { owner: undefined, log: undefined };
  let line = 0;
  let lastAtMs = 0;
  let isPassed = false;
  const history = { passed: (keyId: string) => keyId === key.keyId && isPassed };
  for (const { bytes, blank } of source.lines()) {
    line += 1;
    if (bytes === undefined || blank) continue;
    const believed = authenticate(bytes, place, { ...ctx, history });
    const signed = believed.ok ? believed : authenticate(bytes, anywhere, alive);
    if (!signed.ok) continue;
    const { message } = signed;
    const signedByKey = message.publicKeyId === key.keyId;
    if (!believed.ok && !signedByKey) continue;
    if (key.ends?.get(log)?.id === message.id) isPassed = true;
    const receivedAtMs = plan.noted(log, line)?.at;
    lastAtMs = receivedAtMs ?? Math.max(Math.floor(message.timestampMs), lastAtMs);
    yield {
      ...{ log, line, message, signedByKey },
      atMs: lastAtMs,
      received: receivedAtMs !== undefined,
      afterTheEnd: signedByKey && !key.active && !believed.ok,
    };
  }
}

/** The store as if the key had never been stopped. */
function withActive(store: TrustStore, key: PinnedKey): TrustStore {
  const peers = [...store.peers].map(([handle, peer]) => {
    const keys = peer.keys.map((each) => (each === key ? { ...each, active: true } : each));
    return [handle, { ...peer, keys }] as const;
  });
  return { ...store, peers: new Map(peers) };
}

function keyLine({ log, line, message, atMs, received, afterTheEnd }: Met): KeyLine {
  return {
    log,
    line,
    seq: message.seq ?? null,
    event_id: message.id,
    type: message.type,
    subject: message.subject,
    at: new Date(atMs).toISOString(),
    received,
    after_the_end: afterTheEnd,
    corrected_by: [],
  };
}
