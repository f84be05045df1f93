import { newBeatTimers, nextBeatDueMs, planBeats } from "../protocol/beat-timers.ts";
import { lastBeats } from "../protocol/beats.ts";
import { decide } from "../protocol/core.ts";
import { unreadCount } from "../protocol/receipts.ts";
import { safeMode } from "../protocol/safe-mode.ts";
import { StorageError, type Disk } from "../storage/disk.ts";
import { takeLock, type HeldLock } from "../storage/lock.ts";
import type { Draft } from "../wire/compose.ts";
import { isWorthSaving, loadMemory, saveMemory } from "./checkpointing.ts";
import type { ReclaimAnswer, SendAnswer, StatusChange } from "./client-types.ts";
import type { HoldsView, ViewArgs, ViewName, Views } from "./view-types.ts";
import type { World } from "./edges.ts";
import { doable, isOpen, perform } from "./effects.ts";
import { DeaddropError } from "./errors.ts";
import type { Memory } from "./memory.ts";
import { restoreInbox } from "./inbox-recovery.ts";
import { loadPlace, withTrustReread, type Place, type PlaceRequest } from "./place.ts";
import { resetPeer } from "./peer-reset.ts";
import { publishState } from "./published-state.ts";
import { unreadIds } from "./reading.ts";
import { reclaim } from "./reclaim.ts";
import { mendBlocked, sendGroups } from "./sending.ts";
import { openSession, type Session } from "./session.ts";
import { keepTrust } from "./trust-keeping.ts";
import { view } from "./views.ts";
import { guardWire, newWireGuard, type WireGuard } from "./wire-guard.ts";

/** Decide and act again until nothing is left to do, at most so often in one tick. */
const MAX_PASSES = 16;
/** One tick takes in for so long: then sends of our own, beats and deadlines have their turn. */
const TAKE_IN_MS = 50;
/** Journal bytes that a start may have to replay; a checkpoint is else written when it is quiet. */
const CHECKPOINT_AFTER_BYTES = 16 * 1_048_576;
/** A killed holder's note stands until the next holder has written its own. */
const NOTE_SETTLES_MS = 1_000;
/** Short, since it blocks the process: the client tries again, and looks for a daemon meanwhile. */
const COMMAND_LOCK_WAIT_MS = 250;

/**
 * One identity on one wire, without a process around it: the daemon, the command line, the library
 * and the simulator all work through this. Calls do not overlap; the caller queues them.
 */
export interface Agent {
  readonly place: Place;
  readonly disk: Disk;
  monoMs(): number;
  /**
   * Takes the identity's lock for good (a daemon). Throws "already_running", with the holder's
   * process id, when another daemon has it. `waitMs`: how long a command's lock is waited for.
   */
  hold(waitMs: number): Promise<void>;
  /** One round: take in, decide, act. True when more waits to be read. */
  tick(): Promise<boolean>;
  /** Takes in what is new without acting on it: what a command does when no daemon runs. */
  takeIn(): Promise<void>;
  /** Each group is what one caller sends; all go out as one write, and each has its answer. */
  send(groups: readonly (readonly Draft[])[]): Promise<SendAnswer[]>;
  view<N extends ViewName>(name: N, args: ViewArgs[N]): Promise<Views[N]>;
  markRead(ids: readonly string[] | "all"): Promise<{ read: number }>;
  setStatus(status: StatusChange): Promise<void>;
  /** The operator's word about a peer's held logs, and about our own. Spec 1.6. */
  resetPeer(peer: string): Promise<HoldsView>;
  reclaim(): Promise<ReclaimAnswer>;
  /** Pins, settings and configuration are read again. */
  reload(): Promise<void>;
  /** When the next tick is due: a beat of ours, or a log that may be read again. Monotonic ms. */
  nextDueMs(): number;
  /** Syncs our logs and writes a checkpoint: when idle. */
  settle(): Promise<void>;
  /** One last beat `paused`, everything synced. */
  farewell(): Promise<void>;
  close(): void;
}

