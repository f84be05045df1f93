/**
 * The object in these bytes as `JSON.parse` reads it; undefined where there is none. It is for notes of our own,
 * which hooks and every command read at their start: the strict reader of the wire takes longer to load.
 */
export function parsePlainObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return value as Readonly<Record<string, unknown>>;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
