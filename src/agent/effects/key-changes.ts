import {
  dueKeyChanges,
  type DueKeyChange,
  type KeyChange,
} from "../../protocol/keys/key-changes.ts";
import { dueReciprocations } from "../../protocol/keys/reciprocations.ts";
import type { Identity } from "../../storage/private/identity.ts";
import { adoptNextIdentity } from "../../storage/private/signing-key.ts";
import { acceptKey, deactivateKey, setReciprocations, type StoreChange } from "../../trust/pins.ts";
import type { KeyEnd, TrustStore } from "../../trust/store.ts";
import { ownLogs } from "../../wire/layout.ts";
import { decodeKey } from "../../wire/signature.ts";
import { DeaddropError } from "../../api/errors.ts";
import { changePrivateTrust } from "../config/trust-store.ts";
import { takeInOwn } from "../intake/take-in.ts";
import type { Session } from "../session/session.ts";
import { intakeOf } from "../state/agent-state.ts";
import { isCaughtUp } from "../state/log-status.ts";

/**
 * Carries out what the protocol has decided about keys and tiers: keys that a peer changes and we
 * have acked, our own rotation, reciprocations. True when anything was changed: pins and keys must
 * then be read again before another line is judged or signed. After a crash it is carried out
 * again. Spec 2.3, 2.5.
 */
export async function keepTrust(session: Session): Promise<boolean> {
  const { memory, env } = session;
  const { keyChanges, proposals, reciprocations } = memory.state;
  const counts = dueReciprocations(reciprocations, env);
  for (const [peer, count] of counts) countReciprocations(session, peer, count);
  const due = dueKeyChanges(keyChanges, proposals, env);
  let made = 0;
  for (const each of due) {
    if (each.due === "switch" && !(await hasReadOwn(session))) continue;
    if (makeKeyChange(session, each)) made += 1;
  }
  return counts.size + made > 0;
}

function countReciprocations(
  session: Pick<Session, "world" | "place">,
  peer: string,
  count: number,
): void {
  const wallMs = session.world.clock.wallMs();
  const store = change(session, (before) => setReciprocations(before, peer, count, wallMs));
  const tier = store.peers.get(peer)?.tier;
  session.world.log.info({ peer, count, tier }, "decisions acked by this peer are counted");
}

/** False when the store refuses it: the operator is told, and our own keys stay as they are. */
function makeKeyChange(
  session: Pick<Session, "world" | "place" | "files" | "recorder">,
  due: DueKeyChange,
): boolean {
  try {
    if (due.due === "switch") signWithNext(session);
    else if (due.due === "retire") retire(session, due.keyId);
    else makePeerChange(session, due.change);
    return true;
  } catch (error) {
    if (!(error instanceof DeaddropError)) throw error;
    const keyId = due.due === "peer" ? due.change.keyId : due.keyId;
    const subject = `${keyId} is not changed`;
    session.recorder.tell({
      key: `key_change_refused:${keyId}`,
      cause: "key_change_refused",
      subject,
      detail: error.message,
      concernsWire: false,
    });
    return false;
  }
}

/** When the store refuses it, the operator is told, and it is not tried again. */
function makePeerChange(
  session: Pick<Session, "world" | "place" | "files" | "recorder">,
  asked: KeyChange,
): void {
  const { id, from, keyId, action } = asked;
  const at = session.world.clock.wallMs();
  let detail: string | undefined;
  try {
    change(session, (store) => peerChange(session, store, asked));
  } catch (error) {
    if (!(error instanceof DeaddropError)) throw error;
    detail = error.message;
  }
  const done = action === "add_key" ? "added" : "deactivated";
  const cause = detail === undefined ? `key_${done}` : "key_change_refused";
  session.recorder.tell({
    key: `${cause}:${id}`,
    cause,
    peer: from,
    subject: detail === undefined ? `${keyId} is ${done}` : `${keyId} is not ${done}`,
    detail: detail ?? `${from} asked for it with a key that is pinned, and we have acked it`,
    concernsWire: false,
  });
  session.recorder.local({ kind: "key_changed", id, at });
}

function peerChange(
  session: Pick<Session, "world" | "place" | "files">,
  store: TrustStore,
  asked: KeyChange,
): StoreChange {
  const { from, keyId, key } = asked;
  const at = isoNow(session);
  if (asked.action === "deactivate_key") {
    return deactivateKey(store, keyId, at, peerEnds(session, from));
  }
  const bytes = decodeKey(key ?? "");
  if (bytes === undefined) return { ok: false, detail: `the key of ${keyId} is unreadable` };
  return acceptKey(store, from, bytes, at);
}

