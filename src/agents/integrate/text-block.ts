import { withBlock, withoutBlock } from "../../setup/agents-file.ts";
import type { FileEdit } from "./file-edit.ts";

/** The block for agents in a file of instructions that a tool reads. */
export function blockEdit(path: string): FileEdit {
  return {
    path,
    isShared: true,
    put: (text = "") => withBlock(text, path),
    take: (text) => withoutBlock(text),
  };
}
