import { readClose, type Ask } from "../../protocol/asks/ask-line.ts";
import { changeStands } from "../../protocol/asks/closes.ts";
import { endingOf } from "../../protocol/asks/closing.ts";
import { lineAt, type HistoryLine, type LinkedLine } from "../../protocol/asks/history.ts";
import {
  agreeToChange,
  overtakenBy,
  proposeChange,
  type ChangeRefusal,
} from "../../protocol/asks/members.ts";
import {
  isSameRoster,
  readMembersChange,
  rosterThread,
  type MembersChange,
  type Roster,
} from "../../protocol/asks/members-change.ts";
import type { RosterInForce } from "../../protocol/asks/roster.ts";
import { textField } from "../../protocol/body.ts";
import type { Draft } from "../../wire/compose.ts";
import { fromPlain } from "../../wire/json/json.ts";
import { placeJson, type ChainPlace, type PlaceJson } from "../../wire/places.ts";
import type { Known } from "../duties/duty.ts";
import { awaitedText, showAsk, writtenMs, type ShownAsk } from "./asks.ts";

/** One handle that is or was a member. */
export interface MemberRow {
  readonly handle: string;
  readonly is: "member" | "left";
  /** By its mark in the roster: of one that left, the last mark that it had. */
  readonly chains: boolean;
  /** Since when it is that, by the author of the line from which it follows; null: since this epoch began. */
  readonly since: string | null;
  /** Its last line that we hold whole. */
  readonly held: PlaceJson | null;
  /** Of one that left by itself: the line by which it did. */
  readonly leave: PlaceJson | null;
}

/** A change of members that is proposed and is not in force, or a leave that no change counts yet. */
export interface MemberChangeView {
  readonly place: PlaceJson;
  /** Event id of the proposal, or of the line in which an agent says that it leaves. */
  readonly event_id: string;
  readonly from: string;
  /** Whom it adds, removes or gives a mark; null: nobody. */
  readonly handle: string | null;
  readonly becomes: "new" | "back" | "left" | "chaining" | null;
  /** `announced`: an agent left by itself, which needs nobody; `ratified`: approved, and the roster is forked by it. */
  readonly status: "open" | "announced" | "ratified";
  /** Why it can never be in force; null: it can. */
  readonly problem: string | null;
  /** What an open one waits for, to follow "waits for". */
  readonly waits_for: string | null;
  /** When it was agreed, or announced; null: not yet. */
  readonly at: string | null;
}

/** Who is a member of this wire, and what is to change. Spec 3.11. */
export interface MembersView {
  readonly roster: readonly MemberRow[];
  /** The proposal by which members changed last; null: by none in this epoch. */
  readonly changed_by: string | null;
  /** Two changes follow the same one: nothing behind is applied before the operators begin a new epoch. */
  readonly roster_forked: boolean;
  /** What is proposed and not in force. */
  readonly changes: readonly MemberChangeView[];
}

/** So many changes before the last are looked at for members that are none any more. */
const MOST_CHANGES = 1_024;
const MOST_OF_THREAD = 1_024;
const NO_ID = "0".repeat(64);

export function membersView(known: Known): MembersView {
  const { history, place, store, situation } = known;
  const { roster: inForce } = known;
  const { roster } = inForce;
  const applied = appliedChanges(known, inForce);
  const leaves = [...inForce.leaves, ...applied.flatMap(({ change }) => change.leaves)];
  const row = ([handle, chains]: readonly [string, boolean]): MemberRow => {
    const isMember = roster.has(handle);
    const leave = isMember ? undefined : leaves.find(({ author }) => author === handle);
    const whole = situation.whole(handle);
    const changed = applied.find(
      ({ change: { starts, makes } }) => starts.has(handle) !== makes.has(handle),
    );
    const line = leave === undefined ? changed?.close : lineAt(known.history, leave);
    return {
      ...{ handle, is: isMember ? "member" : "left", chains },
      since: line === undefined ? null : isoTime(writtenMs(known, line)),
      held: whole === undefined ? null : placeJson(whole),
      leave: leave === undefined ? null : placeJson(leave),
    };
  };
  const everybody = new Map([
    ...place.pinned.roster,
    ...applied.toReversed().flatMap(({ change: { starts, makes } }) => [...starts, ...makes]),
    ...roster,
  ]);
  const changes = store.asks
    .ofThread(rosterThread(history.wireId, inForce.after), MOST_OF_THREAD)
    .filter(({ ask }) => ask.isOfMembers)
    .flatMap((part) => showAsk(known, part) ?? [])
    .flatMap((shown) => changeView(known, shown, everybody) ?? []);
  return {
    roster: [...everybody].map(row),
    changed_by: applied[0]?.proposal.place.id ?? null,
    roster_forked: inForce.isForked,
    changes: [...changes, ...inForce.leaves.map((leave) => leaveView(known, leave))],
  };
}

/** What becomes of one handle: it joins or comes back, is removed, or is marked as one that chains. */
export type MemberChange =
  | { readonly add: string; readonly chains: boolean }
  | { readonly remove: string }
  | { readonly mark: string };