/**
 * Whether all lines of ours are noted: a line that is read after its key has ended is not believed.
 * Trouble that passes is waited for; the next round decides this again. A log that only the operator
 * can restore is not: a key in other hands has to end.
 */
async function hasReadOwn(session: Session): Promise<boolean> {
  const { place, memory, files } = session;
  const { writer } = files.own;
  await takeInOwn(session);
  return ownLogs(place.layout, place.handle).every(({ name }) => {
    if (writer.blocked(name) !== undefined) return true;
    const stuck = writer.stuck(name);
    // Any program that can read a log can keep it locked.
    if (stuck !== undefined) return stuck.code === "locked";
    if (files.troubles.problem(`log ${name}`) !== undefined) return false;
    return isCaughtUp(intakeOf(memory, name).status);
  });
}

/** From here on we sign with the next key; the store notes since when. */
function signWithNext(session: Pick<Session, "world" | "place" | "files" | "recorder">): void {
  const { world, place } = session;
  const { nextIdentity: next, identity, handle } = place;
  if (next === undefined) return;
  session.recorder.flush();
  change(session, (store) => {
    const at = isoNow(session);
    const old = noted(store, handle, identity.publicKey, at);
    const both = old.ok ? noted(old.store, handle, next.publicKey, at) : old;
    return both.ok && place.nextIsUrgent ? withoutEarlier(session, both.store, next) : both;
  });
  // Lines in pending are signed with the old key; they go out as they are.
  adoptNextIdentity(world.disk, place.paths);
  const { keyId } = next.signer;
  session.recorder.tell({
    key: `key_in_use:${keyId}`,
    cause: "key_in_use",
    subject: `we sign with ${keyId}`,
    detail: place.nextIsUrgent
      ? `it takes the place of ${identity.signer.keyId} at once; no peer believes it yet`
      : `every peer that was asked has acked it, in the place of ${identity.signer.keyId}`,
    concernsWire: false,
  });
}

/** After a crash it may be noted already, and its end as well. */
function noted(store: TrustStore, handle: string, key: Uint8Array, at: string): StoreChange {
  const keys = store.peers.get(handle)?.keys ?? [];
  if (keys.some((known) => Buffer.compare(known.key, key) === 0)) return { ok: true, store };
  return acceptKey(store, handle, key, at);
}

/** A key that may be in other hands counts as ours up to here. */
function withoutEarlier(
  session: Pick<Session, "world" | "place" | "files">,
  store: TrustStore,
  next: Identity,
): StoreChange {
  const keys = store.peers.get(session.place.handle)?.keys ?? [];
  let current: StoreChange = { ok: true, store };
  for (const { keyId } of keys) {
    if (!current.ok || keyId === next.signer.keyId) continue;
    current = deactivateKey(current.store, keyId, isoNow(session), ownEnds(session));
  }
  return current;
}

function retire(session: Pick<Session, "world" | "place" | "files">, keyId: string): void {
  const { place } = session;
  const { handle, store } = place;
  const key = store.peers.get(handle)?.keys.find((each) => each.keyId === keyId);
  if (key === undefined) return;
  change(session, (before) => {
    const known = noted(before, handle, key.key, isoNow(session));
    return known.ok ? deactivateKey(known.store, keyId, isoNow(session), ownEnds(session)) : known;
  });
}

function peerEnds(
  { place, files }: Pick<Session, "place" | "files">,
  peer: string,
): ReadonlyMap<string, KeyEnd> {
  const ends = ownLogs(place.layout, peer).map(
    ({ name }) => [name, files.heads.peer(name)] as const,
  );
  return new Map(ends.flatMap(([name, head]) => (head === undefined ? [] : [[name, head]])));
}

function ownEnds({ place, files }: Pick<Session, "place" | "files">): ReadonlyMap<string, KeyEnd> {
  const ends = ownLogs(place.layout, place.handle).map(
    ({ name }) => [name, files.own.writer.head(name)] as const,
  );
  return new Map(ends.flatMap(([name, head]) => (head === undefined ? [] : [[name, head]])));
}

function change(
  session: Pick<Session, "world" | "place">,
  make: (store: TrustStore) => StoreChange,
): TrustStore {
  return changePrivateTrust(session.world.disk, session.place.paths, make);
}

function isoNow(session: Pick<Session, "world">): string {
  return new Date(session.world.clock.wallMs()).toISOString();
}
