import { dirname } from "node:path";
import { parse as parseJson } from "jsonc-parser";
import { getStaticTOMLValue, parseTOML } from "toml-eslint-parser";
import type { Disk } from "../../storage/disk/disk.ts";
import { textOf } from "../../setup/project-files.ts";

/** A member of a value that came from a file; undefined where there is none. */
export function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function json(disk: Disk, path: string): Record<string, unknown> {
  return read(disk, path, (text) => parseJson(text, [], { allowTrailingComma: true }) as unknown);
}

export function toml(disk: Disk, path: string): Record<string, unknown> {
  return read(disk, path, (text) => getStaticTOMLValue(parseTOML(text)));
}

/** A tool's own state: what cannot be read of it says nothing. */
function read(
  disk: Disk,
  path: string,
  parsed: (text: string) => unknown,
): Record<string, unknown> {
  try {
    const value = parsed(textOf(disk, path) ?? "");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Whether a folder is trusted, by itself or with one above it. `said`: what the tool has on one; undefined: nothing. */
export function isTrusted(folder: string, said: (at: string) => boolean | undefined): boolean {
  const own = said(folder);
  if (own !== undefined) return own;
  const above = dirname(folder);
  return above !== folder && isTrusted(above, said);
}
