import { readPlace } from "../../wire/places.ts";
import { booleanField, field, textField } from "../body.ts";
import { lineAt, type History, type HistoryLine } from "./history.ts";
import { isLeave } from "./members-change.ts";

/** Types of requests that mean something to a daemon, or have a command's help. */
export const SHUTDOWN = "shutdown";
export const PLAN_APPROVAL = "plan_approval";
/** A step of a plan, for its owner. Spec 7.5. */
export const PLAN_STEP = "plan_step";

const REQUEST_ID = /^[0-9a-f]{8,128}$/u;
/** What an agent that is parked does not send. Spec 3.8. */
export const NOT_WHILE_PARKED: readonly string[] = ["request", "proposal", "claim"];

/** What a request asks for; undefined of one that is plain: it is owed, and no daemon ends it for time. */
export function requestType({ type, body }: HistoryLine): string | undefined {
  return type === "request" ? textField(body, "request_type") : undefined;
}

/** The name of a request for people, and for programs that answer without a place. */
export function requestId({ type, body }: OwnLine): string | undefined {
  const text = type === "request" ? textField(body, "request_id") : undefined;
  return text !== undefined && REQUEST_ID.test(text) ? text : undefined;
}

/** A line that our agent is about to sign, or has signed. */
type OwnLine = Pick<HistoryLine, "type" | "body">;

/**
 * Whether our agent parks by a line of its own, so that its daemon adds `parks`: it agrees to finish, or acks that
 * a peer which is trusted here shuts down. Spec 3.8.
 */
export function isParking(
  history: History,
  { type, body }: OwnLine,
  isTrusted: (author: string) => boolean,
): boolean {
  if (type !== "ack") return false;
  const answered = lineNamed(history, body, "answers");
  if (answered !== undefined && requestType(answered) === SHUTDOWN)
    return booleanField(body, "approve") === true;
  const about = lineNamed(history, body, "about");
  const isShutdown = about?.type === "shutdown" && !isLeave(about);
  return isShutdown && booleanField(body, "approve") !== false && isTrusted(about.place.author);
}

/** Whether a line of ours that is committed has parked our agent. */
export function hasParked({ type, body }: OwnLine): boolean {
  return type === "ack" && booleanField(body, "parks") === true;
}

function lineNamed(
  history: History,
  body: HistoryLine["body"],
  name: string,
): HistoryLine | undefined {
  const place = readPlace(field(body, name));
  return place && lineAt(history, place);
}
