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

/** What `config.json` may set under `limits`. Spec 1.1. */
export interface Limits {
  readonly maxMessageBodyKb: number;
  readonly maxClockSkewSeconds: number;
  readonly rateLimitMsgPerMin: number;
  readonly maxRefs: number;
}

/** How long agents have to answer a proposal; set under `limits` too. Spec 1.1, 3.4. */
export interface AnswerTimes {
  /** From reading it; 0 leaves two heartbeats. */
  readonly answerMinutes: number;
  /** From its writing, for those who have not read it. */
  readonly proposalHours: number;
}

export const DEFAULT_ANSWER_TIMES: AnswerTimes = { answerMinutes: 30, proposalHours: 24 };

export const DEFAULT_LIMITS: Limits = {
  maxMessageBodyKb: 64,
  maxClockSkewSeconds: 300,
  rateLimitMsgPerMin: 60,
  maxRefs: 64,
};
