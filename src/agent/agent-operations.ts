import type { RequestKey, SendAnswer } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import type { OperatedAgent } from "../api/service.ts";
import { safeMode } from "../protocol/incidents/safe-mode.ts";
import { NOTICES_READ } from "../protocol/notices.ts";
import { StorageError } from "../storage/disk/disk.ts";
import type { Draft } from "../wire/compose.ts";
import { notSent, sendGroups } from "./effects/append-own.ts";
import { answeredBefore } from "./effects/send-once.ts";
import { notifyOnce } from "./effects/notify-agent.ts";
import { archiveLogs } from "./effects/own-logs/archive-logs.ts";
import { moveLogs } from "./effects/own-logs/move-logs.ts";
import { resetPeer } from "./effects/peer-reset.ts";
import { reclaim } from "./effects/own-logs/reclaim.ts";
import { readBack } from "./effects/rounds.ts";
import { isPassing } from "./state/storage-troubles.ts";
import { mayPark } from "../protocol/requests/parking.ts";
import type { SessionKeeper } from "./session/session-lifecycle.ts";
import type { World } from "./session/world.ts";
import { unreadIds } from "./state/unread.ts";
import { view } from "./views/views.ts";
import { takeInOwn } from "./intake/take-in.ts";

/** What operations do within one session, each in a turn of its own. */
export function sessionOperations(
  world: World,
  keeper: SessionKeeper,
): Omit<OperatedAgent, "look" | "reload"> {
  const using: SessionKeeper["using"] = (work) => keeper.using(work);
  return {
    view: (name, args) =>
      keeper.reading(async (session) => {
        await readBack(session);
        const isDaemon = keeper.isLocked || world.daemonElsewhere !== undefined;
        return view(session, name, args, isDaemon);
      }),
    markRead: (ids) =>
      using(async (session) => {
        if (ids !== "all" && ids.includes(NOTICES_READ)) {
          const { unread } = session.memory.state.notices;
          const at = session.world.clock.wallMs();
          if (unread > 0) session.recorder.local({ kind: "told", key: NOTICES_READ, at });
          return Promise.resolve({ read: unread });
        }
        const before = unreadIds(session.memory.state, ids);
        if (before > 0)
          session.recorder.local({ kind: "read", ids, at: session.world.clock.wallMs() });
        return Promise.resolve({ read: before });
      }),
    setStatus: (status) =>
      using(async (session) => {
        session.recorder.local({ kind: "status", at: session.world.clock.wallMs(), ...status });
        return Promise.resolve();
      }),
    notify: (matter) =>
      using(async (session) => Promise.resolve({ told: notifyOnce(session, matter) })),
    async sendOnce(drafts, key) {
      const [answer] = await sendAndReadBack(world, keeper, [drafts], key);
      if (answer === undefined) throw new Error("what was sent has no answer");
      return answer;
    },
    answered: (key) =>
      keeper.reading(async (session) => {
        await readBack(session);
        return answeredBefore(session, key) ?? null;
      }),
    wake: () =>
      using(async (session) => {
        await readBack(session);
        const { parked } = session.memory.state.heartbeats.parking;
        if (parked === undefined) return { woken: false };
        const { by } = parked;
        session.recorder.local({ kind: "woken", by, at: session.world.clock.wallMs() });
        return { woken: true };
      }),
    resetPeer: (peer) => using((session) => resetPeer(session, peer)),
    reclaim: (from) => using((session) => reclaim(session, from)),
    archive: (year) =>
      using(async (session) => {
        const now = new Date(session.world.clock.wallMs()).getUTCFullYear();
        const closed = year ?? now - 1;
        if (closed > now) {
          throw new DeaddropError("usage", `the year ${closed} has not begun`, {
            hint: `give ${now} or an earlier year`,
          });
        }
        await takeInOwn(session);
        return { year: closed, files: archiveLogs(session, keeper.files, closed) };
      }),
  };
}

/**
 * The groups of SendingAgent.send; what was sent is read back where no daemon does it. The only group
 * of a `key` is not sent again if it was sent before.
 */
export async function sendAndReadBack(
  { log }: World,
  keeper: SessionKeeper,
  groups: readonly (readonly Draft[])[],
  key?: RequestKey,
): Promise<SendAnswer[]> {
  let answers: SendAnswer[] | undefined;
  try {
    return await keeper.using(async (session) => {
      // A resume that was just sent counts at once.
      if (safeMode(session.memory.state.incidents, session.env) !== undefined) {
        await readBack(session);
      }
      if (key !== undefined) {
        await readBack(session);
        const before = answeredBefore(session, key);
        if (before !== undefined) return [before];
      }
      await moveLogs(session);
      answers = sendGroups(session, groups, key);
      // The next sender has to see that we are parked.
      if (groups.flat().some(mayPark)) await readBack(session);
      // A daemon's next round reads it back, or a view that is asked for before that.
      if (!keeper.isLocked) await takeInOwn(session);
      return answers;
    });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (answers === undefined) throw isPassing(error) ? notSent(error) : error;
    // The line is promised: if we answered with an error, the caller would send it twice.
    log.warn({ code: error.code }, `sent, but not read back: ${error.message}`);
    return answers;
  }
}
