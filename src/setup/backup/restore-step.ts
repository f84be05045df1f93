import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";

/** One change of a restore. A file is the old or the new one, whenever the machine dies. */
export type RestoreStep =
  | { readonly do: "write"; readonly path: string; readonly bytes: Uint8Array }
  | { readonly do: "remove"; readonly path: string };

export function write(path: string, bytes: Uint8Array): RestoreStep {
  return { do: "write", path, bytes };
}

/** Without what is done already. */
export function stillToDo(disk: Disk, steps: readonly RestoreStep[]): readonly RestoreStep[] {
  return steps.filter((step) => {
    const stat = disk.stat(step.path);
    if (step.do === "remove" || stat === undefined)
      return (step.do === "remove") === (stat !== undefined);
    const here = (stat.mode & 0o077) === 0 ? readWhole(disk, step.path) : undefined;
    return here === undefined || Buffer.compare(here, step.bytes) !== 0;
  });
}

export function take(disk: Disk, step: RestoreStep): void {
  if (step.do === "write") disk.replace(step.path, step.bytes, PRIVATE_FILE);
  else disk.remove(step.path);
}
