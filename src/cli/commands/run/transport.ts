import { Command, Option } from "commander";
import { loadPlace } from "../../../agent/config/agent-config.ts";
import type { TransportView } from "../../../api/transport.ts";
import { DeaddropError } from "../../../api/errors.ts";
import { filesText } from "../../output/transport-text.ts";
import { sanitise } from "../../../framing/sanitise.ts";
import { when } from "../../../framing/when.ts";
import { setupHost } from "../../../setup/host.ts";
import { givenRemote, lookAtRemote } from "../../../setup/transport/look-at-remote.ts";
import { presentSettings } from "../../../setup/transport/set-up-transport.ts";
import { movePin } from "../../../setup/transport/move-remote.ts";
import { transportPaths } from "../../../carriers/transport-settings.ts";
import { confirmOperator } from "../../input/confirm.ts";
import { findHandle, findWire, withClient, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { emit, table, type Paint } from "../../output/output.ts";
import { askTransports } from "../../transport/local-daemons.ts";
import { exchange } from "../../transport/sharing-by-remote.ts";

interface SwitchFlags extends GlobalFlags {
  remote?: string;
  branch?: string;
  yes?: boolean;
  reason?: string;
}

/** `transport status --json`: what is set up here, and how it does where a daemon runs. */
interface StatusRow {
  transport: "folder" | "git";
  remote: string | null;
  branch: string | null;
  /** Null without a daemon. */
  health: TransportView | null;
}

/** `deaddrop transport`: how the wire's folder is the same on other machines. Spec 5. */
export function command(cli: Cli): Command {
  const transport = new Command("transport")
    .description(
      "How this wire is shared with other machines: by its folder alone, or through git.",
    )
    .addHelpText("after", example("deaddrop transport status"));
  transport
    .command("status")
    .description("Which transport this machine uses, and how it does.")
    .action((_flags: GlobalFlags, self: Command) => status(cli, self.optsWithGlobals()));
  transport
    .command("switch")
    .description(
      "Shares the wire in another way from now on. Nothing is lost: logs only grow, and what one side\n" +
        "lacks is appended. Each machine is switched by its own operator.",
    )
    .argument("<to>", "git, or folder: by the folder alone")
    .option("--remote <url>", "the repository, for git")
    .option("--branch <name>", "the branch in it (default: the repository's own)")
    .addOption(new Option("--yes", "do not ask"))
    .option("--reason <text>", "why, for the operator's journal")
    .addHelpText("after", example("deaddrop transport switch git --remote git@host:team/wire.git"))
    .action((to: string, _flags: SwitchFlags, self: Command) =>
      switchTo(cli, to, self.optsWithGlobals()),
    );
  transport
    .command("accept")
    .description(
      "Takes the history of the remote as it is now, after it was rewritten. Look at it before: lines\n" +
        "that are here stay here in any case.",
    )
    .addOption(new Option("--yes", "do not ask"))
    .option("--reason <text>", "why, for the operator's journal")
    .action((_flags: SwitchFlags, self: Command) => accept(cli, self.optsWithGlobals()));
  return transport;
}

function placeOf(cli: Cli, flags: GlobalFlags) {
  const host = setupHost(cli.env, cli.clock.nowMs());
  const request = {
    wireDir: findWire(cli, flags),
    handle: findHandle(cli, flags),
    peers: flags.peer,
  };
  const place = loadPlace(host.disk, host.places, request);
  const paths = transportPaths(host.places, place.paths.wireKey);
  return { host, place, paths };
}

async function status(cli: Cli, flags: GlobalFlags): Promise<void> {
  const { host, paths } = placeOf(cli, flags);
  const settings = presentSettings(host, paths);
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
    ["waiting", health.waiting === 0 ? "nothing" : filesText(health.waiting)],
    ["copies", health.is_mover ? "written by this daemon" : "written by another daemon here"],
  ];
  const { problem } = health;
  const trouble =
    problem === null ? [] : [paint("red", sanitise(problem.detail)), `  ${sanitise(problem.hint)}`];
  return [
    head,
    table(
      rows.map((row) => row.map((text) => ({ text }))),
      paint,
      undefined,
    ),
    ...trouble,
  ].join("\n");
}

function timeText(at: string | null, nowMs: number): string {
  return at === null ? "not since the daemon started" : when(at, nowMs);
}

async function switchTo(cli: Cli, to: string, flags: SwitchFlags): Promise<void> {
  if (to !== "git" && to !== "folder") {
    throw new DeaddropError("usage", `"${to}" is no transport`, { hint: "give git or folder" });
  }
  if ((to === "git") !== (flags.remote !== undefined)) {
    throw new DeaddropError("usage", "git needs a remote, and folder has none", {
      hint: "deaddrop transport switch git --remote URL, or deaddrop transport switch folder",
    });
  }
  const { host, place, paths } = placeOf(cli, flags);
  const { wireDir, wireKey } = place.paths;
  const agent = { wireDir, wireKey, handle: place.handle };
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
      movePin(host, place, paths, looked);
    } catch (error) {
      await askTransports(host, agent, "reopen");
      throw error;
    }
  } finally {
    looked?.close();
  }
  const { wireId } = place.config;
  await exchange(cli, host, {
    ...{ wire_dir: wireDir, handle: place.handle, wire_id: wireId ?? null },
    roster: [...place.pinned.roster.keys()],
  });
  emit(cli, flags, { ok: true, transport: to }, () =>
    to === "git" ? "Switched; `deaddrop transport status` shows how it does." : "Switched.",
  );
}

async function accept(cli: Cli, flags: SwitchFlags): Promise<void> {
  const { place } = placeOf(cli, flags);
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
