import { compareLog } from "../intake/trouble/log-anomalies.ts";
import { observe } from "../state/log-status.ts";
import { seeHead } from "../intake/commit-batch.ts";
import { beginLogs } from "../intake/history-mark.ts";
import { reportHolds, reportRecovery } from "../intake/trouble/recovery-notices.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { emptyMemory, type Memory } from "../state/agent-state.ts";
import { restoreInbox } from "../state/inbox-recovery.ts";
import { replayJournal } from "../state/journal-replay.ts";
import { restoreNotices } from "../state/notices-recovery.ts";
import { correctTimes } from "../state/receipt-times.ts";
import { contextOf, envOf } from "./environment.ts";
import { nothingAhead } from "../intake/read-ahead.ts";
import { lookAtOwnLogs, noteSent, openOwnLogs } from "./own-logs.ts";
import type { StorageTroubles } from "../state/storage-troubles.ts";
import { Recorder } from "./recorder.ts";
import { isOwn, type Session } from "./session.ts";
import type { World, Files } from "./world.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { openHeads } from "../../storage/own-log/heads.ts";
import { openInbox } from "../../storage/files/inbox.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { openQuarantine } from "../../storage/files/quarantine.ts";
import { openIndexedJournal } from "../state/indexed-journal.ts";

/** What a session is opened with beside the world: it outlives the session. */
export interface SessionBase {
  readonly place: AgentConfig;
  readonly memory: Memory;
  readonly troubles: StorageTroubles;
}

/**
 * Opens and restores everything; the caller holds the identity's lock. The memory of the session is
 * another one than that of `base` when its checkpoint does not fit the inbox. Spec 4.1.
 */
export function openSession(world: World, base: SessionBase): Session {
  const { session, isComplete } = open(world, base);
  if (isComplete) return session;
  closeSession(session);
  return open(world, { ...base, memory: emptyMemory(base.place, world.clock.monoMs()) }).session;
}

function open(world: World, { place, memory, troubles }: SessionBase) {
  const ctx = contextOf(place);
  const env = envOf(place, memory, world);
  const opened = openFiles(world.disk, place.paths, memory);
  const own = openOwnLogs(world, place, ctx, opened);
  const files = { ...opened, own, shared: { notBeforeMs: 0 }, troubles };
  const recorder = new Recorder({ world, place, memory, env, journal: files.journal });
  const session: Session = {
    world,
    place,
    memory,
    env,
    ctx,
    files,
    recorder,
    ahead: nothingAhead(),
  };
  try {
    return { session, isComplete: begin(session) };
  } catch (error) {
    // The caller tries again while the disk is in trouble.
    closeSession(session);
    throw error;
  }
}

export function closeSession({ files }: Pick<Session, "files">): void {
  files.own.writer.close();
  files.journal.close();
  files.inbox.close();
  files.notices.close();
  files.quarantine.close();
}

/**
 * Our own logs first, then the journal and the inbox, then what the operator has to be told. False when
 * an empty memory has to be begun with.
 */
function begin(session: Session): boolean {
  const { world, place, memory, files, recorder } = session;
  const { disk } = world;
  const report = lookAtOwnLogs(files);
  noteSent(memory, files.own.writer.promised, world.clock.wallMs());
  const holdsAll = (name: string) =>
    ["same", "reordered"].includes(compareLog(session, name).verdict);
  const fold: Recorder["fold"] = (event) => recorder.fold(event);
  replayJournal({ disk, place, memory, fold, holdsAll }, files.journal);
  // What was taken in last may be in the journal alone.
  for (const intake of memory.intakes.values()) {
    if (!isOwn(session, intake)) seeHead(session, intake);
    // The pins may be others than when a line began to wait for the comparison of digits.
    const { status } = intake;
    if (status.kind === "waiting" && status.why === "comparison") {
      observe(intake, { saw: "stop", forMs: 0 }, world.clock.monoMs());
    }
  }
  correctTimes(session);
  const isComplete = restoreInbox({ disk, place, memory, files });
  if (isComplete) {
    restoreNotices({ memory, files });
    beginLogs(session);
  }
  reportRecovery(session, report);
  if (isComplete) reportHolds(session);
  return isComplete;
}

/** All of an agent's own files, or none of them. */
function openFiles(
  disk: Disk,
  paths: AgentPaths,
  memory: Pick<Memory, "journalEnd" | "indexed">,
): Omit<Files, "own" | "shared" | "troubles"> {
  const opened: { close(): void }[] = [];
  const kept = <T extends { close(): void }>(file: T): T => {
    opened.push(file);
    return file;
  };
  try {
    return {
      quarantine: kept(openQuarantine(disk, paths.quarantine)),
      heads: openHeads(disk, paths.heads),
      journal: kept(openIndexedJournal(disk, paths, memory.journalEnd, memory.indexed)),
      inbox: kept(openInbox(disk, paths.inbox)),
      notices: kept(openInbox(disk, paths.notices)),
    };
  } catch (error) {
    for (const file of opened) file.close();
    throw error;
  }
}
