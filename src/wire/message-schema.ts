import { exceedsCodePoints } from "./json/code-points.ts";
import { isHandle, agentName } from "./handle.ts";
import { isJsonArray, type JsonObject, type JsonValue } from "./json/json.ts";
import { MESSAGE_TYPES, typeOf, typeSpelled } from "./kinds.ts";
import {
  MAX_CORRELATION_ID_CODE_POINTS,
  MAX_RECIPIENTS,
  MAX_SUBJECT_CODE_POINTS,
} from "./limits.ts";
import { quote } from "./quote.ts";
import { parseTimestamp } from "./timestamp.ts";

type Check = (value: JsonValue) => string | undefined;

const REQUIRED = ["timestamp", "from", "subject", "body", "correlation_id"] as const;
const CHECKS: ReadonlyArray<readonly [field: string, check: Check]> = [
  ["timestamp", checkTimestamp],
  ["from", checkFrom],
  ["to", checkTo],
  ["type", checkType],
  ["kind", checkInteger],
  ["subject", (value) => checkLength(value, 0, MAX_SUBJECT_CODE_POINTS)],
  ["refs", checkRefs],
  ["priority", checkPriority],
  ["correlation_id", (value) => checkLength(value, 1, MAX_CORRELATION_ID_CODE_POINTS)],
  ["ack_required", checkBoolean],
  ["event_id", checkString],
  ["public_key_id", checkString],
  ["signature", checkString],
  ["wire", checkString],
  ["log", checkString],
  ["seq", checkSeq],
  ["prev", checkString],
];

/**
 * What is wrong with the shape of a message, undefined when nothing is. Spec 1.2. The same rules as
 * `schemas/message.json`, by hand because every line of every log passes through here, plus the
 * three that a schema cannot say: the calendar, integers written with a point, and that an ack
 * starts no thread.
 */
export function schemaProblem(fields: JsonObject): string | undefined {
  for (const field of REQUIRED) {
    if (fields[field] === undefined) return `${field} is missing`;
  }
  for (const [field, check] of CHECKS) {
    const value = fields[field];
    if (value === undefined) continue;
    const problem = check(value);
    if (problem !== undefined) return `${field}${problem.startsWith("[") ? "" : " "}${problem}`;
  }
  const type = typeMeant(fields);
  if (type === undefined) return "type or kind is missing";
  if (type === "ack" && fields["correlation_id"] === fields["timestamp"]) {
    return "correlation_id of an ack must be that of the thread it answers, not its own timestamp";
  }
  if (type === "proposal" && fields["ack_required"] !== true) {
    return "ack_required must be true for a proposal";
  }
  return undefined;
}

function typeMeant({ type, kind }: JsonObject): string | undefined {
  if (type !== undefined) return typeSpelled(type as string);
  return kind === undefined ? undefined : typeOf(kind as number);
}

function checkString(value: JsonValue): string | undefined {
  return typeof value === "string" ? undefined : "must be a string";
}

function checkBoolean(value: JsonValue): string | undefined {
  return typeof value === "boolean" ? undefined : "must be true or false";
}

function checkTimestamp(value: JsonValue): string | undefined {
  if (typeof value === "string" && parseTimestamp(value) !== undefined) return undefined;
  return 'must be an ISO-8601 date and time with an offset or "Z", such as "2026-06-01T10:00:00Z"';
}

function checkFrom(value: JsonValue): string | undefined {
  if (typeof value === "string" && agentName(value) !== undefined) return undefined;
  return "must be a handle or did:wire:<handle>";
}

function checkTo(value: JsonValue): string | undefined {
  if (!isJsonArray(value)) return 'must be a list of handles or "*"';
  if (value.length > MAX_RECIPIENTS) return `must name at most ${MAX_RECIPIENTS} recipients`;
  const bad = value.findIndex((to) => typeof to !== "string" || (to !== "*" && !isHandle(to)));
  return bad < 0 ? undefined : `[${bad}] must be a handle or "*"`;
}

function checkType(value: JsonValue): string | undefined {
  if (typeof value !== "string") return "must be a string";
  if (typeSpelled(value) !== undefined) return undefined;
  return `${quote(value)} is not one of ${MESSAGE_TYPES.join(", ")}`;
}

function checkInteger(value: JsonValue): string | undefined {
  // Larger integers are bigints, and 1200.0 is a double: neither is a kind.
  return typeof value === "number" ? undefined : "must be an integer";
}

function checkSeq(value: JsonValue): string | undefined {
  return typeof value === "number" && value >= 1 ? undefined : "must be an integer ≥ 1";
}

function checkRefs(value: JsonValue): string | undefined {
  if (!isJsonArray(value)) return "must be a list of strings";
  const bad = value.findIndex((ref) => typeof ref !== "string");
  return bad < 0 ? undefined : `[${bad}] must be a string`;
}

function checkPriority(value: JsonValue): string | undefined {
  if (value === "low" || value === "medium" || value === "normal" || value === "high") {
    return undefined;
  }
  return "must be low, medium, normal or high";
}

function checkLength(value: JsonValue, min: number, max: number): string | undefined {
  if (typeof value !== "string") return "must be a string";
  if (value.length < min) return "must not be empty";
  return exceedsCodePoints(value, max) ? `must be at most ${max} characters long` : undefined;
}
