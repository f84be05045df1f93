import { Buffer } from "node:buffer";
import { toPlain } from "../../../src/wire/json/json.ts";
import { parseMessage, type Message } from "../../../src/wire/message.ts";
import { BEGIN_MS } from "./scene-folder.ts";

/** Lines of any logs as a conversation: a row each, by their time. */
export function transcriptOf(lines: readonly string[], withBeats: boolean): string {
  const rows: { at: number; row: string }[] = [];
  for (const line of lines) {
    const parsed = parseMessage(Buffer.from(line, "utf8"));
    const row = parsed.ok ? rowOf(parsed.message) : `?? ${line.slice(0, 60)}`;
    const at = parsed.ok ? parsed.message.timestampMs : 0;
    if (parsed.ok && parsed.message.type === "heartbeat" && !withBeats) continue;
    rows.push({ at, row });
  }
  rows.sort((a, b) => a.at - b.at);
  return rows.map(({ at, row }) => `${clock(at - BEGIN_MS)} ${row}`).join("\n");
}

function rowOf({ from, to, type, subject, body }: Message): string {
  const note = type === "heartbeat" ? beatNote(toPlain(body)) : JSON.stringify(subject);
  return `${from} → ${to?.join(",") ?? "*"} ${type} ${note}`;
}

function beatNote(body: unknown): string {
  const { tier, state } = body as { tier?: string; state?: string };
  return `${tier} ${state}`;
}

/** h:mm:ss since the scene began. */
function clock(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${Math.floor(seconds / 3_600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}
