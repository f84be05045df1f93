import { DeaddropError } from "../../api/errors.ts";
import type { TransportView } from "../../api/transport.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { when } from "../../framing/when.ts";
import { givenRemote, lookAtRemote } from "../../setup/transport/look-at-remote.ts";
import { movePin, presentSettings } from "../../setup/transport/set-up-transport.ts";
import { agentPlace } from "../agent-place.ts";
import { define, type FlagsOf, type Options } from "../command.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { confirmOperator } from "../input/confirm.ts";
import { emit, table, type Paint } from "../output/output.ts";
import { counted } from "../output/text.ts";
import { askTransports } from "../transport/local-daemons.ts";
import { exchange } from "../transport/sharing-by-remote.ts";
import { archive } from "./archive.ts";

const CONSENT = {
  "--yes": "do not ask",
  "--reason <text>": "why, for the operator's journal",
} as const satisfies Options;
const SWITCH_OPTIONS = {
  "--remote <url>": "the repository, for git",
  "--branch <name>": "the branch in it (default: the repository's own)",
  ...CONSENT,
} as const satisfies Options;

/** How the wire's folder is the same on other machines. Spec 5. */
export const transport = define({
  about: "How this wire is shared with other machines: by its folder alone, or through git.",
  examples: ["deaddrop transport status"],
  bare: "status",
  commands: {
    status: define({
      about: "Which transport this machine uses, and how it does.",
      run: status,
    }),
    switch: define({
      about:
        "Shares the wire in another way from now on. Nothing is lost: logs only grow, and what one side " +
        "lacks is appended. Each machine is switched by its own operator.",
      args: { "<to>": "git, or folder: by the folder alone" },
      options: SWITCH_OPTIONS,
      examples: ["deaddrop transport switch git --remote git@host:team/wire.git"],
      run: (cli, flags, { to }) => switchTo(cli, to, flags),
    }),
    accept: define({
      about:
        "Takes the history of the remote as it is now, after it was rewritten. Look at it before: lines " +
        "that are here stay here in any case.",
      options: CONSENT,
      run: accept,
    }),
    archive,
  },
});

/** `transport status --json`: what is set up here, and how it does where a daemon runs. */
interface StatusRow {
  transport: "folder" | "git";
  remote: string | null;
  branch: string | null;
  /** Null without a daemon. */
  health: TransportView | null;
}

async function status(cli: Cli, flags: GlobalFlags): Promise<void> {
  const { host, place } = agentPlace(cli, flags);
  const settings = presentSettings(host, place.paths.wireKey);
  const health = await withClient(cli, flags, async (client) =>
    client.viaDaemon ? await client.ask("transport", {}) : null,
  );
  const row: StatusRow = {
    transport: settings === undefined ? "folder" : "git",
    remote: settings?.remote.url ?? null,
    branch: settings?.branch ?? null,
    health,
  };
  emit(cli, flags, row, (paint) => statusText(row, cli.clock.nowMs(), paint));
}

function statusText({ remote, branch, health }: StatusRow, nowMs: number, paint: Paint): string {
  if (remote === null) return "The wire is shared by its folder alone.";
  const head = `git  ${sanitise(remote)}  (${branch ?? ""})`;
  if (health === null) return `${head}\nNo daemon runs: nothing is fetched or pushed.`;
  const rows = [
    ["fetched", timeText(health.fetched_at, nowMs)],
    ["pushed", timeText(health.pushed_at, nowMs)],
    ["waiting", health.waiting === 0 ? "nothing" : counted(health.waiting, "file")],
    ["copies", health.is_mover ? "written by this daemon" : "written by another daemon here"],
  ];
  const { problem } = health;
  const trouble =
    problem === null ? [] : [paint("red", sanitise(problem.detail)), `  ${sanitise(problem.hint)}`];
  return [head, table(rows, paint, undefined), ...trouble].join("\n");
}

function timeText(at: string | null, nowMs: number): string {
  return at === null ? "not since the daemon started" : when(at, nowMs);
}

async function switchTo(
  cli: Cli,
  to: string,
  flags: FlagsOf<typeof SWITCH_OPTIONS>,
): Promise<void> {
  if (to !== "git" && to !== "folder") {
    throw new DeaddropError("usage", `"${to}" is no transport`, { hint: "give git or folder" });
  }
  if ((to === "git") !== (flags.remote !== undefined)) {
    throw new DeaddropError("usage", "git needs a remote, and folder has none", {
      hint: "deaddrop transport switch git --remote URL, or deaddrop transport switch folder",
    });
  }
  const { host, place } = agentPlace(cli, flags);
  const { wireDir, wireKey } = place.paths;
  const roster = [...place.pinned.roster.keys()];
  const agent = { wireDir, wireKey, handle: place.handle, roster };
  const looked =
    flags.remote === undefined
      ? undefined
      : await lookAtRemote(host, cli.env, givenRemote(flags.remote), flags.branch);
  try {
    const action = {
      action: "transport switch",
      target: place.paths.wireDir,
      effect: [
        looked === undefined
          ? "From now on nothing is fetched or pushed on this machine."
          : `From now on lines are taken from ${looked.remote.url} and pushed there.`,
      ],
      word: "switch",
    };
    await confirmOperator(cli, flags, action, place.paths.operatorJournal);
    // A transport that still runs would note the old remote again.
    await askTransports(host, agent, "close");
    try {
      movePin(host, place, looked);
    } catch (error) {
      await askTransports(host, agent, "reopen");
      throw error;
    }
  } finally {
    looked?.close();
  }
  await exchange(cli, host, agent);
  emit(cli, flags, { ok: true, transport: to }, () =>
    to === "git" ? "Switched; `deaddrop transport status` shows how it does." : "Switched.",
  );
}

async function accept(cli: Cli, flags: FlagsOf<typeof SWITCH_OPTIONS>): Promise<void> {
  const { place } = agentPlace(cli, flags);
  const action = {
    action: "transport accept",
    target: place.paths.wireDir,
    effect: ["The remote's history is taken as it is now, although it lacks what it had."],
    word: "accept",
  };
  await withClient(cli, flags, async (client) => {
    if (!client.viaDaemon) {
      throw new DeaddropError("storage", "no daemon runs", {
        hint: "start it first: deaddrop service install, or deaddrop daemon",
      });
    }
    await confirmOperator(cli, flags, action, place.paths.operatorJournal);
    await client.ask("transport", { act: "accept history" });
  });
  emit(cli, flags, { ok: true }, () => "Accepted; the daemon fetches again.");
}
