import { partsOf, readAsk, readClose, type Ask } from "../../protocol/asks/ask-line.ts";
import { isEndOfDaemon } from "../../protocol/asks/closing.ts";
import { lineAt, type LinkedLine } from "../../protocol/asks/history.ts";
import { outcomeOf } from "../../protocol/asks/outcome.ts";
import { requestType } from "../../protocol/asks/requests.ts";
import {
  noticeOf,
  type Onlookers,
  viewAsk,
  type AskNotice,
  type AskView,
} from "../../protocol/asks/views.ts";
import { booleanField, field, textField } from "../../protocol/body.ts";
import type { Watched } from "../../store/notices.ts";
import type { HeldLine, StoreWriter } from "../../store/store.ts";
import { MINUTE_MS } from "../../wire/durations.ts";
import { isChained, readPlace } from "../../wire/places.ts";
import { takeChangedAsks, type Known } from "./duty.ts";
import { quoteSubject } from "./notice-words.ts";
import { isToldSilent } from "./standing-notices.ts";

/** `meta`: up to which change of an ask the agent was told. */
const TOLD = "notices asks";
/** Changes of asks that one round looks at; while history is read nearly none is told. */
const MOST_CHANGES = 1_024;
const MOST_HISTORY = 16_384;
const MOST_WATCHED = 16;

/** An ask that is open is looked at again so long later, and the older the more rarely. */
const LOOK_AGAIN_MS = MINUTE_MS;
const LOOKS_OF_AGE = 16;
const TIME_TO_CLOSE_MS = 10 * MINUTE_MS;

type Facts = Pick<Known, "store" | "history" | "place" | "isLive"> & { situation: Onlookers };

/** What our agent asks, and what it agrees to, may stay agreed and not closed. Within a transaction. */
export function watchAsk({ store, history, place }: Facts, line: HeldLine): void {
  if (line.author !== place.self || !line.isLive) return;
  if (!["proposal", "request", "ack"].includes(line.type)) return;
  const said = lineAt(history, line);
  const ask = said && readAsk(said);
  const due = line.receivedMs + LOOK_AGAIN_MS;
  if (ask !== undefined) {
    for (const party of partsOf(ask))
      store.notices.watch({ n: line.n, party, closer: place.self }, due);
    return;
  }
  if (said?.type !== "ack" || booleanField(said.body, "approve") !== true) return;
  const answered = ["acks", "answers"].flatMap((name) => readPlace(field(said.body, name)) ?? []);
  for (const asked of answered) {
    const held = history.receipt(asked);
    const party = lineAt(history, asked)?.type === "request" ? place.self : "";
    // One in no chain is closed by our own daemon.
    if (held === undefined || !isChained(asked) || asked.author === place.self) continue;
    store.notices.watch({ n: held.n, party, closer: asked.author }, due);
  }
}

/** Tells of asks that have ended, or were agreed to and not closed. Within a transaction. */
export function tellAsks(known: Facts, into: StoreWriter, nowMs: number): void {
  const { store } = known;
  const limit = known.isLive ? MOST_CHANGES : MOST_HISTORY;
  const changed = takeChangedAsks(store, into, TOLD, limit);
  for (const { ask, party, state } of changed)
    if (state !== "open" && state !== "waits") tellEnd(known, ask, party, nowMs);
  for (const watched of store.notices.due(nowMs, MOST_WATCHED))
    store.notices.putOff(watched, lookAgain(known, watched, nowMs));
}

/** The outcome of an ask, as soon as a live line closes it. */
function tellEnd(known: Facts, ask: Ask, party: string, nowMs: number): void {
  const { history, situation, place, store } = known;
  const { author } = ask.place;
  const isParty = party === "" ? ask.parties?.includes(place.self) : party === place.self;
  const peer = author === place.self ? undefined : author;
  if ((peer !== undefined && isParty !== true) || !store.notices.hasRoom(peer, nowMs)) return;
  const of = party === "" ? undefined : party;
  const outcome = outcomeOf(history, ask, of);
  if (outcome.is === "pending") return;
  if (!outcome.closes.some((close) => history.receipt(close)?.isLive)) return;
  tellView(known, viewAsk(history, situation, ask, of), nowMs);
  const n = history.receipt(ask.place)?.n;
  // The chain of a party may decide between two closes later.
  if (outcome.is === "disputed" && n !== undefined)
    store.notices.watch({ n, party, closer: author }, nowMs + TIME_TO_CLOSE_MS);
}

/** When to look at a watched ask again; undefined: never, it has ended or the agent was told. */
function lookAgain(known: Facts, { n, party }: Watched, nowMs: number): number | undefined {
  const { history, store } = known;
  const situation = { ...known.situation, isSilent: (by: string) => isToldSilent(known, by) };
  const line = store.line(n);
  const said = line && lineAt(history, line);
  const ask = said && readAsk(said);
  if (line === undefined || ask === undefined) return undefined;
  const view = viewAsk(history, situation, ask, party === "" ? undefined : party);
  const { outcome, agreed } = view;
  const later = nowMs + Math.max(LOOK_AGAIN_MS, (nowMs - line.receivedMs) / LOOKS_OF_AGE);
  if (outcome.is !== "pending") {
    tellEnd(known, ask, party, nowMs);
    return outcome.is === "disputed" ? Math.max(later, nowMs + TIME_TO_CLOSE_MS) : undefined;
  }
  // It may still be closed, which is told as any end.
  if (tellView(known, view, nowMs)) return undefined;
  return agreed === undefined ? later : Math.max(nowMs, agreed.sinceMs + TIME_TO_CLOSE_MS);
}

