import type { MessageParse } from "../wire/message.ts";
import {
  invalidSignature,
  unreadable,
  unsigned,
  untrustedKey,
  wrongAuthor,
  wrongEventId,
  wrongFile,
  type Claim,
} from "./rules/claim-checks.ts";
import { manyRefs, longBody, tierRefusal, type Statement } from "./rules/content-rules.ts";
import {
  behindClosing,
  datedAhead,
  forksLog,
  outsideChain,
  shownBefore,
  writtenAway,
  wrongWire,
  type LineInLog,
} from "./rules/log-checks.ts";

/**
 * Who judges a line: a daemon that reads on (`live`), a daemon that reads its own journal again
 * (`recall`), `deaddrop audit`, or `deaddrop verify`, which has no log.
 */
export type Mode = "live" | "recall" | "audit" | "verify";

/**
 * What becomes of a check in a mode. `noted`: what the journal noted of the line decides, and the
 * check is not asked where there is no note; `noted or asked`: it is asked there.
 */
type Use = "asked" | "noted" | "noted or asked" | "left out";
export type Uses = Readonly<Record<Mode, Use>>;

/** The line itself decides, and its bytes do not change. A recalled line passed these when it came. */
const BY_LINE: Uses = { live: "asked", recall: "left out", audit: "asked", verify: "asked" };
/** Our pins and our policy decide, and they change. */
const BY_PINS: Uses = { ...BY_LINE, audit: "noted or asked" };
/** What the log has shown decides: an audit reads the same log. */
const BY_LOG: Uses = { live: "asked", recall: "noted", audit: "asked", verify: "left out" };
/** Our clock, or what the operator has decided about the peer or the wire, decides. */
const BY_US: Uses = { ...BY_LOG, audit: "noted or asked" };
/** The peer's tier and our limits decide. Later it is not known what they were. */
const BY_TIER: Uses = { live: "asked", recall: "noted", audit: "noted", verify: "asked" };

/** One reason to refuse a line. `finds` says what is wrong, for a person; undefined: nothing. */
interface CheckOf<Of extends string, Subject> {
  readonly reason: string;
  /** What it is asked about: all checks of one part are asked before anything follows from them. */
  readonly of: Of;
  readonly finds: (subject: Subject) => string | undefined;
  readonly in: Uses;
}
type AnyCheck =
  | CheckOf<"bytes", MessageParse>
  | CheckOf<"claim", Claim>
  | CheckOf<"chain", LineInLog>
  | CheckOf<"receipt", LineInLog>
  | CheckOf<"content", Statement>;

/**
 * Every reason to refuse a line, in the order in which they are asked; the first that fails decides.
 * This is the only place where that order is written. Spec 2.4.
 *
 * A line that passes the checks of its chain moves the chain and is known to its log from then on,
 * whatever the checks after them say of it. Spec 1.6.
 */
const CHECKS = [
  { reason: "oversized", of: "bytes", finds: unreadable("oversized"), in: BY_LINE },
  { reason: "malformed", of: "bytes", finds: unreadable("malformed"), in: BY_LINE },
  { reason: "schema", of: "bytes", finds: unreadable("schema"), in: BY_LINE },
  { reason: "kind_mismatch", of: "bytes", finds: unreadable("kind_mismatch"), in: BY_LINE },
  { reason: "wrong_file", of: "claim", finds: wrongFile, in: BY_LINE },
  { reason: "unsigned", of: "claim", finds: unsigned, in: BY_PINS },
  { reason: "event_id_mismatch", of: "claim", finds: wrongEventId, in: BY_LINE },
  { reason: "from_mismatch", of: "claim", finds: wrongAuthor, in: BY_LINE },
  { reason: "untrusted_key", of: "claim", finds: untrustedKey, in: BY_PINS },
  // Asked a second time with the verdict on the signature, which costs more than all before it.
  { reason: "invalid_signature", of: "claim", finds: invalidSignature, in: BY_LINE },
  { reason: "wrong_wire", of: "chain", finds: wrongWire, in: BY_LOG },
  { reason: "unchained", of: "chain", finds: outsideChain, in: BY_US },
  { reason: "left_member", of: "chain", finds: writtenAway, in: BY_US },
  { reason: "closed_log", of: "chain", finds: behindClosing, in: BY_US },
  { reason: "log_forked", of: "chain", finds: forksLog, in: BY_LOG },
  { reason: "clock_skew", of: "receipt", finds: datedAhead, in: BY_US },
  { reason: "replayed", of: "receipt", finds: shownBefore, in: BY_LOG },
  { reason: "tier_refused", of: "content", finds: tierRefusal, in: BY_TIER },
  { reason: "body_too_large", of: "content", finds: longBody, in: BY_TIER },
  { reason: "too_many_refs", of: "content", finds: manyRefs, in: BY_TIER },
] as const satisfies readonly AnyCheck[];

type Check = (typeof CHECKS)[number];
export type RefusalReason = Check["reason"];

export const REFUSAL_REASONS: readonly RefusalReason[] = CHECKS.map(({ reason }) => reason);

/** The checks of one part, in their order. */
export const checksOf = <Of extends Check["of"]>(of: Of) =>
  CHECKS.filter((check): check is Extract<Check, { of: Of }> => check.of === of);
const AUTHENTIC = new Set<RefusalReason>(
  [...checksOf("chain"), ...checksOf("receipt"), ...checksOf("content")].map(
    ({ reason }) => reason,
  ),
);
const BY_NOTES = new Set<RefusalReason>(
  CHECKS.filter(({ in: { audit } }) => audit !== "asked").map(({ reason }) => reason),
);

/**
 * Whether a line refused for that reason is the author's own all the same. The others prove
 * nothing about anyone: they are counted and shown, and raise no incident. Spec 2.4.
 */
export function isAuthentic(reason: RefusalReason): boolean {
  return AUTHENTIC.has(reason);
}

/** Whether a refusal for that reason depends on what we knew and allowed when the line was received. */
export function isOfThen(reason: RefusalReason): boolean {
  return BY_NOTES.has(reason);
}

export interface Problem {
  readonly reason: RefusalReason;
  /** For a person; what it quotes of the line is escaped and cut. */
  readonly detail: string;
}

/** What the journal noted of a line: undefined for one that it noted as accepted. */
export interface NotedReason {
  readonly reason: RefusalReason | undefined;
}
