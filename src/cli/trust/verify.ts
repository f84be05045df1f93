import { DeaddropError } from "../../api/errors.ts";
import { changePairing, meetPeers } from "../../setup/contact/first-contact.ts";
import { isExhausted, MAX_MISMATCHES, noteMismatch } from "../../trust/pairing/pairing.ts";
import {
  changeInOrder,
  confirmSas,
  endRevocation,
  proveKey,
  setFlags,
  type StoreChange,
} from "../../trust/pins.ts";
import type { TrustStore } from "../../trust/store.ts";
import { agentPlace, type AgentPlace } from "../agent-place.ts";
import { define, type FlagsOf, type Options } from "../command.ts";
import { CONSENT_OPTIONS, confirmOperator } from "../input/confirm.ts";
import { emit } from "../output/output.ts";
import { standingOf, trustRow } from "./list.ts";
import { applyTrust, requirePeer } from "./peer.ts";
import { standingWith, type Standing } from "./sas.ts";

type Digits = Extract<Standing, { readonly digits: string }>;

const OPTIONS = {
  ...CONSENT_OPTIONS,
  "--accept-static-sas": "for a peer that commits itself to nothing: believe it all the same",
} as const satisfies Options;
type VerifyFlags = FlagsOf<typeof OPTIONS>;

/** `deaddrop trust verify`: the operators have compared the digits. Spec 2.3. */
export const verify = define({
  about: "say which digits the peer's operator has read out; the same make it VERIFIED",
  args: { "<peer>": "whose identity is proved", "<digits>": "the six digits, as read out" },
  options: OPTIONS,
  examples: ["deaddrop trust verify scribe 123456"],
  async run(cli, flags, { peer, digits: typed }) {
    const at = agentPlace(cli, flags);
    requirePeer(at, peer);
    const contact = meetPeers(at.host, at.place);
    const standing = digitsIn(standingWith(at.place, contact, peer), at, peer, flags);
    const pairing = contact.pairings.get(peer);
    if (pairing !== undefined && isExhausted(pairing)) throw blocked(peer);
    const digits = typed.replace(/[\s-]/g, "");
    if (!/^[0-9]{6}$/.test(digits)) {
      throw new DeaddropError("usage", "these are not six digits", {
        hint: `give them as ${peer}'s operator reads them out: deaddrop trust verify ${peer} 123456`,
      });
    }
    // An agent's shell must not use up the operator's tries.
    await confirmOperator(
      cli,
      flags,
      {
        action: "trust verify",
        target: `${peer} ${digits}`,
        effect: [
          `These are the digits that ${peer}'s operator has read out to you over a channel that you trust.`,
          `If they are right, ${peer} may send everything but claims from now on.`,
          ...revocationLines(at, peer),
        ],
        word: peer,
      },
      at.place.paths.operatorJournal,
    );
    if (digits !== standing.digits) await mismatch(at, peer);
    await applyTrust(at, (store) => verified(store, peer, standing.key, cli.clock.nowMs()));
    const row = trustRow(cli, flags, peer);
    emit(cli, flags, row, (paint) => `${paint("green", peer)} is ${standingOf(row)}`);
  },
});

/** Pure: the key that the digits are about, and what they prove of it. Spec 2.3, 2.5. */
function verified(store: TrustStore, peer: string, key: Uint8Array, nowMs: number): StoreChange {
  return changeInOrder(store, [
    (current) => proveKey(current, peer, key, new Date(nowMs).toISOString()),
    (current) => confirmSas(current, peer, nowMs),
    (current) => endRevocation(current, peer),
  ]);
}

function revocationLines({ place }: AgentPlace, peer: string): string[] {
  const { held, keys = [] } = place.store.peers.get(peer) ?? {};
  if (held?.cause !== "key_revoked") return [];
  const active = keys.filter((key) => key.active).map(({ keyId }) => keyId);
  return [
    `${peer} is no longer held then; what the revoked key signed behind the last good line counts for nothing.`,
    ...(active.length === 0 ? [] : [`Of these only the key compared stays: ${active.join(", ")}.`]),
  ];
}

function digitsIn(
  standing: Standing,
  { place }: AgentPlace,
  peer: string,
  flags: VerifyFlags,
): Digits {
  if (standing.state === "digits") return standing;
  if (standing.state === "static") {
    if (flags.acceptStaticSas === true) return standing;
    throw new DeaddropError("refused", `the digits of ${peer} prove too little`, {
      hint: `compare the whole fingerprint (deaddrop trust pin ${peer} --tier VERIFIED), or give --accept-static-sas: somebody in between finds keys with the same digits within seconds`,
    });
  }
  if (standing.state === "changed") {
    throw new DeaddropError("refused", `${peer}'s card has changed: the digits are void`, {
      hint: `run \`deaddrop trust sas ${peer}\`, which says what to do`,
    });
  }
  const detail = standing.state === "wrong_card" ? `: ${standing.detail}` : "";
  throw new DeaddropError("refused", `there are no digits to compare with ${peer} yet${detail}`, {
    hint: `run \`deaddrop trust sas ${peer}\` here and \`deaddrop trust sas ${place.handle}\` on its side`,
  });
}

/** Counted before it is answered: a command that is killed in between has used up a try. */
async function mismatch({ host, place }: AgentPlace, peer: string): Promise<never> {
  const noted = changePairing(host.disk, place.paths, peer, noteMismatch);
  if (noted === undefined) throw new Error(`no pairing with ${peer}`);
  const left = MAX_MISMATCHES - noted.mismatches;
  if (left > 0) {
    throw new DeaddropError("refused", `these are not the digits of ${peer}; tries left: ${left}`, {
      hint: `read them out again. If they differ on both sides, somebody may stand between you: do not go on, and ask ${peer}'s operator over another channel`,
    });
  }
  await applyTrust({ host, place }, (store) => setFlags(store, peer, { blocked: true }));
  throw blocked(peer);
}

function blocked(peer: string): DeaddropError {
  return new DeaddropError("refused", `${peer} is blocked: wrong digits ${MAX_MISMATCHES} times`, {
    hint: `find out with ${peer}'s operator, over another channel, whose keys these are; then: deaddrop trust unblock ${peer}`,
  });
}
