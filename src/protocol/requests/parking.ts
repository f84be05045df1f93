import { isJsonObject } from "../../wire/json/json.ts";
import type { Draft } from "../../wire/compose.ts";
import { booleanField, field, textField } from "../body.ts";
import type { Effect } from "../effects.ts";
import type { Env } from "../env.ts";
import type { CoreEvent, LineEvent } from "../events.ts";
import type { ThreadsState } from "../threads/threads.ts";
import { SHUTDOWN } from "./request-line.ts";
import { requestKey, type RequestsState } from "./requests-state.ts";

/**
 * Whether our agent is parked: it has approved its shutdown, and nothing new is begun until it is
 * woken. A parked daemon goes on to take in and to receipt. Spec 3.8.
 */
export interface ParkingState {
  parked: Parked | undefined;
  /** The approval that was ended last by `wake`. */
  woken: { readonly by: string; at: number } | undefined;
}

export interface Parked {
  /** Event id of our approval. */
  readonly by: string;
  /** Event id of what it approved, and who asked. */
  readonly request: string;
  readonly peer: string;
  readonly at: number;
  /** How the stop hook ended; undefined: it has not. */
  stop: StopEnd | undefined;
}

/** "none": no hook is set, or no daemon runs it. */
export interface StopEnd {
  readonly outcome: "done" | "failed" | "none";
  readonly detail: string;
}

/** Spec 3.8: a parked agent takes no new work, and begins none. */
const NEW_WORK: ReadonlySet<string> = new Set(["request", "proposal", "claim"]);

export function emptyParking(): ParkingState {
  return { parked: undefined, woken: undefined };
}

/** Only what our own log says parks us, so an approval that is on the wire always does. */
export function applyParking(state: ParkingState, event: CoreEvent): void {
  switch (event.kind) {
    case "line":
      if (event.own && event.live && event.refused === undefined) takeApproval(state, event);
      break;
    case "stopped":
      if (state.parked?.by === event.by) {
        state.parked.stop = { outcome: event.outcome, detail: event.detail };
      }
      break;
    case "woken":
      if (state.parked?.by === event.by) state.parked = undefined;
      state.woken = { by: event.by, at: event.at };
      break;
    default:
  }
}

function takeApproval(state: ParkingState, { message, at }: LineEvent): void {
  const { id, type, body, to } = message;
  const request = textField(body, "acks");
  if (type !== "ack" || booleanField(body, "parks") !== true || request === undefined) return;
  // A line of ours that came back after a power cut has parked us before.
  if (state.parked !== undefined || state.woken?.by === id) return;
  state.parked = { by: id, request, peer: to?.[0] ?? "", at, stop: undefined };
}

/** Once the stop hook has ended: from then on our beats say so. */
export function isPaused({ parked }: ParkingState): boolean {
  return parked?.stop !== undefined;
}

export function isNewWork(type: string): boolean {
  return NEW_WORK.has(type);
}

/** The stop hook has to run, or is running. */
export function decideParking({ parked }: ParkingState): Effect[] {
  if (parked === undefined || parked.stop !== undefined) return [];
  const { by, request, peer } = parked;
  return [{ do: "stop_agent", by, request, peer }];
}

/** What an answer of ours is judged by. */
interface Asked {
  readonly requests: RequestsState;
  readonly threads: ThreadsState;
}

/**
 * The draft of an answer by which our agent agrees to its shutdown, with `body.parks`; any other draft
 * as it is. A bare `shutdown` counts only from a TRUSTED peer.
 */
export function withParking(draft: Draft, asked: Asked, env: Env): Draft {
  const { type, body } = draft;
  const parks =
    type === "ack" && (approvesRequest(draft, asked, env) || acksBare(draft, asked, env));
  return parks && isJsonObject(body) ? { ...draft, body: { ...body, parks: true } } : draft;
}

/** An answer to a request goes out alone: it may park us, and what is sent after it must see that. */
export function mayPark({ type, body }: Draft): boolean {
  return type === "ack" && field(body, "request_id") !== undefined;
}

/** Whether that draft parks us when it is sent. */
export function isParking({ type, body }: Draft): boolean {
  return type === "ack" && booleanField(body, "parks") === true;
}

function approvesRequest({ body }: Draft, { requests }: Asked, { self }: Env): boolean {
  if (booleanField(body, "approve") !== true) return false;
  const request = requests.requests.get(requestKey(textField(body, "acks") ?? "", self));
  if (request === undefined || request.requestType !== SHUTDOWN) return false;
  // An answer that changes nothing any more stops nobody, and a line that we refuse asks nothing.
  const isOpen =
    request.outcome === undefined && request.isVoid === false && request.refused === undefined;
  return (
    isOpen && request.answers.length === 0 && textField(body, "request_id") === request.requestId
  );
}

function acksBare({ body, correlationId }: Draft, { threads }: Asked, env: Env): boolean {
  if (booleanField(body, "approve") === false || field(body, "request_id") !== undefined) {
    return false;
  }
  const thread = threads.threads.get(correlationId ?? "");
  const acked = thread?.messages.find(({ id }) => id === textField(body, "acks"));
  if (acked?.type !== "shutdown" || acked.isFarewell === true || acked.refused !== undefined)
    return false;
  return acked.to.includes(env.self) && env.tierOf(acked.from).tier === "TRUSTED";
}
