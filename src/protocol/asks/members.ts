import { fromPlain, type JsonValue } from "../../wire/json/json.ts";
import { isSamePlace, placeJson, type ChainPlace, type Place } from "../../wire/places.ts";
import { readAsk, type Ask } from "./ask-line.ts";
import { changeStands } from "./closes.ts";
import type { History } from "./history.ts";
import {
  isOneStep,
  isSameAfter,
  readMembersChange,
  rosterThread,
  takers,
  type Roster,
} from "./members-change.ts";
import { rosterInForce, type PinnedRoster, type RosterInForce } from "./roster.ts";

/** Who is a member, found again only when a change or a leave was taken in. */
export class Members {
  readonly #history: History;
  readonly pinned: PinnedRoster;
  #found: { readonly mark: string; readonly roster: RosterInForce } | undefined;

  constructor(history: History, pinned: PinnedRoster) {
    this.#history = history;
    this.pinned = pinned;
  }

  get inForce(): RosterInForce {
    const mark = this.#history.rosterMark();
    if (mark !== undefined && mark === this.#found?.mark) return this.#found.roster;
    const roster = rosterInForce(this.#history, this.pinned);
    this.#found = mark === undefined ? undefined : { mark, roster };
    return roster;
  }
}

/** Why a change cannot be proposed or agreed to now. */
export type ChangeRefusal =
  /** The roster is forked: operators begin a new epoch. */
  | {
      readonly ok: false;
      readonly reason: "roster_forked" | "not_a_member" | "not_one_step" | "void";
    }
  /** Another change with the same `after` is taken, and its end is not known. */
  | { readonly ok: false; readonly reason: "another_change"; readonly place: Place };

export interface ChangeDraft {
  readonly ok: true;
  readonly thread: string;
  readonly to: readonly string[];
  readonly body: JsonValue;
}

/**
 * A change of members that our agent proposes. `makes`: what the roster in force without those who have left is
 * to become. One change is taken for each `after`, so what our agent has taken before has to have ended, and its
 * end is listed. Spec 3.11.
 *
 * @param tip our last line
 */
export function proposeChange(
  history: History,
  { roster, reached, leaves, after, isForked }: RosterInForce,
  us: string,
  tip: ChainPlace,
  makes: Roster,
): ChangeDraft | ChangeRefusal {
  if (isForked) return { ok: false, reason: "roster_forked" };
  if (roster.get(us) !== true || makes.get(us) !== true)
    return { ok: false, reason: "not_a_member" };
  const starts = new Map([...reached].filter(([handle]) => roster.has(handle)));
  if (!isOneStep(starts, makes)) return { ok: false, reason: "not_one_step" };
  const thread = rosterThread(history.wireId, after);
  const ends = endsOfTaken(history, tip, thread, undefined);
  if (!ends.ok) return ends;
  return {
    ok: true,
    thread,
    to: ["*"],
    body: fromPlain({
      action: "members",
      after: typeof after === "number" ? after : placeJson(after),
      starts: Object.fromEntries(starts),
      leaves: leaves.map(placeJson),
      makes: Object.fromEntries(makes),
      required: takers(starts, makes).filter((handle) => handle !== us),
      ...listed(ends.places),
      decision: decisionText(starts, makes),
    }),
  };
}

/**
 * What our agent adds to its ack when it agrees to a change, or why it must not agree: an ack of anything in such
 * a thread takes it, and who takes two takes part in a fork of the roster.
 */
export function agreeToChange(
  history: History,
  us: string,
  tip: ChainPlace,
  change: ChainPlace,
): { readonly ok: true; readonly body: Readonly<Record<string, JsonValue>> } | ChangeRefusal {
  const line = history.linked(change);
  const ask = line === undefined ? undefined : readAsk(line);
  const isOurs = ask?.isOfMembers === true && !ask.isVoid && ask.parties?.includes(us) === true;
  if (line === undefined || !isOurs || changeStands(history, line) !== "yes")
    return { ok: false, reason: "void" };
  const other = overtakenBy(history, ask);
  if (other !== undefined) return { ok: false, reason: "another_change", place: other };
  const ends = endsOfTaken(history, tip, line.thread, change);
  return ends.ok ? { ok: true, body: listed(ends.places) as Record<string, JsonValue> } : ends;
}

/** Another change with the same `after` that is approved: this one must not be. */
export function overtakenBy(history: History, ask: Ask): Place | undefined {
  const own = afterOf(history, ask.place);
  const approved = history.approvedChanges(ask.thread).map(({ place }) => place);
  return approved.find((place) => {
    const after = afterOf(history, place);
    const isSame = own !== undefined && after !== undefined && isSameAfter(own, after);
    return isSame && !isSamePlace(place, ask.place);
  });
}

function afterOf(history: History, place: Place): number | ChainPlace | undefined {
  const line = history.linked(place);
  return line === undefined ? undefined : readMembersChange(line.body)?.after;
}

/** The end of what our agent has taken last in a thread; none when it has taken nothing but this. */
function endsOfTaken(
  history: History,
  tip: ChainPlace,
  thread: string,
  taking: Place | undefined,
): { readonly ok: true; readonly places: readonly ChainPlace[] } | ChangeRefusal {
  const nothing = { author: tip.author, seq: null, id: "" };
  const taken = history.lastTake(tip, thread, taking ?? nothing);
  if (taken === undefined) return { ok: true, places: [] };
  const end = endOf(history, taken.takes);
  if (end !== undefined && history.takeCounts(taken.word) === "yes")
    return { ok: true, places: [end] };
  return { ok: false, reason: "another_change", place: taken.takes };
}

/** The line that ends a change without approving it, as far as it is held. */
function endOf(history: History, change: Place): ChainPlace | undefined {
  const line = history.linked(change);
  if (line === undefined) return undefined;
  const closes = history.firstCloses({ place: change, party: "" });
  const [first] = closes;
  if (first !== undefined)
    return closes.length === 1 && first.verdict === "yes" && first.outcome === "ended"
      ? first.place
      : undefined;
  return history.firstLeave(line.place);
}

function listed(places: readonly ChainPlace[]): object {
  return places.length === 0 ? {} : { ends: places.map(placeJson) };
}

function decisionText(starts: Roster, makes: Roster): string {
  const added = [...makes.keys()].find((handle) => !starts.has(handle));
  const removed = [...starts.keys()].find((handle) => !makes.has(handle));
  if (added !== undefined) return `${added} joins`;
  return removed === undefined ? "members as they are" : `${removed} is removed`;
}
