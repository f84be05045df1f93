import { booleanField, textField } from "./body.ts";
import type { CoreEvent } from "./events.ts";

/** Types that are counted by their names: any peer can invent more. */
const MAX_TYPES = 64;
const OTHER_TYPES = "other";
/** Proposals of which it is remembered who has agreed; of older ones only how many there were. */
const MAX_TALLIED = 4_096;

/** The record of a wire as we have seen it, in numbers. Spec 4.4, `stats`. */
export interface TallyState {
  messages: number;
  readonly byType: Map<string, number>;
  /** Timestamps of the earliest and the latest message, ms since 1970; undefined before the first one. */
  firstTimestampMs: number | undefined;
  lastTimestampMs: number | undefined;
  /** By event id, the oldest first. */
  readonly proposals: Map<string, TalliedProposal>;
  /** How many of the forgotten ones somebody else had agreed to, and somebody had rejected. */
  readonly forgotten: { agreed: number; rejected: number };
}

interface TalliedProposal {
  readonly from: string;
  agreed: boolean;
  rejected: boolean;
}

export function emptyTally(): TallyState {
  return {
    messages: 0,
    byType: new Map(),
    firstTimestampMs: undefined,
    lastTimestampMs: undefined,
    proposals: new Map(),
    forgotten: { agreed: 0, rejected: 0 },
  };
}

/** Counts a line that was accepted. */
export function applyTally(state: TallyState, event: CoreEvent): void {
  if (event.kind !== "line" || event.refused !== undefined) return;
  const { id, type, from, body, timestampMs } = event.message;
  state.messages += 1;
  const counted = state.byType.has(type) || state.byType.size < MAX_TYPES ? type : OTHER_TYPES;
  state.byType.set(counted, (state.byType.get(counted) ?? 0) + 1);
  state.firstTimestampMs = Math.min(state.firstTimestampMs ?? timestampMs, timestampMs);
  state.lastTimestampMs = Math.max(state.lastTimestampMs ?? timestampMs, timestampMs);
  if (type === "proposal") tallyProposal(state, id, from);
  const acked = type === "ack" ? state.proposals.get(textField(body, "acks") ?? "") : undefined;
  if (acked === undefined || acked.from === from) return;
  const approves = booleanField(body, "approve");
  if (approves === true) acked.agreed = true;
  if (approves === false) acked.rejected = true;
}

function tallyProposal({ proposals, forgotten }: TallyState, id: string, from: string): void {
  if (proposals.has(id)) return;
  proposals.set(id, { from, agreed: false, rejected: false });
  if (proposals.size <= MAX_TALLIED) return;
  for (const [oldest, { agreed, rejected }] of proposals) {
    if (agreed) forgotten.agreed += 1;
    if (rejected) forgotten.rejected += 1;
    proposals.delete(oldest);
    return;
  }
}

/** The proposals that somebody else has agreed to, or that somebody has rejected, with those given. */
export function talliedIds(
  { proposals }: TallyState,
  what: "agreed" | "rejected",
  others: Iterable<string> = [],
): ReadonlySet<string> {
  const known = [...proposals].flatMap(([id, proposal]) => (proposal[what] ? id : []));
  return new Set([...known, ...others]);
}
