import type { HoldsView, HoldView } from "../../agent/answers/holds.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { moment } from "../../framing/when.ts";
import { setFlags } from "../../trust/pins.ts";
import { agentPlace } from "../agent-place.ts";
import { define, type FlagsOf } from "../command.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { CONSENT_OPTIONS, type ConsentFlags, confirmOperator } from "../input/confirm.ts";
import { emit, emitTable, factsTable, type Paint } from "../output/output.ts";
import { lineNamed } from "../input/line-named.ts";
import { applyTrust, requirePeer } from "../trust/peer.ts";
import { peerRow, team } from "./status.ts";

const RESET_OPTIONS = {
  ...CONSENT_OPTIONS,
  "--follow <line>":
    "of a fork the branch of this line, by its event id (default: the one that was taken in first)",
} as const;

/** The other agents, what of them is held back, and the operator's decision about that. Spec 1.6, 3.1. */
export const peers = define({
  about:
    "Lists the other agents: presence, trust, and when daemon and agent were last alive. " +
    "To reset one, or to take unchained lines, needs a terminal and a typed confirmation, or --yes --reason.",
  examples: ["deaddrop peers", "deaddrop peers show scribe"],
  async run(cli, flags) {
    const peers = await withClient(cli, flags, (client) => client.view("peers"));
    const nowMs = cli.clock.nowMs();
    emitTable(cli, flags, peers, (each) => peerRow(each, nowMs), "Nobody else is on this wire.");
  },
  default: "show",
  commands: {
    team,
    show: define({
      about: "what of a peer is held, why, since when, and where the evidence is",
      args: { "<peer>": "whom" },
      examples: ["deaddrop peers show scribe"],
      async run(cli, flags, { peer }) {
        requirePeer(agentPlace(cli, flags), peer);
        const view = await withClient(cli, flags, (client) => client.view("holds", { peer }));
        emit(cli, flags, view, (paint) => holdsText(view, paint));
      },
    }),
    reset: define({
      about: "take a peer's lines again after a hold",
      args: { "<peer>": "whose" },
      options: RESET_OPTIONS,
      examples: ['deaddrop peers reset scribe --yes --reason "put back by phone"'],
      run: (cli, flags, { peer }) => reset(cli, peer, flags),
    }),
    unchained: define({
      about: "take lines of a peer that are outside its chain, or refuse them",
      args: {
        "<peer>": "whose",
        "<word>": { about: "what to do with them", choices: ["allow", "refuse"] },
      },
      options: CONSENT_OPTIONS,
      examples: ["deaddrop peers unchained scribe allow"],
      run: (cli, flags, { peer, word }) => changeUnchained(cli, peer, word, flags),
    }),
  },
});

/** `deaddrop peers reset`: the operator has found out why a peer is held. Spec 1.6, 2.4. */
async function reset(
  cli: Cli,
  handle: string,
  flags: FlagsOf<typeof RESET_OPTIONS>,
): Promise<void> {
  const at = agentPlace(cli, flags);
  requirePeer(at, handle);
  await withClient(cli, flags, async (client) => {
    const view = await client.view("holds", { peer: handle });
    const { blocked, can_speak } = view;
    // A key that may be in other hands holds its agent until a new one is compared.
    const holds = view.holds.filter(({ cause }) => cause !== "key_revoked");
    const rivals = holds.flatMap(({ places }) => places);
    const follow =
      flags.follow === undefined
        ? undefined
        : await lineNamed(client, handle, flags.follow, rivals);
    if (holds.length > 0 || follow !== undefined) {
      const effect = resetEffect({ ...view, holds }, follow?.id);
      const action = { action: "peer reset", target: handle, effect, word: handle };
      await confirmOperator(cli, flags, action, at.place.paths.operatorJournal);
      await client.ask("reset_peer", { peer: handle, ...(follow === undefined ? {} : { follow }) });
    }
    const done = { peer: handle, changed: holds.length > 0, was: holds, blocked, can_speak };
    const isRevoked = holds.length < view.holds.length;
    emit(cli, flags, done, (paint) =>
      holds.length === 0
        ? isRevoked
          ? `${handle} stays held until you have compared a new key of it: deaddrop trust sas ${handle}`
          : `nothing of ${handle} is held`
        : [
            `${paint("green", "taken again")} ${handle}: ${holds.map(({ cause }) => cause).join(", ")}`,
            ...silenceOf(view),
          ].join("\n"),
    );
  });
}

