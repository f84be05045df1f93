import { unlinkSync } from "node:fs";
import { homedir } from "node:os";
import { basename } from "node:path";
import { pino, stdTimeFunctions, type Logger as Pino } from "pino";
import { StorageError } from "../storage/disk/disk.ts";
import { filesystemKind } from "../storage/disk/fs-kind.ts";
import { placesFrom } from "../storage/paths.ts";
import { ownLogs } from "../wire/layout.ts";
import { quote } from "../wire/quote.ts";
import type { StopHook } from "../agent/session/world.ts";
import { openAgent, type Agent } from "../agent/agent.ts";
import { auditTonight } from "./calendar/nightly-audit.ts";
import { scheduleTasks, type CalendarWork } from "./calendar/scheduled-tasks.ts";
import { archiveClosedYear } from "./calendar/year-end.ts";
import { watchCards, type CardReader, type CardWatcher } from "./card-watcher.ts";
import { realWorld } from "../client/direct-client.ts";
import { codeOfStorage, DeaddropError, EXIT_CODES } from "../api/errors.ts";
import { endSignal } from "./end-signal.ts";
import { makeNoticeHook } from "./hooks/notice-hook.ts";
import { makeStopHook } from "./hooks/stop-hook.ts";
import { runHook } from "./hooks/run-hook.ts";
import { makeQueue, type Queue } from "../agent/session/queue.ts";
import { makeServiceManager, supervisedExitCode, type ServiceManager } from "./service-manager.ts";
import { makeService } from "../agent/effects/group-commit.ts";
import { requestHandler } from "./request-handler.ts";
import { openSocketFolder } from "../storage/private/socket-folder.ts";
import { serveSocket, type SocketServer } from "./socket-server.ts";
import { makeRoundWaiters } from "./round-waiters.ts";
import { openRounds } from "./rounds/open-rounds.ts";
import { openToolSessions } from "./sessions/open-sessions.ts";
import { serveWhenPossible } from "./serve-when-possible.ts";
import { makeFailure, makeTicker, type Ticker } from "./ticker.ts";
import { openTransport, remoteLink, type TransportNeeds } from "./transport/open-transport.ts";
import { watchWire, type Watcher } from "./watch-wire.ts";

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
/** Spec 4.1, Tail: how often all logs are looked at, whatever the watcher says. */
const SAFETY_POLL_MS = 30_000;
const SAFETY_POLL_WITHOUT_EVENTS_MS = 5_000;

/** One round does not wait for a command: the next daemon that stays runs it. */
const LEFT_TO_A_DAEMON: StopHook = { run: () => undefined, isRunning: () => true };

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

/** Who has left sends nothing: what a daemon of it wrote would be refused by all. Spec 3.11. */
function refuseAway({ place: { handle, layout, paths } }: Pick<Agent, "place">): void {
  if (layout.members.includes(handle)) return;
  throw new DeaddropError("config", `${handle} has left this wire`, {
    hint: `a member lets it come back (deaddrop member add ${handle}); then: deaddrop join ${paths.wireDir} --me ${handle}`,
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
  const { handle, peers } = options;
  const places = placesFrom(process.env, process.env["HOME"] ?? homedir());
  const world = realWorld(places, options.wireDir, log);
  const hook = makeNoticeHook({
    settings: () => agent.place.settings.hooks,
    who: () => ({ DEADDROP_AS: handle, DEADDROP_WIRE: agent.place.paths.wireDir }),
    monoMs: () => world.clock.monoMs(),
    wallMs: () => world.clock.wallMs(),
    run: runHook,
    log,
  });
  // The stop hook is made before the ticker, which `serve` puts here.
  const looks = { soon: (): void => undefined };
  const link = remoteLink();
  const stopHook = makeStopHook({
    settings: () => agent.place.settings.hooks,
    who: () => ({ DEADDROP_AS: handle, DEADDROP_WIRE: agent.place.paths.wireDir }),
    run: runHook,
    ended: () => looks.soon(),
    log,
  });
  const hooked = options.once
    ? { ...world, remote: link, hooks: { stop: LEFT_TO_A_DAEMON } }
    : { ...world, remote: link, hooks: { onNotice: hook.heard, stop: stopHook } };
  const agent = openAgent(hooked, { wireDir: options.wireDir, handle, peers });
  refuseAway(agent);
  await agent.lockIdentity(DAEMON_LOCK_WAIT_MS);
  try {
    if (options.once) return await runOnce({ agent, link, places, log });
    return await serve({ agent, link, places, log }, options, manager, looks);
  } finally {
    hook.stop();
    stopHook.stop();
    agent.close();
  }
}

async function serve(
  { agent, link, places, log }: Run,
  options: DaemonOptions,
  manager: ServiceManager,
  looks: { soon(): void },
): Promise<number> {
  const { paths, handle } = agent.place;
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
      for (const each of [waiters, sessions, transport, cards]) each?.rounded();
    },
    aliveEveryMs: manager.watchdogEveryMs,
  });
  looks.soon = ticker.soon;
  const broken = makeFailure();
  const transport = openTransport({
    ...{ agent, queue, places, link, log, failed: broken.fail },
    pulled: () => ticker.soon(),
  });
  const parts = { until: waiters.until, sessions, rounds, transport: transport.control };
  const server = await serveWhenPossible(() => openSocket(agent, queue, parts, ticker), log);
  const isOwn = ownNames(agent);
  const watcher = watchLogs(paths.wireDir, filesystem.events, log, (name) => {
    if (name !== undefined) cards?.changed(name);
    transport.changed(name);
    if (isOwn(name)) ticker.later();
    else ticker.soon();
  });
  const tasks = scheduleTasks(agent, log, process.env, calendarWork(agent, queue, log, options));
  const ending = endSignal(agent, queue, log, [ticker.soon, () => transport.control.fetchSoon()]);
  log.info({ handle, wire: paths.wireKey, filesystem: filesystem.name }, "the daemon runs");
  try {
    await ticker.now();
    await listIncidents(agent, queue, log);
    // The turn of the year may have been while no daemon ran.
    await tasks.newDay();
    cards = watchCards(agent, queue, log, options.cards);
    rounds.look();
    transport.start();
    manager.ready(`${handle} on ${paths.wireDir}`);
    const signal = await Promise.race([ending, ticker.failed, broken.failed]);
    log.info({ signal }, "the daemon ends");
  } finally {
    manager.stopping();
    for (const each of [cards, tasks, waiters, sessions, rounds]) each?.stop();
    await closeAll(watcher, server, ticker);
  }
  await queue(() => agent.farewell());
  await transport.stop();
  return 0;
}

