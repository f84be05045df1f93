import { cpSync } from "node:fs";

/** Copies a folder with its modes: without a filter, Node 22 gives folders the usual ones. */
export function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: () => true });
}
