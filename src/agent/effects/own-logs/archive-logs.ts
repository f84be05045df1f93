import { basename, join, relative } from "node:path";
import type { ArchivedFile } from "../../../api/archive.ts";
import { archiveFile, type Archivable } from "../../../storage/archive/archive-file.ts";
import { StorageError, type Disk } from "../../../storage/disk/disk.ts";
import { ownLogs } from "../../../wire/layout.ts";
import type { Session } from "../../session/session.ts";
import { ownLine } from "../../session/environment.ts";
import { recoverOwnLogs } from "../../session/own-logs.ts";

/**
 * Moves our logs, and the files that all agents write, into the archive of a year, those of them that
 * begin in it or before. Spec 3.10. Of the shared files the first agent that gets the lock moves them;
 * the others find them empty. One file's trouble stops no other.
 *
 * `files`: the disk as it is, where a segment is a file of its own.
 */
export function archiveLogs(session: Session, files: Disk, year: number): ArchivedFile[] {
  const { place, world } = session;
  const own = ownLogs(place.layout, place.handle).map(({ name, path }) => ({
    name,
    path: join(place.wire.folder, path),
    // What others have put into our log says nothing of which year it is.
    isAuthors: (line: Uint8Array) => ownLine(name, line, session.ctx) !== undefined,
  }));
  // Between machines one agent archives them: the first of the roster.
  const [first] = place.layout.roster;
  const isRemote = place.layout.roster.some((handle) => world.remote?.isRemote(handle) === true);
  const ofAll =
    isRemote && first !== place.handle ? [] : [place.wire.decisions, place.wire.incidents];
  const shared = ofAll.map((path) => ({
    name: basename(path, ".jsonl"),
    path,
  }));
  return [
    ...own.map((log) =>
      trying(session, log, () => {
        makeDurable(session, log.name);
        const answer = archive(session, files, log, year);
        // The writer had the file open that is a segment now.
        recoverOwnLogs(session);
        return answer;
      }),
    ),
    ...shared.map((file) => trying(session, file, () => archive(session, files, file, year))),
  ];
}

/** Lines that are promised to a log go into it before it is a segment. Throws why they cannot. */
function makeDurable(session: Session, log: string): void {
  const { writer } = session.files.own;
  recoverOwnLogs(session);
  const problem = writer.broken ?? writer.blocked(log) ?? writer.stuck(log);
  if (problem !== undefined) throw problem;
  writer.flush();
}

function archive(
  { place: { wire } }: Session,
  files: Disk,
  file: Archivable,
  year: number,
): ArchivedFile {
  const done = archiveFile(files, wire.archive, file, year);
  const name = relative(wire.folder, file.path);
  if (done.outcome !== "archived") return { file: name, outcome: done.outcome };
  const { to, bytes } = done;
  return { file: name, outcome: "archived", to: relative(wire.folder, to), bytes };
}

function trying(
  { place: { wire } }: Session,
  { path }: Archivable,
  work: () => ArchivedFile,
): ArchivedFile {
  try {
    return work();
  } catch (error) {
    // Anything but trouble with files is our own bug and goes through.
    if (!(error instanceof StorageError)) throw error;
    const file = relative(wire.folder, path);
    return { file, outcome: "failed", problem: error.message, hint: error.hint };
  }
}
