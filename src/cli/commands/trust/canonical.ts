import { Command } from "commander";
import { canonicalBytes, eventId, V30_OMIT, V31_OMIT } from "../../../wire/canonical.ts";
import { parseObject } from "../../../wire/json/json.ts";
import { MAX_LINE_BYTES } from "../../../wire/limits.ts";
import type { Cli } from "../../context.ts";
import { inputLines } from "../../input/input-lines.ts";
import { writeExact } from "../../output/output.ts";
import { safeJson } from "../../../framing/sanitise.ts";

/** `deaddrop canonical`: a fixed machine interface of spec 8.6. */
export function command(cli: Cli): Command {
  return new Command("canonical")
    .summary("print the canonical bytes and the event id of JSON texts")
    .description(
      "Reads JSON texts from standard input, one a line, and prints for each\n" +
        '{"ok":true,"canonical":"…","event_id":"…"} or {"ok":false,"reason":"malformed","detail":"…"}.',
    )
    .option("--v30", "the form that v3.0 signs; it has no event id")
    .action(async (flags: { v30?: boolean }) => {
      for await (const line of inputLines(cli.stdin)) {
        writeExact(cli.stdout, `${safeJson(canonicalVerdict(line, flags.v30 === true))}\n`);
      }
    });
}

function canonicalVerdict(line: Uint8Array | undefined, v30: boolean): Record<string, unknown> {
  if (line === undefined) {
    return { ok: false, reason: "oversized", detail: `longer than ${MAX_LINE_BYTES} bytes` };
  }
  const parsed = parseObject(line);
  if (!parsed.ok) return { ok: false, reason: "malformed", detail: parsed.detail };
  const { value } = parsed;
  if (v30) return { ok: true, canonical: text(canonicalBytes(value, V30_OMIT)) };
  return { ok: true, canonical: text(canonicalBytes(value, V31_OMIT)), event_id: eventId(value) };
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}
