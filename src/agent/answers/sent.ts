import { DeaddropError } from "../../api/errors.ts";
import type { TroubleCode } from "../../api/troubles.ts";
import { sentState, type SentFacts, type SentState } from "../../protocol/beats/receipts.ts";
import type { KeyedSend, SendKey } from "../../store/sends.ts";
import type { HeldLine } from "../../store/store.ts";
import { isState } from "../../trust/tiers.ts";
import { SECOND_MS } from "../../wire/durations.ts";
import { isChained, placeJson, type PlaceJson } from "../../wire/places.ts";
import { quote } from "../../wire/quote.ts";
import type { Known } from "../duties/duty.ts";
import { tierOf } from "./listed.ts";
import { addresseesOf, readHeld } from "./messages.ts";

/** How far a message of ours has come with an addressee. Spec 3.2.5. */
export type ReceiptStage = SentState["is"];

/** The trouble because of which a message waits at its addressee. Spec 2.4. */
export type WaitsFor = Extract<TroubleCode, "mail_waits" | "sent_ahead">;

/** How far one message has come with one addressee. */
export interface ReceiptView {
  to: string;
  /** How far it has come: what is proved. Spec 3.2. */
  state: ReceiptStage;
  /** Why it was refused. */
  reason?: string;
  /** The trouble because of which it waits there: digits are not compared, or it is dated ahead. */
  waits_for?: WaitsFor;
  /** When the state was proved to us. */
  at: string | null;
}

/** One sent message, as `deaddrop sent` prints it. */
export interface SentView {
  event_id: string;
  place: PlaceJson;
  timestamp: string;
  to: string[];
  type: string;
  subject: string;
  correlation_id: string;
  receipts: ReceiptView[];
}

/** A line that was sent, as its sender is told. */
export interface SentLine {
  event_id: string;
  place: PlaceJson;
  timestamp: string;
  correlation_id: string;
  to: string[];
}

type Sending = Pick<Known, "store" | "history" | "place" | "world" | "members" | "publishedMs">;

/** Messages that are listed without a limit. */
const MOST_SENT = 128;

/** What our agent has sent, the newest first. */
export function sentView(known: Sending, { limit = MOST_SENT }: { readonly limit?: number }) {
  const ns = known.store.newestSaid(known.place.self, limit);
  return ns.flatMap((n): SentView[] => {
    const line = known.store.line(n);
    return line === undefined ? [] : [viewOf(known, line)];
  });
}

/** How far a message of ours has come. @param id a whole event id @throws DeaddropError "unknown_id" */
export function receiptView(
  known: Sending,
  { event_id: id }: { readonly event_id: string },
): { receipts: ReceiptView[] } {
  const { self } = known.place;
  const line = known.store.withIdPrefix(id.toLowerCase(), 2).find(({ author }) => author === self);
  if (line?.id === id.toLowerCase()) return { receipts: receiptsOf(known, line) };
  throw new DeaddropError("unknown_id", `no message of yours has the event id "${id}"`, {
    hint: "deaddrop sent lists what you sent",
  });
}

/** Lines of ours as their sender is told of them. */
export function sentLines(known: Sending, lines: readonly HeldLine[]): SentLine[] {
  return lines.map((line) => {
    const { to, timestamp } = readHeld(known.place.wireId, line);
    return {
      ...{ event_id: line.id, place: placeJson(line), timestamp, correlation_id: line.thread },
      to: [...(to ?? ["*"])],
    };
  });
}

/**
 * What was sent under a key in the last 24 hours; undefined: nothing was, and it may be sent now. Spec 8.1.
 *
 * @throws DeaddropError "bad_draft" for a key that was used for something else
 */
export function answeredBefore(known: Sending, key: SendKey): SentLine[] | undefined {
  const { store, world } = known;
  const before = store.sends.find(key.name, world.clock.wallMs());
  if (before === undefined) return undefined;
  if (before.digest !== key.digest) throw usedOtherwise(key, before);
  return sentLines(
    known,
    before.ns.flatMap((n) => store.line(n) ?? []),
  );
}

function usedOtherwise({ name }: SendKey, { sentMs }: KeyedSend): DeaddropError {
  const at = new Date(sentMs).toISOString();
  return new DeaddropError(
    "bad_draft",
    `not sent: the key ${quote(name)} was used for something else at ${at}`,
    { hint: "give each message a key of its own, and repeat a key only with the same message" },
  );
}

function viewOf(known: Sending, line: HeldLine): SentView {
  const { timestamp, to, type, subject } = readHeld(known.place.wireId, line);
  const addressees = addresseesOf(known, line, to);
  return {
    ...{ event_id: line.id, place: placeJson(line), timestamp, to: addressees, type, subject },
    correlation_id: line.thread,
    receipts: receiptsOf(known, line),
  };
}

/** How far a message of ours has come with each addressee. */
export function receiptsOf(known: Sending, line: HeldLine): ReceiptView[] {
  const { to } = readHeld(known.place.wireId, line);
  return addresseesOf(known, line, to).map((addressee) => receiptOf(known, line, addressee));
}

/** Its addressee has neither taken it in nor refused it. */
export function isUnderWay(stage: ReceiptStage): boolean {
  return stage === "stored" || stage === "published";
}

function receiptOf(known: Sending, line: HeldLine, to: string): ReceiptView {
  const state: SentState = isChained(line)
    ? sentState(known.history, factsOf(known), { place: line, thread: line.thread }, to)
    : { is: "stored", atMs: line.receivedMs };
  const waitsFor = isUnderWay(state.is) ? waitOf(known, line, to) : undefined;
  return {
    ...{ to, state: state.is },
    ...(state.is === "refused" && { reason: state.reason }),
    ...(waitsFor !== undefined && { waits_for: waitsFor }),
    at: state.atMs === undefined ? null : new Date(state.atMs).toISOString(),
  };
}

function factsOf(known: Sending): SentFacts {
  const { store, place } = known;
  const beats = store.beats(place.self);
  return {
    publishedMs: (line) => known.publishedMs(line),
    tip: (agent) => store.chains.tip(agent),
    lifeMs: (agent) => beats.life(agent)?.receivedMs,
  };
}

function waitOf(known: Sending, { type, sentMs }: HeldLine, to: string): WaitsFor | undefined {
  if (!isState(type) && awaitsComparison(known, to)) return "mail_waits";
  const skewMs = known.place.limits.max_clock_skew_seconds * SECOND_MS;
  return sentMs - known.world.clock.wallMs() > skewMs ? "sent_ahead" : undefined;
}

/** Whether mail of ours waits at a member until digits are compared: it says so, or nothing, as we here. Spec 2.3, 2.4. */
export function awaitsComparison(
  known: Pick<Known, "store" | "place" | "members">,
  peer: string,
): boolean {
  const { members, store } = known;
  return members.has(peer) && (store.tiers.given(peer) ?? tierOf(known, peer)) === "UNTRUSTED";
}
