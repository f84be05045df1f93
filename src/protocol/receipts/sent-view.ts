import { MAX_SENT, type ReceiptStage, type SentMessage, type SentState } from "./sent.ts";

/**
 * Why a message that is stored waits at its addressee: digits have to be compared, or it is dated ahead
 * of our clock. Spec 2.4.
 */
export type WaitsFor = "comparison" | "clock";

/** How far one message has come with one addressee. */
export interface ReceiptView {
  to: string;
  state: ReceiptStage;
  reason?: string;
  waits_for?: WaitsFor;
  /** When the state was proved to us. */
  at: string | null;
}

/** One sent message, as `deaddrop sent` prints it. */
export interface SentView {
  event_id: string;
  timestamp: string;
  to: string[];
  type: string;
  subject: string;
  correlation_id: string;
  receipts: ReceiptView[];
}

/** Why a message of ours that is stored waits at that peer, if it does. */
type FindWait = (peer: string, message: SentMessage) => WaitsFor | undefined;
const findsNone: FindWait = () => undefined;

/** The newest first. */
export function sentView(
  state: SentState,
  limit = MAX_SENT,
  findWait: FindWait = findsNone,
): SentView[] {
  const newest = [...state.messages.values()].reverse().slice(0, limit);
  return newest.map((message) => viewOf(message, findWait));
}

/** The receipts of one message of ours, by event id. */
export function receiptView(
  state: SentState,
  id: string,
  findWait: FindWait = findsNone,
): SentView | undefined {
  const message = state.messages.get(id);
  return message === undefined ? undefined : viewOf(message, findWait);
}

function viewOf(message: SentMessage, findWait: FindWait): SentView {
  const waitOf = (to: string, stage: ReceiptStage) => {
    const waitsFor = stage === "stored" ? findWait(to, message) : undefined;
    return waitsFor === undefined ? {} : { waits_for: waitsFor };
  };
  return {
    event_id: message.id,
    timestamp: message.timestamp,
    to: [...message.receipts.keys()],
    type: message.type,
    subject: message.subject,
    correlation_id: message.correlationId,
    receipts: [...message.receipts].map(([to, { stage, at, reason }]) => ({
      to,
      state: stage,
      ...(reason === undefined ? {} : { reason }),
      ...waitOf(to, stage),
      at: new Date(at).toISOString(),
    })),
  };
}
