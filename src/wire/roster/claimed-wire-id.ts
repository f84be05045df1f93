/**
 * The id of a wire as the bytes of a `config.json` claim it; undefined where they claim none. Anybody
 * may have written them: it helps to find something, or to notice another wire, and is never
 * believed. What an agent goes by is its pinned configuration. Spec 1.1.
 */
export function claimedWireId(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  try {
    const config = JSON.parse(Buffer.from(bytes).toString("utf8")) as { wire_id?: unknown } | null;
    return typeof config?.wire_id === "string" ? config.wire_id : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
