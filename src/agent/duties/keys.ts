import { lineAt } from "../../protocol/asks/history.ts";
import { DeaddropError } from "../../api/errors.ts";
import { incidentOf } from "../../api/troubles.ts";
import { readAnswer, readAsk } from "../../protocol/asks/ask-line.ts";
import { outcomeOf } from "../../protocol/asks/outcome.ts";
import { readKeyChange, readRevoked, type KeyChange } from "../../protocol/asks/key-line.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { KeyAction } from "../../store/keys.ts";
import type { HeldLine, StoreWriter } from "../../store/store.ts";
import { acceptKey, deactivateKey, noteRevoked, type StoreChange } from "../../trust/pins.ts";
import type { LinePlace, PinnedKey, TrustStore } from "../../trust/store.ts";
import { HOUR_MS } from "../../wire/durations.ts";
import { fromPlain } from "../../wire/json/json.ts";
import { isChained } from "../../wire/places.ts";
import type { PrivateTrust } from "../config/private-trust.ts";
import type { Duty, Ground, Known } from "./duty.ts";

/**
 * Carries out what chains and the operator say about keys: those of peers that our agent has acked, our own
 * rotation, and which lines a revoked key has not signed. Spec 2.5.
 */
export class KeyDuty implements Duty {
  readonly #ground: Ground;
  readonly #trust: PrivateTrust;
  readonly #graceMs: number;
  /** The store as the chains follow it; undefined: it has to be looked at. */
  #applied: TrustStore | undefined;
  #isDue = true;
  #trouble: StorageError | undefined;

  constructor(ground: Ground, trust: PrivateTrust, graceHours: number) {
    this.#ground = ground;
    this.#trust = trust;
    this.#graceMs = graceHours * HOUR_MS;
  }

