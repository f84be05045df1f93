import type { AutomaticIncident } from "../protocol/effects.ts";
import { unreadNotices } from "../protocol/agent-notices/agent-notices-state.ts";
import { StorageError, type Disk } from "../storage/disk/disk.ts";
import { lostPast } from "../trust/policy/policy-drift.ts";
import { DeaddropError } from "../api/errors.ts";
import { sendAndReadBack, sessionOperations } from "./agent-operations.ts";
import { loadPlace, type AgentConfig, type PlaceRequest } from "./config/agent-config.ts";
import type { SendingAgent } from "./effects/group-commit.ts";
import { publishState } from "./effects/published-state.ts";
import { makeRounds, readBack, type Rounds } from "./effects/rounds.ts";
import { isSignedLine } from "./session/environment.ts";
import { isWholeLog, syncOwnLogs } from "./session/own-logs.ts";
import { holdOwn } from "./intake/trouble/foreign-signature.ts";
import { fastestCadence } from "../protocol/heartbeats/beat-timers.ts";
import { isPassing } from "./state/storage-troubles.ts";
import { SessionKeeper } from "./session/session-lifecycle.ts";
import { takeInAll } from "./intake/take-in.ts";
import type { Session } from "./session/session.ts";
import type { World } from "./session/world.ts";
import { restoreInbox } from "./state/inbox-recovery.ts";
import { restoreNotices } from "./state/notices-recovery.ts";
import { oldestUnread } from "./state/unread.ts";
import { dueChanges } from "../protocol/members/due-changes.ts";
import { applyMembership } from "./config/change-members.ts";

/**
 * The loop of an agent, from a wake to sleep. This folder does it; what runs it is outside: a daemon
 * (`daemon/ticker.ts`), a command, or the simulator.
 *
 * - **Wake.** A watcher, a timer or a command calls `tick`. A command without a daemon opens a session
 *   for its one call and takes everything in first (`session/session-lifecycle.ts`).
 * - **Take in** (`intake/take-in.ts`). Each log gets turns of bounded size: the whole lines behind its
 *   cursor are read and synced, and their signatures are checked, many at once on other threads.
 * - **Judge** (`intake/judge-lines.ts`, `admission/`). Line by line: accepted, refused with a reason,
 *   or left unread for now. What is left unread is in `state/log-status.ts`.
 * - **Persist** (`intake/commit-batch.ts`). Quarantine, journal, heads, inbox, in this order.
 * - **Fold** (`session/recorder.ts`, `protocol/core.ts`). What is durable changes the state, and
 *   nothing else happens. Then the cursor of the log moves.
 * - **Decide** (`protocol/core.ts`). From state and time: beats that are due, decisions to record,
 *   incidents to mirror, notices for the operator. The answer is data.
 * - **Act** (`effects/run-effects.ts`). Lines of ours are promised in the pending file, appended, and
 *   read back from our own log like a peer's. Decide and act repeat until nothing is left to do.
 * - **Sync.** When nothing happens for two seconds our logs are synced, the pending file is
 *   emptied, and a checkpoint is written.
 *
 * After a crash the next start loads the checkpoint, appends pending lines that our log lacks, folds
 * the journal after the checkpoint again with the lines of the logs, and gives the inbox what the
 * journal says it must hold (`session/open-session.ts`). What was not yet in the journal is read
 * again. So these survive: every line that was answered with "sent", every verdict with its receipt
 * time, every notice. Beat timers, the status of each log and the rate limits do not, and begin again.
 *
 * Time, randomness, files, threads and the log come from `World` (`session/world.ts`) alone. Heartbeats
 * and waits use monotonic time; lines and receipts carry wall time. Calls do not overlap
 * (`session/queue.ts`), so no state is locked in memory.
 */

/**
 * One identity on one wire, without a process around it: the daemon, the command line, the library
 * and the simulator all work through this. Calls do not overlap; the caller queues them.
 */
export type Agent = SendingAgent & AgentRounds & AgentIdentity;

