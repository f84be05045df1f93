import { dirname } from "node:path";
import type { Disk } from "../../storage/disk/disk.ts";
import { textOf } from "../../setup/project-files.ts";
import type { Joining } from "./integration.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";

/** What we wrote to a file. */
export interface WrittenFile {
  /** What was there before, without any part of ours; null: no file. */
  readonly before: string | null;
  readonly after: string;
  /** For whom: tools with their scopes. */
  readonly users: readonly string[];
}

/** What we wrote, so that it can be taken back to the last byte. */
export interface Written {
  readonly files: Readonly<Record<string, WrittenFile>>;
  /** Folders that were made for them, each behind the one it is in. */
  readonly folders: readonly string[];
  /** The tools that are joined, where. */
  readonly joined: readonly Joined[];
}

/** A tool that is joined. */
export type Joined = Pick<Joining, "tool" | "scope" | "project">;

const NOTHING: Written = { files: {}, folders: [], joined: [] };

/** The record of one agent's integrations, in its private folder. */
export interface IntegrationRecord {
  read(): Written;
  write(written: Written): void;
}

export function integrationRecord(disk: Disk, path: string): IntegrationRecord {
  return {
    read() {
      const text = textOf(disk, path);
      if (text === undefined) return NOTHING;
      try {
        const value: unknown = JSON.parse(text);
        if (isWritten(value)) return value;
      } catch {
        // Damaged, as below.
      }
      // Our parts are still taken out, one by one.
      return NOTHING;
    },
    write(written) {
      disk.makeFolder(dirname(path), PRIVATE_FOLDER);
      disk.replace(path, Buffer.from(`${JSON.stringify(written, null, 2)}\n`), PRIVATE_FILE);
    },
  };
}

function isWritten(value: unknown): value is Written {
  const { files, folders, joined } = (value ?? {}) as Partial<Record<keyof Written, unknown>>;
  const hasLists = Array.isArray(folders) && Array.isArray(joined);
  return typeof files === "object" && files !== null && hasLists;
}
