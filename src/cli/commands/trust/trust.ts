import { Command, Option } from "commander";
import { TIERS } from "../../../trust/tiers.ts";
import { addConsent } from "../../input/consent-flags.ts";
import type { Cli, GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import type { ImportFlags } from "../../trust/import.ts";
import type { PinFlags } from "../../trust/pin.ts";
import type { RevokeFlags } from "../../trust/revoke.ts";
import type { SasFlags } from "../../trust/sas.ts";
import type { StandingChange, StandingFlags } from "../../trust/standing.ts";
import type { VerifyFlags } from "../../trust/verify.ts";

const STANDING_CHANGES: readonly (readonly [StandingChange, string])[] = [
  ["promote", "believe a peer one tier further"],
  ["demote", "believe a peer one tier less, or as little as --to says"],
  ["block", "take nothing of a peer, whatever its tier"],
  ["unblock", "take a peer's lines again as far as its tier goes"],
];

/** `deaddrop trust`: whom this agent believes, and how far. Changes are the operator's. Spec 2. */
export function command(cli: Cli): Command {
  const trust = new Command("trust").description(
    "Whose keys are believed, and how far. What the wire advertises is never believed by itself.\n" +
      "All but list and sas need a terminal and a typed confirmation, or --yes --reason.",
  );
  for (const add of [addList, addPin, addSas, addVerify, addStanding, addRevoke, addImport]) {
    add(trust, cli);
  }
  return trust;
}

function addList(trust: Command, cli: Cli): void {
  trust
    .command("list")
    .description("the pins, their tiers, and where the wire claims something else")
    .action(async (_flags: unknown, list: Command) => {
      const { run } = await import("../../trust/list.ts");
      run(cli, list.optsWithGlobals<GlobalFlags>());
    });
}

function addPin(trust: Command, cli: Cli): void {
  addConsent(trust.command("pin"))
    .description("pin a peer's key, or raise its tier, after comparing the fingerprint")
    .argument("<peer>", "whose key it is")
    .argument(
      "[key-or-card]",
      "base64, a .pub.json, a card or its https URL (default: the pinned key, else the wire's claim)",
    )
    .addOption(new Option("--tier <tier>", "how far it is believed").choices([...TIERS]))
    .option("--fingerprint <hex>", "the 64 digits that the peer's operator has read out")
    .option(
      "--unsigned",
      "take its unsigned lines, where the wire's policy lets it write any (a v2.0 peer)",
    )
    .addHelpText(
      "after",
      example(
        "deaddrop trust pin scribe --tier VERIFIED",
        "deaddrop trust pin scribe https://scribe.example/card.json",
      ),
    )
    .action(async (peer: string, key: string | undefined, _flags: unknown, pin: Command) => {
      const { run } = await import("../../trust/pin.ts");
      await run(cli, peer, key, pin.optsWithGlobals<PinFlags>());
    });
}

function addSas(trust: Command, cli: Cli): void {
  addConsent(trust.command("sas"))
    .description("the six digits to compare with a peer's operator, and how far that is")
    .argument("<peer>", "with whom")
    .option("--again", "its operator says that it began again: new digits; needs a confirmation")
    .addHelpText("after", example("deaddrop trust sas scribe"))
    .action(async (peer: string, _flags: unknown, sas: Command) => {
      const { run } = await import("../../trust/sas.ts");
      await run(cli, peer, sas.optsWithGlobals<SasFlags>());
    });
}

function addVerify(trust: Command, cli: Cli): void {
  addConsent(trust.command("verify"))
    .description("say which digits the peer's operator has read out; the same make it VERIFIED")
    .argument("<peer>", "whose identity is proved")
    .argument("<digits>", "the six digits, as read out")
    .option(
      "--accept-static-sas",
      "for a peer that commits itself to nothing: believe it all the same",
    )
    .addHelpText("after", example("deaddrop trust verify scribe 123456"))
    .action(async (peer: string, digits: string, _flags: unknown, verify: Command) => {
      const { run } = await import("../../trust/verify.ts");
      await run(cli, peer, digits, verify.optsWithGlobals<VerifyFlags>());
    });
}

function addStanding(trust: Command, cli: Cli): void {
  for (const [name, what] of STANDING_CHANGES) {
    const change = addConsent(trust.command(name))
      .description(what)
      .argument("<peer>", "whom")
      .action(async (peer: string, _flags: unknown, command: Command) => {
        const { run } = await import("../../trust/standing.ts");
        await run(cli, name, peer, command.optsWithGlobals<StandingFlags>());
      });
    if (name === "promote" || name === "demote") {
      change.addOption(new Option("--to <tier>", "which tier").choices([...TIERS]));
    }
  }
}

function addRevoke(trust: Command, cli: Cli): void {
  addConsent(trust.command("revoke"))
    .description("stop a key at once, and hold its agent")
    .argument("<key-id>", "as trust list shows it")
    .option(
      "--last <line>",
      "the last good line of its agent, by its event id (default: the last one that is here)",
    )
    .addHelpText("after", example("deaddrop trust revoke scribe:1a2b3c4d"))
    .action(async (keyId: string, _flags: unknown, revoke: Command) => {
      const { run } = await import("../../trust/revoke.ts");
      await run(cli, keyId, revoke.optsWithGlobals<RevokeFlags>());
    });
}

function addImport(trust: Command, cli: Cli): void {
  addConsent(trust.command("import"))
    .description("pin the agents of a trust file, v3.0 or v3.1")
    .argument("<file>", "the trust file")
    .option("--accept-wire-trust", "take its tiers too (up to ATTESTED), instead of UNTRUSTED")
    .action(async (file: string, _flags: unknown, command: Command) => {
      const { run } = await import("../../trust/import.ts");
      await run(cli, file, command.optsWithGlobals<ImportFlags>());
    });
}
