import type { Message } from "../../wire/message.ts";
import { field, textField } from "../body.ts";

const SEVERITIES = ["low", "medium", "high", "critical"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** What a line is to incidents. Ids are event ids. Spec 3.5. */
export type IncidentLine =
  | { readonly is: "declared"; readonly severity: Severity }
  | { readonly is: "escalation"; readonly incident: string; readonly of: string }
  | { readonly is: "resolution"; readonly incident: string }
  | { readonly is: "resume"; readonly escalation: string }
  /** Without `body.acks` an ack answers what its thread is about. */
  | { readonly is: "ack"; readonly incident: string | undefined; readonly thread: string }
  | { readonly is: "other" };

const OTHER: IncidentLine = { is: "other" };

export function incidentLine(message: Message): IncidentLine {
  const { body, type, correlationId } = message;
  if (type === "ack") {
    // The answer to a request (3.8) answers nothing else.
    if (textField(body, "request_id") !== undefined) return OTHER;
    return { is: "ack", incident: textField(body, "acks"), thread: correlationId };
  }
  if (type !== "incident") return OTHER;
  const escalated = textField(body, "escalates");
  if (escalated !== undefined) {
    const of = textField(body, "of");
    return of === undefined ? OTHER : { is: "escalation", incident: escalated, of };
  }
  const resolved = textField(body, "resolves");
  if (resolved !== undefined) return { is: "resolution", incident: resolved };
  const resumed = textField(body, "resumes");
  if (resumed !== undefined) return { is: "resume", escalation: resumed };
  return isAutomatic(message) ? OTHER : { is: "declared", severity: severityOf(message) };
}

/** An incident that a daemon has written by itself: it asks for no answer, in any log. Spec 3.5. */
export function isAutomatic({ type, body }: Pick<Message, "type" | "body">): boolean {
  if (type !== "incident") return false;
  return field(body, "resumes_here") !== undefined || field(body, "cause") !== undefined;
}

/** The escalation that a signed line ends for its author alone. Spec 3.5. */
export function resumedHere(message: Message): string | undefined {
  return isSigned(message) ? textField(message.body, "resumes_here") : undefined;
}

export function isSigned(message: Message): boolean {
  return message.version !== "v2.0";
}

/** Without a severity that we know an incident is medium: safe mode needs one that says so. */
function severityOf(message: Message): Severity {
  const said = textField(message.body, "severity");
  return SEVERITIES.find((severity) => severity === said) ?? "medium";
}
