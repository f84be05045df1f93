import { DeaddropError } from "../../api/errors.ts";
import type { AgentConfig } from "../../agent/config/agent-config.ts";
import { lookOf, readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { updatePairings } from "../../storage/private/private-store.ts";
import { buildCard, type CardDraft } from "../../trust/cards/card-build.ts";
import {
  claimFor,
  MAX_CARD_BYTES,
  signingKey,
  verifyCard,
  type AgentCard,
  type CardKey,
} from "../../trust/cards/card.ts";
import {
  advancePairing,
  beginAgain,
  beginPairing,
  claimOf,
  type Pairing,
  type PairingNews,
  type PairingStep,
} from "../../trust/pairing/pairing.ts";
import {
  parsePairings,
  serialisePairings,
  type Pairings,
} from "../../trust/pairing/pairing-file.ts";
import { pin } from "../../trust/pins.ts";
import { isPinned, type PinnedKey } from "../../trust/store.ts";
import { NONCE_BYTES } from "../../trust/pairing/sas.ts";
import { parseObject } from "../../wire/json/json.ts";
import { canonicalText } from "../../wire/canonical.ts";
import { knownHandles } from "../../agent/config/known-handles.ts";
import { advertiseKey, advertises } from "./advertise.ts";
import { changePrivateTrust } from "../../agent/config/trust-store.ts";
import type { SetupHost } from "../host.ts";
import { share } from "../wire/sharing.ts";
import { cardPath, type AgentPaths } from "../../storage/paths.ts";
import { sharingOf } from "../../storage/sharing.ts";

/** What a look at the cards of the peers has come to. */
export interface Contact {
  readonly pairings: Pairings;
  /** By peer; those without a card are in none of these. */
  readonly cards: ReadonlyMap<string, AgentCard>;
  readonly problems: ReadonlyMap<string, string>;
  readonly news: ReadonlyMap<string, PairingNews>;
  /** Whose first key is pinned now, at UNTRUSTED. */
  readonly pinned: readonly string[];
}

export interface Meeting {
  readonly again?: string;
  readonly handles?: readonly string[];
}

/** What is where a peer's card belongs. */
export type Look =
  | { readonly is: "absent" }
  | { readonly is: "wrong"; readonly detail: string }
  | { readonly is: "card"; readonly card: AgentCard; readonly bytes: Uint8Array };

/**
 * Looks at the cards of all peers, pins the first key of each that has none yet at UNTRUSTED, goes on
 * with each pairing, and shows what follows from that in our own card. Nothing is shown before it is
 * stored. Repeating it changes nothing. Spec 2.2, 2.3.
 *
 * @param again the operator lets another claim of this peer, if one waits, see a nonce of ours
 * @param handles every agent that is or was on the wire; by default those that the agent's store knows
 */
export function meetPeers(
  host: SetupHost,
  place: AgentConfig,
  { again, handles = knownHandles(host.disk, place) }: Meeting = {},
): Contact {
  const peers = handles.filter((handle) => handle !== place.handle);
  const looks = new Map(peers.map((peer) => [peer, lookAt(host, place, peer)]));
  const contact = {
    pairings: new Map<string, Pairing>(),
    cards: new Map<string, AgentCard>(),
    problems: new Map<string, string>(),
    news: new Map<string, PairingNews>(),
    pinned: [] as string[],
  };
  changePairings(host.disk, place.paths, (before) => {
    for (const peer of peers) {
      const look = looks.get(peer);
      if (look?.is === "wrong") contact.problems.set(peer, look.detail);
      if (look?.is === "card") contact.cards.set(peer, look.card);
      const step = advance(host, place, before.get(peer), look, peer === again);
      contact.pairings.set(peer, step.pairing);
      if (step.news !== undefined) contact.news.set(peer, step.news);
    }
    // What was shown to somebody whom the roster lacks now stays remembered.
    return new Map([...before, ...contact.pairings]);
  });
  for (const [peer, card] of contact.cards) {
    if (pinFirst(host, place, peer, card)) contact.pinned.push(peer);
  }
  showKeys(host, place);
  showCard(host, place, contact.pairings);
  return contact;
}

/** Tells whether anything that `meetPeers` reads may have changed; one `stat` a file. */
export function lookOfContact(
  { disk }: SetupHost,
  { wire, paths, identity }: AgentConfig,
  handles: readonly string[],
): string {
  const cards = handles.map((handle) => cardPath(wire, handle));
  const own = [paths.trust, paths.pairing, paths.pinnedConfig, paths.settings];
  const looks = [...cards, wire.trust, ...own].map((path) => lookOf(disk, path));
  return [identity.signer.keyId, ...looks].join("\n");
}

/** Peers whose card this look has found changed after our nonce was shown, and how often it has. */
export function restartsOf({ news, pairings }: Contact): ReadonlyMap<string, number> {
  const counts = [...news].flatMap(([peer, what]) => {
    const restarts = pairings.get(peer)?.restarts ?? 0;
    return what === "restarted" && restarts > 0 ? [[peer, restarts] as const] : [];
  });
  return new Map(counts);
}

/** Reads a peer's card in the wire, and changes nothing. */
export function lookAt({ disk, nowMs }: SetupHost, { wire }: AgentConfig, peer: string): Look {
  const path = cardPath(wire, peer);
  let bytes: Uint8Array | undefined;
  try {
    bytes = readWhole(disk, path, MAX_CARD_BYTES);
  } catch (error) {
    // Anybody who can write in the folder can put anything there.
    if (!(error instanceof StorageError)) throw error;
    return { is: "wrong", detail: error.message };
  }
  if (bytes === undefined) return { is: "absent" };
  const verdict = verifyCard(bytes, nowMs);
  if (!verdict.ok) return { is: "wrong", detail: verdict.detail };
  const { handle } = verdict.card;
  if (handle === peer) return { is: "card", card: verdict.card, bytes };
  return { is: "wrong", detail: `card: it is ${handle}'s, not ${peer}'s` };
}

/** Changes the private file of the pairings. Throws DeaddropError ("config") when it is damaged. */
function changePairings(
  disk: Disk,
  paths: AgentPaths,
  change: (before: Pairings) => Pairings,
): void {
  updatePairings(disk, paths, (bytes) => {
    const parsed = bytes === undefined ? undefined : parsePairings(bytes, paths.pairing);
    if (parsed?.ok === false) {
      throw new DeaddropError("config", parsed.detail, {
        hint: `nothing of it can be trusted: move it away, and every pairing starts again (rm ${paths.pairing})`,
      });
    }
    return serialisePairings(change(parsed?.pairings ?? new Map()));
  });
}

/** Changes the pairing with one peer, and returns what it is then; undefined when there is none. */
export function changePairing(
  disk: Disk,
  paths: AgentPaths,
  peer: string,
  change: (before: Pairing) => Pairing,
): Pairing | undefined {
  let after: Pairing | undefined;
  changePairings(disk, paths, (before) => {
    const pairing = before.get(peer);
    after = pairing && change(pairing);
    return after === undefined ? before : new Map(before).set(peer, after);
  });
  return after;
}

function advance(
  { random }: SetupHost,
  { identity, handle }: AgentConfig,
  before: Pairing | undefined,
  look: Look | undefined,
  isAgain: boolean,
): PairingStep {
  const { publicKey } = identity;
  // A key of ours that the commitment does not cover proves nothing.
  const isOurs = before !== undefined && Buffer.compare(before.key, publicKey) === 0;
  const pairing = isOurs ? before : beginPairing(publicKey, random(NONCE_BYTES), before);
  const card = look?.is === "card" ? look.card : undefined;
  const shown = card === undefined ? undefined : claimFor(card, handle);
  if (card === undefined || shown === undefined) return { pairing, news: undefined };
  const claim = { ...shown, key: signingKey(card).key };
  const step = advancePairing(pairing, claim);
  if (!isAgain || step.pairing.other === undefined) return step;
  return advancePairing(beginAgain(step.pairing, random(NONCE_BYTES)), claim);
}

/** Spec 2.2: a card never replaces a pin; of a stranger it pins what it is signed with. */
function pinFirst(host: SetupHost, place: AgentConfig, peer: string, card: AgentCard): boolean {
  if (isPinned(place.store.peers.get(peer))) return false;
  const { key } = signingKey(card);
  changePrivateTrust(host.disk, place.paths, (store) => {
    const at = new Date(host.nowMs).toISOString();
    const isKnown = isPinned(store.peers.get(peer));
    return isKnown ? { ok: true, store } : pin(store, peer, key, at);
  });
  return true;
}

/** Our keys in the wire's trust.json, which is all that Python peers read. Spec 2.1. */
function showKeys(
  { disk, nowMs }: SetupHost,
  { wire, handle, identity, store }: AgentConfig,
): void {
  const { key_id: keyId, key } = identity.publicIdentity;
  const keys = store.peers.get(handle)?.keys ?? [];
  const retired = keys.filter(({ active }) => !active).map(({ keyId: id }) => id);
  const shown = { handle, keyId, key, addedAt: new Date(nowMs).toISOString(), retired };
  if (advertises(disk, wire.trust, shown)) return;
  advertiseKey(disk, wire.trust, shown, sharingOf(disk, wire.folder));
}

/** Writes our card when what it says has changed. */
function showCard(host: SetupHost, place: AgentConfig, pairings: Pairings): void {
  const { disk, nowMs } = host;
  const { wire, handle, identity } = place;
  const claims = new Map([...pairings].map(([peer, pairing]) => [peer, claimOf(pairing)]));
  const bytes = buildCard(draftOf(place, claims, nowMs), identity.signer);
  const path = cardPath(wire, handle);
  const standing = readWhole(disk, path, MAX_CARD_BYTES);
  if (standing !== undefined && saysTheSame(standing, bytes)) return;
  const sharing = sharingOf(disk, wire.folder);
  disk.makeFolder(wire.trustFolder, sharing.folderMode);
  disk.replace(path, bytes, sharing.logMode);
  share(disk, path, sharing.logMode, sharing);
}

function draftOf(
  { handle, identity, config, store }: AgentConfig,
  claims: NonNullable<CardDraft["claims"]>,
  nowMs: number,
): CardDraft {
  const own = store.peers.get(handle)?.keys ?? [];
  // A backup that was put back may have brought an ended key into use: the card says so, at least.
  const isInUse = ({ keyId }: PinnedKey) => keyId === identity.signer.keyId;
  const { max_message_body_kb, max_clock_skew_seconds, rate_limit_msg_per_min } = config.limits;
  return {
    handle,
    keys: own.filter((key) => key.active || isInUse(key)).map(cardKey),
    oldKeys: own.filter((key) => !key.active && !isInUse(key)).map(cardKey),
    tierOffered: "ATTESTED",
    tierRequired: "VERIFIED",
    policies: { max_message_body_kb, max_clock_skew_seconds, rate_limit_msg_per_min },
    issuedAt: new Date(nowMs).toISOString(),
    claims,
  };
}

function cardKey({ keyId, key, addedAt, deactivatedAt }: PinnedKey): CardKey {
  // When a key was first used is known of those alone that were brought in later.
  return { keyId, key, validFrom: addedAt === "" ? undefined : addedAt, validUntil: deactivatedAt };
}

function saysTheSame(a: Uint8Array, b: Uint8Array): boolean {
  return wordsOf(a) === wordsOf(b);
}

/** All but when it was written. */
function wordsOf(bytes: Uint8Array): string {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return "";
  const { issued_at: _at, signature: _signature, ...words } = parsed.value;
  return canonicalText(words);
}
