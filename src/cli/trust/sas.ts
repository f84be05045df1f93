import { meetPeers, type Contact } from "../../setup/first-contact.ts";
import { fingerprintOf, groupedFingerprint } from "../../setup/offered-key.ts";
import type { Place } from "../../daemon/place.ts";
import { claimFor, signingKey } from "../../trust/card.ts";
import { digitsOf } from "../../trust/pairing.ts";
import { staticSas } from "../../trust/sas.ts";
import { didOf } from "../../wire/handle.ts";
import { agentPlace } from "../agent-place.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit, type Paint } from "../output.ts";
import { whereGiven } from "../setup-text.ts";
import { requirePeer } from "./peer.ts";

/** How far the pairing with one peer has come. */
export type Standing =
  /** Both nonces are shown: these can be compared. */
  | { readonly state: "digits"; readonly digits: string; readonly key: Uint8Array }
  /** A peer that commits itself to nothing: its digits can be searched for. */
  | { readonly state: "static"; readonly digits: string; readonly key: Uint8Array }
  | { readonly state: "no_card" }
  | { readonly state: "wrong_card"; readonly detail: string }
  /** The peer has to look at our card before it goes on. */
  | { readonly state: "waiting" };

/** `deaddrop trust sas`: the digits to compare with a peer's operator. Spec 2.3. */
export function run(cli: Cli, peer: string, flags: GlobalFlags): void {
  const at = agentPlace(cli, flags);
  requirePeer(at, peer);
  const contact = meetPeers(at.host, at.place);
  const standing = standingWith(at.place, contact, peer);
  const restarted = (contact.pairings.get(peer)?.restarts ?? 0) > 0;
  const { state } = standing;
  if (state === "wrong_card") cli.exitCode = 1;
  const digits = "digits" in standing ? standing.digits : null;
  emit(cli, flags, { peer, state, digits, restarted }, (paint) =>
    [
      ...(restarted
        ? [`${paint("yellow", peer)} has begun anew: only the latest digits count`]
        : []),
      ...standingText(at.place.handle, peer, standing, paint, whereGiven(flags)),
    ].join("\n"),
  );
}

export function standingWith(place: Place, contact: Contact, peer: string): Standing {
  const problem = contact.problems.get(peer);
  if (problem !== undefined) return { state: "wrong_card", detail: problem };
  const card = contact.cards.get(peer);
  if (card === undefined) return { state: "no_card" };
  const pairing = contact.pairings.get(peer);
  const [own, other] = [didOf(place.handle), didOf(peer)];
  if (claimFor(card, place.handle) === undefined) {
    const { key } = signingKey(card);
    const ours = { did: own, key: place.identity.publicKey };
    return { state: "static", digits: staticSas(ours, { did: other, key }), key };
  }
  const digits = pairing === undefined ? undefined : digitsOf(pairing, own, other);
  const paired = pairing?.peer?.key;
  if (digits === undefined || paired === undefined) return { state: "waiting" };
  return { state: "digits", digits, key: paired };
}

function standingText(
  own: string,
  peer: string,
  standing: Standing,
  paint: Paint,
  where: string,
): string[] {
  switch (standing.state) {
    case "digits":
      return [
        `${paint("bold", standing.digits)}  with ${peer}, whose key has the fingerprint`,
        groupedFingerprint(fingerprintOf(standing.key)),
        `Have ${peer}'s operator read theirs out, over a channel that you trust, and give what you hear:`,
        `  deaddrop trust verify ${peer} <digits>${where}`,
      ];
    case "static":
      return [
        `${standing.digits}  with ${peer}, which commits itself to nothing: somebody in between can`,
        "search for keys with these digits. Compare the whole fingerprint instead:",
        groupedFingerprint(fingerprintOf(standing.key)),
        `  deaddrop trust pin ${peer} --tier VERIFIED${where}`,
      ];
    case "no_card":
      return [`${peer} has no card here yet; on its side: deaddrop trust sas ${own}`];
    case "wrong_card":
      return [
        `${paint("red", "refused")} ${peer}'s card does not hold: ${standing.detail}`,
        `Anybody who writes in the folder can put one there. On its side: deaddrop trust sas ${own}`,
      ];
    case "waiting":
      return [`${peer} has yet to look at your card; on its side: deaddrop trust sas ${own}`];
  }
}
