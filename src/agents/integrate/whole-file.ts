import { boundElsewhere, unreadable, type FileEdit, type Owner } from "./file-edit.ts";
import { isOfAnother, ownerOf, type Joining } from "./integration.ts";
import { join } from "node:path";

/**
 * A file that is ours alone. `mark`: what every version of ours has in it;
 * `identified`: where it says whom it speaks for.
 */
export function wholeFile(
  path: string,
  owner: Owner,
  file: { readonly text: string; readonly mark: string; readonly identified?: RegExp },
): FileEdit {
  return {
    path,
    isShared: file.identified === undefined,
    put: (text) => {
      if (text !== undefined && !text.includes(file.mark)) {
        throw unreadable(path, "it is there already, and not of ours");
      }
      const named = text === undefined ? undefined : file.identified?.exec(text)?.[0];
      if (named !== undefined && isOfAnother(named, owner)) {
        throw boundElsewhere(path, [owner.tool]);
      }
      return file.text;
    },
    take: (text) => (text.includes(file.mark) ? undefined : text),
  };
}

/** Our skill in a folder of skills. */
export function skillEdit(at: Joining, ...folder: readonly string[]): FileEdit {
  const path = join(...folder, "deaddrop", "SKILL.md");
  return wholeFile(path, ownerOf(at), { text: at.skill, mark: "name: deaddrop" });
}
