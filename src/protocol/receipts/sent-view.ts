import { isState } from "../../trust/tiers.ts";
import { MAX_SENT, type ReceiptStage, type SentMessage, type SentState } from "./sent.ts";

/** How far one message has come with one addressee. */
export interface ReceiptView {
  to: string;
  state: ReceiptStage;
  reason?: string;
  /** It is stored, and waits there until digits are compared. Spec 2.4. */
  waits_for?: "comparison";
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

/** Whether our mail to a peer waits there for the comparison of digits. */
type Uncompared = (peer: string) => boolean;
const nobodyIs: Uncompared = () => false;

/** The newest first. */
export function sentView(
  state: SentState,
  limit = MAX_SENT,
  isUncompared: Uncompared = nobodyIs,
): SentView[] {
  const newest = [...state.messages.values()].reverse().slice(0, limit);
  return newest.map((message) => viewOf(message, isUncompared));
}

/** The receipts of one message of ours, by event id. */
export function receiptView(
  state: SentState,
  id: string,
  isUncompared: Uncompared = nobodyIs,
): SentView | undefined {
  const message = state.messages.get(id);
  return message === undefined ? undefined : viewOf(message, isUncompared);
}

function viewOf(message: SentMessage, isUncompared: Uncompared): SentView {
  const waits = (to: string, stage: ReceiptStage) =>
    stage === "stored" && !isState(message.type) && isUncompared(to);
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
      ...(waits(to, stage) ? { waits_for: "comparison" as const } : {}),
      at: new Date(at).toISOString(),
    })),
  };
}
