import type { Message } from "../../wire/message.ts";
import { field } from "../body.ts";
import { isAutomatic } from "../incidents/incident-lines.ts";

/**
 * Whether a message wakes no agent, however urgent it is: it asks for nothing. Incidents that a daemon
 * declares, claims, releases, and acks that accept a proposal; the answer to a request wakes. Spec 8.3.
 */
export function isQuiet(message: Pick<Message, "type" | "body">): boolean {
  const { type, body } = message;
  if (type === "claim" || type === "release") return true;
  if (type === "ack")
    return field(body, "approve") === true && field(body, "request_id") === undefined;
  return isAutomatic(message);
}
