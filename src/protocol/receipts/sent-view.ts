import { MAX_SENT, type ReceiptStage, type SentMessage, type SentState } from "./sent.ts";

/** How far one message has come with one addressee. */
export interface ReceiptView {
  to: string;
  state: ReceiptStage;
  reason?: string;
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

/** The newest first. */
export function sentView(state: SentState, limit = MAX_SENT): SentView[] {
  const newest = [...state.messages.values()].reverse().slice(0, limit);
  return newest.map(viewOf);
}

/** The receipts of one message of ours, by event id. */
export function receiptView(state: SentState, id: string): SentView | undefined {
  const message = state.messages.get(id);
  return message === undefined ? undefined : viewOf(message);
}

function viewOf(message: SentMessage): SentView {
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
      at: new Date(at).toISOString(),
    })),
  };
}
