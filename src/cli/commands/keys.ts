import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import type { KeysView } from "../../api/views.ts";
import { moment } from "../../framing/when.ts";
import { meetPeers } from "../../setup/contact/first-contact.ts";
import { groupedFingerprint } from "../../setup/contact/offered-key.ts";
import { setupHost } from "../../setup/host.ts";
import { keyReport } from "../../setup/report.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { identityPaths } from "../../storage/paths.ts";
import { makeIdentity } from "../../storage/private/identity.ts";
import {
  loadSigningIdentity,
  prepareNextIdentity,
  prepareUrgentIdentity,
} from "../../storage/private/signing-key.ts";
import { compareTiers } from "../../trust/tiers.ts";
import type { Draft } from "../../wire/compose.ts";
import { rosterProblems } from "../../wire/handle.ts";
import { agentPlace, reloadDaemon, type AgentPlace } from "../agent-place.ts";
import { define, repeatable, type FlagsOf, type Options } from "../command.ts";
import { withClient, type Cli } from "../context.ts";
import { CONSENT_OPTIONS, confirmOperator } from "../input/confirm.ts";
import { emit, type Paint } from "../output/output.ts";
import { requirePeer } from "../trust/peer.ts";

/** Makes a key, and never overwrites one. Spec 2.5. */
const create = define({
  about: "Makes a key pair for a handle, where init and join look for it.",
  args: { "<handle>": "whose key it is" },
  run(cli, flags, { handle }) {
    const [problem] = rosterProblems([handle]);
    if (problem !== undefined) {
      throw new DeaddropError("usage", problem.replace(/^roster\[0\]: /, "key new: "));
    }
    const { disk, places, random } = setupHost(cli.env, cli.clock.nowMs());
    const paths = identityPaths(places, handle);
    const { publicKey, signer } = asRefusal(() => makeIdentity(disk, paths, handle, random(32)));
    const report = keyReport(signer.keyId, publicKey);
    emit(cli, flags, { ...report, private_key: paths.key, public_key: paths.publicKey }, (paint) =>
      [
        `${paint("bold", report.key_id)}  ${paths.key}`,
        `public key    ${report.key}  ${paths.publicKey}`,
        `fingerprint   ${groupedFingerprint(report.fingerprint)}`,
      ].join("\n"),
    );
  },
});

const ROTATE_OPTIONS = {
  ...CONSENT_OPTIONS,
  "--without <handle>": repeatable("start again, and do not ask this peer (repeatable)"),
  "--now": "the key may be in other hands: sign with another at once, and ask nobody",
} as const satisfies Options;
type RotateFlags = FlagsOf<typeof ROTATE_OPTIONS>;

/** The way back where nothing is signed. Spec 1.6. */
const reclaim = define({
  about:
    "Signs again after a copy of your key was in use elsewhere (identity_in_use), or after restore: stop " +
    "the other copy first. With --from lines of yours that nothing here has are taken from copies of " +
    "your files, or from inboxes of peers. An operator's command: it wants a terminal, or --yes with " +
    "--reason.",
  options: {
    ...CONSENT_OPTIONS,
    "--from <file>": repeatable("a file that holds your lines; repeat it for others"),
  },
  examples: [
    'deaddrop key reclaim --yes --reason "the laptop is switched off"',
    'deaddrop key reclaim --from ~/copy/forge_to_scribe.jsonl --yes --reason "the wire was restored"',
  ],
  async run(cli, flags) {
    const { place } = agentPlace(cli, flags);
    const from = (flags.from ?? []).map((file) => resolve(cli.cwd, file));
    await withClient(cli, flags, async (client) => {
      const { troubles } = await client.view("status");
      const stop = troubles.find(({ end }) => end.startsWith("deaddrop key reclaim"));
      const effect = effectOf(stop?.detail, from);
      if (effect === undefined) {
        emit(
          cli,
          flags,
          { changed: false, goes_on_after: null, given_up: [], kept_in: null },
          () =>
            "your key is in use nowhere else; nothing to do (a chain that lacks lines: --from FILE)",
        );
        return;
      }
      const action = { action: "reclaim", target: place.handle, effect, word: place.handle };
      await confirmOperator(cli, flags, action, place.paths.operatorJournal);
      const answer = await client.ask("reclaim", from.length > 0 ? { from } : {});
      const { goes_on_after: last, given_up, kept_in } = answer;
      const lost = `${given_up.length} lines have lost their place; send them again: ${kept_in ?? ""}`;
      emit(cli, flags, { changed: true, ...answer }, (paint) =>
        [
          `${paint("green", "reclaimed")} ${place.handle}`,
          last === null
            ? "your chain begins anew"
            : `your chain goes on after line ${last[1] ?? ""}`,
          ...(given_up.length === 0 ? [] : [lost]),
        ].join("\n"),
      );
    });
  },
});

/** The life of your own key. Spec 2.5. */
export const key = define({
  about:
    "Your own key on this wire: which one is in use, and how it is changed for another while work goes on.",
  bare: "show",
  commands: {
    new: create,
    show: define({
      about: "the key in use, and how far a change of keys has come",
      async run(cli, flags) {
        const keys = await withClient(cli, flags, (client) => client.view("keys"));
        emit(cli, flags, keys, (paint) => keysText(keys, paint));
      },
    }),
    rotate: define({
      about:
        "make a new key and ask every peer to accept it; it is used once all have acked, and a day later they are asked to believe the old one no longer. Repeat it to ask those again that the first time has not reached.",
      options: ROTATE_OPTIONS,
      examples: ["deaddrop key rotate", "deaddrop key rotate --now"],
      run: rotate,
    }),
    reclaim,
  },
});

/** A key that is there is no failure of the disk: exit code 1. Spec 4.2. */
function asRefusal<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== "exists") throw error;
    throw new DeaddropError("refused", error.message, { hint: error.hint, cause: error });
  }
}

async function rotate(cli: Cli, flags: RotateFlags): Promise<void> {
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
    const drafts = proposalsOf(at, asked, before, signer.keyId, publicIdentity.key);
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
function proposalsOf(
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

/** What the operator agrees to; undefined when there is nothing to do. */
function effectOf(stop: string | undefined, from: readonly string[]): string[] | undefined {
  if (from.length > 0) {
    return [
      ...(stop === undefined ? [] : [stop]),
      `Your lines are taken from ${from.join(", ")}: those that carry your signature and link to each other.`,
      "Your chain goes on after the last one, and what your carriers lack of them is published again.",
      "If you have written more since that copy was made, peers will see a fork: take the newest copy.",
    ];
  }
  if (stop === undefined) return undefined;
  return [
    stop,
    "Is your key used nowhere else? If another copy still writes, both of you will be stopped again.",
    "Your chain goes on after the last line in your carriers that carries your signature, no matter who wrote it.",
    "A peer that has seen two lines in one place holds you: its operator types deaddrop peers reset.",
  ];
}
