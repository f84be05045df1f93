import type { Message } from "../../wire/message.ts";
import { field } from "../body.ts";

/**
 * What a message answers of that which its author owes in its thread. Spec 3.3: an ack, a
 * counter-proposal or the answer to a request answers anything; other words answer plain requests.
 */
export type Answers = "anything" | "plain requests" | "nothing";

const WORDS: ReadonlySet<string> = new Set(["feedback", "decision", "ship", "warning"]);

export function answersWhat({ type, body }: Pick<Message, "type" | "body">): Answers {
  if (type === "ack" || type === "proposal") return "anything";
  // Asking back answers nothing.
  if (type === "request") return "nothing";
  if (field(body, "request_id") !== undefined) return "anything";
  return WORDS.has(type) ? "plain requests" : "nothing";
}

/** A request that any reply of its addressee in the thread answers. Spec 3.3. */
export function isPlainRequest({ type, body }: Pick<Message, "type" | "body">): boolean {
  return type === "request" && field(body, "request_id") === undefined;
}

/** Whether its addressees owe an answer. Spec 3.3. */
export function asksForAnswer(message: Pick<Message, "type" | "body" | "ackRequired">): boolean {
  return message.ackRequired || isPlainRequest(message);
}