/** False: there is nothing to tell, or our agent has done it itself. */
function tellView(known: Facts, view: AskView, nowMs: number): boolean {
  const { place, store } = known;
  const { author } = view.ask.place;
  const notice = noticeOf(view, place.self, nowMs);
  const text = notice && endText(known, view, notice);
  if (notice === undefined || text === undefined) return false;
  const { kind, about, party } = notice;
  const isPart = view.ask.is === "request" && party !== undefined;
  const matter = { kind, about: isPart ? `${about.id} ${party}` : about.id, text };
  store.notices.add({ ...matter, peer: author === place.self ? undefined : author }, nowMs);
  return true;
}

function endText(known: Facts, view: AskView, notice: AskNotice): string | undefined {
  const { self } = known.place;
  const { ask, party, outcome } = view;
  const isOurs = ask.place.author === self;
  const isRequest = ask.is === "request";
  const name = askName(known, ask);
  const what = isOurs
    ? upper(name)
    : `${name}, which ${isRequest ? "asked for" : "needed"} your answer,`;
  const close = "close" in outcome ? known.history.linked(outcome.close) : undefined;
  switch (notice.kind) {
    case "approved":
      if (isRequest && party !== undefined)
        return party === self ? undefined : `${party} approved ${name}.`;
      // An ask in no chain is closed by its party.
      if (close?.place.author === self && !isOurs) return undefined;
      return `${what} is approved: every required party agreed.`;
    case "rejected": {
      const by = close === undefined ? [] : rejecting(known, close, party);
      if (!isOurs && by.every((each) => each === self)) return undefined;
      if (isRequest && party !== undefined)
        return `${party} rejected ${name}: \`deaddrop requests --all\` shows its reason.`;
      const names = by.map((each) => (each === self ? "you" : each)).join(", ");
      return `${what} is rejected by ${names === "" ? "a required party" : names}.`;
    }
    case "ended":
      return ended(known, view, what, close);
    case "withdrawn":
      return withdrawn(known, view, notice, what);
    case "disputed":
      return `${what} is disputed: ${closerOf(known, ask, party)} has forked its chain, and the branches differ about it. The operators have to decide.`;
    case "agreed_not_closed": {
      const since = new Date(view.agreed?.sinceMs ?? 0).toISOString();
      const closer = notice.who === self ? "your daemon" : (notice.who ?? "its author");
      const silent = view.agreed?.isSilent === true ? `: ${closer} is silent` : "";
      return `${what} is agreed by all since ${since}, and ${closer} has not closed it${silent}.`;
    }
  }
}

function ended(
  { place: { self } }: Facts,
  { ask }: AskView,
  what: string,
  close: LinkedLine | undefined,
): string | undefined {
  const reason = close && textField(close.body, "reason");
  if (close?.place.author === self && reason !== undefined) {
    if (!isEndOfDaemon(reason)) return undefined;
    return `${what} has ended: ${reason}.`;
  }
  const id = ask.place.id.slice(0, 10);
  return `${what} has ended: \`deaddrop thread ${id}\` shows why.`;
}

function withdrawn(
  { place: { self } }: Facts,
  { ask, crosses }: AskView,
  { who }: AskNotice,
  what: string,
): string | undefined {
  const { author } = ask.place;
  if (crosses === undefined)
    return author === self
      ? undefined
      : `${what} is withdrawn: ${author} stands at another one in its thread.`;
  const peer = author === self ? crosses.other.author : author;
  const next =
    who === self ? `you propose again, ${peer} waits` : `${peer} proposes again, you wait`;
  return `${what} is withdrawn, because each of you agreed to the other's proposal: ${next}.`;
}

/** Who has rejected an ask, as its close names their answers. */
function rejecting(known: Facts, line: LinkedLine, party: string | undefined): string[] {
  const close = readClose(line);
  if (close?.rejects === true) return [line.place.author];
  const by = (close?.entries ?? []).flatMap(({ by: handle, ack }) => {
    const answer = ack && lineAt(known.history, ack);
    const isNo =
      answer?.type === "proposal" || booleanField(answer?.body ?? null, "approve") === false;
    return handle !== undefined && isNo ? [handle] : [];
  });
  return by.length === 0 && party !== undefined ? [party] : by;
}

function closerOf({ place: { self } }: Facts, { place }: Ask, party: string | undefined): string {
  const closer = isChained(place) ? place.author : (party ?? place.author);
  return closer === self ? "your agent" : closer;
}

/** What people call the kinds of requests; a type that a peer has made up is not repeated. */
const REQUESTS: ReadonlyMap<string, string> = new Map([
  ["shutdown", "shutdown request"],
  ["plan_approval", "plan approval request"],
]);

function askName(known: Facts, { place }: Ask): string {
  const line = lineAt(known.history, place);
  const { author } = place;
  const kind =
    line?.type === "request" ? (REQUESTS.get(requestType(line) ?? "") ?? "request") : "proposal";
  const whose = author === known.place.self ? "your" : `${author}'s`;
  return `${whose} ${kind} ${quoteSubject(known, author, line?.subject ?? "")}`;
}

/** Only `your` may begin a sentence; a handle is written as it is. */
function upper(name: string): string {
  return name.replace(/^your /u, "Your ");
}