/** The proposal of a change of members, or why it cannot be sent. Spec 3.11. */
export function memberChangeDraft(
  known: Known,
  change: MemberChange,
): { readonly ok: true; readonly draft: Draft } | ChangeRefusal {
  const { history, place, situation } = known;
  const { roster: inForce } = known;
  const makes = new Map(inForce.roster);
  if ("add" in change) makes.set(change.add, change.chains);
  else if ("remove" in change) makes.delete(change.remove);
  else if (makes.has(change.mark)) makes.set(change.mark, true);
  if (isSameRoster(makes, inForce.roster)) return { ok: false, reason: "not_one_step" };
  const tip = situation.whole(place.self) ?? { author: place.self, seq: 0, id: NO_ID };
  const asked = proposeChange(history, inForce, place.self, tip, makes);
  if (!asked.ok) return asked;
  const { thread, to, body } = asked;
  const subject = textField(body, "decision") ?? "members";
  const draft = { type: "proposal", to, correlationId: thread, subject, body, ackRequired: true };
  return { ok: true, draft };
}

/** What an ack of ours adds when it agrees to a change of members, or why it must not. Spec 3.11. */
export function memberAckFields(
  { history, place, situation }: Known,
  change: ChainPlace,
): ReturnType<typeof agreeToChange> {
  const tip = situation.whole(place.self) ?? { author: place.self, seq: 0, id: NO_ID };
  return agreeToChange(history, place.self, tip, change);
}

/** The lines by which our agent leaves: its own open changes end first. They belong into one transaction. */
export function leaveDrafts(known: Known): readonly Draft[] {
  const { history, place, store } = known;
  const { after } = known.roster;
  const open = store.asks.open(place.self, rosterThread(history.wireId, after));
  const ends = open
    .filter(({ ask }) => ask.isOfMembers)
    .flatMap((each) => endingOf(history, each, "its proposer leaves"))
    .map(({ type, to, thread, body }) => ({
      type,
      to,
      correlationId: thread,
      subject: "closed",
      body,
    }));
  const named = typeof after === "number" ? after : placeJson(after);
  const body = fromPlain({ leave: true, after: named });
  const leave = { type: "shutdown", to: ["*"], subject: `${place.self} leaves this wire`, body };
  return [...ends, leave];
}

interface AppliedChange {
  readonly change: MembersChange;
  readonly proposal: HistoryLine;
  readonly close: HistoryLine;
}

/** The changes that are in force, the last one first. */
function appliedChanges(known: Known, { after: last }: RosterInForce): readonly AppliedChange[] {
  const applied: AppliedChange[] = [];
  for (let after = last; typeof after !== "number" && applied.length < MOST_CHANGES;) {
    const close = lineAt(known.history, after);
    const decides = close && readClose(close)?.decides;
    const proposal = decides && lineAt(known.history, decides);
    const change = proposal && readMembersChange(proposal.body);
    if (close === undefined || proposal === undefined || change === undefined) break;
    applied.push({ change, proposal, close });
    ({ after } = change);
  }
  return applied;
}

function changeView(
  known: Known,
  shown: ShownAsk,
  everybody: Roster,
): MemberChangeView | undefined {
  const { ask, view, close } = shown;
  const { place } = ask;
  const line = known.history.linked(place);
  const isApproved = view.outcome.is === "approved";
  if (line === undefined || !(isApproved || view.outcome.is === "pending")) return undefined;
  const change = readMembersChange(line.body);
  const problem = problemOf(known, line, ask);
  return {
    place: placeJson(place),
    event_id: place.id,
    from: place.author,
    ...(change === undefined ? { handle: null, becomes: null } : stepOf(change, everybody)),
    status: isApproved ? "ratified" : "open",
    problem,
    waits_for: isApproved || problem !== null ? null : awaitedText(shown),
    at: close === undefined ? null : isoTime(writtenMs(known, close)),
  };
}

function problemOf({ history }: Known, line: LinkedLine, ask: Ask): string | null {
  if (ask.isVoid || changeStands(history, line) === "no")
    return "it is void: it is not one step from the roster that it follows";
  const other = overtakenBy(history, ask);
  if (other === undefined) return null;
  return `another change that follows the same one was approved: ${other.id.slice(0, 8)}`;
}

function stepOf(
  { starts, makes }: MembersChange,
  everybody: Roster,
): Pick<MemberChangeView, "handle" | "becomes"> {
  const added = [...makes.keys()].find((handle) => !starts.has(handle));
  if (added !== undefined) return { handle: added, becomes: everybody.has(added) ? "back" : "new" };
  const removed = [...starts.keys()].find((handle) => !makes.has(handle));
  if (removed !== undefined) return { handle: removed, becomes: "left" };
  const marked = [...makes].find(([handle, chains]) => chains && starts.get(handle) === false);
  return marked === undefined
    ? { handle: null, becomes: null }
    : { handle: marked[0], becomes: "chaining" };
}

function leaveView(known: Known, leave: ChainPlace): MemberChangeView {
  const line = lineAt(known.history, leave);
  return {
    place: placeJson(leave),
    event_id: leave.id,
    from: leave.author,
    handle: leave.author,
    ...{ becomes: "left", status: "announced", problem: null, waits_for: null },
    at: line === undefined ? null : isoTime(writtenMs(known, line)),
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
