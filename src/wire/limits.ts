/** Bounds on what is read and written. Spec 1.1, 1.2, 1.4. A limit has a name and a place. */

/** A line longer than this (newline not counted) is refused unread. Spec 1.2. */
export const MAX_LINE_BYTES = 1_048_576;
/** Nesting deeper than this is malformed; the top object is 1. Spec 1.2. */
export const MAX_DEPTH = 64;
/** Digits of the longest integer that is read (Python's own bound). Spec 1.4. */
export const MAX_INTEGER_DIGITS = 4_300;
export const MAX_SUBJECT_CODE_POINTS = 500;
export const MAX_CORRELATION_ID_CODE_POINTS = 256;
/** Hex digits of an event id that people have to give. */
export const MIN_ID_PREFIX = 6;
/** Recipients that one message may name. */
export const MAX_RECIPIENTS = 1_024;
/** Agents of one wire. */
export const MAX_ROSTER = 256;
/** Public keys of which is remembered whether they may be used, and their KeyObject. */
export const MAX_CACHED_KEYS = 1_024;

/** A longer config.json or tiers.json is not read. */
export const MAX_CONFIG_BYTES = 4 * 1_048_576;

/** What `config.json` may set under `limits`; docs/settings.md and schemas/config.json are made from it. Spec 1.1. */
export const LIMITS = {
  max_message_body_kb: {
    ...{ least: 1, most: 1_024, default: 64, unit: "KiB", protects: true },
    about: "How large a message's body may be, in canonical form.",
  },
  max_clock_skew_seconds: {
    ...{ least: 0, most: 86_400, default: 300, unit: "seconds", protects: true },
    about: "How far ahead of the receiver's clock a line may be dated.",
  },
  rate_limit_msg_per_min: {
    ...{ least: 1, most: 60_000, default: 60, unit: "messages a minute", protects: true },
    about: "How fast messages of one peer are taken in; bursts may have ten times as many.",
  },
  max_refs: {
    ...{ least: 0, most: 10_000, default: 64, unit: "refs", protects: true },
    about: "How many refs a message may have.",
  },
  answer_minutes: {
    ...{ least: 0, most: 1_440, default: 30, unit: "minutes", protects: false },
    about:
      "How long an agent that has read a proposal has to answer it; never less than two of its heartbeats.",
  },
  proposal_hours: {
    ...{ least: 1, most: 720, default: 24, unit: "hours", protects: false },
    about: "How long a proposal that its reader has not read stays open.",
  },
} satisfies Record<string, Limit>;

/** A whole number that a wire's policy sets. */
interface Limit {
  readonly least: number;
  readonly most: number;
  readonly default: number;
  readonly unit: string;
  /** Whether a value above the default is weaker than the default. */
  readonly protects: boolean;
  readonly about: string;
}

export type LimitName = keyof typeof LIMITS;
export type Limits = Readonly<Record<LimitName, number>>;

/** One value for each limit. */
export function mapLimits(read: (name: LimitName, limit: Limit) => number): Limits {
  const rows = Object.entries(LIMITS) as [LimitName, Limit][];
  return Object.fromEntries(rows.map(([name, limit]) => [name, read(name, limit)])) as Limits;
}

export const DEFAULT_LIMITS: Limits = mapLimits((_name, limit) => limit.default);
