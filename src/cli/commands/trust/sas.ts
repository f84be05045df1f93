import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import { staticSas, type SasParty } from "../../../trust/pairing/sas.ts";
import { agentName, didOf } from "../../../wire/handle.ts";
import { quote } from "../../../wire/quote.ts";
import { decodeKey, isAcceptableKey } from "../../../wire/signature.ts";
import type { Cli, GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit } from "../../output/output.ts";

/** `deaddrop sas`: the published digits of two keys, as peers without commitments show. Spec 8.6. */
export function command(cli: Cli): Command {
  return new Command("sas")
    .summary("six digits of two keys")
    .description(
      "Prints the six digits that follow from two agents and their keys alone, as implementations " +
        "without commitments show them. Somebody in between can search for keys that give both " +
        "sides the same digits, so these alone promote nobody.",
    )
    .argument("<did>", "did:wire:<handle>, or the handle")
    .argument("<key>", "its public key: 32 bytes in base64")
    .argument("<other-did>", "the other agent")
    .argument("<other-key>", "its public key")
    .addHelpText("after", example("deaddrop sas did:wire:forge <key> did:wire:scribe <key>"))
    .action((did: string, key: string, otherDid: string, otherKey: string, flags: GlobalFlags) => {
      const [a, b] = [partyOf(did, key), partyOf(otherDid, otherKey)];
      if (a.did === b.did) {
        throw new DeaddropError("usage", `both sides are ${a.did}`, {
          hint: "give the two agents that are to be paired",
        });
      }
      const sas = staticSas(a, b);
      emit(cli, flags, { sas }, () => sas);
    });
}

function partyOf(did: string, text: string): SasParty {
  const handle = agentName(did);
  if (handle === undefined) {
    throw new DeaddropError("usage", `${quote(did)} names no agent`, {
      hint: "give did:wire:<handle>, or the handle",
    });
  }
  const key = decodeKey(text);
  if (key === undefined || !isAcceptableKey(key)) {
    throw new DeaddropError("usage", `the key of ${handle} is no usable Ed25519 public key`, {
      hint: "give its 32 bytes in base64 (44 characters)",
    });
  }
  return { did: didOf(handle), key };
}
