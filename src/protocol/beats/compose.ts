import { placeKey, type ChainPlace, type RefusedLines } from "../../wire/places.ts";
import { fromPlain, type JsonValue } from "../../wire/json/json.ts";
import { HOUR_MS } from "../../wire/durations.ts";
import { firstCodePoints } from "../../wire/json/code-points.ts";
import type { HeartbeatTier } from "../../trust/policy/heartbeat-tiers.ts";
import {
  MOST_ACTION_CODE_POINTS,
  MOST_WANTS,
  type AgentState,
  type Head,
  type NotWoken,
  type Want,
} from "./beat.ts";

/** A chained place that we lack, and one of those that have named it. */
export interface Lack {
  readonly place: ChainPlace;
  readonly namer: string;
  /** When it was named last, milliseconds of Unix time. */
  readonly namedMs: number;
  /** When a beat of ours asked for it first since then; undefined: none has. */
  readonly askedMs: number | undefined;
}

/** What the store says of the lines of others, and of what our chain has said of them. */
export interface BeatRecords {
  /** Every other author of a chain. */
  others(): readonly string[];
  /** The number of the last line up to which our store is whole, also of ourselves; 0: none. */
  whole(author: string): number;
  /** The last line up to which our store is whole and each line for our agent is delivered or refused. */
  settled(author: string): ChainPlace | undefined;
  /** The largest number up to which our agent has marked or answered all mail of an author. */
  read(author: string): number;
  /** Up to which number of the branch of a linked line our chain has said that it is taken in, and read. */
  stated(line: ChainPlace): { readonly takenIn: number; readonly read: number };
  /** The place with a number on the branch of a linked line. */
  placeAt(tip: ChainPlace, seq: number): ChainPlace | undefined;
  /** Whether a line with a number above `after`, up to `to`, on the branch of a linked line is no beat. */
  hasNews(tip: ChainPlace, after: number, to: number): boolean;
  /** The first refusals of an author's lines that our chain does not name yet, by number. */
  unnamed(author: string): readonly RefusedLines[];
  /** What is lacked; of one namer first what was asked for least often, then the highest numbers. */
  lacks(): readonly Lack[];
}

/** What else the next beat of our agent follows from. */
export interface BeatState {
  readonly self: string;
  /** A number that grows with each beat, such as that of our next line: whose turn it is where not all fits. */
  readonly turn: number;
  readonly nowMs: number;
  /** Whether an author is known and its carriers were read to their end, as of a moment behind that one. */
  isReadToEnd(author: string, sinceMs: number): boolean;
  /** Our last line, by the mark, when the store lacks it. */
  readonly lackedMark: ChainPlace | undefined;
  /** Nothing is signed that is chained before our own lines are there (1.6). */
  readonly mayChain: boolean;
  readonly isBusy: boolean;
  /** What our last chained beat has said. */
  readonly wasBusy: boolean;
  /** An incident is owed by us or to us. */
  readonly owesIncident: boolean;
}

/** What a beat of ours says of the lines of others. */
export interface BeatWords {
  /** False: the beat has `wire`, and neither `seq` nor `prev`. */
  readonly isChained: boolean;
  readonly heads: readonly Head[];
  readonly refused: readonly RefusedLines[];
  readonly wants: readonly Want[];
}

const MOST_REFUSED = 32;
const MOST_WANTS_FOR_A_NAMER = 2;
const MOST_ASKING_MS = HOUR_MS;

/** What our next beat says of the lines of others, and whether it is chained. Spec 3.2. */
export function composeBeat(state: BeatState, records: BeatRecords): BeatWords {
  const wants = pickWants(state, records);
  if (!state.mayChain) return { isChained: false, heads: [], refused: [], wants };
  const others = rotate(records.others(), state.turn);
  const unnamed = new Map(others.map((author) => [author, records.unnamed(author)]));
  const refused = dealOut([...unnamed.values()], MOST_REFUSED);
  const moves = others.flatMap((author) => {
    const left = unnamed.get(author)?.find((each) => !refused.includes(each));
    return moveOf(records, author, left) ?? [];
  });
  const isChained =
    moves.some(({ isNews }) => isNews) ||
    state.isBusy !== state.wasBusy ||
    refused.length > 0 ||
    wants.length > 0 ||
    state.owesIncident;
  if (!isChained) return { isChained, heads: [], refused: [], wants: [] };
  return { isChained, heads: moves.map(({ head }) => head), refused, wants };
}

