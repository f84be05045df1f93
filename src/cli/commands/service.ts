import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { DeaddropError, EXIT_CODES } from "../../api/errors.ts";
import { sanitiseLines } from "../../framing/sanitise.ts";
import { setupHost, type SetupHost } from "../../setup/host.ts";
import { agentPaths, type AgentPaths } from "../../storage/paths.ts";
import { agentPlace } from "../agent-place.ts";
import { count, define, type FlagsOf, type Options, type CommandDefinition } from "../command.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { userName } from "../input/user-name.ts";
import { emit, type Paint } from "../output/output.ts";
import { stepsText } from "../output/setup-text.ts";
import { daemonNodeOptions, programPath } from "../../setup/program.ts";
import {
  installService,
  runService,
  serviceLogs,
  serviceStatus,
  uninstallService,
  type ServiceReport,
} from "../service/install-service.ts";
import {
  installedInstances,
  systemHost,
  type ServiceAction,
  type ServicePlace,
} from "../service/service-place.ts";

const CHANGE_OPTIONS = {
  "--all": "every service that is installed here",
  "--dry-run": "say what would be done, and do nothing",
} as const satisfies Options;
type ChangeFlags = FlagsOf<typeof CHANGE_OPTIONS>;

/** The daemon as a service of systemd or launchd. Spec 8.6. */
export const service = define({
  about:
    "Runs the daemon of one agent on one wire as a service of your user: systemd on Linux, " +
    "launchd on macOS. Elsewhere it says how to run it otherwise, and exits with 1.",
  bare: "status",
  commands: {
    install: define({
      about: "install, enable and start it; again after an upgrade",
      options: {
        "--linger": "keep it running while you are not logged in (Linux)",
        "--all": "every service that is installed here, once more",
        "--dry-run": "say what would be done, and do nothing",
      },
      examples: ["deaddrop service install --wire ./_coordination --as forge"],
      run(cli, flags) {
        const options = { dryRun: flags.dryRun === true, linger: flags.linger === true };
        change(cli, flags, (place) => installService(place, systemHost, options));
      },
    }),
    uninstall: define({
      about: "stop and remove it; keys, logs and inbox stay",
      options: CHANGE_OPTIONS,
      run(cli, flags) {
        const options = { dryRun: flags.dryRun === true };
        change(cli, flags, (place) => uninstallService(place, systemHost, options));
      },
    }),
    start: controlCommand("start", "start it, where it is installed"),
    stop: controlCommand("stop", "stop it until the next login, or until it is started again"),
    restart: controlCommand("restart", "stop and start it, also one that no longer answers"),
    status: define({ about: "whether it is installed and runs", run: status }),
    logs: define({
      about: "what the daemon has logged",
      options: {
        "--lines <count>": { about: "how many lines", parse: count, default: 100 },
        "--follow": "go on",
      },
      run: logs,
    }),
    list: define({
      about: "the services that are installed here",
      run(cli, flags) {
        const installed = installedInstances(setupHost(cli.env, cli.clock.nowMs()).places);
        emit(cli, flags, installed, () =>
          installed.map(({ wire, handle }) => `${wire}  ${handle}`).join("\n"),
        );
      },
    }),
  },
});

function controlCommand(action: ServiceAction, about: string): CommandDefinition {
  return define({
    about,
    options: CHANGE_OPTIONS,
    run(cli, flags) {
      const options = { dryRun: flags.dryRun === true };
      change(cli, flags, (place) => runService(place, systemHost, action, options));
    },
  });
}

/** The manager's own program reads them, until it ends. */
function logs(
  cli: Cli,
  flags: GlobalFlags & { readonly lines: number; readonly follow?: boolean },
): Promise<void> {
  const options = { lines: flags.lines, follow: flags.follow === true };
  const argv = serviceLogs(servicePlace(cli, flags), systemHost, options);
  if (argv === undefined) {
    throw new DeaddropError("refused", "no service manager answers here, and no log file is kept", {
      hint: "`deaddrop daemon --detach` keeps one; a daemon in the foreground logs to standard output",
    });
  }
  return new Promise((resolve, reject) => {
    const stdio = ["inherit", "pipe", "inherit"] as const;
    const child = spawn(argv.command, argv.args, { stdio: [...stdio], env: cli.env });
    // Peers' words are in the log: no row of this terminal begins with them. Spec 8.2.
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text: string) => cli.stdout.write(sanitiseLines(text).join("\n")));
    child.on("error", (cause) => {
      reject(
        new DeaddropError("refused", `${argv.command} cannot be run: ${cause.message}`, { cause }),
      );
    });
    child.on("close", (code) => {
      cli.exitCode = code ?? 1;
      resolve();
    });
  });
}

/** The service of the agent that the flags name. */
export function servicePlace(cli: Cli, flags: GlobalFlags): ServicePlace {
  const { host, place } = agentPlace(cli, flags);
  return placeOf(cli, host, place.paths);
}

function placeOf(cli: Cli, host: SetupHost, agent: AgentPaths): ServicePlace {
  const program = programPath();
  return {
    platform: process.platform,
    home: cli.env["HOME"] ?? homedir(),
    uid: process.getuid?.() ?? 0,
    user: userName(),
    places: host.places,
    agent,
    path: cli.env["PATH"] ?? "/usr/bin:/bin",
    node: process.execPath,
    nodeOptions: daemonNodeOptions(),
    program,
    packageDir: dirname(dirname(program)),
  };
}

/** One service, or with --all each: a wire that is gone, or one that fails, stops no other. */
function change(cli: Cli, flags: ChangeFlags, act: (place: ServicePlace) => ServiceReport): void {
  if (flags.all !== true) {
    const done = act(servicePlace(cli, flags));
    emit(cli, flags, done, (paint) => reportText(done, paint));
    if (didNothing(done)) cli.exitCode = EXIT_CODES.refused;
    return;
  }
  const host = setupHost(cli.env, cli.clock.nowMs());
  const failures: DeaddropError[] = [];
  const reports = installedInstances(host.places).flatMap(
    ({ wire: wireKey, handle, wire_dir: wireDir }) => {
      const agent = agentPaths(host.places, { wireDir, wireKey, handle });
      try {
        return [{ handle, wire_dir: wireDir, ...act(placeOf(cli, host, agent)) }];
      } catch (error) {
        if (!(error instanceof DeaddropError)) throw error;
        failures.push(error);
        return [];
      }
    },
  );
  emit(cli, flags, reports, (paint) =>
    reports
      .map(
        (each) => `${paint("bold", each.handle)} on ${each.wire_dir}\n${reportText(each, paint)}`,
      )
      .join("\n\n"),
  );
  if (reports.some(didNothing)) cli.exitCode = EXIT_CODES.refused;
  const [first] = failures;
  if (first !== undefined) throw first;
}

/** No service manager answers here: a script must not take that for done. */
function didNothing({ installed, steps }: ServiceReport): boolean {
  return !installed && steps.length === 0;
}

function reportText({ steps, notes }: ServiceReport, paint: Paint): string {
  return [...(steps.length === 0 ? [] : [stepsText(steps, paint)]), ...notes].join("\n");
}

function status(cli: Cli, flags: GlobalFlags): void {
  const now = serviceStatus(servicePlace(cli, flags), systemHost);
  emit(cli, flags, now, (paint) => {
    if (now.service === "none") return now.detail;
    const state = now.running ? paint("green", "running") : paint("yellow", "not running");
    const pid = now.pid === null ? "" : `, process ${now.pid}`;
    const installed = now.installed ? "installed" : "not installed";
    return `${now.service}: ${installed}, ${state}${pid}\n${now.detail}`;
  });
}
