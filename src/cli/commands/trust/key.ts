import { Command } from "commander";
import { moment } from "../../../framing/when.ts";
import { meetPeers } from "../../../setup/contact/first-contact.ts";
import {
  loadSigningIdentity,
  prepareNextIdentity,
  prepareUrgentIdentity,
} from "../../../storage/private/signing-key.ts";
import { DeaddropError } from "../../../api/errors.ts";
import type { KeysView } from "../../../api/views.ts";
import { compareTiers } from "../../../trust/tiers.ts";
import type { Draft } from "../../../wire/compose.ts";
import { agentPlace, reloadDaemon, type AgentPlace } from "../../agent-place.ts";
import { addConsent } from "../../input/consent-flags.ts";
import { confirmOperator, type ConsentFlags } from "../../input/confirm.ts";
import { collect, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit, type Paint } from "../../output/output.ts";
import { requirePeer } from "../../trust/peer.ts";

interface RotateFlags extends GlobalFlags, ConsentFlags {
  without?: string[];
  now?: boolean;
}

/** `deaddrop key`: the life of your own key. Spec 2.5. */
export function command(cli: Cli): Command {
  const key = new Command("key").description(
    "Your own key on this wire: which one is in use, and how it is changed for another while work goes on.",
  );
  key
    .command("show")
    .description("the key in use, and how far a change of keys has come")
    .action(async (_flags: unknown, show: Command) => {
      const flags = show.optsWithGlobals<GlobalFlags>();
      await withClient(cli, flags, async (client) => {
        const keys = await client.view("keys");
        emit(cli, flags, keys, (paint) => keysText(keys, paint));
      });
    });
  addConsent(key.command("rotate"))
    .description(
      "make a new key and ask every peer to accept it; it is used once all have acked, and a day later they are asked to believe the old one no longer. Repeat it to ask those again that the first time has not reached.",
    )
    .option("--without <handle>", "start again, and do not ask this peer (repeatable)", collect)
    .option("--now", "the key may be in other hands: sign with another at once, and ask nobody")
    .addHelpText("after", example("deaddrop key rotate", "deaddrop key rotate --now"))
    .action(async (_flags: unknown, rotate: Command) => {
      await run(cli, rotate.optsWithGlobals<RotateFlags>());
    });
  return key;
}

async function run(cli: Cli, flags: RotateFlags): Promise<void> {
  const at = agentPlace(cli, flags);
  if (flags.now === true) return rotateNow(cli, at, flags);
  const { host, place } = at;
  const { disk } = host;
  for (const peer of flags.without ?? []) requirePeer(at, peer);
  const asked = askable(at, flags.without ?? []);
  const { keyId: old } = loadSigningIdentity(disk, place.paths).signer;
  await confirmOperator(
    cli,
    flags,
    {
      action: "key rotate",
      target: old,
      effect: [
        `A new key takes the place of ${old} once ${asked.join(", ")} ${asked.length === 1 ? "has" : "have"} acked it.`,
        ...notAskedText(at, asked),
        "If the old key may be in other hands, this is not enough: deaddrop key rotate --now.",
      ],
      word: place.handle,
    },
    place.paths.operatorJournal,
  );
  if (flags.without !== undefined) disk.remove(place.paths.nextKey);
  const { signer, publicIdentity } = prepareNextIdentity(disk, place.paths, host.random(32));
  await reloadDaemon(place.paths);
  await withClient(cli, flags, async (client) => {
    const before = await client.view("keys");
    const drafts = requests(at, asked, before, signer.keyId, publicIdentity.key);
    if (drafts.length > 0) await client.ask("send", { drafts });
    const keys = await client.view("keys");
    emit(cli, flags, keys, (paint) =>
      [keysText(keys, paint), ...notAskedText(at, asked)].join("\n"),
    );
  });
}

/** Who is not asked will refuse what the new key signs, until its operator knows that key. */
function notAskedText({ peers }: AgentPlace, asked: readonly string[]): string[] {
  const others = peers.filter((peer) => !asked.includes(peer));
  if (others.length === 0) return [];
  return [
    `Not asked: ${others.join(", ")}. There the new key waits beside your card until its operator has compared digits with you.`,
  ];
}

/** A stolen key vouches for no other: peers learn of this one by card and digits. Spec 2.5. */
async function rotateNow(
  cli: Cli,
  { host, place, peers }: AgentPlace,
  flags: RotateFlags,
): Promise<void> {
  const { disk } = host;
  const { keyId: old } = place.identity.signer;
  await confirmOperator(
    cli,
    flags,
    {
      action: "key rotate --now",
      target: old,
      effect: [
        `${old} is not used any more, and a new key is used at once. No peer believes that one yet:`,
        "each has to revoke the old one and to compare digits with you again.",
      ],
      word: place.handle,
    },
    place.paths.operatorJournal,
  );
  prepareUrgentIdentity(disk, place.paths, host.random(32));
  await reloadDaemon(place.paths);
  const keys = await withClient(cli, flags, (client) => client.view("keys"));
  // What peers read is the new card.
  meetPeers(host, agentPlace(cli, flags).place);
  emit(cli, flags, keys, (paint) =>
    [
      keysText(keys, paint),
      "Have each peer's operator do this, and compare digits with you by phone:",
      `  deaddrop trust revoke ${old}`,
      `  deaddrop trust sas ${place.handle}`,
      ...peers.map((peer) => `and you: deaddrop trust sas ${peer}`),
    ].join("\n"),
  );
}

/** Whom a proposal of ours can bind: who has not proved who it is cannot ack one. */
function askable({ place, peers }: AgentPlace, without: readonly string[]): string[] {
  const asked = peers.filter((handle) => {
    const peer = place.store.peers.get(handle);
    if (without.includes(handle) || peer?.tier === undefined) return false;
    return !peer.blocked && peer.held === undefined && compareTiers(peer.tier, "UNTRUSTED") > 0;
  });
  if (asked.length > 0) return asked;
  throw new DeaddropError("refused", "there is no verified peer that could accept a new key", {
    hint: "compare digits first (deaddrop trust sas <peer>); peers who do not know your key yet simply pin the one in use",
  });
}

/** A proposal to all who are asked, unless one to the same is open or approved. */
function requests(
  { place }: AgentPlace,
  asked: readonly string[],
  keys: KeysView,
  keyId: string,
  key: string,
): Draft[] {
  const open = keys.asked.filter(
    (each) => each.key_id === keyId && ["open", "ratified"].includes(each.status),
  );
  if (open.some(({ required }) => required.toSorted().join() === asked.toSorted().join()))
    return [];
  return [
    {
      to: asked,
      type: "proposal",
      subject: `sign with ${keyId} from now on`,
      body: {
        action: "add_key",
        key_id: keyId,
        key,
        required: [...asked],
        decision: `${place.handle} signs with ${keyId}.`,
      },
      ackRequired: true,
    },
  ];
}

function keysText(keys: KeysView, paint: Paint): string {
  const { current, since, next, earlier } = keys;
  const lines = [
    `${paint("bold", current)}  in use${since === null ? "" : ` since ${moment(since)}`}`,
    ...(next === null ? [] : [`${next}  waits until every peer has acked it:`]),
  ];
  for (const { action, key_id, required, status } of keys.asked) {
    if (action === "add_key" && key_id === next) lines.push(`  ${required.join(", ")}: ${status}`);
  }
  for (const keyId of earlier) lines.push(`${keyId}  no longer used, still believed by peers`);
  return lines.join("\n");
}
