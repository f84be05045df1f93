import type { CoreEvent } from "../events.ts";
import type { AnnouncementsState } from "../keys/announcements.ts";
import type { Refusal, SentState } from "../receipts/sent.ts";
import { isState } from "../../trust/tiers.ts";
import { quoted, type Matter } from "./agent-notice.ts";

/** Messages of ours that one beat of a peer names as refused are one matter. Spec 3.12. */
export function refusalsOf(refusals: readonly Refusal[], event: CoreEvent): Matter[] {
  if (event.kind !== "line") return [];
  const said = refusals
    .filter(({ message }) => !isState(message.type))
    .toSorted((a, b) => a.message.line - b.message.line);
  return [...new Set(said.map(({ by }) => by))].flatMap((peer) => {
    const [first, ...more] = said.filter(({ by }) => by === peer);
    if (first === undefined) return [];
    const { message, reason } = first;
    const others = more.length === 0 ? "" : ` and ${more.length} more of your messages`;
    const what = `your ${message.type} ${quoted(message.subject)}${others}`;
    const text = `${peer} refused ${what} (${reason}): ${refusalRemedy(reason, peer)}.`;
    return [{ kind: "refused", about: event.message.id, text, peer }];
  });
}

/**
 * A peer says that we are UNTRUSTED there while mail of ours waits: it is read when the digits are
 * compared. Spec 2.4.
 */
export function waitingMailOf(
  { messages }: SentState,
  { given }: AnnouncementsState,
  event: CoreEvent,
): Matter[] {
  if (event.kind !== "line" || event.own || event.message.type !== "trust_tier_announcement") {
    return [];
  }
  const peer = event.message.from;
  if (event.refused !== undefined || given.get(peer) !== "UNTRUSTED") return [];
  const waiting = [...messages.values()].filter(
    ({ type, receipts }) => !isState(type) && receipts.get(peer)?.stage === "stored",
  );
  const [first, ...more] = waiting;
  if (first === undefined) return [];
  const others = more.length === 0 ? "" : ` and ${more.length} more of your messages`;
  const text = `Your ${first.type} ${quoted(first.subject)}${others} will reach ${peer} when the digits are compared: your operator runs deaddrop trust sas ${peer}, its operator does the same with you.`;
  return [{ kind: "mail_waits", about: event.message.id, text, peer }];
}

/** What the sender of a refused message can do about it. `reason` is one that a beat names. Spec 3.2. */
export function refusalRemedy(reason: string, peer: string): string {
  switch (reason) {
    case "tier_refused":
      return `your tier there is too low for this type; ask its operator to raise it (deaddrop peers shows how far ${peer} trusts you), then send it again`;
    case "body_too_large":
      return "its body is too large there; put the text into a file, name it with --ref and send it again";
    case "too_many_refs":
      return "it has too many references; send it again with fewer";
    case "clock_skew":
      return "it is dated ahead of the clock there; have both operators compare their clocks with a time server (timedatectl), then send it again";
    case "replayed":
      return "it has that line already; there is nothing to do";
    case "wrong_wire":
      return "its configuration has another wire id; the operators have to compare their config.json";
    case "unchained":
    case "log_forked":
      return `it does not find the line in the chain of your log; your operator should run deaddrop doctor, and its operator deaddrop peer show`;
    case "left_member":
      return "to it you are no member of this wire any more; ask its operator";
    case "closed_log":
      return "that log is closed; ask its operator which layout it uses";
    case "foreign":
      return `it could not prove that the line is yours; have your operator check that it has your key (deaddrop trust sas ${peer})`;
    default:
      return "its operator finds the reasons in its quarantine file; send it again when they are gone";
  }
}