  take(_into: StoreWriter, line: HeldLine): void {
    const { history, place, store } = this.#ground;
    const said = line.author === place.self ? history.linked(line) : undefined;
    if (said === undefined) return;
    const { n } = line;
    const change = readKeyChange(said);
    if (change !== undefined) store.keyChanges.noteOwn({ n, ...change });
    const revoked = readRevoked(said);
    if (revoked !== undefined) store.keyChanges.noteOwn({ n, action: "revokes", keyId: revoked });
    const answer = readAnswer(said, "proposal");
    if (answer?.approves !== true || !line.isLive) return;
    const asked = store.lineAt(answer.ask);
    // What is not delivered asks nothing of our agent.
    if (asked?.verdict !== "mail" || asked.aside !== null || asked.author === place.self) return;
    if (this.#changeIn(asked) === undefined) return;
    store.keyChanges.noteAcked(asked.n, store.chains.tip(asked.author));
  }

  decide(into: StoreWriter): boolean {
    this.#isDue = false;
    this.#trouble = undefined;
    this.#apply();
    try {
      this.#switch(into);
      if (this.#ground.readiness.is !== "ready") return false;
      this.#retire();
      return this.#revokeOwn(into) || this.#endEarlier(into);
    } catch (error) {
      // It is tried again; no other duty has to wait for it.
      if (error instanceof StorageError) this.#trouble = error;
      else if (error instanceof DeaddropError) this.#tellRefused(into, error.message);
      else throw error;
      return false;
    }
  }

  write(): void {
    if (this.#trouble !== undefined) throw this.#trouble;
    for (const { n, last } of this.#ground.store.keyChanges.acked()) this.#carryOut(n, last);
  }

  nextDueMs(): number {
    return this.#isDue ? this.#ground.world.clock.monoMs() : Infinity;
  }

  /** The private store does not take a change of our own keys. */
  #tellRefused(into: StoreWriter, problem: string): void {
    const { keyId: key } = (this.#trust.nextIdentity ?? this.#trust.identity).signer;
    this.#ground.tell(into, incidentOf("key_change_refused", { key, problem }, key));
  }

  #changeIn(line: HeldLine): KeyChange | undefined {
    const { history } = this.#ground;
    const asked = lineAt(history, line);
    return asked && readKeyChange(asked);
  }

  /** Strikes and follows what the operator says, as soon as the line is linked up to which it says so. */
  #apply(): void {
    const { store, identity } = this.#trust;
    if (store === this.#applied) return;
    const { chains } = this.#ground.store;
    let isAll = true;
    for (const { handle: author, keys, follows = [] } of store.peers.values()) {
      const struck = keys.some(({ revoked }) => revoked === true)
        ? chains.struckKeys(author)
        : undefined;
      for (const { keyId, revoked, last } of keys) {
        const isStruck = struck?.has(keyId) === true && struck.get(keyId)?.id === last?.id;
        // Our own key stays active until its successor is in use; its last valid line is recorded then.
        if (revoked !== true || isStruck || keyId === identity.signer.keyId) continue;
        const at = last && { author, ...last };
        if (at === undefined || chains.stateOf(at) === "linked")
          chains.strike(author, keyId, at ?? null);
        else isAll = false;
      }
      for (const { seq, id } of follows) {
        if (chains.followedAt(author, seq) === id) continue;
        if (chains.stateOf({ author, seq, id }) === "linked") chains.follow({ author, seq, id });
        else isAll = false;
      }
    }
    if (isAll) this.#applied = store;
  }

  /** The key of a peer is changed in the private store, and the proposal is done. */
  #carryOut(n: number, last: LinePlace | undefined): void {
    const { store, world } = this.#ground;
    const line = store.line(n);
    const change = line && this.#changeIn(line);
    const at = new Date(world.clock.wallMs()).toISOString();
    let refused: string | undefined;
    try {
      if (line !== undefined && change?.action === "add_key")
        this.#trust.change((before) => acceptKey(before, line.author, change.key, at));
      else if (change !== undefined)
        this.#trust.change((before) => deactivateKey(before, change.keyId, at, last));
    } catch (error) {
      if (!(error instanceof DeaddropError)) throw error;
      refused = error.message;
    }
    this.#isDue = true;
    store.write((into) => {
      store.keyChanges.endAcked(n);
      if (line === undefined || change === undefined) return;
      const about = { key: change.keyId, peer: line.author };
      const done = change.action === "add_key" ? "added" : "deactivated";
      const why = `${line.author} asked for it, and we have acked it`;
      this.#ground.tell(
        into,
        refused === undefined
          ? incidentOf("key_changed", { ...about, change: done, why }, line.id)
          : incidentOf("key_change_refused", { ...about, problem: refused }, line.id),
      );
    });
  }

  /** Signs with the next key once it is approved, or at once when the one in use may be in other hands. */
  #switch(into: StoreWriter): void {
    const { identity, nextIdentity: next, nextIsUrgent } = this.#trust;
    if (next === undefined) return;
    const { is } = this.#ground.readiness;
    const isAgreed = this.#agreed("add_key", next.signer.keyId) !== undefined;
    if (!(is === "ready" || (nextIsUrgent && is === "in use")) || !(nextIsUrgent || isAgreed))
      return;
    const { self } = this.#ground.place;
    const at = new Date(this.#ground.world.clock.wallMs()).toISOString();
    const { signer } = identity;
    const last = this.#ground.store.chains.tip(self);
    this.#trust.change((store) => {
      const noted = noteOwn(store, self, identity.publicKey, at);
      const both = noted.ok ? noteOwn(noted.store, self, next.publicKey, at) : noted;
      if (!both.ok || !nextIsUrgent || last === undefined) return both;
      return noteRevoked(both.store, signer.keyId, at, last);
    });
    this.#trust.adoptNext();
    if (nextIsUrgent) this.#apply();
    if (is === "in use") this.#ground.endChainHere(into);
    const { keyId: key } = next.signer;
    const change = "what we sign with now";
    const why = nextIsUrgent
      ? `it takes the place of ${signer.keyId} at once; no peer believes it yet`
      : `every peer that was asked has acked it, in the place of ${signer.keyId}`;
    this.#ground.tell(into, incidentOf("key_changed", { key, change, why }, key));
  }

  /** Says in our chain which key of ours was revoked, and up to where; true when it was said. */
  #revokeOwn(into: StoreWriter): boolean {
    const { keyChanges } = this.#ground.store;
    for (const { keyId, revoked, last } of this.#ownKeys) {
      if (revoked !== true || last === undefined) continue;
      if (keyChanges.ownOf("revokes", keyId).length > 0) continue;
      const reason = `${keyId} may be in other hands`;
      const body = fromPlain({ revokes: keyId, last: [last.seq, last.id], reason });
      const subject = `believe ${keyId} no longer`;
      this.#ground.say(into, { to: ["*"], type: "correction", subject, priority: "high", body });
      return true;
    }
    return false;
  }

  /** A key that nobody has to believe any more is one that we have used before. */
  #retire(): void {
    const last = this.#ground.store.chains.tip(this.#ground.place.self);
    for (const { keyId } of this.#earlier) {
      if (this.#agreed("deactivate_key", keyId) === undefined) continue;
      const at = new Date(this.#ground.world.clock.wallMs()).toISOString();
      this.#trust.change((store) => deactivateKey(store, keyId, at, last));
    }
  }

  /** Asks for the end of an earlier key once its time is over, once; true when it was asked for. */
  #endEarlier(into: StoreWriter): boolean {
    const { store, members, world, place } = this.#ground;
    const { keyId: current } = this.#trust.identity.signer;
    const addedAt = this.#ownKeys.find(({ keyId }) => keyId === current)?.addedAt ?? "";
    if (addedAt === "" || world.clock.wallMs() < Date.parse(addedAt) + this.#graceMs) return false;
    for (const { keyId } of this.#earlier) {
      if (store.keyChanges.ownOf("deactivate_key", keyId).length > 0) continue;
      const asked = this.#agreed("add_key", current) ?? [];
      const required = asked.filter((party) => members.has(party) && party !== place.self);
      if (required.length === 0) continue;
      const decision = `${keyId} is no longer believed; ${current} is in its place.`;
      this.#ground.say(into, {
        ...{ to: required, type: "proposal", ackRequired: true },
        subject: `believe ${keyId} no longer`,
        body: fromPlain({ action: "deactivate_key", key_id: keyId, required, decision }),
      });
      return true;
    }
    return false;
  }

  get #ownKeys(): readonly PinnedKey[] {
    return this.#trust.store.peers.get(this.#ground.place.self)?.keys ?? [];
  }

  get #earlier(): readonly PinnedKey[] {
    const { keyId: current } = this.#trust.identity.signer;
    return this.#ownKeys.filter(({ keyId, active }) => active && keyId !== current);
  }

  /** Who has agreed to an approved proposal of ours about a key; undefined: none is approved. */
  #agreed(action: KeyAction, keyId: string): readonly string[] | undefined {
    const { keyChanges } = this.#ground.store;
    for (const n of keyChanges.ownOf(action, keyId)) {
      const asked = askState(this.#ground, n);
      if (asked?.is === "approved") return asked.parties;
    }
    return undefined;
  }
}

/** What became of a proposal that is held. */
export function askState({ store, history }: Known, n: number) {
  const held = store.line(n);
  const line = held && isChained(held) ? history.linked(held) : undefined;
  const ask = line && readAsk(line);
  if (line === undefined || ask === undefined) return undefined;
  const { is } = outcomeOf(history, ask);
  return { is, place: line.place, parties: ask.parties ?? [] };
}

/** After a crash it may be noted already, and its end as well. */
function noteOwn(store: TrustStore, self: string, key: Uint8Array, at: string): StoreChange {
  const keys = store.peers.get(self)?.keys ?? [];
  const isKnown = keys.some((known) => Buffer.compare(known.key, key) === 0);
  return isKnown ? { ok: true, store } : acceptKey(store, self, key, at);
}
