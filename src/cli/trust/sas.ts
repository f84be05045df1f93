import type { AgentConfig } from "../../agent/config/agent-config.ts";
import { DeaddropError } from "../../api/errors.ts";
import { meetPeers, type Contact } from "../../setup/contact/first-contact.ts";
import { fingerprintOf, groupedFingerprint } from "../../setup/contact/offered-key.ts";
import { claimFor, signingKey } from "../../trust/cards/card.ts";
import { digitsOf } from "../../trust/pairing/pairing.ts";
import { staticSas } from "../../trust/pairing/sas.ts";
import { didOf } from "../../wire/handle.ts";
import { agentPlace, type AgentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import type { Cli } from "../context.ts";
import { CONSENT_OPTIONS, confirmOperator, type ConsentFlags } from "../input/confirm.ts";
import { emit, type Paint } from "../output/output.ts";
import { whereGiven } from "../output/setup-text.ts";
import { requirePeer } from "./peer.ts";

/** How far the pairing with one peer has come. */
export type Standing =
  /** Both nonces are shown: these can be compared. */
  | { readonly state: "digits"; readonly digits: string; readonly key: Uint8Array }
  /** A peer that commits itself to nothing: its digits can be searched for. */
  | { readonly state: "static"; readonly digits: string; readonly key: Uint8Array }
  | { readonly state: "no_card" }
  | { readonly state: "wrong_card"; readonly detail: string }
  /** Another claim than the one that has seen our nonce: the operator has to let it see one. */
  | { readonly state: "changed" }
  /** The peer has to look at our card before it goes on. */
  | { readonly state: "waiting" };

/** `deaddrop trust sas`: the digits to compare with a peer's operator. Spec 2.3. */
export const sas = define({
  about: "the six digits to compare with a peer's operator, and how far that is",
  args: { "<peer>": "with whom" },
  options: {
    ...CONSENT_OPTIONS,
    "--again": "its operator says that it began again: new digits; needs a confirmation",
  },
  examples: ["deaddrop trust sas scribe"],
  async run(cli, flags, { peer }) {
    const at = agentPlace(cli, flags);
    requirePeer(at, peer);
    const found = meetPeers(at.host, at.place);
    const contact = flags.again === true ? await meetAgain(cli, at, peer, found, flags) : found;
    const standing = standingWith(at.place, contact, peer);
    const restarts = contact.pairings.get(peer)?.restarts ?? 0;
    const { state } = standing;
    if (state === "wrong_card") cli.exitCode = 1;
    const digits = "digits" in standing ? standing.digits : null;
    emit(cli, flags, { peer, state, digits, restarted: restarts > 0, restarts }, (paint) =>
      [
        ...restartLines(peer, restarts, paint),
        ...standingText(at.place.handle, peer, standing, paint, whereGiven(flags)),
      ].join("\n"),
    );
  },
});

/** One nonce for one word of the operator. Spec 2.3. */
async function meetAgain(
  cli: Cli,
  { host, place }: AgentPlace,
  peer: string,
  found: Contact,
  flags: ConsentFlags,
): Promise<Contact> {
  const pairing = found.pairings.get(peer);
  if (standingWith(place, found, peer).state !== "changed" || pairing === undefined) {
    throw new DeaddropError("refused", `nothing of ${peer} waits to begin again`, {
      hint: `--again is for a card that has changed after your number was shown to it: deaddrop trust sas ${peer}`,
    });
  }
  await confirmOperator(
    cli,
    flags,
    {
      action: "trust sas --again",
      target: `${peer} ${pairing.other?.commitment ?? ""}`,
      effect: [
        `${peer}'s card has changed ${times(pairing.restarts)} since this agent first showed its number.`,
        `A new number of yours is shown to the card that is there now. Somebody in between gets one more`,
        `try at your digits by that: go on only if ${peer}'s operator says that it began again.`,
      ],
      word: peer,
    },
    place.paths.operatorJournal,
  );
  return meetPeers(host, place, { again: peer });
}

function restartLines(peer: string, restarts: number, paint: Paint): string[] {
  if (restarts === 0) return [];
  return [
    `${paint("yellow", `${peer}'s card has changed ${times(restarts)}`)} after your number was shown to it: only the latest digits count`,
  ];
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

export function standingWith(place: AgentConfig, contact: Contact, peer: string): Standing {
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
  if (pairing?.other !== undefined) return { state: "changed" };
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
    case "changed":
      return [
        `No digits: another card of ${peer} has seen your number than the one that is there now.`,
        `Ask ${peer}'s operator, over a channel that you trust, whether it began again. Only then:`,
        `  deaddrop trust sas ${peer} --again${where}`,
        "If it did not, somebody else writes that card: find out who can write in your folder.",
      ];
    case "waiting":
      return [`${peer} has yet to look at your card; on its side: deaddrop trust sas ${own}`];
  }
}