/** What our next beat says of ourselves. */
export interface BeatStatus {
  readonly wakeups: number;
  readonly state: AgentState;
  readonly tier: HeartbeatTier;
  /** When the next beat is due at the latest, like all instants here milliseconds of Unix time. */
  readonly nextMs: number;
  readonly unread: number;
  readonly lastAction: string | undefined;
  readonly agentLastSeenMs: number | undefined;
  /** By whose mail no session is woken. */
  readonly notWoken: ReadonlyMap<string, NotWoken>;
}

/** The body of a beat. Spec 3.1. */
export function beatBody(status: BeatStatus, words: BeatWords): JsonValue {
  const { lastAction, agentLastSeenMs, notWoken } = status;
  return fromPlain({
    ...{ wakeup_count: status.wakeups, state: status.state, tier: status.tier },
    ...{ next_eta: instant(status.nextMs), inbox_unread_count: status.unread },
    ...(lastAction !== undefined && {
      last_action: firstCodePoints(lastAction, MOST_ACTION_CODE_POINTS),
    }),
    ...(agentLastSeenMs !== undefined && { agent_last_seen: instant(agentLastSeenMs) }),
    ...(notWoken.size > 0 && {
      not_woken: Object.fromEntries(
        [...notWoken].map(([peer, { untilMs, urgentUntilMs }]) => [
          peer,
          {
            until: instant(untilMs),
            ...(urgentUntilMs !== undefined && { urgent_until: instant(urgentUntilMs) }),
          },
        ]),
      ),
    }),
    ...wordFields(words),
  });
}

function wordFields({ heads, refused, wants }: BeatWords): object {
  return {
    ...(heads.length > 0 && {
      heads: Object.fromEntries(
        heads.map(({ place, read }) => [place.author, [place.seq, place.id, read]]),
      ),
    }),
    ...(refused.length > 0 && {
      refused: refused.map(({ first, last, reason }) => [
        ...[last.author, first, last.seq, last.id],
        reason,
      ]),
    }),
    ...(wants.length > 0 && {
      wants: wants.map(({ first, last }) => [last.author, first, last.seq, last.id]),
    }),
  };
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}

/** The entry of an author whose head has changed. It stops before refused lines that are not named yet. */
function moveOf(
  records: BeatRecords,
  author: string,
  left: RefusedLines | undefined,
): { readonly head: Head; readonly isNews: boolean } | undefined {
  const settled = records.settled(author);
  if (settled === undefined) return undefined;
  const isStopped = left !== undefined && left.first <= settled.seq;
  const place = isStopped ? records.placeAt(settled, left.first - 1) : settled;
  if (place === undefined) return undefined;
  const stated = records.stated(place);
  const read = Math.max(stated.read, Math.min(records.read(author), place.seq));
  if (place.seq === stated.takenIn && read === stated.read) return undefined;
  const isNews =
    records.hasNews(place, stated.takenIn, place.seq) || records.hasNews(place, stated.read, read);
  return { head: { place, read }, isNews };
}

function pickWants(state: BeatState, records: BeatRecords): readonly Want[] {
  const { self, nowMs, mayChain, lackedMark } = state;
  const isDue = ({ place: { author }, namedMs, askedMs = nowMs }: Lack): boolean =>
    author === self
      ? !mayChain
      : mayChain && askedMs + MOST_ASKING_MS > nowMs && state.isReadToEnd(author, namedMs);
  const byNamer = new Map<string, ChainPlace[]>();
  for (const lack of records.lacks()) {
    const named = byNamer.get(lack.namer) ?? [];
    if (named.length < MOST_WANTS_FOR_A_NAMER && isDue(lack)) named.push(lack.place);
    byNamer.set(lack.namer, named);
  }
  const turns = rotate([...byNamer.values()], state.turn).flat();
  const own = lackedMark === undefined || mayChain ? [] : [lackedMark];
  const picked = new Map([...own, ...turns].map((place) => [placeKey(place), place]));
  return [...picked.values()].slice(0, MOST_WANTS).map((last) => {
    const whole = records.whole(last.author);
    return { first: last.seq > whole ? whole + 1 : last.seq, last };
  });
}

/** One of each list in turn, until there are so many. */
function dealOut<T>(lists: readonly (readonly T[])[], limit: number): readonly T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  const dealt: T[] = [];
  for (let at = 0; at < Math.min(longest, limit); at += 1)
    dealt.push(...lists.flatMap((list) => list.slice(at, at + 1)));
  return dealt.slice(0, limit);
}

/** A list that begins elsewhere each turn. */
function rotate<T>(list: readonly T[], turn: number): readonly T[] {
  const at = list.length === 0 ? 0 : turn % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}
