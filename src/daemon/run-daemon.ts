import { unlinkSync } from "node:fs";
import { homedir } from "node:os";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino, stdTimeFunctions, type Logger as Pino } from "pino";
import { StorageError } from "../storage/disk/disk.ts";
import { filesystemKind } from "../storage/disk/fs-kind.ts";
import { placesFrom } from "../storage/paths.ts";
import { Checkpointer } from "../store/checkpointer.ts";
import type { WireLayout } from "../carriers/carrier.ts";
import { quote } from "../wire/quote.ts";
import type { World, Logger } from "../agent/session/world.ts";
import { Agent } from "../agent/agent.ts";
import { auditTonight } from "./calendar/nightly-audit.ts";
import { archiveClosedYear, scheduleTasks } from "./calendar/scheduled-tasks.ts";
import { watchCards, type CardReader, type CardWatcher } from "./card-watcher.ts";
import { realWorld } from "../client/direct-client.ts";
import { codeOfStorage, DeaddropError, EXIT_CODES } from "../api/errors.ts";
import { makeNoticeHook } from "./hooks/notice-hook.ts";
import { makeStopHook } from "./hooks/stop-hook.ts";
import { runHook, type HookHost } from "./hooks/run-hook.ts";
import { makeQueue, type Queue } from "../agent/session/queue.ts";
import { makeServiceManager, supervisedExitCode, type ServiceManager } from "./service-manager.ts";
import { makeService } from "../agent/session/group-commit.ts";
import { openSocketFolder } from "../storage/private/socket-folder.ts";
import {
  requestHandler,
  serveSocket,
  serveWhenPossible,
  type SocketServer,
} from "./socket-server.ts";
import { makeRoundWaiters } from "./round-waiters.ts";
import { openRounds } from "./rounds/round-watch.ts";
import { openToolSessions } from "./sessions/open-sessions.ts";
import { makeFailure, makeTicker, type Failure, type Ticker } from "./ticker.ts";
import { carriersWorld } from "./transport/carriers-world.ts";

export interface DaemonOptions {
  readonly wireDir: string;
  readonly handle: string;
  /** One round, then end. */
  readonly once: boolean;
  readonly logLevel: "trace" | "debug" | "info" | "warn" | "error";
  readonly peers: readonly string[];
  /** Turns text into the rows to show when the log goes to a terminal. */
  toTerminal(text: string): string;
  /** The program and arguments that run `deaddrop`, for work in a process of its own. */
  readonly program: readonly string[];
  /** Looks at the cards of the peers. Spec 2.2. */
  readonly cards: CardReader;
}

const DAEMON_LOCK_WAIT_MS = 15_000;
/** Retry interval when the store cannot be opened at startup. */
const BEGIN_AGAIN_MS = 2_000;
/** Spec 4.2, Tail: how often all logs are looked at, whatever the watcher says. */
const SAFETY_POLL_MS = 30_000;
const SAFETY_POLL_WITHOUT_EVENTS_MS = 5_000;

/** Runs the daemon in the foreground until a signal ends it. Returns the exit code. Spec 4.2. */
export async function runDaemon(options: DaemonOptions): Promise<number> {
  const log = await makeLogger(options);
  const manager = makeServiceManager(process.env, process.pid, (error) => {
    log.warn({ detail: error.message }, "systemd-notify cannot be run");
  });
  try {
    const code = await run(options, log, manager);
    return supervisedExitCode(code, process.env);
  } catch (error) {
    if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
    const code = error instanceof DeaddropError ? error.exitCode : storageExitCode(error);
    const { hint } = error;
    log.error({ code: error.code, ...(hint === undefined ? {} : { hint }) }, error.message);
    return supervisedExitCode(code, process.env);
  }
}

/** Who has left sends nothing more: what it said last is pushed, and that is all. Spec 3.11. */
async function refuseAway(agent: Agent): Promise<void> {
  while (await agent.tick());
  const { handle, members, roster } = await agent.view("whoami", undefined);
  // Of a newcomer the lines that make it a member may be still to come.
  if (members.includes(handle) || !roster.includes(handle)) return;
  const { wireDir } = agent.place.paths;
  await agent.carriers.git.transport?.turn({ fetch: true, push: true });
  throw new DeaddropError("config", `${handle} has left this wire`, {
    hint: `a member lets it come back (deaddrop member add ${handle}); then: deaddrop join ${wireDir} --me ${handle}`,
  });
}

