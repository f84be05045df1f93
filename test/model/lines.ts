import { createHash } from "node:crypto";
import { parseObject, type JsonValue } from "../../src/wire/json/json.ts";
import type { ModelLine, Pinned } from "./model.ts";

/** The 64 hex digits for which a short name such as `f12` stands. */
export const idOf = (name: string): string => createHash("sha256").update(name).digest("hex");

export const PINNED: Pinned = {
  wireId: "0d4be1a97725c83f",
  roster: ["forge", "scribe", "ann"],
  unchained: ["ann"],
  epoch: 0,
};

/** An instant, later for a larger number. */
export function instant(number: number): string {
  return new Date(Date.UTC(2026, 5, 1, 10) + number * 1_000).toISOString().replace("Z", "000Z");
}

const asId = (value: JsonValue | undefined): string | null =>
  typeof value === "string" ? value : null;

/**
 * Lines from objects as the specification shows them, one on a line of the text: a short name such as
 * `"f12"` is an id. A line without `event_id` has the first letter of its author and its number.
 */
export function readLines(text: string): readonly ModelLine[] {
  return text
    .split("\n")
    .filter((row) => row.trim() !== "")
    .map((row) => {
      const spelled = row.replaceAll(/"([a-z]u?\d+x?)"/g, (_, name: string) => `"${idOf(name)}"`);
      const parsed = parseObject(Buffer.from(spelled));
      if (!parsed.ok) throw new Error(`${parsed.detail}: ${row}`);
      const fields = parsed.value;
      const author = asId(fields["from"]) ?? "";
      const seq = typeof fields["seq"] === "number" ? fields["seq"] : null;
      const to = fields["to"];
      return {
        author,
        seq,
        id: asId(fields["event_id"]) ?? idOf(`${author.charAt(0)}${seq}`),
        prev:
          asId(fields["prev"]) ??
          (seq === null || seq === 1 ? null : idOf(`${author.charAt(0)}${seq - 1}`)),
        timestamp: asId(fields["timestamp"]) ?? instant(seq ?? 0),
        thread: asId(fields["correlation_id"]) ?? undefined,
        type: asId(fields["type"]) ?? "",
        to: to === "*" ? ["*"] : Array.isArray(to) ? to.map(String) : undefined,
        body: fields["body"] ?? null,
        isSigned: fields["unsigned"] !== true,
      };
    });
}

/** The lines, with a heartbeat at each place that a `prev` leads to and that they leave out. */
export function withChains(lines: readonly ModelLine[]): readonly ModelLine[] {
  const all = [...lines];
  for (const line of lines) {
    for (let seq = (line.seq ?? 1) - 1; seq >= 1; seq -= 1) {
      const isThere = all.some((other) => other.author === line.author && other.seq === seq);
      if (isThere) continue;
      all.push(
        ...readLines(JSON.stringify({ seq, from: line.author, type: "heartbeat", body: {} })),
      );
    }
  }
  return all;
}
