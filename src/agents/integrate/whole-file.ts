import { boundElsewhere, unreadable, type FileEdit } from "./file-edit.ts";

/** A file that is ours alone. `mark`: what every version of ours has in it. */
export function wholeFile(
  path: string,
  tool: string,
  file: { readonly text: string; readonly mark: string; readonly identity?: string },
): FileEdit {
  return {
    path,
    isShared: file.identity === undefined,
    put: (text) => {
      if (text !== undefined && !text.includes(file.mark)) {
        throw unreadable(path, "it is there already, and not of ours");
      }
      if (text !== undefined && file.identity !== undefined && !text.includes(file.identity)) {
        throw boundElsewhere(path, tool);
      }
      return file.text;
    },
    take: (text) => (text.includes(file.mark) ? undefined : text),
  };
}
