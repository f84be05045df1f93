import { replyProblem, type CollabEvent } from "../documents/event-lines.ts";
import { refusals } from "../machine/refusals.ts";
import { after, type RoundState } from "../machine/round-state.ts";
import { documentReasons } from "./document-reasons.ts";
import { rulesOf, walked, type Round } from "./round.ts";

export type Checked =
  | { readonly ok: true; readonly state: RoundState }
  | { readonly ok: false; readonly reasons: readonly string[] };

/** Whether an event may follow, and the state after it; or all reasons why not. Spec 6.3. */
export function checkAppend(round: Round, event: CollabEvent): Checked {
  const broken = brokenLog(round);
  if (broken.length > 0) return { ok: false, reasons: broken };
  const { state } = walked(round);
  const rules = rulesOf(round.protocol);
  const reply = replyProblem(event.reply_to, event.seq);
  const reasons = new Set([
    ...(reply === undefined ? [] : [reply]),
    ...refusals(rules, state, event, state.seq + 1),
    ...documentReasons(round, event),
  ]);
  if (reasons.size > 0) return { ok: false, reasons: [...reasons] };
  return { ok: true, state: after(rules, state, event) };
}

/** Nothing is appended to a log that cannot be understood to its end. */
export function brokenLog(round: Round): string[] {
  const { events, protocolProblems } = round;
  const way = walked(round);
  const refused = way.ok ? [] : [`events.jsonl seq ${way.seq}: ${way.reasons.join("; ")}`];
  const found = [...protocolProblems, ...events.problems, ...refused];
  if (found.length > 0) return found;
  return events.events.length === 0
    ? ["events.jsonl has no event yet: initialized is missing"]
    : [];
}
