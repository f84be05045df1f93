import { join } from "node:path";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";
import { parseReport, type Report } from "../report/report.ts";

const MAX_REPORT_BYTES = 64 * 1_024;

export type BegunWork = ReturnType<typeof begunWork>;

/**
 * What a worker has begun and not shipped yet, one file for each attempt in a folder of the agent: empty from
 * before the program starts, then the report. A worker that is started again begins none of them a second
 * time. A name consists of hex digits and spaces; what is written is durable on return. Spec 7.5.
 */
export function begunWork(disk: Disk, folder: string) {
  const fileOf = (name: string): string => join(folder, `${name.replaceAll(" ", "-")}.json`);
  const write = (name: string, text: string): void => {
    disk.makeFolder(folder, PRIVATE_FOLDER);
    disk.replace(fileOf(name), Buffer.from(text, "utf8"), PRIVATE_FILE);
  };
  return {
    isBegun: (name: string): boolean => disk.stat(fileOf(name)) !== undefined,
    /** Undefined: not begun, or the worker ended before its program did. */
    report(name: string): Report | undefined {
      const bytes = readWhole(disk, fileOf(name), MAX_REPORT_BYTES);
      const read = bytes === undefined ? undefined : parseReport(bytes);
      return read?.ok === true ? read.report : undefined;
    },
    noteBegun: (name: string): void => write(name, ""),
    noteReport: (name: string, report: Report): void => write(name, JSON.stringify(report)),
    /** The report is on the wire. */
    forget: (name: string): void => disk.remove(fileOf(name)),
  };
}
