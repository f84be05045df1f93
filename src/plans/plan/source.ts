import { readJsonSource } from "./json-source.ts";
import type { SourceRead } from "./plan-source.ts";
import { readYamlSource } from "./yaml-source.ts";

/** A longer plan is not read. */
export const MAX_PLAN_BYTES = 1_048_576;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Reads a document. `name` ends in `.json` for JSON; all else is YAML. Hostile bytes are a value. */
export function readSource(bytes: Uint8Array, name: string): SourceRead {
  if (bytes.length > MAX_PLAN_BYTES) {
    const text = `${bytes.length} bytes; a plan has at most ${MAX_PLAN_BYTES}`;
    return { ok: false, problems: [{ level: "error", line: undefined, column: undefined, text }] };
  }
  const text = textOf(bytes);
  if (text === undefined) {
    const problem = { line: undefined, column: undefined, text: "not valid UTF-8" };
    return { ok: false, problems: [{ level: "error", ...problem }] };
  }
  return name.toLowerCase().endsWith(".json") ? readJsonSource(text) : readYamlSource(text);
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
