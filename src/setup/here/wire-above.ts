import fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { gitFolderOf } from "../wire/git-exclude.ts";
import { calling } from "../../storage/disk/errno.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import type { Places } from "../../storage/paths.ts";
import { isRememberedWire } from "../../storage/private/private-folders.ts";

/** What the folder of a wire is called when nothing else is said. Spec 4.4. */
const WIRE_FOLDER = "_coordination";
const OTHERS_WRITE = 0o022;

/**
 * The wire that is meant when none is named: the nearest `_coordination/` upward. The search ends
 * at the top of the git work tree (of a linked one the main one is looked at too), at the home
 * folder and where another filesystem begins. Throws DeaddropError when the nearest one is neither
 * joined nor this user's own: what another user has put in the way is not written to unasked.
 * Undefined when there is none. Spec 4.4.
 */
export function wireAbove(cwd: string, home: string, places: Places): string | undefined {
  for (const folder of searched(cwd, home)) {
    const found = basename(folder) === WIRE_FOLDER ? folder : join(folder, WIRE_FOLDER);
    const named = lstatOf(found);
    if (named === undefined) continue;
    const strangersLink = named.isSymbolicLink() && !isOurs(named);
    // Another user's link is not even followed.
    if (!strangersLink && statOf(found)?.isDirectory() !== true) continue;
    const objection = strangersLink
      ? `it is a link that belongs to user ${named.uid}`
      : objectionTo(found, places);
    if (objection === undefined) return found;
    throw new DeaddropError("config", `${found}: ${objection}, and you have not joined it`, {
      hint: `if it is the wire that you mean, name it once: --wire ${found}`,
    });
  }
  return undefined;
}

function* searched(cwd: string, home: string): Generator<string> {
  const homeStat = statOf(home);
  for (let folder = cwd; ; folder = dirname(folder)) {
    yield folder;
    const stat = statOf(folder);
    const git = lstatOf(join(folder, ".git"));
    if (git !== undefined) {
      const main = isOurs(git) ? mainOf(folder) : undefined;
      if (main !== undefined) yield main;
      return;
    }
    const parent = dirname(folder);
    if (parent === folder || isSame(stat, homeStat)) return;
    if (stat?.dev !== statOf(parent)?.dev) return;
  }
}

/** The main work tree of a linked one, whose `.git` names a folder in that of the main one. */
function mainOf(top: string): string | undefined {
  const common = gitFolderOf(top);
  const main = common === undefined ? undefined : dirname(common);
  return main === top ? undefined : main;
}

/** What speaks against a folder that nobody has named; nothing when it was joined or is our own. */
function objectionTo(folder: string, places: Places): string | undefined {
  const stat = statOf(folder);
  if (stat !== undefined && isOurs(stat) && (stat.mode & OTHERS_WRITE) === 0) return undefined;
  const real = calling(folder, "looking", () => fs.realpathSync(folder));
  if (isRememberedWire(nodeDisk(), places, real)) return undefined;
  if (stat !== undefined && !isOurs(stat)) return `it belongs to user ${stat.uid}`;
  return "other users can write there";
}

/** Root could do anything anyway. */
function isOurs({ uid }: fs.Stats): boolean {
  return uid === 0 || uid === process.getuid?.();
}

function isSame(a: fs.Stats | undefined, b: fs.Stats | undefined): boolean {
  return a !== undefined && a.dev === b?.dev && a.ino === b.ino;
}

function statOf(path: string): fs.Stats | undefined {
  return calling(path, "looking", () => fs.statSync(path, { throwIfNoEntry: false }));
}

function lstatOf(path: string): fs.Stats | undefined {
  return calling(path, "looking", () => fs.lstatSync(path, { throwIfNoEntry: false }));
}
