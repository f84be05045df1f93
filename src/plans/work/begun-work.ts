import { join } from "node:path";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";
import { parseReport, type Report } from "../report/report.ts";

/**
 * What a worker has begun and not shipped yet, one file for each attempt: empty from before the program
 * starts, then the report. A worker that is started again begins none of them a second time. Spec 7.5.
 */
export interface BegunWork {
  isBegun(name: string): boolean;
  /** Undefined: not begun, or the worker ended before its program did. */
  report(name: string): Report | undefined;
  /** Durable when it returns. */
  noteBegun(name: string): void;
  noteReport(name: string, report: Report): void;
  /** The report is on the wire. */
  forget(name: string): void;
}

const MAX_REPORT_BYTES = 64 * 1_024;

/** Keeps it in a folder of the agent. A name consists of hex digits and spaces. */
export function begunWork(disk: Disk, folder: string): BegunWork {
  const fileOf = (name: string): string => join(folder, `${name.replaceAll(" ", "-")}.json`);
  const write = (name: string, text: string): void => {
    disk.makeFolder(folder, PRIVATE_FOLDER);
    disk.replace(fileOf(name), Buffer.from(text, "utf8"), PRIVATE_FILE);
  };
  return {
    isBegun: (name) => disk.stat(fileOf(name)) !== undefined,
    report(name) {
      const bytes = readWhole(disk, fileOf(name), MAX_REPORT_BYTES);
      const read = bytes === undefined ? undefined : parseReport(bytes);
      return read?.ok === true ? read.report : undefined;
    },
    noteBegun: (name) => write(name, ""),
    noteReport: (name, report) => write(name, JSON.stringify(report)),
    forget(name) {
      if (disk.stat(fileOf(name)) !== undefined) disk.remove(fileOf(name));
    },
  };
}
