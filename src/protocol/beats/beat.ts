import { firstCodePoints } from "../../wire/json/code-points.ts";
import { isJsonArray, type JsonValue } from "../../wire/json/json.ts";
import {
  isChained,
  placeOf,
  placesNamed,
  readRefused,
  type ChainPlace,
  type RefusedLines,
} from "../../wire/places.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { countField, field, textField } from "../body.ts";

export const AGENT_STATES = ["idle", "busy", "blocked", "paused"] as const;
/** What an agent does, as its beats say. Spec 3.1. */
export type AgentState = (typeof AGENT_STATES)[number];

/** How far a beat's author holds the chain of another, and up to which number it has read its mail. */
export interface Head {
  readonly place: ChainPlace;
  /** At most the number of `place`. */
  readonly read: number;
}

/** Lines that an author lacks: `first` up to `last`, on the branch of `last`. Spec 3.2.4. */
export interface Want {
  readonly first: number;
  readonly last: ChainPlace;
}

/** Until when an agent is not woken for mail of ours, milliseconds of Unix time. Spec 8.3. */
export interface NotWoken {
  readonly untilMs: number;
  /** The same for urgent mail; undefined: that still wakes. */
  readonly urgentUntilMs: number | undefined;
}

/** What a beat says. Each field is optional, and one of another form is absent. Spec 3.1. */
export interface Beat {
  readonly state: AgentState | undefined;
  /** A word of at most 64 code points: the tier at which its daemon beats. */
  readonly tier: string | undefined;
  /** `next_eta` − `timestamp`, milliseconds, above 0. */
  readonly cadenceMs: number | undefined;
  /** What the agent did last, in its own words, at most 200 code points. */
  readonly lastAction: string | undefined;
  readonly wakeups: number | undefined;
  readonly unread: number | undefined;
  /** When the agent itself last did something, milliseconds of Unix time. */
  readonly agentLastSeenMs: number | undefined;
  readonly notWoken: NotWoken | undefined;
  /** They prove something in chained beats alone (3.2.1), like `refused`. */
  readonly heads: readonly Head[];
  readonly refused: readonly RefusedLines[];
  readonly wants: readonly Want[];
}

const MOST_TIER_CODE_POINTS = 64;
/** Of what an agent says that it did last, so much is said and read. */
export const MOST_ACTION_CODE_POINTS = 200;
/** Of a beat's wants, so many are read. */
export const MOST_WANTS = 8;

/** Reads the body of a beat, whatever JSON it is. @param timestampMs what its author says when it was written */
export function readBeat(body: JsonValue, timestampMs: number, self: string): Beat {
  const text = (name: string, limit: number): string | undefined => {
    const value = textField(body, name);
    return value === undefined ? undefined : firstCodePoints(value.slice(0, 2 * limit), limit);
  };
  const nextMs = readInstant(body, "next_eta");
  return {
    state: AGENT_STATES.find((state) => state === field(body, "state")),
    tier: text("tier", MOST_TIER_CODE_POINTS),
    cadenceMs: nextMs !== undefined && nextMs > timestampMs ? nextMs - timestampMs : undefined,
    lastAction: text("last_action", MOST_ACTION_CODE_POINTS),
    wakeups: countField(body, "wakeup_count"),
    unread: countField(body, "inbox_unread_count"),
    agentLastSeenMs: readInstant(body, "agent_last_seen"),
    notWoken: readNotWoken(field(field(body, "not_woken") ?? null, self) ?? null),
    heads: readHeads(body),
    refused: readRefused(body),
    wants: readWants(field(body, "wants")),
  };
}

function readInstant(body: JsonValue, name: string): number | undefined {
  const text = textField(body, name);
  return text === undefined ? undefined : parseTimestamp(text);
}

function readNotWoken(value: JsonValue): NotWoken | undefined {
  const untilMs = readInstant(value, "until");
  if (untilMs === undefined) return undefined;
  return { untilMs, urgentUntilMs: readInstant(value, "urgent_until") };
}

function readHeads(body: JsonValue): readonly Head[] {
  return placesNamed(body).flatMap(({ place, read }) =>
    read === undefined || !isChained(place) ? [] : [{ place, read }],
  );
}

function readWants(value: JsonValue | undefined): readonly Want[] {
  if (!isJsonArray(value)) return [];
  return value.slice(0, MOST_WANTS).flatMap((item) => {
    if (!isJsonArray(item) || item.length !== 4) return [];
    const [author, first, seq, id] = item;
    const last = placeOf(author, seq, id);
    if (last === undefined || !isChained(last)) return [];
    const isFirst = typeof first === "number" && Number.isSafeInteger(first) && first >= 1;
    return isFirst && first <= last.seq ? [{ first, last }] : [];
  });
}
