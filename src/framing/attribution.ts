import type { Tier } from "../trust/tiers.ts";
import { sha256Hex } from "../wire/canonical.ts";
import { isHandle } from "../wire/handle.ts";
import { MESSAGE_TYPES } from "../wire/kinds.ts";
import { shortId } from "./short-id.ts";
import { when } from "./when.ts";

/** What is known of a message and was not chosen freely by its author. Spec 8.2. */
export interface Facts {
  readonly id: string;
  readonly from: string;
  /** Null: of no tier, or blocked. */
  readonly tier: Tier | null;
  readonly verified: boolean;
  readonly type: string | undefined;
  readonly kind: number | undefined;
  /** ISO-8601. */
  readonly at: string;
  readonly thread: string;
  /** Words of ours. */
  readonly notes: readonly string[];
}

const HEAD_OF_DIGEST = 10;
const UNKNOWN_TIME = "at an unknown time";
const KNOWN_TYPES: ReadonlySet<string> = new Set(MESSAGE_TYPES);
/** Names that say nothing: times, as most threads are named, and digits. */
const PLAIN_THREAD =
  /^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)|[0-9a-f]{8,64})$/;

/** One line of ours before a frame: who, how far believed, what, when, in which thread. */
export function attribution(facts: Facts): string {
  const { at, thread, notes } = facts;
  const time = isTime(at) ? new Date(at).toISOString() : UNKNOWN_TIME;
  return `${authorship(facts)}: ${[typeWords(facts), time, `thread ${threadLabel(thread)}`, ...notes].join(", ")}`;
}

/** The same for one of many: how long ago, without its thread. */
export function briefAttribution(facts: Omit<Facts, "thread">, nowMs: number): string {
  const { at, notes } = facts;
  const time = isTime(at) ? when(at, nowMs) : UNKNOWN_TIME;
  return `${authorship(facts)}: ${[typeWords(facts), time, ...notes].join(", ")}`;
}

function authorship({ id, from, tier, verified }: Omit<Facts, "thread">): string {
  const author = isHandle(from) ? from : "(no handle)";
  return `${shortId(id)} from ${author} (${tier ?? "of no tier"}, ${verified ? "signed" : "NOT SIGNED"})`;
}

function typeWords({ type, kind }: Omit<Facts, "thread">): string {
  return type !== undefined && KNOWN_TYPES.has(type) ? type : `kind ${kind ?? "unknown"}`;
}

function isTime(at: string): boolean {
  return !Number.isNaN(Date.parse(at));
}

/** A thread's name where it says nothing; else a digest of it: its first author has chosen it. */
export function threadLabel(thread: string): string {
  if (PLAIN_THREAD.test(thread)) return thread;
  return `#${sha256Hex(Buffer.from(thread, "utf8")).slice(0, HEAD_OF_DIGEST)}`;
}
