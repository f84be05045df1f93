import { keyHistory, type KeyLine } from "../../agent/answers/key-history.ts";
import type { Core } from "../../agent/core.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { PinnedKey } from "../../agent/lines/intake.ts";
import { quote } from "../../wire/quote.ts";
import { parseKeyId } from "../../wire/signature.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import type { Cli } from "../context.ts";
import { timeSpan } from "../../sending/words/time-span.ts";
import { emit, table, type Cell, type Paint } from "../output/output.ts";
import { shortId } from "../../framing/short-id.ts";
import { openAudit, type AuditFlags } from "./plans.ts";

/** Lines that are listed for a person; `--json` has all of them. */
const SHOWN_LINES = 200;

/** `deaddrop audit --key`: what a key has signed, for one that may be in other hands. Spec 2.5. */
export async function run(
  cli: Cli,
  files: readonly string[],
  asked: { readonly keyId: string; readonly since: string | undefined },
  flags: AuditFlags,
): Promise<void> {
  const sinceMs = asked.since === undefined ? undefined : sinceOf(asked.since, cli.clock.nowMs());
  const { core, by, trust } = await openAudit(cli, files, flags);
  try {
    const { keyId } = asked;
    const { isActive } = keyOf(core, keyId, by.keys);
    const pins = trust.peers.get(parseKeyId(keyId)?.handle ?? "")?.keys ?? [];
    const pinned = pins.find((each) => each.keyId === keyId);
    const report = {
      ...{ key_id: keyId, keys: by.keys, active: isActive },
      stopped_at: pinned?.deactivatedAt ?? null,
      since: sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
      lines: keyHistory(core, keyId, sinceMs ?? -Infinity),
    };
    emit(cli, flags, report, (paint) => historyText(report, paint, cli.stdout.columns));
  } finally {
    core.close();
  }
}

/** A time, or how long ago. */
function sinceOf(text: string, nowMs: number): number {
  const agoMs = timeSpan(text);
  const ms = agoMs === undefined ? parseTimestamp(text) : nowMs - agoMs;
  if (ms !== undefined) return ms;
  throw new DeaddropError("usage", `--since ${quote(text)} is neither a time nor a duration`, {
    hint: "give a time such as 2026-06-01T10:00:00Z, or how long ago: 30m, 2h, 5d",
  });
}

function keyOf({ place, membership }: Core, keyId: string, keys: string): PinnedKey {
  const handle = parseKeyId(keyId)?.handle ?? "";
  const own = place.believed(handle).keys;
  const key = own.find((each) => each.keyId === keyId);
  if (key !== undefined) return key;
  const all = membership.handles.flatMap((each) => place.believed(each).keys);
  const named = (own.length > 0 ? own : all).map((each) => each.keyId).join(", ");
  throw new DeaddropError("unknown_id", `no key ${quote(keyId)} is known (keys: ${keys})`, {
    hint: `${named === "" ? "none is known here" : `known: ${named}`}; another trust file that has it is named with --trust`,
  });
}

interface History {
  readonly key_id: string;
  readonly active: boolean;
  readonly stopped_at: string | null;
  readonly lines: readonly KeyLine[];
}

function historyText(report: History, paint: Paint, width: number | undefined): string {
  const { key_id: keyId, active, stopped_at: stoppedAt, lines } = report;
  const stopped = active ? "in use" : `stopped${stoppedAt === null ? "" : ` ${stoppedAt}`}`;
  const count = `${lines.length} line${lines.length === 1 ? "" : "s"}`;
  const shown = lines.slice(0, SHOWN_LINES);
  const text = [`${paint("bold", keyId)}  ${stopped}; it has signed ${count}`];
  if (shown.length > 0) text.push("", table(shown.map(rowOf), paint, width));
  if (lines.length > shown.length) {
    text.push(`and ${lines.length - shown.length} more (--json shows all)`);
  }
  if (lines.some(({ corrected_by: by, after_the_end: late }) => by.length === 0 && !late)) {
    text.push("", 'Answer one that is forged:  deaddrop correct <id> "who signed this was not …"');
  }
  if (lines.some(({ after_the_end: late }) => late)) {
    text.push("", "After the end: signed when the key was stopped already, and not believed here.");
  }
  return text.join("\n");
}

function rowOf(line: KeyLine): Cell[] {
  const { corrected_by: by } = line;
  const corrected = by.map((id) => shortId(id)).join(", ");
  return [
    { text: line.place[0] },
    { text: line.place[1] === null ? "-" : `line ${line.place[1]}` },
    { text: shortId(line.event_id), style: "bold" },
    { text: line.type },
    { text: `${line.received ? "received" : "dated"} ${line.at}` },
    line.after_the_end ? { text: "after the end", style: "red" } : { text: "" },
    { text: by.length === 0 ? "" : `corrected by ${corrected}`, style: "yellow" },
    { text: line.subject },
  ];
}
