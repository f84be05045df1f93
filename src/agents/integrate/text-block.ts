import { withBlock, withoutBlock } from "../../setup/agents-file.ts";
import {
  withManagedBlock,
  withoutManagedBlock,
  type ManagedBlock,
} from "../../setup/managed-block.ts";
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

/** Another block of ours in such a file. */
export function managedBlockEdit(path: string, block: ManagedBlock): FileEdit {
  return {
    path,
    isShared: true,
    put: (text = "") => withManagedBlock(block, text, path),
    take: (text) => withoutManagedBlock(block, text),
  };
}
