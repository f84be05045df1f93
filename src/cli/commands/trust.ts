import { TIERS } from "../../trust/tiers.ts";
import { define } from "../command.ts";
import { CONSENT_OPTIONS } from "../input/confirm.ts";
import { run as importPins } from "../trust/import.ts";
import { run as list } from "../trust/list.ts";
import { run as pin } from "../trust/pin.ts";
import { run as revoke } from "../trust/revoke.ts";
import { run as compareDigits } from "../trust/sas.ts";
import { run as changeStanding } from "../trust/standing.ts";
import { run as verify } from "../trust/verify.ts";

const TIER = { about: "which tier", choices: TIERS } as const;

/** Whom this agent believes, and how far. Changes are the operator's. Spec 2. */
export const trust = define({
  about:
    "Whose keys are believed, and how far. What the wire advertises is never believed by itself. " +
    "All but list and sas need a terminal and a typed confirmation, or --yes --reason.",
  commands: {
    list: define({
      about: "the pins, their tiers, and where the wire claims something else",
      run: list,
    }),
    pin: define({
      about: "pin a peer's key, or raise its tier, after comparing the fingerprint",
      args: {
        "<peer>": "whose key it is",
        "[key-or-card]":
          "base64, a .pub.json, a card or its https URL (default: the pinned key, else the wire's claim)",
      },
      options: {
        ...CONSENT_OPTIONS,
        "--tier <tier>": { about: "how far it is believed", choices: TIERS },
        "--fingerprint <hex>": "the 64 digits that the peer's operator has read out",
        "--unsigned":
          "take its unsigned lines, where the wire's policy lets it write any (a v2.0 peer)",
      },
      examples: [
        "deaddrop trust pin scribe --tier VERIFIED",
        "deaddrop trust pin scribe https://scribe.example/card.json",
      ],
      run: (cli, flags, { peer, keyOrCard }) => pin(cli, peer, keyOrCard, flags),
    }),
    sas: define({
      about: "the six digits to compare with a peer's operator, and how far that is",
      args: { "<peer>": "with whom" },
      options: {
        ...CONSENT_OPTIONS,
        "--again": "its operator says that it began again: new digits; needs a confirmation",
      },
      examples: ["deaddrop trust sas scribe"],
      run: (cli, flags, { peer }) => compareDigits(cli, peer, flags),
    }),
    verify: define({
      about: "say which digits the peer's operator has read out; the same make it VERIFIED",
      args: { "<peer>": "whose identity is proved", "<digits>": "the six digits, as read out" },
      options: {
        ...CONSENT_OPTIONS,
        "--accept-static-sas": "for a peer that commits itself to nothing: believe it all the same",
      },
      examples: ["deaddrop trust verify scribe 123456"],
      run: (cli, flags, { peer, digits }) => verify(cli, peer, digits, flags),
    }),
    promote: define({
      about: "believe a peer one tier further",
      args: { "<peer>": "whom" },
      options: { ...CONSENT_OPTIONS, "--to <tier>": TIER },
      run: (cli, flags, { peer }) => changeStanding(cli, "promote", peer, flags),
    }),
    demote: define({
      about: "believe a peer one tier less, or as little as --to says",
      args: { "<peer>": "whom" },
      options: { ...CONSENT_OPTIONS, "--to <tier>": TIER },
      run: (cli, flags, { peer }) => changeStanding(cli, "demote", peer, flags),
    }),
    block: define({
      about: "take nothing of a peer, whatever its tier",
      args: { "<peer>": "whom" },
      options: CONSENT_OPTIONS,
      run: (cli, flags, { peer }) => changeStanding(cli, "block", peer, flags),
    }),
    unblock: define({
      about: "take a peer's lines again as far as its tier goes",
      args: { "<peer>": "whom" },
      options: CONSENT_OPTIONS,
      run: (cli, flags, { peer }) => changeStanding(cli, "unblock", peer, flags),
    }),
    revoke: define({
      about: "stop a key at once, and hold its agent",
      args: { "<key-id>": "as trust list shows it" },
      options: {
        ...CONSENT_OPTIONS,
        "--last <line>":
          "the last good line of its agent, by its event id (default: the last one that is here)",
      },
      examples: ["deaddrop trust revoke scribe:1a2b3c4d"],
      run: (cli, flags, { keyId }) => revoke(cli, keyId, flags),
    }),
    import: define({
      about: "pin the agents of a trust file, v3.0 or v3.1",
      args: { "<file>": "the trust file" },
      options: {
        ...CONSENT_OPTIONS,
        "--accept-wire-trust": "take its tiers too (up to ATTESTED), instead of UNTRUSTED",
      },
      run: (cli, flags, { file }) => importPins(cli, file, flags),
    }),
  },
});
