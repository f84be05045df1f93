import { takeLock, type HeldLock } from "../../storage/disk/lock.ts";
import { isWorthSaving, loadMemory, saveMemory } from "../state/checkpoint.ts";
import type { World } from "./world.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { Memory } from "../state/agent-state.ts";
import { withTrustReread, type AgentConfig } from "../config/agent-config.ts";
import { takeInAll, takeInDecisions, takeInOwn } from "../intake/take-in.ts";
import { closeSession, openSession } from "./open-session.ts";
import type { Session } from "./session.ts";
import { keepTrust } from "../effects/key-changes.ts";

/** The note of a killed holder stays in the lock file until the next holder has written its own. */
const NOTE_SETTLES_MS = 1_000;
/** Short, since it blocks the process: the client tries again, and looks for a daemon meanwhile. */
const COMMAND_LOCK_WAIT_MS = 250;
/**
 * Journal bytes that a start may have to replay; otherwise a checkpoint is written when nothing
 * happens.
 */
const CHECKPOINT_AFTER_BYTES = 16 * 1_048_576;

/**
 * Opens an identity's session when there is work for it: for a daemon, which keeps the lock for
 * life, once, and again after trouble; for a command, for the time of its call. Spec 4.1.
 */
export interface SessionKeeper {
  readonly place: AgentConfig;
  /** A daemon's session, while it is open. */
  readonly current: Session | undefined;
  /** Whether the lock is ours for good. */
  readonly isHeld: boolean;
  /** Throws "already_running" when another daemon has the lock. */
  hold(waitMs: number): void;
  using<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Goes on with another configuration: other settings, pins or peers. */
  moveTo(next: AgentConfig): void;
  checkpoint(session: Session, when: "if it has to" | "if it pays"): void;
  close(): void;
}

export function keepSessions(world: World, at: AgentConfig): SessionKeeper {
  let place = at;
  let memory: Memory | undefined;
  let held: { session: Session | undefined; readonly lock: HeldLock } | undefined;
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

  /**
   * Carries out what is decided about keys and tiers; true when the session has to be opened again
   * for it.
   */
  function hasChangedTrust(session: Session): boolean {
    // What is changed before something fails counts from the next session on.
    isTrustStale = true;
    isTrustStale = keepTrust(session);
    if (isTrustStale) session.recorder.flush();
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

  /** A daemon's session is opened again after trouble; the lock stays ours meanwhile. */
  async function usingHeld<T>(
    holding: { session: Session | undefined },
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    try {
      if (holding.session === undefined) {
        holding.session = begin();
        // What we sent last may be in no journal yet, and decisions never are.
        await takeInOwn(holding.session);
        takeInDecisions(holding.session);
      }
      if (hasChangedTrust(holding.session)) {
        closeSession(holding.session);
        holding.session = undefined;
        holding.session = begin();
      }
      return await work(holding.session);
    } catch (error) {
      if (!(error instanceof DeaddropError)) {
        // Memory may be ahead of the disk: it is derived again from journal and logs.
        memory = undefined;
        if (holding.session !== undefined) closeSession(holding.session);
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
      await takeInOwn(session);
      if (hasChangedTrust(session)) {
        closeSession(session);
        session = undefined;
        session = begin();
      }
      await takeInAll(session);
      const result = await work(session);
      session.recorder.flush();
      return result;
    } catch (error) {
      if (!(error instanceof DeaddropError)) memory = undefined;
      throw error;
    } finally {
      if (session !== undefined) closeSession(session);
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

  return {
    get place() {
      return place;
    },
    get current() {
      return held?.session;
    },
    get isHeld() {
      return held !== undefined;
    },
    hold(waitMs) {
      held = { session: undefined, lock: lockFor("daemon", waitMs) };
    },
    using,
    moveTo(next) {
      const isSameFold = JSON.stringify(next.layout.roster) === JSON.stringify(place.layout.roster);
      place = next;
      if (held?.session !== undefined) {
        held.session.recorder.flush();
        closeSession(held.session);
        held.session = undefined;
      }
      if (!isSameFold) memory = undefined;
    },
    checkpoint(session, when) {
      const grown = session.memory.journalEnd - checkpointAt;
      if (when === "if it has to" && grown <= CHECKPOINT_AFTER_BYTES) return;
      session.recorder.flush();
      const { checkpoint } = place.paths;
      if (when === "if it pays" && !isWorthSaving(world.disk, checkpoint, grown)) return;
      saveMemory(world.disk, place, session.memory);
      checkpointAt = session.memory.journalEnd;
    },
    close() {
      if (held?.session !== undefined) closeSession(held.session);
      held?.lock.release();
      held = undefined;
    },
  };
}