/** What the loop of a daemon asks of an agent. */
export interface AgentRounds {
  /** One round: take in, decide, act. True when more waits to be read. */
  tick(): Promise<boolean>;
  /** When the next round is due: a beat of ours, or a log that may be read again. Monotonic ms. */
  nextDueMs(): number;
  monoMs(): number;
  /** Syncs our logs and writes a checkpoint: when idle. */
  sync(): Promise<void>;
  /** Nothing was noted or promised since the last sync. */
  readonly isSynced: boolean;
  /** An incident for the operator that the logs do not give by themselves. Spec 3.5. */
  tell(incident: AutomaticIncident): Promise<void>;
  /** How often we beat now, in the log where we beat most often. */
  cadenceMs(): number;
  /** Whether that line is signed by the author of that log and belongs into it. */
  isSignedLine(log: string, line: Uint8Array): boolean;
  /** Whether that log of ours is as we wrote it: a power cut may have left less of it, until it is restored. */
  isWholeLog(log: string): boolean;
  /** A line of ours that we did not write was found outside of our log. Spec 1.6, `identity_in_use`. */
  foundElsewhere(log: string, detail: string): Promise<void>;
  /** One last beat `paused`, everything synced. */
  farewell(): Promise<void>;
}

/** Who the agent is and where, and the lock on that. */
export interface AgentIdentity {
  readonly place: AgentConfig;
  readonly disk: Disk;
  /**
   * Takes the identity's lock for good (a daemon). Throws "already_running", with the holder's
   * process id, when another daemon has it. `waitMs`: how long a command's lock is waited for.
   */
  lockIdentity(waitMs: number): Promise<void>;
  /** Why nothing is noted, or our lines wait. It goes on by itself. */
  readonly stuck: StorageError | undefined;
  close(): void;
}

/**
 * A private copy that was changed by hand is refused as well, when it would void what is known.
 * Spec 1.1.
 */
function refuseLostPast({ config, layout, handle }: AgentConfig, next: AgentConfig): void {
  if (next.config.roster.length === 0) return;
  const problem = lostPast({ ...config, roster: layout.roster }, next.config, handle);
  if (problem === undefined) return;
  throw new DeaddropError("config", problem, {
    hint: `put ${next.paths.pinnedConfig} back as it was; until then the old settings hold`,
  });
}

/** Our logs are on disk, and how far we have read is published. */
function syncLogs(session: Session): void {
  syncOwnLogs(session);
  session.files.heads.save();
  if (session.files.own.writer.stuck() === undefined) publishState(session);
}

/** A new process has begun to beat. Spec 3.9. */
async function noteStart({ recorder, world }: Session): Promise<void> {
  recorder.local({ kind: "started", at: world.clock.wallMs() });
  return Promise.resolve();
}

/** One that was deleted is written again; one that is large is rotated. Spec 4.1. */
function keepInbox({ world: { disk }, place, files, memory }: Session): void {
  const { inbox } = files;
  const isKnown = memory.inbox.unnoted === undefined;
  if (isKnown && !inbox.isThere() && !restoreInbox({ disk, place, memory, files })) {
    const problem = "it was deleted while a log lacked lines of it: all is read again";
    throw new StorageError("io", place.paths.inbox, problem, { hint: "it goes on by itself" });
  }
  inbox.rotate(() => oldestUnread(files, memory.state.receipts));
}

/** The same for the notices; the state has those that are unread. */
function keepNotices({ files, memory }: Session): void {
  if (!files.notices.isThere()) restoreNotices({ memory, files });
  const { notices } = files;
  // No closed file goes while a notice is unread: they are few and short.
  notices.rotate(() => (unreadNotices(memory.state.agentNotices) === 0 ? notices.end : 0));
}

/**
 * Work of our own that storage trouble may stop: its owner knows of it and says when it is tried
 * again. Undefined then.
 */
async function withoutTrouble<T>(
  { troubles }: SessionKeeper,
  work: () => Promise<T>,
  isExpected: (problem: StorageError) => boolean = () => true,
): Promise<T | undefined> {
  if (!troubles.mayTry("private files")) return undefined;
  try {
    return await work();
  } catch (error) {
    const cause = error instanceof DeaddropError ? error.cause : error;
    if (!(cause instanceof StorageError) || !isExpected(cause)) throw error;
    return undefined;
  }
}

interface SinceSync {
  isSynced(): boolean;
}

