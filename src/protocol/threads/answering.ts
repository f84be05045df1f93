import type { Message } from "../../wire/message.ts";
import { field } from "../body.ts";
import { requestLine } from "../requests/request-line.ts";

/**
 * What a message answers of that which its author owes in its thread. Spec 3.3: an ack, a
 * counter-proposal or the answer to a request answers anything; other words answer plain requests.
 */
export type Answers = "anything" | "plain requests" | "nothing";

const WORDS: ReadonlySet<string> = new Set(["feedback", "decision", "ship", "warning"]);

export function answersWhat(message: Message): Answers {
  const { type, body } = message;
  if (type === "ack" || type === "proposal") return "anything";
  // Asking back answers nothing.
  if (type === "request") return "nothing";
  if (field(body, "request_id") !== undefined) return "anything";
  return WORDS.has(type) ? "plain requests" : "nothing";
}

/** A request that any reply of its addressee in the thread answers. Spec 3.3. */
export function isPlainRequest(message: Message): boolean {
  return message.type === "request" && requestLine(message) === undefined;
}

/** A request that only its own answer answers, or such an answer, and the name of it. Spec 3.8. */
export interface NamedRequest {
  readonly is: "request" | "answer";
  /** `request_id`, in lower case. */
  readonly id: string;
}

export function namedRequest(message: Message): NamedRequest | undefined {
  const says = requestLine(message);
  if (says?.is !== "request" && says?.is !== "answer") return undefined;
  return { is: says.is, id: says.requestId.toLowerCase() };
}

/** Whether its addressees owe an answer. Spec 3.3. */
export function asksForAnswer(message: Message): boolean {
  if (message.ackRequired) return true;
  return message.type === "request" && requestLine(message)?.is !== "answer";
}
