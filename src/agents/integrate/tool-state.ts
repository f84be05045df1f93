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