/** JSON lines on stdout, pretty for a person. Synchronous: no log line is lost when we die. */
async function makeLogger({ logLevel: level, toTerminal }: DaemonOptions): Promise<Pino> {
  const out = pino.destination({ dest: 1, sync: true });
  // It may be a file on a disk that is full: then the line is lost, and not the daemon.
  out.on("error", () => undefined);
  const options = { level, base: null, timestamp: stdTimeFunctions.isoTime };
  if (process.stdout.isTTY !== true) return pino(options, out);
  const { prettyFactory } = await import("pino-pretty");
  const pretty = prettyFactory({ translateTime: "SYS:yyyy-mm-dd HH:MM:ss" });
  return pino(options, { write: (line) => out.write(toTerminal(pretty(line))) });
}

/** A restart does not correct what a person has to correct, nor a folder that is closed to us. */
function storageExitCode({ code }: StorageError): number {
  return EXIT_CODES[code === "denied" ? "config" : codeOfStorage(code)];
}

async function run(options: DaemonOptions, log: Pino, manager: ServiceManager): Promise<number> {
  const { handle, peers, once, wireDir } = options;
  const places = placesFrom(process.env, process.env["HOME"] ?? homedir());
  const real = realWorld(places, wireDir, log);
  const broken = makeFailure();
  const ending = new AbortController();
  const hookHost: HookHost = {
    settings: () => agent.place.settings,
    who: () => ({ DEADDROP_AS: handle, DEADDROP_WIRE: agent.place.paths.wireDir }),
    ...{ run: runHook, signal: ending.signal, log },
  };
  // The stop hook is made before the ticker, which `serve` puts here.
  const looks = { soon: (): void => undefined };
  const stop = makeStopHook(hookHost, () => looks.soon());
  const checkpointer = new Checkpointer();
  const inProcess = { ...real, env: process.env, failed: broken.fail };
  const world: World = {
    ...{ ...real, checkpointer },
    carriers: (user) => carriersWorld(inProcess, user),
    // One round does not wait for a command: the next daemon that stays runs it.
    ...(once ? {} : { hooks: { onNotice: makeNoticeHook(hookHost, real.clock), stop } }),
  };
  const agent = new Agent(world, { wireDir, handle, peers });
  await begin(agent, log, once);
  try {
    await refuseAway(agent);
    const running = once ? runOnce(agent) : serve({ agent, log, looks, manager, broken }, options);
    return await Promise.race([running, broken.failed]);
  } finally {
    ending.abort();
    await agent.carriers.stop();
    await checkpointer.stop();
    agent.close();
  }
}

/**
 * Opens the agent's store. A long-running daemon retries on a storage error; meanwhile commands report the error
 * themselves. Spec 4.11.
 */
async function begin(agent: Agent, log: Pino, once: boolean): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      agent.lockIdentity(DAEMON_LOCK_WAIT_MS);
      return;
    } catch (error) {
      agent.close();
      const mayPass =
        error instanceof StorageError && storageExitCode(error) === EXIT_CODES.storage;
      if (once || !mayPass) throw error;
      const { code, hint, message } = error;
      if (isFirst)
        log.error({ code, hint }, `the daemon cannot open its store yet and retries: ${message}`);
      await sleep(BEGIN_AGAIN_MS);
    }
  }
}

/** What a daemon that stays works with. */
interface Serving {
  readonly agent: Agent;
  readonly log: Pino;
  readonly looks: { soon(): void };
  readonly manager: ServiceManager;
  readonly broken: Failure;
}