/** Loads and checks an agent's place. Nothing is locked before a call needs it. Spec 3.9. */
export function openAgent(world: World, request: PlaceRequest): Agent {
  let place = loadPlace(world.disk, world.places, request);
  let memory: Memory | undefined;
  let held: { session: Session | undefined; readonly lock: HeldLock } | undefined;
  let timers = newBeatTimers();
  let guard: WireGuard = newWireGuard();
  let checkpointAt = 0;
  let isTrustStale = false;

  function remembered(): Memory {
    const { disk, clock } = world;
    if (memory === undefined) {
      memory = loadMemory(disk, place, clock.monoMs());
      checkpointAt = memory.journalEnd;
    }
    return memory;
  }

  /** Makes what is settled about keys and tiers; true when the session has to be opened anew for it. */
  function hasChangedTrust(session: Session): boolean {
    // Whatever is made before something fails holds from the next session on.
    isTrustStale = true;
    isTrustStale = keepTrust(session);
    if (isTrustStale) session.flush();
    return isTrustStale;
  }

  function begin(): Session {
    try {
      if (isTrustStale) place = withTrustReread(world.disk, place);
      isTrustStale = false;
      return openSession(world, place, remembered());
    } catch (error) {
      memory = undefined;
      throw error;
    }
  }

  /** A daemon's session is opened anew after trouble; the lock stays ours all the while. */
  async function usingHeld<T>(
    holding: { session: Session | undefined },
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    try {
      if (holding.session === undefined) {
        holding.session = begin();
        // Our last words may be in no journal yet, and decisions never are.
        await holding.session.takeInOwn();
        holding.session.takeInDecisions();
      }
      if (hasChangedTrust(holding.session)) {
        holding.session.close();
        holding.session = undefined;
        holding.session = begin();
      }
      return await work(holding.session);
    } catch (error) {
      if (!(error instanceof DeaddropError)) {
        // Memory may be ahead of the disk: it is had again from journal and logs.
        memory = undefined;
        holding.session?.close();
        holding.session = undefined;
      }
      throw error;
    }
  }

  async function using<T>(work: (session: Session) => Promise<T>): Promise<T> {
    if (held !== undefined) return usingHeld(held, work);
    const lock = lockFor("command", COMMAND_LOCK_WAIT_MS);
    let session: Session | undefined;
    try {
      session = begin();
      await session.takeInOwn();
      if (hasChangedTrust(session)) {
        session.close();
        session = undefined;
        session = begin();
      }
      await session.takeInAll();
      const result = await work(session);
      session.flush();
      return result;
    } catch (error) {
      if (!(error instanceof DeaddropError)) memory = undefined;
      throw error;
    } finally {
      session?.close();
      lock.release();
    }
  }

  function lockFor(role: "daemon" | "command", waitMs: number): HeldLock {
    const since = new Date(world.clock.wallMs()).toISOString();
    const note = { pid: process.pid, role, since };
    const take = (ms: number) => takeLock(world.disk, place.paths.lock, note, ms);
    // Spec 4.1: a daemon waits for a command's lock; another daemon keeps its own for life.
    const isDaemon = role === "daemon";
    let attempt = take(isDaemon ? NOTE_SETTLES_MS : waitMs);
    if (isDaemon && !attempt.ok && attempt.holder?.role !== "daemon") attempt = take(waitMs);
    if (attempt.ok) return attempt.lock;
    const { holder } = attempt;
    const who =
      holder === undefined ? "another process" : `the ${holder.role} with process id ${holder.pid}`;
    throw new DeaddropError(
      "already_running",
      `"${place.handle}" is in use on this wire by ${who}`,
      {
        hint: "stop it first (deaddrop service stop, or kill that process); two writers would fork the log",
      },
    );
  }

  /** What we have written is folded before anybody looks at what follows from it. */
  async function readBack(session: Session): Promise<void> {
    if (session.written.size > 0) await session.takeInOwn();
  }

  async function act(session: Session): Promise<boolean> {
    mendBlocked(session);
    const more = await session.takeInAll(TAKE_IN_MS);
    for (const incident of guardWire(session, guard)) session.tell(incident);
    for (let pass = 0; pass < MAX_PASSES; pass += 1) {
      const now = session.now();
      timers = planBeats(timers, session.memory.state.receipts, session.env, now);
      const effects = doable(session, decide(session.memory.state, session.env, now, timers));
      if (effects.length === 0) break;
      timers = await perform(session, effects, timers);
    }
    return more;
  }

  /** One that was deleted is written again; spec 4.1: rotated only when all of it has been read. */
  function keepInbox({ files, memory: known, env }: Session): void {
    const { inbox } = files;
    const isKnown = known.inInbox === undefined;
    if (isKnown && !inbox.stands()) restoreInbox({ disk: world.disk, place, memory: known, files });
    if (unreadCount(known.state.receipts, env) === 0) inbox.rotate(inbox.end);
  }

  function checkpoint(session: Session, when: "now" | "if it pays"): void {
    session.flush();
    const grown = session.memory.journalEnd - checkpointAt;
    const pays = isWorthSaving(world.disk, place.paths.checkpoint, grown);
    if (when === "if it pays" && !pays) return;
    saveMemory(world.disk, place, session.memory);
    checkpointAt = session.memory.journalEnd;
  }

  return {
    get place() {
      return place;
    },
    disk: world.disk,
    monoMs: () => world.clock.monoMs(),
    async hold(waitMs) {
      const lock = lockFor("daemon", waitMs);
      held = { session: undefined, lock };
      await using(async (session) => {
        session.local({ kind: "started", at: session.now().wallMs });
        return Promise.resolve();
      });
    },
    async tick() {
      // An ack of ours may let a peer sign with another key from now on.
      await using(readBack);
      return using(async (session) => {
        const more = await act(session);
        const grown = session.memory.journalEnd - checkpointAt;
        if (grown > CHECKPOINT_AFTER_BYTES) checkpoint(session, "now");
        return more;
      });
    },
    takeIn: () =>
      using(async (session) => {
        await session.takeInAll();
      }),
    async send(groups) {
      let answers: SendAnswer[] | undefined;
      try {
        return await using(async (session) => {
          // A resume that was just sent counts at once.
          if (safeMode(session.memory.state.incidents, session.env) !== undefined) {
            await readBack(session);
          }
          answers = sendGroups(session, groups);
          // A daemon's next round reads it back; who asks before that does it.
          if (held === undefined) await session.takeInOwn();
          return answers;
        });
      } catch (error) {
        if (answers === undefined || !(error instanceof StorageError)) throw error;
        // It is promised: who is told otherwise sends it twice.
        world.log.warn({ code: error.code }, `sent, but not read back: ${error.message}`);
        return answers;
      }
    },
    view: (name, args) =>
      using(async (session) => {
        await readBack(session);
        return view(session, name, args, held !== undefined);
      }),
    markRead: (ids) =>
      using(async (session) => {
        const before = unreadIds(session.memory.state.receipts, ids);
        if (before > 0) session.local({ kind: "read", ids, at: session.now().wallMs });
        return Promise.resolve({ read: before });
      }),
    setStatus: (status) =>
      using(async (session) => {
        session.local({ kind: "status", at: session.now().wallMs, ...status });
        return Promise.resolve();
      }),
    resetPeer: (peer) => using((session) => resetPeer(session, peer)),
    reclaim: () => using((session) => reclaim(session)),
    async reload() {
      const next = loadPlace(world.disk, world.places, request);
      const isSameFold = JSON.stringify(next.layout.roster) === JSON.stringify(place.layout.roster);
      place = next;
      guard = newWireGuard();
      if (held?.session !== undefined) {
        held.session.flush();
        held.session.close();
        held.session = undefined;
      }
      if (!isSameFold) memory = undefined;
      return Promise.resolve();
    },
    nextDueMs() {
      const session = held?.session;
      if (session === undefined) return Infinity;
      const { state, intakes } = session.memory;
      const waits = [...intakes.values(), session.shared].flatMap(({ notBeforeMs }) =>
        notBeforeMs > world.clock.monoMs() ? [notBeforeMs] : [],
      );
      const isOurs = (log: string): boolean => isOpen(session, log);
      const beats = nextBeatDueMs(timers, state.heartbeats, session.env, isOurs);
      return Math.min(beats, ...waits);
    },
    settle: () =>
      using(async (session) => {
        session.writer.flush();
        publishState(session);
        keepInbox(session);
        checkpoint(session, "if it pays");
        return Promise.resolve();
      }),
    farewell: () =>
      using(async (session) => {
        await session.takeInAll();
        const { state } = session.memory;
        timers = await perform(session, lastBeats(state, session.env, session.now()), timers);
        session.writer.flush();
        publishState(session);
        checkpoint(session, "if it pays");
      }),
    close() {
      held?.session?.close();
      held?.lock.release();
      held = undefined;
    },
  };
}
