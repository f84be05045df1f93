import type { Tier } from "../trust/tiers.ts";
import { sha256Hex } from "../wire/canonical.ts";
import { isHandle } from "../wire/handle.ts";
import { MESSAGE_TYPES } from "../wire/kinds.ts";
import { shortId } from "./short-id.ts";

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
const KNOWN_TYPES: ReadonlySet<string> = new Set(MESSAGE_TYPES);
/** Names that say nothing: times, as most threads are named, and digits. */
const PLAIN_THREAD =
  /^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)|[0-9a-f]{8,64})$/;

/** One line of ours before a frame: who, how far believed, what, when, in which thread. */
export function attribution(facts: Facts): string {
  const { id, from, tier, verified, type, kind, at, thread, notes } = facts;
  const author = isHandle(from) ? from : "(no handle)";
  const signed = verified ? "signed" : "NOT SIGNED";
  const what = type !== undefined && KNOWN_TYPES.has(type) ? type : `kind ${kind ?? "unknown"}`;
  const when = Number.isNaN(Date.parse(at)) ? "at an unknown time" : new Date(at).toISOString();
  const parts = [`${what}`, when, `thread ${threadLabel(thread)}`, ...notes];
  return `${shortId(id)} from ${author} (${tier ?? "of no tier"}, ${signed}): ${parts.join(", ")}`;
}

/** A thread's name where it says nothing; else a digest of it: its first author has chosen it. */
export function threadLabel(thread: string): string {
  if (PLAIN_THREAD.test(thread)) return thread;
  return `#${sha256Hex(Buffer.from(thread, "utf8")).slice(0, HEAD_OF_DIGEST)}`;
}
