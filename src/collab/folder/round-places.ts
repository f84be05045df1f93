import { dirname, join, relative, resolve, sep } from "node:path";
import type { Deliverables } from "../documents/protocol-file.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";

/** Where deliverables are. */
export interface DeliverablePlace {
  readonly folder: string;
  /** The real path of what they must not lead out of: the round's folder, or the repository. */
  readonly boundary: string;
}

/** The place of the deliverables, or what is wrong with it. `folder`: the round's. Spec 6.2. */
export function deliverablePlace(
  disk: Disk,
  folder: string,
  { mode, dir }: Pick<Deliverables, "mode" | "dir">,
  repoRoot: string | undefined,
): DeliverablePlace | string {
  const real = disk.realPath(folder);
  if (mode === "internal") return { folder: join(real, dir), boundary: real };
  const root = resolve(real, repoRoot ?? "");
  if (repoRoot === undefined || !isBelow(root, real)) {
    return `repoRoot ${repoRoot ?? ""} is no ancestor of the folder`;
  }
  return { folder: join(root, dir), boundary: root };
}

/** Whether a path is below a folder, both real. */
export function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`);
}

/** What is wrong with the way to a deliverable: no link of it may lead out. */
export function escapeProblem(disk: Disk, path: string, boundary: string): string | undefined {
  try {
    const holder = disk.realPath(dirname(path));
    if (holder === boundary || isBelow(boundary, holder)) return undefined;
    return "is outside, through a symbolic link";
  } catch (error) {
    if (error instanceof StorageError && error.code === "missing") return "is missing";
    throw error;
  }
}
