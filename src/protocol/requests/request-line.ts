import { firstCodePoints } from "../../wire/json/code-points.ts";
import { isChained } from "../../wire/chain.ts";
import { canonicalText } from "../../wire/canonical.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import type { Message } from "../../wire/message.ts";
import { booleanField, field, idField, textField } from "../body.ts";

/** What a line is to requests with an answer. Ids are event ids. Spec 3.8. */
export type RequestLine =
  | {
      readonly is: "request";
      readonly requestId: string;
      readonly requestType: string;
      /** As text, cut. */
      readonly plan: string | undefined;
    }
  /** `acks`: the request that it names; only an unchained line may name none. */
  | {
      readonly is: "answer";
      readonly requestId: string;
      readonly acks: string | undefined;
      readonly approves: boolean;
      readonly reason: string | undefined;
      /** Its author parks on it, whatever becomes of the request. */
      readonly parks: boolean;
    }
  /** `of`: the one addressee whom it is about; undefined: all of them. */
  | {
      readonly is: "cancelled" | "expired";
      readonly request: string;
      readonly of: string | undefined;
      readonly reason: string | undefined;
    };

/** The types that mean something to a daemon, or have a command's help. */
export const SHUTDOWN = "shutdown";
export const PLAN_APPROVAL = "plan_approval";
/** A step of a plan, for its owner. Spec 7.5. */
export const PLAN_STEP = "plan_step";
/** A request that says no type. */
const NO_TYPE = "other";

/** Spec 3.8: eight hex digits or more. */
const REQUEST_ID = /^[0-9a-f]{8,128}$/iu;
const MAX_TYPE_CODE_POINTS = 64;
/** Characters of a reason that are kept; the line has all of it. */
const MAX_REASON_CODE_POINTS = 1_024;
const MAX_PLAN_CODE_POINTS = 4_096;

/** How other programs spell requests and answers, as a type of the line or in `request_type`. */
const SPELLINGS: ReadonlyMap<JsonValue, { is: "request" | "answer"; requestType: string }> =
  new Map([
    ["shutdown_request", { is: "request", requestType: SHUTDOWN }],
    ["shutdown_response", { is: "answer", requestType: SHUTDOWN }],
    ["plan_approval_response", { is: "answer", requestType: PLAN_APPROVAL }],
  ]);

/** Undefined for a line that neither asks, answers nor ends a request. */
export function requestLine(message: Message): RequestLine | undefined {
  const { type, body } = message;
  if (type === "correction") return endLine(body);
  if (type !== "ack" && type !== "request") return undefined;
  const requestId = textField(body, "request_id");
  if (requestId === undefined || !REQUEST_ID.test(requestId)) return undefined;
  const spelling =
    SPELLINGS.get(message.fields["type"] ?? null) ??
    SPELLINGS.get(field(body, "request_type") ?? null);
  if (type === "request" && spelling?.is !== "answer") {
    const requestType = spelling?.requestType ?? typeNamed(body);
    return { is: "request", requestId, requestType, plan: planIn(body) };
  }
  const approves = booleanField(body, "approve");
  // Spec 3.8: an `approve` that is no boolean is no answer.
  if (approves === undefined) return undefined;
  const acks = field(body, "acks") === undefined ? undefined : (textField(body, "acks") ?? "");
  if (acks === undefined && isChained(message)) return undefined;
  const parks = booleanField(body, "parks") === true;
  return { is: "answer", requestId, acks, approves, reason: reasonIn(body), parks };
}

function endLine(body: JsonValue): RequestLine | undefined {
  const of = textField(body, "of");
  const reason = reasonIn(body);
  const cancelled = idField(body, "cancels");
  if (cancelled !== undefined) return { is: "cancelled", request: cancelled, of, reason };
  const expired = idField(body, "expires");
  return expired === undefined ? undefined : { is: "expired", request: expired, of, reason };
}

function typeNamed(body: JsonValue): string {
  return firstCodePoints(textField(body, "request_type") || NO_TYPE, MAX_TYPE_CODE_POINTS);
}

/** What is to be approved: text, or anything as its JSON. */
function planIn(body: JsonValue): string | undefined {
  const plan = field(body, "plan");
  if (plan === undefined) return undefined;
  const text = typeof plan === "string" ? plan : canonicalText(plan);
  return firstCodePoints(text, MAX_PLAN_CODE_POINTS);
}

function reasonIn(body: JsonValue): string | undefined {
  const reason = textField(body, "reason");
  return reason && firstCodePoints(reason, MAX_REASON_CODE_POINTS);
}
