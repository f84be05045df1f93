import { isChained, type ChainGap, type ChainHead, type ChainState } from "../../wire/chain.ts";
import type { Message } from "../../wire/message.ts";
import { absenceBefore, type Absences, type LogPlace } from "../../wire/roster/members.ts";

/**
 * The chain of an agent that came back goes on from its first line after that: what it wrote while it was
 * away is refused for good, and is not missing. Lines from before it left may still come. Spec 1.1, 1.6.
 *
 * @param message authentic
 * @returns the chain that the line has to go on with: `chain` itself but for that one line
 */
export function chainAfterReturn(
  chain: ChainState,
  log: string,
  message: Message,
  left: Absences,
): ChainState {
  const { head, gaps } = chain;
  if (!isChained(message) || message.prev === undefined) return chain;
  const { from, seq, prev } = message;
  if ((head?.seq ?? 0) >= seq) return chain;
  const absence = absenceBefore(left, from, log, seq);
  if (absence === undefined) return chain;
  const missing = missingUpTo(absence.logs.get(log), head);
  return { head: { seq: seq - 1, id: prev }, gaps: [...gaps, ...missing] };
}

function missingUpTo(last: LogPlace | undefined, head: ChainHead | undefined): ChainGap[] {
  const [from, to] = [(head?.seq ?? 0) + 1, last?.seq ?? 0];
  return from > to ? [] : [{ from, to, after: head?.id, before: last?.eventId }];
}