/** What a daemon's loop does, each in sessions of its own. Storage trouble stops none of it for good. */
function roundsOf(
  keeper: SessionKeeper,
  rounds: Rounds,
  reload: () => void,
): Pick<AgentRounds, "tick" | "sync" | "farewell"> & SinceSync & { begin(): Promise<void> } {
  let isStartNoted = true;
  /** Where the journal ended then: it notes all that happens to us. */
  let syncedAt: number | undefined;

  async function begin(): Promise<void> {
    await keeper.using(noteStart);
    isStartNoted = true;
  }

  async function round(): Promise<boolean> {
    if (!isStartNoted) await begin();
    // An ack of ours may let a peer sign with another key from now on.
    await keeper.using(readBack);
    let hasChanged = false;
    const more = await keeper.using(async (session) => {
      const isLeft = await rounds.round(session);
      await keeper.checkpoint(session, "if it has to");
      hasChanged = applyAgreed(session);
      return isLeft;
    });
    if (hasChanged) reload();
    return more || hasChanged;
  }

  async function rest(session: Session): Promise<void> {
    syncLogs(session);
    keepInbox(session);
    keepNotices(session);
    await keeper.checkpoint(session, "if it pays");
    syncedAt = session.files.journal.end;
  }

  async function end(session: Session): Promise<void> {
    await rounds.last(session);
    syncLogs(session);
    await keeper.checkpoint(session, "at the end");
  }

  return {
    async begin() {
      isStartNoted = false;
      await withoutTrouble(keeper, begin, isPassing);
    },
    async tick() {
      keeper.troubles.look();
      return (await withoutTrouble(keeper, round)) ?? false;
    },
    async sync() {
      await withoutTrouble(keeper, () => keeper.using(rest));
    },
    async farewell() {
      await withoutTrouble(keeper, () => keeper.using(end));
    },
    isSynced() {
      const files = keeper.current?.files;
      return files?.journal.end === syncedAt && files?.own.writer.promised.length === 0;
    },
  };
}

/** Loads and checks an agent's place. Nothing is locked before a call needs it. Spec 3.9. */
export function openAgent(world: World, request: PlaceRequest): Agent {
  const keeper = new SessionKeeper(world, loadPlace(world.disk, world.places, request));
  const rounds = makeRounds();
  const reload = (): void => {
    const next = loadPlace(world.disk, world.places, request);
    refuseLostPast(keeper.place, next);
    keeper.moveTo(next);
    rounds.repinned();
  };
  const { begin, isSynced, ...loop } = roundsOf(keeper, rounds, reload);

  return {
    ...loop,
    get isSynced() {
      return isSynced();
    },
    get place() {
      return keeper.place;
    },
    disk: world.disk,
    monoMs: () => world.clock.monoMs(),
    ...sessionOperations(world, keeper),
    tell: (incident) =>
      keeper.using(async ({ recorder }) => {
        recorder.tell(incident);
        return Promise.resolve();
      }),
    async lockIdentity(waitMs) {
      keeper.lockIdentity(waitMs);
      await begin();
    },
    look: () => (keeper.isLocked ? loop.tick() : keeper.using((session) => takeInAll(session))),
    cadenceMs() {
      const { current } = keeper;
      if (current === undefined) return keeper.place.cadences.T1_active;
      return fastestCadence(current.memory.state.heartbeats, current.env);
    },
    isSignedLine: (log, line) => isSignedLine(log, line, keeper.place),
    isWholeLog: (log) => keeper.current !== undefined && isWholeLog(keeper.current.files, log),
    foundElsewhere: (log, detail) =>
      keeper.using(async (session) => {
        holdOwn(session, log, detail, detail);
        return Promise.resolve();
      }),
    send: (groups) => sendAndReadBack(world, keeper, groups),
    async reload() {
      reload();
      return Promise.resolve();
    },
    nextDueMs() {
      const { troubles, current } = keeper;
      // While nothing can be noted there is no round, whatever is due.
      const isIdle = current === undefined || troubles.problem("private files") !== undefined;
      return Math.min(isIdle ? Infinity : rounds.nextDueMs(current), troubles.nextDueMs());
    },
    get stuck() {
      const { troubles } = keeper;
      return troubles.problem("private files") ?? troubles.problem("own logs");
    },
    close: () => keeper.close(),
  };
}

/**
 * Applies a change of members that our own agent has acked, where the operator allows that
 * (`members.by_ack`). True: the configuration has to be read again. Spec 3.11.
 */
function applyAgreed(session: Pick<Session, "world" | "place" | "memory" | "env">): boolean {
  const { world, place, memory, env } = session;
  if (!place.settings.membersByAck) return false;
  const change = dueChanges(memory.state, env).find(
    ({ supported, handle }) => supported && handle !== place.handle,
  );
  if (change?.membership === undefined) return false;
  try {
    const file = applyMembership(world.disk, place, change.membership);
    const { handle, becomes } = change.membership;
    world.log.info({ by: change.by, handle, becomes, file }, "members have changed");
    return true;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    world.log.warn({ code: error.code }, `members are not changed: ${error.message}`);
    return false;
  }
}
