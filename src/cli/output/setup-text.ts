import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import type { PeerKey } from "../../setup/wire/init-wire.ts";
import { groupedFingerprint } from "../../setup/contact/offered-key.ts";
import type { PeerReport, SetupReport } from "../../setup/report.ts";
import type { StepReport } from "../../setup/steps.ts";
import { shellWord } from "../../wire/quote.ts";
import { decodeKey } from "../../wire/signature.ts";
import { repeatable, type FlagsOf, type Options } from "../command.ts";
import type { Cli } from "../context.ts";
import { table, toBeCopied, type Paint, type Style } from "./output.ts";
import { sanitise } from "../../framing/sanitise.ts";

/** What `init` and `join` share. Spec 8.6. */
export const PARTY_OPTIONS = {
  "--me <handle>": "who you are (also --my-handle, --as)",
  "--peer <handle>": repeatable("who is on the other side (repeatable; also --peer-handle)"),
  "--my-handle <handle>": "the same as --me",
  "--peer-handle <handle>": repeatable("the same as --peer"),
  "--peer-key <handle=key>": repeatable(
    "a peer's public key, in base64 or its .pub.json, to pin at UNTRUSTED (repeatable)",
  ),
  "--track": "leave the folder to the project's commits",
  "--dry-run": "say what would be done, and do nothing",
} as const satisfies Options;
type PartyFlags = FlagsOf<typeof PARTY_OPTIONS>;

export function ownHandle(cli: Cli, flags: PartyFlags): string {
  const handle = flags.me ?? flags.myHandle ?? flags.as ?? cli.env["DEADDROP_AS"];
  if (handle !== undefined && handle !== "") return handle;
  throw new DeaddropError("usage", "who are you on this wire?", {
    hint: "give your agent a handle with --me, e.g. --me forge",
  });
}

export function peerHandles(flags: PartyFlags): string[] {
  return [...(flags.peer ?? []), ...(flags.peerHandle ?? [])];
}

/** `--peer-key HANDLE=KEY`, or `KEY` alone where there is one peer. */
export function peerKeys(cli: Cli, flags: PartyFlags, peers: readonly string[]): PeerKey[] {
  return (flags.peerKey ?? []).map((text) => {
    const [only] = peers;
    const bare = decodeKey(text) !== undefined || !text.includes("=");
    if (bare && (only === undefined || peers.length > 1)) {
      throw new DeaddropError("usage", `--peer-key ${text}: whose key is it?`, {
        hint: "give it as --peer-key HANDLE=KEY",
      });
    }
    const at = text.indexOf("=");
    const handle = bare ? (only ?? "") : text.slice(0, at);
    const source = bare ? text : text.slice(at + 1);
    return { handle, source: decodeKey(source) === undefined ? resolve(cli.cwd, source) : source };
  });
}

/** A title, and the lines that belong under it. */
export type Section = readonly [title: string, ...lines: string[]];

/** What a set-up came to, for a person: what was done, who is who, what to do next. */
export function setupText(
  reports: readonly SetupReport[],
  paint: Paint,
  sections: readonly Section[],
): string {
  const [first] = reports;
  if (first === undefined) return "";
  const none = first.dry_run ? "an id of its own" : "no id";
  const id = first.wire_id === null ? none : `id ${first.wire_id}`;
  const lines = [
    `${paint("bold", first.wire_dir)}  ${id}: ${first.roster.join(", ")}`,
    "",
    stepsText(first.steps, paint),
  ];
  for (const report of reports) lines.push("", ...ownText(report, paint));
  if (reports.length === 1) lines.push(...first.peers.flatMap((peer) => peerText(peer, paint)));
  for (const [title, ...each] of sections) {
    lines.push(
      "",
      `${title}:`,
      ...each.map((line) => `  ${toBeCopied(paint("cyan", sanitise(line)))}`),
    );
  }
  return lines.join("\n");
}

const STYLES: Record<StepReport["outcome"], Style> = {
  done: "green",
  already: "dim",
  would: "yellow",
};

export function stepsText(steps: readonly StepReport[], paint: Paint): string {
  return table(
    steps.map(({ step, outcome }) => [{ text: outcome, style: STYLES[outcome] }, { text: step }]),
    paint,
    undefined,
  );
}

function ownText({ handle, own_key: key }: SetupReport, paint: Paint): string[] {
  if (key === null) return [`You would be ${paint("bold", handle)}.`];
  return [
    `${paint("bold", handle)} has the key ${key.key_id}, with the fingerprint`,
    `  ${groupedFingerprint(key.fingerprint)}`,
  ];
}

function peerText({ handle, tier, pinned, advertised }: PeerReport, paint: Paint): string[] {
  const [key] = pinned;
  if (key !== undefined) {
    return [
      `${paint("bold", handle)} is pinned at ${tier ?? "no tier"} with ${key.key_id}, fingerprint`,
      `  ${groupedFingerprint(key.fingerprint)}`,
    ];
  }
  if (advertised.length === 0) return [`${paint("bold", handle)}: no key is known yet`];
  return advertised.flatMap((each) => [
    `${paint("bold", handle)} is not pinned; the wire claims the key ${each.key_id}, fingerprint`,
    `  ${groupedFingerprint(each.fingerprint)}`,
  ]);
}

/** A command line to copy, safe for a POSIX shell. */
export function shellCommand(...words: readonly string[]): string {
  return ["deaddrop", ...words].map((word) => shellWord(word)).join(" ");
}

/** The flags that say where and who, as they were given, for a command line to be copied. */
export function whereGiven({ wire, as }: { wire?: string; as?: string }): string {
  const words = [
    ...(wire === undefined ? [] : ["--wire", wire]),
    ...(as === undefined ? [] : ["--as", as]),
  ];
  return words.map((word) => ` ${shellWord(word)}`).join("");
}
