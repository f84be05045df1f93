import { decodeKey, isAcceptableKey, keyId, parseKeyId } from "../../wire/signature.ts";
import { fromPlain } from "../../wire/json/json.ts";
import type { Message } from "../../wire/message.ts";
import { booleanField, textField, textsField } from "../body.ts";
import type { Effect } from "../effects.ts";
import { proposalsById, type ProposalsState } from "../decisions/proposals-state.ts";
import type { CoreEvent, LineEvent } from "../events.ts";
import type { Env, Now } from "../env.ts";

/** Remembered of each author, oldest forgotten first. */
const MAX_CHANGES = 64;

export type KeyAction = "add_key" | "deactivate_key";

/** A proposal to change its author's own keys. Spec 2.5. */
export interface KeyChange {
  readonly id: string;
  readonly log: string;
  readonly from: string;
  readonly action: KeyAction;
  readonly keyId: string;
  /** Base64 of the new key. */
  readonly key: string | undefined;
  /** Whom it asks. */
  readonly required: readonly string[];
  /** We have acked it, while we ran: we make the change. */
  acked: boolean;
}

/** By author, in the order in which we received them. */
export type KeyChangesState = Map<string, KeyChange[]>;

export function emptyKeyChanges(): KeyChangesState {
  return new Map();
}

export function applyKeyChanges(state: KeyChangesState, event: CoreEvent): void {
  if (event.kind === "key_changed") remove(state, event.id);
  if (event.kind !== "line" || event.refused !== undefined || !event.live) return;
  const { type, body } = event.message;
  if (type === "proposal") {
    const change = changeIn(event);
    if (change !== undefined) add(state, change);
  } else if (type === "ack" && event.own && booleanField(body, "approve") !== false) {
    const change = find(state, textField(body, "acks"));
    if (change !== undefined && change.from !== event.message.from) change.acked = true;
  }
}

/** What such a proposal asks for, if it makes sense. Its signature proves whose key it is about. */
function changeIn({ message, log }: LineEvent): KeyChange | undefined {
  const { id, from, body, publicKeyId, to } = message;
  const action = textField(body, "action");
  const named = textField(body, "key_id") ?? "";
  if (publicKeyId === undefined || parseKeyId(named)?.handle !== from) return undefined;
  const required = textsField(body, "required") ?? to ?? [];
  const base = { id, log, from, required, acked: false };
  if (action === "deactivate_key") return { ...base, action, keyId: named, key: undefined };
  const added = addedKey(message);
  return added === undefined ? undefined : { ...base, action: "add_key", ...added };
}

/** The key that a proposal announces as one of its author's, in base64; undefined of other messages. */
export function addedKey({
  type,
  from,
  body,
}: Pick<Message, "type" | "from" | "body">): { keyId: string; key: string } | undefined {
  if (type !== "proposal" || textField(body, "action") !== "add_key") return undefined;
  const named = textField(body, "key_id");
  const key = textField(body, "key") ?? "";
  const bytes = decodeKey(key);
  if (bytes === undefined || !isAcceptableKey(bytes)) return undefined;
  return keyId(from, bytes) === named ? { keyId: named, key } : undefined;
}

function add(state: KeyChangesState, change: KeyChange): void {
  const changes = state.get(change.from) ?? [];
  state.set(change.from, [...changes, change].slice(-MAX_CHANGES));
}

function find(state: KeyChangesState, id: string | undefined): KeyChange | undefined {
  return [...state.values()].flat().find((change) => change.id === id);
}

function remove(state: KeyChangesState, id: string): void {
  for (const [from, changes] of state) {
    const left = changes.filter((change) => change.id !== id);
    if (left.length < changes.length) state.set(from, left);
  }
}

/** A change of the store or of our own key that is to be made now. It comes until it is made. */
export type DueKeyChange =
  /** A peer's, which we have acked. */
  | { readonly due: "peer"; readonly change: KeyChange }
  /** We sign with our next key from now on: all whom we asked have acked it, or it is urgent. */
  | { readonly due: "switch"; readonly keyId: string }
  /** All whom we asked believe an earlier key of ours no longer. */
  | { readonly due: "retire"; readonly keyId: string };

/** Spec 2.5: on ack both sides change their keys. */
export function dueKeyChanges(
  state: KeyChangesState,
  proposals: ProposalsState,
  env: Env,
): DueKeyChange[] {
  const due: DueKeyChange[] = [];
  for (const [from, changes] of state) {
    if (from === env.self) continue;
    for (const change of changes) if (change.acked) due.push({ due: "peer", change });
  }
  const { ownKeys: keys } = env;
  if (keys === undefined) return due;
  const isAgreed = (action: KeyAction, id: string): boolean => {
    const asked = askedFor(state, env, action, id);
    return asked.length > 0 && asked.every((each) => isRatified(proposals, env, each));
  };
  const { next, nextIsUrgent, earlier } = keys;
  if (next !== undefined && (nextIsUrgent || isAgreed("add_key", next)))
    due.push({ due: "switch", keyId: next });
  for (const keyId of earlier) {
    if (isAgreed("deactivate_key", keyId)) due.push({ due: "retire", keyId });
  }
  return due;
}

/** Asks for the end of an earlier key of ours once its grace period is over. Spec 2.5. */
export function decideKeyChanges(state: KeyChangesState, env: Env, now: Now): Effect[] {
  const { ownKeys: keys } = env;
  if (keys === undefined || now.wallMs < (keys.sinceMs ?? Infinity) + keys.graceMs) return [];
  const asked = askedFor(state, env, "add_key", keys.current);
  return keys.earlier.flatMap((keyId) => {
    if (askedFor(state, env, "deactivate_key", keyId).length > 0) return [];
    return asked.map(({ log, required }): Effect => ({
      do: "send",
      log,
      draft: {
        to: [...required],
        type: "proposal",
        subject: `believe ${keyId} no longer`,
        body: fromPlain({
          action: "deactivate_key",
          key_id: keyId,
          required: [...required],
          decision: `${keyId} is no longer believed; ${keys.current} is in its place.`,
        }),
        ackRequired: true,
      },
    }));
  });
}

/**
 * What we have proposed about that key: of each log the last, which a repeated command renews.
 * @internal
 */
export function askedFor(
  state: KeyChangesState,
  env: Env,
  action: KeyAction,
  keyId: string,
): readonly KeyChange[] {
  const own = (state.get(env.self) ?? []).filter(
    (change) => change.action === action && change.keyId === keyId,
  );
  return [...new Map(own.map((change) => [change.log, change])).values()];
}

function isRatified(proposals: ProposalsState, env: Env, { id }: KeyChange): boolean {
  return proposalsById(proposals, id, env).some(({ outcome }) => outcome?.status === "ratified");
}
