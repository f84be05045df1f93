import { readClose } from "../../protocol/asks/ask-line.ts";
import { answerOf } from "../../protocol/asks/closing.ts";
import { requestId, requestType } from "../../protocol/asks/requests.ts";
import { field } from "../../protocol/body.ts";
import { dueOf } from "../../protocol/due.ts";
import { canonicalText } from "../../wire/canonical.ts";
import { firstCodePoints } from "../../wire/json/code-points.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import { MIN_ID_PREFIX } from "../../wire/limits.ts";
import { isChained, placeJson, type PlaceJson } from "../../wire/places.ts";
import type { Known } from "../duties/duty.ts";
import { awaitedText, reasonOf, showAsk, writtenMs, type ShownAsk } from "./asks.ts";
import { isVerified, listedSubject, tierOf } from "./listed.ts";

/**
 * `expired`: nobody answered in time; `cancelled`: its asker ended it otherwise, see `reason`; `disputed`: its asker
 * has forked its chain; `void`: whom it asks is not said, so nobody answers it.
 */
export type RequestStatus =
  "pending" | "approved" | "rejected" | "cancelled" | "expired" | "disputed" | "void";

/** One request to one agent, as `deaddrop requests` prints it. Spec 3.8. */
export interface RequestView {
  readonly place: PlaceJson;
  /** Its event id when it says no other name. */
  readonly request_id: string;
  /** Such as `review`. Spec 3.8. */
  readonly request_type: string;
  /** With `target` it tells this request from all others. */
  readonly event_id: string;
  readonly correlation_id: string;
  readonly from: string;
  /** Who is asked. */
  readonly target: string;
  /** A text of ours when `from` is below VERIFIED; no other word of it is shown then. Spec 2.3. */
  readonly subject: string;
  /** What is to be approved, as text, cut; null where there is none. */
  readonly plan: string | null;
  /** Spec 3.8. */
  readonly status: RequestStatus;
  /** Why it ended as it did; null where nobody said. */
  readonly reason: string | null;
  readonly asked_at: string;
  /** Why we refuse it: then it asks nothing of us; null: we do not. */
  readonly refused: string | null;
  /** Until when an answer is waited for, by the asker's clock as far as we know it. */
  readonly due_at: string;
  /** Event id of the line that settled it. */
  readonly decided_by: string | null;
  /** What the addressee said, if we hold it: what counts, or the last that may. */
  readonly answer: { readonly event_id: string; readonly approve: boolean } | null;
  /** Event ids of answers that came too late. */
  readonly late_answers: readonly string[];
  /** What a pending one waits for, to follow "waits for"; null when it has ended. */
  readonly waits_for: string | null;
}

/** In place of a type that a stranger has chosen. */
const NOT_SHOWN = "(not shown)";
const MOST_LISTED = 512;
const MOST_NAMED = 64;
const MOST_TYPE = 64;
const MOST_PLAN = 4_096;
const TAKEN = ["mail", "passed"];

/**
 * Requests with a type, oldest first, one for each agent that is asked: the newest of each asker, and its pending
 * ones. Plain requests are obligations, and in no list of these.
 *
 * @param named only those of which `request_id` or event id begin so, with 6 characters or more
 */
export function requestsView(known: Known, named?: string): RequestView[] {
  const { store } = known;
  if (named !== undefined && named.length < MIN_ID_PREFIX) return [];
  const parts =
    named === undefined
      ? store.asks.newest("request", MOST_LISTED)
      : store.asks.withPrefix(named.toLowerCase(), MOST_NAMED);
  return parts
    .filter(({ ask }) => ask.is === "request")
    .flatMap((part) => showAsk(known, part) ?? [])
    .flatMap((shown) => viewOf(known, shown) ?? []);
}

function viewOf(known: Known, shown: ShownAsk): RequestView | undefined {
  const { ask, line, close, parties } = shown;
  const type = requestType(line);
  if (type === undefined) return undefined;
  const { author, id } = ask.place;
  const isBelieved = isVerified(tierOf(known, author));
  const status = statusOf(shown);
  const [target = ""] = parties;
  const sentMs = writtenMs(known, line);
  const dueMs = dueOf(line.body, sentMs) ?? sentMs + known.situation.proposalMs;
  const verdict = known.store.lineAt(ask.place)?.verdict ?? null;
  return {
    place: placeJson(ask.place),
    request_id: requestId(line) ?? id,
    request_type: isBelieved ? firstCodePoints(type, MOST_TYPE) : NOT_SHOWN,
    event_id: id,
    correlation_id: ask.thread,
    from: author,
    target,
    subject: listedSubject(known, author, line.subject),
    plan: isBelieved ? planIn(line.body) : null,
    status,
    reason: settlingReason(known, shown, target),
    asked_at: new Date(sentMs).toISOString(),
    refused: verdict === null || TAKEN.includes(verdict) ? null : verdict,
    due_at: new Date(dueMs).toISOString(),
    decided_by: close?.place.id ?? null,
    ...answersOf(known, shown, target),
    waits_for: status === "pending" ? awaitedText(shown) : null,
  };
}

function statusOf({ ask, view: { outcome }, close }: ShownAsk): RequestStatus {
  if (ask.isVoid) return "void";
  if (outcome.is !== "ended") return outcome.is;
  return reasonOf(close)?.startsWith("no answer") === true ? "expired" : "cancelled";
}

/** The `reason` of the answer that settled a request, otherwise of its close; null if its author is below VERIFIED. */
function settlingReason(
  known: Known,
  { ask, close, view }: ShownAsk,
  party: string,
): string | null {
  const { is } = view.outcome;
  const isAnswered = isChained(ask.place) && (is === "approved" || is === "rejected");
  const entry = close && readClose(close)?.entries.find(({ by }) => by === party)?.ack;
  const said = isAnswered ? entry && known.history.linked(entry) : close;
  if (said === undefined || !isVerified(tierOf(known, said.place.author))) return null;
  return reasonOf(said) ?? null;
}

/** The answer that a close names, and one that was given otherwise since; before a close the one that may count. */
function answersOf(
  { history, situation }: Known,
  { ask, close }: ShownAsk,
  party: string,
): Pick<RequestView, "answer" | "late_answers"> {
  const whole = situation.whole(party);
  const tip = situation.whole(ask.place.author) ?? whole;
  const last = tip === undefined ? undefined : answerOf(history, ask, party, tip, whole);
  const said = last && { event_id: last.place.id, approve: last.approves };
  if (close === undefined) return { answer: said ?? null, late_answers: [] };
  // The close of an ask in no chain is the answer itself.
  const isOwn = !isChained(ask.place);
  const entry = isOwn ? close.place : readClose(close)?.entries.find(({ by }) => by === party)?.ack;
  const approve = readClose(close)?.outcome === "approved";
  const isLate = said !== undefined && !isOwn && said.event_id !== entry?.id;
  return {
    answer: entry === undefined ? null : { event_id: entry.id, approve },
    late_answers: isLate ? [said.event_id] : [],
  };
}

/** Text, or anything as its JSON. */
function planIn(body: JsonValue): string | null {
  const plan = field(body, "plan");
  if (plan === undefined) return null;
  return firstCodePoints(typeof plan === "string" ? plan : canonicalText(plan), MOST_PLAN);
}
