import { parseObject, toPlain } from "../../wire/json/json.ts";
import { check } from "../../wire/schemas.ts";
import { DeaddropError } from "../../api/errors.ts";

/**
 * A document that the operator pins or keeps has the shape that `schemas/` publishes. The readers
 * in `trust/` have already checked it, with messages for people; this is the second check, and it
 * keeps the published files true. Spec 1.1, 2.1, 4.9.
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
