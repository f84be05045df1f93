import { createHash } from "node:crypto";
import { chmodSync, lstatSync, readFileSync, renameSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const SHEBANG = "#!/bin/sh";
const EXECUTABLE = 0o755;
const MADE = "# made folder: ";

/** What a file in the place of a hook is to us. */
export type FoundHook =
  | { readonly is: "ours"; readonly madeFolder: string | undefined }
  /** Made by us, and changed by somebody since. */
  | { readonly is: "changed" }
  | { readonly is: "foreign" };

/**
 * A hook in POSIX sh that says who made it, and has a digest, so that a change is seen.
 *
 * @param notice its second line: who made it, and what removes it
 * @param madeFolder the first folder on the way to the hook that had to be made; undefined: none
 */
export function signedHook(
  notice: string,
  rows: readonly string[],
  madeFolder: string | undefined,
): string {
  const body = [`${MADE}${JSON.stringify(madeFolder ?? null)}`, ...rows, ""].join("\n");
  return [SHEBANG, notice, `# sha256: ${digestOf(body)}`, body].join("\n");
}

/** Whether a text is a hook with that notice. */
export function recogniseSigned(text: string, notice: string): FoundHook {
  const [shebang, second, digestLine = "", ...rest] = text.split("\n");
  if (shebang !== SHEBANG || second !== notice) {
    return { is: text.includes(notice) ? "changed" : "foreign" };
  }
  const body = rest.join("\n");
  if (digestLine !== `# sha256: ${digestOf(body)}`) return { is: "changed" };
  const made = JSON.parse(rest[0]?.replace(MADE, "") ?? "null") as string | null;
  return { is: "ours", madeFolder: made ?? undefined };
}

function digestOf(body: string): string {
  return createHash("sha256").update(body, "utf8").digest("hex");
}

/** What is in the place of a hook; undefined: nothing. A link is somebody's own. */
export function foundAt(
  path: string,
  recognise: (text: string) => FoundHook,
): FoundHook | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  return stat.isFile() ? recognise(readFileSync(path, "utf8")) : { is: "foreign" };
}

export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Writes a hook by rename. `aside`: where what is there now is moved before; undefined: it is replaced. */
export function writeHook(path: string, text: string, aside: string | undefined): void {
  const temporary = `${path}.deaddrop-${process.pid}`;
  writeFileSync(temporary, text, { mode: EXECUTABLE });
  chmodSync(temporary, EXECUTABLE);
  if (aside !== undefined) renameSync(path, aside);
  renameSync(temporary, path);
}

/** Removes the folders that were made for the hooks, as long as nothing else is in them. */
export function removeMadeFolders(folder: string, upTo: string): void {
  for (let at = folder; ; at = dirname(at)) {
    if (!removedIfEmpty(at) || at === upTo || at === dirname(at)) return;
  }
}

function removedIfEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTEMPTY" || code === "EEXIST") return false;
    throw error;
  }
}
