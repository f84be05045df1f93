import { Command, Option } from "commander";
import { findHandle, findWire, type Cli, type GlobalFlags } from "../../context.ts";
import { example } from "../../output/example.ts";
import { rowBreaker } from "../../output/terminal.ts";
import { programPath } from "../../program-path.ts";

interface Flags extends GlobalFlags {
  once?: boolean;
  logLevel: "trace" | "debug" | "info" | "warn" | "error";
}

/** `deaddrop daemon`: the daemon in the foreground. Spec 4.2. */
export function command(cli: Cli): Command {
  const level = new Option("--log-level <level>", "how much is logged").default("info");
  return new Command("daemon")
    .description(
      "Runs the daemon in the foreground; `deaddrop service install` runs it as a service.\n" +
        "SIGTERM ends it, SIGHUP reads the configuration again, SIGUSR1 makes a round now.",
    )
    .option("--once", "one round, then end")
    .addOption(level.choices(["trace", "debug", "info", "warn", "error"]))
    .addHelpText("after", example("deaddrop daemon --wire ./_coordination --as forge"))
    .action((flags: Flags) => run(cli, flags));
}

export async function run(cli: Cli, flags: Flags): Promise<void> {
  const wireDir = findWire(cli, flags);
  const handle = findHandle(cli, flags);
  // Before all that the daemon consists of is loaded: that alone makes a heap grow.
  const { keepHeapSmall } = await import("../../../daemon/heap-limits.ts");
  keepHeapSmall();
  const { lookOfContact, meetPeers, restartsOf } =
    await import("../../../setup/contact/first-contact.ts");
  const { setupHost } = await import("../../../setup/host.ts");
  const { runDaemon } = await import("../../../daemon/run-daemon.ts");
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
      look: (place) => lookOfContact(setupHost(cli.env, cli.clock.nowMs()), place),
      meet: (place) => {
        const contact = meetPeers(setupHost(cli.env, cli.clock.nowMs()), place);
        return { pinned: contact.pinned, restarted: restartsOf(contact) };
      },
    },
  });
}
