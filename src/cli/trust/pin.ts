import { resolve } from "node:path";
import { DeaddropError } from "../../daemon/errors.ts";
import { changePrivateTrust, readPrivateTrust } from "../../daemon/private-trust.ts";
import { advertisedKeys } from "../../setup/report.ts";
import {
  fingerprintOf,
  groupedFingerprint,
  readOfferedKey,
  type OfferedKey,
} from "../../setup/offered-key.ts";
import { acceptKey, proveKey, release, setTier, type StoreChange } from "../../trust/pins.ts";
import type { TrustStore } from "../../trust/store.ts";
import type { Tier } from "../../trust/tiers.ts";
import { decodeKey } from "../../wire/signature.ts";
import { agentPlace, reloadDaemon, type AgentPlace } from "../agent-place.ts";
import { confirmOperator, type ConsentFlags } from "../confirm.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit } from "../output.ts";
import { trustRows } from "./list.ts";
import { requirePeer } from "./peer.ts";

export interface PinFlags extends GlobalFlags, ConsentFlags {
  tier?: Tier;
  fingerprint?: string;
  unsigned?: boolean;
}

interface Subject extends OfferedKey {
  /** Where the key comes from: a claim of the wire proves nothing and wants the fingerprint. */
  readonly from: "operator" | "pinned" | "wire";
}

/** `deaddrop trust pin`: whose key it is, and how far it is believed, by the operator's word. */
export async function run(
  cli: Cli,
  handle: string,
  source: string | undefined,
  flags: PinFlags,
): Promise<void> {
  const at = agentPlace(cli, flags);
  requirePeer(at, handle);
  const key = flags.unsigned === true ? undefined : subjectOf(cli, at, handle, source);
  const change = (store: TrustStore) => pinned(store, handle, key, flags.tier, cli.nowMs());
  const planned = change(readPrivateTrust(at.host.disk, at.place.paths));
  if (!planned.ok) throw new DeaddropError("refused", planned.detail);
  await consent(cli, at, handle, key, flags);
  changePrivateTrust(at.host.disk, at.place.paths, change);
  await reloadDaemon(at.place.paths);
  const row = trustRows(agentPlace(cli, flags)).find((each) => each.handle === handle);
  const with_ = key === undefined ? "without a key" : `with ${key.keyId}`;
  emit(cli, flags, row, (paint) => `${paint("bold", handle)} is ${row?.tier ?? ""} ${with_}`);
}

/** Pure: the key beside those pinned, the tier when one is named, and a hold over a lost key ends. */
function pinned(
  store: TrustStore,
  handle: string,
  key: OfferedKey | undefined,
  tier: Tier | undefined,
  nowMs: number,
): StoreChange {
  const isNew = (store.peers.get(handle)?.keys.length ?? 0) === 0;
  const at = new Date(nowMs).toISOString();
  const add = isProof(tier) ? proveKey : acceptKey;
  const added: StoreChange =
    key === undefined ? { ok: true, store } : add(store, handle, key.key, at);
  if (!added.ok) return added;
  const raised =
    tier === undefined
      ? added
      : setTier(added.store, handle, tier, nowMs, key === undefined && isNew);
  if (!raised.ok) return raised;
  const held = raised.store.peers.get(handle)?.held;
  return held?.cause === "key_revoked" ? release(raised.store, handle) : raised;
}

/** Who is raised has been compared by its fingerprint. */
function isProof(tier: Tier | undefined): boolean {
  return tier !== undefined && tier !== "UNTRUSTED";
}

/** The key given, else the one pinned, else the one that the wire claims. */
function subjectOf(
  cli: Cli,
  { host, place }: AgentPlace,
  handle: string,
  source: string | undefined,
): Subject {
  if (source !== undefined) {
    const given = decodeKey(source) === undefined ? resolve(cli.cwd, source) : source;
    return { ...readOfferedKey(host.disk, handle, given), from: "operator" };
  }
  const pinnedKey = place.store.peers.get(handle)?.keys.findLast((key) => key.active);
  if (pinnedKey !== undefined) return { handle, ...pinnedKey, from: "pinned" };
  const claimed = advertisedKeys(host, place.wire.folder).get(handle) ?? [];
  const [only] = claimed;
  if (only !== undefined && claimed.length === 1) {
    return { ...readOfferedKey(host.disk, handle, only.key), from: "wire" };
  }
  throw new DeaddropError(
    "usage",
    only === undefined
      ? `no key of ${handle} is known here`
      : `the wire claims ${claimed.length} keys for ${handle}: ${claimed.map((key) => key.key_id).join(", ")}`,
    {
      hint: `give the key: deaddrop trust pin ${handle} <key or ${handle}.pub.json>; ask ${handle}'s operator for it`,
    },
  );
}

async function consent(
  cli: Cli,
  { place }: AgentPlace,
  handle: string,
  key: Subject | undefined,
  flags: PinFlags,
): Promise<void> {
  const raises = isProof(flags.tier);
  const wantsFingerprint = key !== undefined && (key.from === "wire" || raises);
  const fingerprint = key === undefined ? "" : fingerprintOf(key.key);
  const given = flags.fingerprint?.replace(/[\s:]/g, "").toLowerCase();
  if (given !== undefined && given !== fingerprint) {
    throw new DeaddropError("refused", `the key of ${handle} has another fingerprint`, {
      hint: `it is ${fingerprint}. If ${handle}'s operator reads out another one, somebody has put this key in between: do not pin it`,
    });
  }
  if (wantsFingerprint && given === undefined && flags.yes === true) {
    throw new DeaddropError("usage", "--yes needs --fingerprint here", {
      hint: `give the 64 digits that ${handle}'s operator has read out to you: --fingerprint …`,
    });
  }
  const action = {
    action: "trust pin",
    target: `${key?.keyId ?? handle}${flags.tier === undefined ? "" : ` ${flags.tier}`}`,
    effect: effectOf(handle, key, flags.tier, place.store),
    word: wantsFingerprint && given === undefined ? fingerprint : handle,
    ...(wantsFingerprint ? { flags: "--fingerprint … --yes --reason …" } : {}),
  };
  await confirmOperator(cli, flags, action, place.paths.operatorJournal);
}

function effectOf(
  handle: string,
  key: Subject | undefined,
  tier: Tier | undefined,
  store: TrustStore,
): string[] {
  const peer = store.peers.get(handle);
  const tierLine = `tier: ${peer?.tier ?? "none"} → ${tier ?? peer?.tier ?? "UNTRUSTED"}`;
  if (key === undefined) {
    return [
      `${handle} will be believed WITHOUT signatures, where the wire's policy lets it`,
      tierLine,
    ];
  }
  const origin = {
    operator: "the key that you gave",
    pinned: "the key that is pinned",
    wire: "a key that the wire claims, which anyone who can write there may have put in",
  }[key.from];
  const lines = [
    `${key.keyId}: ${origin}`,
    `fingerprint ${groupedFingerprint(fingerprintOf(key.key))}`,
    `Have ${handle}'s operator read theirs out over a channel that you trust (deaddrop trust list).`,
    tierLine,
  ];
  const others = peer?.keys.filter((each) => each.active && each.keyId !== key.keyId) ?? [];
  const stops = isProof(tier) && (peer?.tier ?? "UNTRUSTED") === "UNTRUSTED";
  const named = others.map((each) => each.keyId).join(", ");
  if (others.length > 0)
    lines.push(stops ? `${named}: never proved, and stopped` : `beside ${named}`);
  if (peer?.held?.cause === "key_revoked") lines.push(`${handle} is no longer held`);
  return lines;
}
