import { parsePlainObject } from "./json/plain-object.ts";

/**
 * The id of a wire as the bytes of a `config.json` claim it; undefined where they claim none. Anybody
 * may have written them: it helps to find something, or to notice another wire, and is never
 * believed. What an agent goes by is its pinned configuration. Spec 1.1.
 */
export function claimedWireId(bytes: Uint8Array | undefined): string | undefined {
  const id = claimed(bytes).wire_id;
  return typeof id === "string" ? id : undefined;
}

/** The roster that a `config.json` claims, in the same way; empty where it claims none. */
export function claimedRoster(bytes: Uint8Array | undefined): readonly string[] {
  const { roster } = claimed(bytes);
  return Array.isArray(roster) ? roster.filter((name) => typeof name === "string") : [];
}

function claimed(bytes: Uint8Array | undefined): { wire_id?: unknown; roster?: unknown } {
  return (bytes && parsePlainObject(bytes)) ?? {};
}
