import { firstCodePoints } from "../../wire/json/code-points.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { countField, textField } from "../body.ts";
import { promisedCadence } from "../logs/heads.ts";
import type { LineEvent } from "../events.ts";
import { readNotWoken, type NotWoken } from "./not-woken.ts";

/** Texts of a peer's beat that we keep are cut at this length. */
const WORD_LIMIT = 64;
/** What an agent says that it did last, also of our own: so many characters. */
export const LAST_ACTION_LIMIT = 200;

/** The latest beat of one peer: what it says of itself, and when it reached us. Spec 3.1. */
export interface PeerBeat {
  readonly log: string;
  /** Our receipt time. */
  readonly at: number;
  readonly live: boolean;
  /** `next_eta` − `timestamp`; undefined when it names none. */
  readonly cadenceMs: number | undefined;
  readonly state: string | undefined;
  readonly tier: string | undefined;
  readonly nextEta: string | undefined;
  readonly agentLastSeen: string | undefined;
  /** What its agent did last, in its own words. */
  readonly lastAction: string | undefined;
  readonly unread: number | undefined;
  /** Its agent is not woken for our mail. */
  readonly notWoken?: NotWoken | undefined;
}

export function takePeerBeat(beats: Map<string, PeerBeat>, event: LineEvent, self: string): void {
  const { body, from, timestampMs } = event.message;
  const known = beats.get(from);
  // Histories of two logs come one after the other: the later beat is the latest.
  if (known !== undefined && known.at > event.at) return;
  const notWoken = readNotWoken(body, self);
  beats.set(from, {
    log: event.log,
    at: event.at,
    live: event.live,
    cadenceMs: promisedCadence(body, timestampMs),
    state: word(textField(body, "state")),
    tier: word(textField(body, "tier")),
    nextEta: momentIn(body, "next_eta"),
    agentLastSeen: momentIn(body, "agent_last_seen"),
    lastAction: cut(textField(body, "last_action"), LAST_ACTION_LIMIT),
    unread: countField(body, "inbox_unread_count"),
    ...(notWoken === undefined ? {} : { notWoken }),
  });
}

function momentIn(body: JsonValue, name: string): string | undefined {
  const text = textField(body, name);
  return text !== undefined && parseTimestamp(text) !== undefined ? word(text) : undefined;
}

function word(text: string | undefined): string | undefined {
  return text?.slice(0, WORD_LIMIT);
}

function cut(text: string | undefined, limit: number): string | undefined {
  return text && firstCodePoints(text, limit);
}
