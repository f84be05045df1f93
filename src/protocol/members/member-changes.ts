import type { LogPlace } from "../../wire/roster/members.ts";
import { isChained } from "../../wire/chain.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import { isHandle } from "../../wire/handle.ts";
import { bodyObject, booleanField, countField, field, textField, textsField } from "../body.ts";
import type { CoreEvent, LineEvent } from "../events.ts";

/** Remembered in all, oldest forgotten first. */
const MAX_MEMBER_CHANGES = 256;
/** Logs that one proposal names. */
const MAX_LOGS = 256;

export const MEMBER_ACTIONS = ["add_member", "remove_member"] as const;
export type MemberAction = (typeof MEMBER_ACTIONS)[number];

/** A proposal that an agent joins, comes back or leaves. Spec 3.11. */
export interface MemberChange {
  readonly id: string;
  readonly log: string;
  readonly from: string;
  readonly action: MemberAction;
  readonly member: string;
  /** The change that its author had applied last; undefined: none. */
  readonly after: string | undefined;
  /** Of one that leaves its last lines, of one that comes back its first ones, by log. */
  readonly logs: ReadonlyMap<string, LogPlace>;
  /** Whom it asks. */
  readonly required: readonly string[];
  /** We have proposed it, or acked it. */
  supported: boolean;
}

/** The last line that an agent writes into a log when it leaves by itself. Spec 3.11. */
export interface Farewell {
  readonly id: string;
  readonly log: string;
  readonly from: string;
  readonly line: number;
  readonly seq: number;
  readonly timestampMs: number;
  /** We have acked it. */
  supported: boolean;
}

export interface MembersState {
  /** By event id, in the order in which we received them. */
  readonly changes: Map<string, MemberChange>;
  /** By log: the last one. */
  readonly farewells: Map<string, Farewell>;
}

export function emptyMembers(): MembersState {
  return { changes: new Map(), farewells: new Map() };
}

/** Folds what is said of members. Who is one, says the pinned configuration alone. Spec 3.11. */
export function applyMembers(state: MembersState, event: CoreEvent): void {
  if (event.kind !== "line" || event.refused !== undefined) return;
  const { message, own } = event;
  if (message.type === "proposal") addChange(state, event);
  else if (message.type === "shutdown") addFarewell(state, event);
  else if (message.type === "ack" && own && booleanField(message.body, "approve") !== false) {
    support(state, textField(message.body, "acks"));
  }
}

function addChange({ changes }: MembersState, { message, log, own }: LineEvent): void {
  const asked = memberChangeIn(message.body);
  if (asked === undefined || !isChained(message)) return;
  const { id, from, body, to } = message;
  const required = textsField(body, "required") ?? to ?? [];
  changes.set(id, { id, log, from, required, supported: own, ...asked });
  const oldest = changes.keys().next().value;
  if (changes.size > MAX_MEMBER_CHANGES && oldest !== undefined) changes.delete(oldest);
}

/** What a proposal with that body asks of members, if it makes sense. Spec 3.11. */
export function memberChangeIn(
  body: JsonValue,
): Pick<MemberChange, "action" | "member" | "after" | "logs"> | undefined {
  const named = textField(body, "action");
  const action = MEMBER_ACTIONS.find((each) => each === named);
  const member = textField(body, "member");
  if (action === undefined || member === undefined || !isHandle(member)) return undefined;
  const places = field(body, action === "add_member" ? "first" : "last");
  return { action, member, after: textField(body, "after"), logs: placesIn(places) };
}

function placesIn(value: JsonValue | undefined): ReadonlyMap<string, LogPlace> {
  const logs = Object.entries(value === undefined ? {} : (bodyObject(value) ?? {}));
  return new Map(
    logs.slice(0, MAX_LOGS).map(([log, place]) => [
      log,
      {
        lines: countField(place, "lines") ?? 0,
        seq: countField(place, "seq"),
        eventId: textField(place, "event_id"),
      },
    ]),
  );
}

function addFarewell({ farewells }: MembersState, { message, log, line }: LineEvent): void {
  if (booleanField(message.body, "leaves") !== true || !isChained(message)) return;
  const { id, from, seq, timestampMs } = message;
  farewells.set(log, { id, log, from, line, seq, timestampMs, supported: false });
}

function support({ changes, farewells }: MembersState, id: string | undefined): void {
  const change = changes.get(id ?? "");
  if (change !== undefined) change.supported = true;
  for (const farewell of farewells.values()) {
    if (farewell.id === id) farewell.supported = true;
  }
}
