import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { DeaddropError } from "../../api/errors.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";
import { shellWord } from "../../wire/quote.ts";
import { agentPlace } from "../agent-place.ts";
import { define, type FlagsOf, type Options } from "../command.ts";
import { findHandle, findWire, type Cli } from "../context.ts";
import { emit } from "../output/output.ts";
import { rowBreaker } from "../output/terminal.ts";
import { daemonNodeOptions, programPath } from "../../setup/program.ts";

const OPTIONS = {
  "--once": "one round, then end",
  "--detach": {
    about: "run it in the background; `service logs` shows its log",
    conflicts: "once",
  },
  "--log-level <level>": {
    about: "how much is logged",
    choices: ["trace", "debug", "info", "warn", "error"],
    default: "info",
  },
} as const satisfies Options;
type Flags = FlagsOf<typeof OPTIONS>;

/** The daemon in the foreground. Spec 4.2. */
export const daemon = define({
  about:
    "Runs the daemon in the foreground; `deaddrop service install` runs it as a service, and " +
    "--detach keeps it running where there is no service manager. " +
    "SIGTERM ends it, SIGHUP reads the configuration again, SIGUSR1 makes a round now.",
  options: OPTIONS,
  examples: ["deaddrop daemon --wire ./_coordination --as forge"],
  async run(cli, flags) {
    if (flags.detach === true) return detach(cli, flags);
    const wireDir = findWire(cli, flags);
    const handle = findHandle(cli, flags);
    const { lookOfContact, meetPeers, restartsOf } =
      await import("../../setup/contact/first-contact.ts");
    const { setupHost } = await import("../../setup/host.ts");
    const { runDaemon } = await import("../../daemon/run-daemon.ts");
    cli.exitCode = await runDaemon({
      wireDir,
      handle,
      once: flags.once === true,
      logLevel: flags.logLevel,
      peers: flags.peer ?? [],
      program: [process.execPath, programPath()],
      // The log of a daemon on a terminal has peers' words in it too. Spec 8.2.
      toTerminal: rowBreaker(() => cli.stdout.columns, cli.env),
      cards: {
        look: (place, handles) =>
          lookOfContact(setupHost(cli.env, cli.clock.nowMs()), place, handles),
        meet: (place, handles) => {
          const contact = meetPeers(setupHost(cli.env, cli.clock.nowMs()), place, { handles });
          return { pinned: contact.pinned, restarted: restartsOf(contact) };
        },
      },
    });
  },
});

const START_LIMIT_MS = 60_000;

const POLL_MS = 100;

/** Starts the daemon as a process of its own, and returns when it answers. */
async function detach(cli: Cli, flags: Flags): Promise<void> {
  const { paths } = agentPlace(cli, flags).place;
  const { wireDir, handle, daemonLog: log } = paths;
  const { connectDaemon } = await import("../../client/socket-client.ts");
  const isAnswering = async (): Promise<boolean> => {
    const connection = await connectDaemon(paths, undefined, cli.env);
    connection?.close();
    return connection !== undefined;
  };
  if (await isAnswering()) {
    throw new DeaddropError("already_running", `the daemon of ${handle} runs already`);
  }
  const args = [...daemonNodeOptions(), programPath(), "daemon", "--wire", wireDir, "--as", handle];
  args.push("--log-level", flags.logLevel);
  for (const peer of flags.peer ?? []) args.push("--peer", peer);
  const output = openSync(log, "a", PRIVATE_FILE);
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ["ignore", output, output],
    // The folder in which it was started can be removed meanwhile.
    cwd: "/",
    env: { ...cli.env, DEADDROP_LOG_FILE: log },
  });
  closeSync(output);
  const { pid } = await once(child, "spawn").then(() => child);
  for (const deadline = cli.clock.nowMs() + START_LIMIT_MS; !(await isAnswering());) {
    if (child.exitCode !== null || cli.clock.nowMs() > deadline) {
      const how = child.exitCode === null ? "does not answer yet" : `ended with ${child.exitCode}`;
      throw new DeaddropError("refused", `the daemon of ${handle} ${how}`, {
        hint: `look at what it said: tail ${shellWord(log)}`,
      });
    }
    await cli.clock.sleep(POLL_MS);
  }
  child.unref();
  emit(cli, flags, { pid, log }, () =>
    [
      `the daemon of ${handle} runs in the background, as process ${pid}; to end it: kill ${pid}`,
      `log: ${log}`,
      "it does not start again by itself: `deaddrop service install` sees to that where a service manager answers",
    ].join("\n"),
  );
}