function watchLogs(
  wireDir: string,
  hasEvents: boolean,
  log: Pino,
  changed: (name: string | undefined) => void,
): Watcher {
  const options = {
    usePolling: !hasEvents,
    intervalMs: SAFETY_POLL_WITHOUT_EVENTS_MS,
    onError: (error: unknown) =>
      log.warn({ detail: String(error) }, "no file events: we look from time to time"),
  };
  return watchWire(wireDir, options, changed);
}

/** Whether that is the name of one of our logs: of others, where the layout has changed. */
function ownNames(agent: Agent): (name: string | undefined) => boolean {
  const namesOf = ({ layout, handle }: Agent["place"]): Set<string> =>
    new Set(ownLogs(layout, handle).map(({ path }) => basename(path)));
  let { place } = agent;
  let names = namesOf(place);
  return (name) => {
    if (place !== agent.place) names = namesOf((place = agent.place));
    return name !== undefined && names.has(name);
  };
}

function calendarWork(
  agent: Agent,
  queue: Queue,
  log: Pino,
  { program }: DaemonOptions,
): CalendarWork {
  const ended = new AbortController();
  return {
    newDay: () => archiveClosedYear(agent, queue, log),
    night: () => auditTonight({ agent, queue, log, program, signal: ended.signal }),
    stop: () => ended.abort(),
  };
}

/** Spec 3.9: what a daemon that starts shows its operator. */
async function listIncidents(agent: Pick<Agent, "view">, queue: Queue, log: Pino): Promise<void> {
  const incidents = await queue(() => agent.view("status", undefined)).then(
    (status) => status.incidents,
    (error: unknown) => {
      // The first round had the same trouble, and the ticker tries again.
      if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
      return [];
    },
  );
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

async function closeAll(watcher: Watcher, server: SocketServer, ticker: Ticker): Promise<void> {
  ticker.stop();
  await watcher.close();
  await server.close();
}

/** What a run of the daemon works with. */
type Run = Pick<TransportNeeds, "agent" | "link" | "places"> & { readonly log: Pino };

/** `daemon --once`: one fetch, one round, one push. Returns the exit code. Spec 4.2. */
async function runOnce({ agent, link, places, log }: Run): Promise<number> {
  const queue = makeQueue();
  const broken = makeFailure();
  const transport = openTransport({
    ...{ agent, queue, places, link, log, failed: broken.fail },
    pulled: () => undefined,
  });
  await Promise.race([broken.failed, round()]);
  if (agent.stuck !== undefined) throw agent.stuck;
  return 0;

  async function round(): Promise<void> {
    await transport.turn();
    await queue(() => agent.tick());
    await queue(() => agent.sync());
    await transport.turn();
    await transport.stop();
  }
}
