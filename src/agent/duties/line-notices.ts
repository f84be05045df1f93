import { refusalRemedy, trouble } from "../../api/troubles.ts";
import { REFUSAL_REASONS } from "../../protocol/admit/refusals.ts";
import { lineAt, type HistoryLine } from "../../protocol/asks/history.ts";
import { textField } from "../../protocol/body.ts";
import { addresses, readEscalation } from "../../protocol/escalations/incident-line.ts";
import type { HeldLine } from "../../store/store.ts";
import { isState } from "../../trust/tiers.ts";
import { isChained, readRefused, type ChainPlace } from "../../wire/places.ts";
import type { Known } from "./duty.ts";
import { quoteText } from "./notice-words.ts";

/** Lines of ours that are looked at for one line of a peer. */
const MOST_LINES = 64;
const REASONS: readonly string[] = [...REFUSAL_REASONS, "mixed"];

/** Tells what one line alone makes known. Within the transaction that takes it in. */
export function tellLine(known: Known, line: HeldLine, nowMs: number): void {
  if (!line.isLive) return;
  if (line.author === known.place.self) {
    if (line.type === "incident") tellEscalation(known, line, nowMs);
  } else if (line.type === "heartbeat" && line.branch !== null) tellRefused(known, line, nowMs);
  else if (line.type === "trust_tier_announcement") tellWaiting(known, line, nowMs);
}

/** An escalation is our daemon's line, so our agent does not find it in its inbox. Spec 3.5. */
function tellEscalation({ store, history }: Known, line: HeldLine, nowMs: number): void {
  const said = history.linked(line);
  const escalation = said && readEscalation(said);
  const incident = escalation && history.linked(escalation.incident);
  if (escalation === undefined || incident === undefined) return;
  const text = `Your incident was escalated (${quoteText(incident.subject)}): ${escalation.of} has read it and did not ack it in time.`;
  const { id } = incident.place;
  store.notices.add(
    { kind: "escalated", about: `${id} ${escalation.of}`, text, peer: undefined },
    nowMs,
  );
}

/** Messages of ours that one beat of a peer names as refused are one matter. Spec 3.2.3. */
function tellRefused(known: Known, line: HeldLine, nowMs: number): void {
  const { store, history, place } = known;
  const peer = line.author;
  const body = history.linked(line)?.body;
  const ranges = body === undefined ? [] : readRefused(body);
  const ours = ranges.filter(({ last }) => last.author === place.self);
  if (ours.length === 0 || !store.notices.hasRoom(peer, nowMs)) return;
  let room = MOST_LINES;
  const refused = ours.flatMap(({ first, last, reason }) => {
    const lines =
      room <= 0 ? [] : messagesTo(known, peer, { from: first, to: last.seq, most: room });
    room -= Math.min(last.seq - first + 1, room);
    return lines.map((message) => ({ message, reason }));
  });
  const [first, ...more] = refused;
  if (first === undefined) return;
  const { message, reason } = first;
  const shown = REASONS.includes(reason) ? ` (${reason})` : "";
  const text = `${peer} refused your ${message.type} ${quoteText(message.subject)}${andMore(more)}${shown}: ${refusalRemedy(reason, peer)}.`;
  store.notices.add({ kind: "refused", about: line.id, text, peer }, nowMs);
}

/**
 * A peer says that we are UNTRUSTED there while mail of ours waits: it is read when the digits are compared.
 * Spec 2.3, 2.4.
 */
function tellWaiting(known: Known, line: HeldLine, nowMs: number): void {
  const { store, history, place } = known;
  const peer = line.author;
  const said = lineAt(history, line);
  const isHeldBack = said !== undefined && textField(said.body, "tier") === "UNTRUSTED";
  if (!isHeldBack || textField(said.body, "about") !== place.self) return;
  if (!store.notices.hasRoom(peer, nowMs)) return;
  const { seq } = store.chains.whole(place.self);
  const sent = messagesTo(known, peer, {
    from: Math.max(1, seq - MOST_LINES + 1),
    to: seq,
    most: MOST_LINES,
  });
  const [first, ...more] = sent.filter(({ place: at }) => !history.hasHead(peer, at, "taken_in"));
  if (first === undefined) return;
  const messages = `${first.type} ${quoteText(first.subject)}${andMore(more)}`;
  const { detail, end } = trouble("mail_waits", { peer, messages });
  const text = `${detail}; your operator runs ${end}.`;
  store.notices.add({ kind: "mail_waits", about: line.id, text, peer }, nowMs);
}

/** The messages of our chain to a peer in a range of numbers, of which the first few lines are looked at. */
function messagesTo(
  { store, history, place }: Known,
  peer: string,
  { from, to, most }: Readonly<Record<"from" | "to" | "most", number>>,
): (HistoryLine & { readonly place: ChainPlace })[] {
  return store.chain(place.self, { after: from - 1, limit: most }).flatMap((line) => {
    if (line.seq === null || line.seq > to || isState(line.type) || !isChained(line)) return [];
    const said = history.linked(line);
    return said !== undefined && addresses(said, peer) ? [said] : [];
  });
}

function andMore({ length }: readonly unknown[]): string {
  return length === 0 ? "" : ` and ${length} more`;
}
