import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { isUrl } from "../../setup/contact/fetch-card.ts";
import { readOffer, type Offer } from "../../setup/contact/offered-card.ts";
import {
  fingerprintOf,
  groupedFingerprint,
  readOfferedKey,
} from "../../setup/contact/offered-key.ts";
import { advertisedKeys } from "../../setup/report.ts";
import type { Peer } from "../../trust/store.ts";
import { TIERS, type Tier } from "../../trust/tiers.ts";
import { decodeKey } from "../../wire/signature.ts";
import type { AgentPlace } from "../agent-place.ts";
import type { FlagsOf, Options } from "../command.ts";
import type { Cli } from "../context.ts";
import { CONSENT_OPTIONS, confirmOperator } from "../input/confirm.ts";

export const PIN_OPTIONS = {
  ...CONSENT_OPTIONS,
  "--tier <tier>": { about: "how far it is believed", choices: TIERS },
  "--fingerprint <hex>": "the 64 digits that the peer's operator has read out",
  "--unsigned": "take its unsigned lines, where the wire's policy lets it write any (a v2.0 peer)",
} as const satisfies Options;
type PinFlags = FlagsOf<typeof PIN_OPTIONS>;

/** The key that an operator pins. */
export interface Subject extends Offer {
  /** Where it comes from: claims and cards prove nothing of whose it is. */
  readonly from: "operator" | "pinned" | "wire" | "card";
}

/** Who is raised has been compared by its fingerprint. */
export function isProof(tier: Tier | undefined): boolean {
  return tier !== undefined && tier !== "UNTRUSTED";
}

/** The key or card given, else the key pinned, else the one that the wire claims. */
export async function subjectOf(
  cli: Cli,
  { host, place }: AgentPlace,
  handle: string,
  source: string | undefined,
): Promise<Subject> {
  if (source !== undefined) {
    const isPath = decodeKey(source) === undefined && !isUrl(source);
    const offer = await readOffer(host, handle, isPath ? resolve(cli.cwd, source) : source);
    return { ...offer, from: offer.card === undefined ? "operator" : "card" };
  }
  const pinnedKey = place.store.peers.get(handle)?.keys.findLast((key) => key.active);
  if (pinnedKey !== undefined) return { handle, ...pinnedKey, from: "pinned", card: undefined };
  const claimed = advertisedKeys(host, place.wire.folder).get(handle) ?? [];
  const [only] = claimed;
  if (only !== undefined && claimed.length === 1) {
    const key = readOfferedKey(host.disk, handle, only.key);
    return { ...key, from: "wire", card: undefined };
  }
  throw new DeaddropError(
    "usage",
    only === undefined
      ? `no key of ${handle} is known here`
      : `the wire claims ${claimed.length} keys for ${handle}: ${claimed.map((key) => key.key_id).join(", ")}`,
    {
      hint: `give the key: deaddrop trust pin ${handle} <key, ${handle}.pub.json or card>; ask ${handle}'s operator for it`,
    },
  );
}

/** Whether the key has been compared by its fingerprint once the operator has agreed. */
export function isCompared(key: Subject, { place }: AgentPlace, flags: PinFlags): boolean {
  const wanted = wantsFingerprint(key, place.store.peers.get(key.handle), flags.tier);
  return wanted || flags.fingerprint !== undefined;
}

/** Asks the operator; throws when the fingerprint is wanted and missing, or another one. */
export async function askForPin(
  cli: Cli,
  at: AgentPlace,
  handle: string,
  key: Subject | undefined,
  flags: PinFlags,
): Promise<void> {
  const { place } = at;
  const peer = place.store.peers.get(handle);
  const wanted = wantsFingerprint(key, peer, flags.tier);
  const fingerprint = key === undefined ? "" : fingerprintOf(key.key);
  const given = flags.fingerprint?.replace(/[\s:]/g, "").toLowerCase();
  if (given !== undefined && given !== fingerprint) {
    throw new DeaddropError("refused", `the key of ${handle} has another fingerprint`, {
      hint: `it is ${fingerprint}. If ${handle}'s operator reads out another one, somebody has put this key in between: do not pin it`,
    });
  }
  if (wanted && given === undefined && flags.yes === true) {
    throw new DeaddropError("usage", "--yes needs --fingerprint here", {
      hint: `give the 64 digits that ${handle}'s operator has read out to you: --fingerprint …`,
    });
  }
  const action = {
    action: "trust pin",
    target: `${key?.keyId ?? handle}${flags.tier === undefined ? "" : ` ${flags.tier}`}`,
    effect: effectOf(handle, key, at, flags),
    word: wanted && given === undefined ? fingerprint : handle,
    ...(wanted ? { flags: "--fingerprint … --yes --reason …" } : {}),
  };
  await confirmOperator(cli, flags, action, place.paths.operatorJournal);
}

/**
 * What anybody can have made wants to be compared before it is believed: a claim of the wire, what
 * is to be raised, and a card that would be beside a pin. Spec 2.2.
 */
function wantsFingerprint(
  key: Subject | undefined,
  peer: Peer | undefined,
  tier: Tier | undefined,
): boolean {
  if (key === undefined) return false;
  const isPinned = peer?.keys.some(({ keyId, active }) => active && keyId === key.keyId) === true;
  const isBeside = (peer?.keys.length ?? 0) > 0 && !isPinned;
  return key.from === "wire" || isProof(tier) || (key.from === "card" && isBeside);
}

const ORIGINS: Readonly<Record<Subject["from"], string>> = {
  operator: "the key that you gave",
  pinned: "the key that is pinned",
  wire: "a key that the wire claims, which anyone who can write there may have put in",
  card: "the key that the card is signed with; whose card it is, the card does not prove",
};

function effectOf(
  handle: string,
  key: Subject | undefined,
  at: AgentPlace,
  flags: PinFlags,
): string[] {
  const { tier } = flags;
  const peer = at.place.store.peers.get(handle);
  const tierLine = `tier: ${peer?.tier ?? "none"} → ${tier ?? peer?.tier ?? "UNTRUSTED"}`;
  if (key === undefined) {
    return [
      `${handle} will be believed WITHOUT signatures, where the wire's policy lets it: anybody who can`,
      "write in the wire's folder can then speak in its name",
      tierLine,
    ];
  }
  const lines = [
    `${key.keyId}: ${ORIGINS[key.from]}`,
    `fingerprint ${groupedFingerprint(fingerprintOf(key.key))}`,
    `Have ${handle}'s operator read theirs out over a channel that you trust (deaddrop trust list).`,
    tierLine,
  ];
  if (peer?.mayBeUnsigned === true) lines.push(`unsigned lines of ${handle}: taken → refused`);
  const others = peer?.keys.filter((each) => each.active && each.keyId !== key.keyId) ?? [];
  const proves =
    isProof(tier) || (peer?.held?.cause === "key_revoked" && isCompared(key, at, flags));
  const stops = proves && (peer?.tier ?? "UNTRUSTED") === "UNTRUSTED";
  const named = others.map((each) => each.keyId).join(", ");
  if (others.length > 0)
    lines.push(stops ? `${named}: never proved, and stopped` : `beside ${named}`);
  if (peer?.held?.cause === "key_revoked") {
    const ends = isCompared(key, at, flags);
    lines.push(`${handle} is ${ends ? "no longer held" : "held until its key is compared"}`);
  }
  return lines;
}
