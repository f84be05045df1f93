import { parseObject, toPlain, type JsonObject } from "../../wire/json/json.ts";
import { check } from "../../wire/schemas.ts";
import { DeaddropError } from "../../api/errors.ts";

/**
 * A document that the operator pins or keeps has the shape that `schemas/` publishes. The readers
 * in `trust/` have already checked it, with messages for people; this is the second check, and it
 * keeps the published files true. Spec 1.1, 2.1, 3.1.
 */
export function requireDocument(
  name: "config" | "tiers" | "trust",
  path: string,
  bytes: Uint8Array,
): void {
  const parsed = parseObject(bytes);
  const checked = parsed.ok ? check(name, toPlain(parsed.value)) : parsed;
  if (checked.ok) return;
  throw new DeaddropError("config", `${path}: ${checked.detail}`, {
    hint: `correct ${path}, then start again; schemas/${name}.json says what belongs there`,
  });
}

/** What we write has the published shape; anything else is our own bug. Spec 1.2, 3.4. */
export function assertShape(name: "message" | "decision", fields: JsonObject): void {
  const checked = check(name, toPlain(fields));
  if (!checked.ok) throw new Error(`composed a ${name} that is none: ${checked.detail}`);
}