/** `deaddrop peers unchained`: whether lines outside the chain are taken after chained ones. Spec 1.8. */
async function changeUnchained(
  cli: Cli,
  handle: string,
  word: "allow" | "refuse",
  flags: GlobalFlags & ConsentFlags,
): Promise<void> {
  const { host, place, peers } = agentPlace(cli, flags);
  requirePeer({ host, place, peers }, handle);
  const effect =
    word === "allow"
      ? `Lines of ${handle} that carry no place in its chain are taken, too: nobody can tell whether one is missing or was said before.`
      : `Lines of ${handle} that carry no place in its chain are refused from now on.`;
  const action = {
    action: `peer unchained ${word}`,
    target: handle,
    effect: [effect],
    word: handle,
  };
  await confirmOperator(cli, flags, action, place.paths.operatorJournal);
  await applyTrust({ host, place }, (store) =>
    setFlags(store, handle, { allowUnchained: word === "allow" }),
  );
  emit(cli, flags, { peer: handle, allow_unchained: word === "allow" }, (paint) => {
    const is = word === "allow" ? "taken" : "refused";
    return `unchained lines of ${paint("bold", handle)} are ${is}`;
  });
}

/** What is held of a peer, for a person. */
function holdsText(view: HoldsView, paint: Paint): string {
  const { peer, holds } = view;
  const notes = notesOf(view);
  if (holds.length === 0) return [`nothing of ${peer} is held`, ...notes].join("\n");
  const blocks = holds.map((hold) => holdText(hold, paint));
  const next = `when you have found out why: ${paint("bold", `deaddrop peers reset ${peer}`)}`;
  return [`${paint("red", "held")} ${peer}`, ...blocks, ...notes, next].join("\n\n");
}

function holdText({ places, cause, detail, since, evidence }: HoldView, paint: Paint): string {
  const lines = places.map(([, seq, id]) => ["line", `${seq ?? "-"} ${id}`] as const);
  return factsTable(
    [
      ...(places.length === 0 ? [["lines", "all: held in the trust store"] as const] : lines),
      ["cause", { text: cause, style: "yellow" }],
      ["since", moment(since)],
      ["detail", detail],
      ...evidence.map((path) => ["evidence", path] as const),
    ],
    paint,
  );
}

function notesOf({ peer, holds, blocked, can_speak, evidence }: HoldsView): string[] {
  const shown = new Set(holds.flatMap((hold) => hold.evidence));
  const earlier = evidence.filter((path) => !shown.has(path));
  return [
    ...(earlier.length === 0 ? [] : [`evidence of before:\n${earlier.map(sanitise).join("\n")}`]),
    ...silenceOf({ peer, blocked, can_speak }),
  ];
}

/** What keeps a peer silent although nothing holds it. */
function silenceOf({
  peer,
  blocked,
  can_speak,
}: Pick<HoldsView, "peer" | "blocked" | "can_speak">): string[] {
  const notes: string[] = [];
  if (!can_speak) {
    notes.push(
      `every key of ${peer} is stopped: nothing that it writes is believed until you pin another: deaddrop trust pin ${peer} <key>`,
    );
  }
  if (blocked)
    notes.push(`${peer} is blocked: its lines are refused until: deaddrop trust unblock ${peer}`);
  return notes;
}

/** What a reset will do, in lines for the operator to agree to. */
function resetEffect(view: HoldsView, followed: string | undefined): string[] {
  const { peer, holds } = view;
  return [
    ...holds.map(({ cause, since, detail }) => `${cause} since ${moment(since)}: ${detail}`),
    ...holds.flatMap(({ evidence }) => evidence.map((path) => `evidence: ${path}`)),
    ...holds.map((hold) => consequenceOf(peer, hold, followed)),
    ...silenceOf(view),
  ];
}

function consequenceOf(
  peer: string,
  { cause, place }: HoldView,
  followed: string | undefined,
): string {
  if (cause === "clock_skew") return `What ${peer} has dated ahead is delivered as it is.`;
  if (cause !== "log_forked")
    return `The hold of ${peer} ends; a key that was stopped stays stopped.`;
  const line = followed ?? place?.[2];
  return line === undefined
    ? `None of these lines of ${peer} can be followed yet.`
    : `The chain of ${peer} goes on along the branch of ${line}; lines of other branches are never delivered.`;
}