async function serve(
  { agent, log, looks, manager, broken }: Serving,
  options: DaemonOptions,
): Promise<number> {
  const { paths, handle } = agent.place;
  const { carriers } = agent;
  const queue = makeQueue();
  const filesystem = filesystemKind(paths.wireDir);
  const waiters = makeRoundWaiters();
  const rounds = openRounds(agent, () => sessions.rounded(), log);
  const sessions = openToolSessions(agent, queue, rounds, { log, soon: () => looks.soon() });
  let cards: CardWatcher | undefined;
  const ticker = makeTicker(agent, queue, log, {
    pollMs: filesystem.events ? SAFETY_POLL_MS : SAFETY_POLL_WITHOUT_EVENTS_MS,
    alive: () => {
      manager.alive();
      for (const each of [waiters, sessions, cards]) each?.rounded();
    },
    aliveEveryMs: manager.watchdogEveryMs,
  });
  looks.soon = ticker.soon;
  const parts = { until: waiters.until, sessions, rounds, transport: carriers.git };
  const server = await serveWhenPossible(() => openSocket(agent, queue, parts, ticker), log);
  const isOwn = ownNames(agent);
  carriers.onChange((name) => {
    if (name !== undefined) cards?.changed(name);
    if (isOwn(name)) ticker.later();
    else ticker.soon();
  });
  const audits = new AbortController();
  const audit = { agent, queue, log, program: options.program, signal: audits.signal };
  const newDay = (): Promise<void> => archiveClosedYear(agent, queue, log);
  const tasks = scheduleTasks(agent, log, process.env, {
    newDay,
    night: () => auditTonight(audit),
  });
  const ending = endSignal(agent, queue, log, [ticker.soon, () => carriers.git.fetchSoon()]);
  log.info({ handle, wire: paths.wireKey, filesystem: filesystem.name }, "the daemon runs");
  try {
    carriers.start();
    await ticker.now();
    await listIncidents(agent, queue, log);
    // The turn of the year may have been while no daemon ran.
    await newDay();
    cards = watchCards(agent, queue, log, options.cards);
    rounds.look();
    manager.ready(`${handle} on ${paths.wireDir}`);
    const signal = await Promise.race([ending, ticker.failed, broken.failed]);
    log.info({ signal }, "the daemon ends");
  } finally {
    manager.stopping();
    audits.abort();
    for (const each of [cards, tasks, waiters, sessions, rounds, ticker]) each?.stop();
    await server.close();
  }
  await queue(() => agent.farewell());
  return 0;
}

/** Whether that is the name of a file that we write now. */
function ownNames({ carriers }: Pick<Agent, "carriers">): (name: string | undefined) => boolean {
  let layout: WireLayout | undefined;
  let names = new Set<string>();
  return (name) => {
    const now = carriers.layout();
    if (now !== layout) names = new Set(now.ours.map(({ path }) => basename(path)));
    layout = now;
    return name !== undefined && names.has(name);
  };
}

/** Spec 3.9: what a daemon that starts shows its operator. */
async function listIncidents(agent: Pick<Agent, "view">, queue: Queue, log: Pino): Promise<void> {
  const { incidents } = await queue(() => agent.view("status", undefined));
  for (const { event_id: id, from, severity, status, subject } of incidents) {
    log.warn(
      { incident: id, from, severity, status, subject: quote(subject) },
      "unresolved incident",
    );
  }
}

async function openSocket(
  agent: Agent,
  queue: Queue,
  parts: Parameters<typeof makeService>[2],
  ticker: Ticker,
): Promise<SocketServer> {
  const service = makeService(agent, queue, parts);
  const { paths } = agent.place;
  const folder = openSocketFolder(paths.stateDir);
  if (folder === undefined) throw new Error(`${paths.stateDir} was there a moment ago`);
  // We hold the identity's lock, so a socket that is there was left by a daemon that died.
  try {
    unlinkSync(paths.socket);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return serveSocket(
    folder,
    requestHandler(service, () => ticker.later()),
  );
}

/** `daemon --once`: one fetch, one round, one push. Returns the exit code. Spec 4.2. */
async function runOnce(agent: Agent): Promise<number> {
  const { git } = agent.carriers;
  await git.transport?.turn({ fetch: true, push: false });
  while (await agent.tick());
  await git.transport?.turn({ fetch: false, push: true });
  if (agent.stuck !== undefined) throw agent.stuck;
  return 0;
}

/** Spec 4.2: everything is down within five seconds of the first signal. */
const SHUTDOWN_LIMIT_MS = 4_500;

/**
 * Waits for a signal that ends the daemon; a second one ends it at once. SIGHUP reloads, SIGUSR1 looks.
 * Spec 4.2.
 */
function endSignal(
  agent: Pick<Agent, "reload">,
  queue: Queue,
  log: Logger,
  looks: readonly (() => void)[],
): Promise<string> {
  const look = (): void => looks.forEach((each) => each());
  process.on("SIGHUP", () => {
    queue(() => agent.reload()).then(
      () => look(),
      (error: unknown) =>
        log.error({ detail: String(error) }, "not reloaded; the old settings hold"),
    );
  });
  process.on("SIGUSR1", () => look());
  return new Promise((resolve) => {
    let isEnding = false;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        if (isEnding) process.exit(0);
        isEnding = true;
        resolve(signal);
        setTimeout(() => process.exit(0), SHUTDOWN_LIMIT_MS).unref();
      });
    }
  });
}
