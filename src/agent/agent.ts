import { newBeatTimers, nextBeatDueMs, planBeats } from "../protocol/heartbeats/beat-timers.ts";
import { lastBeats } from "../protocol/heartbeats/beats.ts";
import { decide } from "../protocol/core.ts";
import { unreadCount } from "../protocol/receipts/receipts.ts";
import { safeMode } from "../protocol/incidents/safe-mode.ts";
import { StorageError, type Disk } from "../storage/disk/disk.ts";
import { lostPast } from "../trust/policy/policy-drift.ts";
import type { Draft } from "../wire/compose.ts";
import type { ReclaimAnswer, SendAnswer, StatusChange } from "../api/client.ts";
import type { HoldsView } from "../api/holds.ts";
import type { ViewArgs, ViewName, Views } from "../api/views.ts";
import type { World } from "./session/world.ts";
import { DeaddropError } from "../api/errors.ts";
import { doable, isOpen, perform } from "./effects/run-effects.ts";
import { restoreInbox } from "./state/inbox-recovery.ts";
import { loadPlace, type AgentConfig, type PlaceRequest } from "./config/agent-config.ts";
import { resetPeer } from "./effects/peer-reset.ts";
import { publishState } from "./effects/published-state.ts";
import { unreadIds } from "./state/unread.ts";
import { reclaim } from "./effects/reclaim.ts";
import { mendBlocked, sendGroups } from "./effects/append-own.ts";
import type { Session } from "./session/session.ts";
import { keepSessions } from "./session/session-lifecycle.ts";
import { view } from "./views/views.ts";
import { guardWire, newWireGuard, type WireGuard } from "./effects/shared-file-watch.ts";

/** Decide and act again until nothing is left to do, at most so often in one tick. */
const MAX_PASSES = 16;
/** One tick takes in for so long: then sends of our own, beats and deadlines have their turn. */
const TAKE_IN_MS = 50;

/**
 * One identity on one wire, without a process around it: the daemon, the command line, the library
 * and the simulator all work through this. Calls do not overlap; the caller queues them.
 */
export interface Agent {
  readonly place: AgentConfig;
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
  sync(): Promise<void>;
  /** One last beat `paused`, everything synced. */
  farewell(): Promise<void>;
  close(): void;
}

/** A private copy that was changed by hand does not void what is known, either. Spec 1.1. */
function refuseLostPast({ config, layout, handle }: AgentConfig, next: AgentConfig): void {
  if (next.config.roster.length === 0) return;
  const problem = lostPast({ ...config, roster: layout.roster }, next.config, handle);
  if (problem === undefined) return;
  throw new DeaddropError("config", problem, {
    hint: `put ${next.paths.pinnedConfig} back as it was; until then the old settings hold`,
  });
}

/** Loads and checks an agent's place. Nothing is locked before a call needs it. Spec 3.9. */
export function openAgent(world: World, request: PlaceRequest): Agent {
  const keeper = keepSessions(world, loadPlace(world.disk, world.places, request));
  const { using, checkpoint } = keeper;
  let timers = newBeatTimers();
  let guard: WireGuard = newWireGuard();

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
    if (isKnown && !inbox.stands())
      restoreInbox({ disk: world.disk, place: keeper.place, memory: known, files });
    if (unreadCount(known.state.receipts, env) === 0) inbox.rotate(inbox.end);
  }

  return {
    get place() {
      return keeper.place;
    },
    disk: world.disk,
    monoMs: () => world.clock.monoMs(),
    async hold(waitMs) {
      keeper.hold(waitMs);
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
        checkpoint(session, "if it has to");
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
          if (!keeper.isHeld) await session.takeInOwn();
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
        return view(session, name, args, keeper.isHeld);
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
      refuseLostPast(keeper.place, next);
      keeper.moveTo(next);
      guard = newWireGuard();
      return Promise.resolve();
    },
    nextDueMs() {
      const session = keeper.current;
      if (session === undefined) return Infinity;
      const { state, intakes } = session.memory;
      const dueMs = [...intakes.values()].map(({ status }) => status.dueMs);
      const waits = [...dueMs, session.shared.notBeforeMs].filter(
        (atMs) => atMs > world.clock.monoMs(),
      );
      const isOurs = (log: string): boolean => isOpen(session, log);
      const beats = nextBeatDueMs(timers, state.heartbeats, session.env, isOurs);
      return Math.min(beats, ...waits);
    },
    sync: () =>
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
    close: () => keeper.close(),
  };
}
