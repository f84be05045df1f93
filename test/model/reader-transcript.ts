// A reading as a person can follow it: one event on a line, ids as the specification writes them.
import { isJsonObject, parseObject, type JsonValue } from "../../src/wire/json/json.ts";
import { testKey } from "./reader-lines.ts";
import type { Expected, ReaderEvent, SeqId, Verdict } from "./reader.ts";

const BRANCHES = ["", "x", "y", "z"];
const MOST_KEYS = 40;

/** Each event, with what changed by it of verdicts, forks and `whole`. */
export function printReading(
  events: readonly ReaderEvent[],
  expected: readonly Expected[],
): readonly string[] {
  const names = nameLines(expected);
  const startMs = events[0]?.atMs ?? 0;
  return events.map((event, index) => {
    const now = expected[index];
    const before = expected[index - 1];
    const minutes = ((event.atMs - startMs) / 60_000).toFixed(1);
    const effect = now === undefined ? [] : describeChanges(names, now, before);
    return [`${index} ${minutes} min: ${describeEvent(names, event)}`, ...effect].join("; ");
  });
}

/** `s7` is scribe's line 7, `s7x` another one there, `su1` an unchained one. */
function nameLines(expected: readonly Expected[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const [id, { author, seq }] of expected.flatMap(({ lines }) => [...lines])) {
    if (names.has(id)) continue;
    const letter = author.charAt(0);
    for (let count = 0; !names.has(id); count += 1) {
      const branch = BRANCHES[count] ?? `-${count}`;
      const name = seq === null ? `${letter}u${count + 1}` : `${letter}${seq}${branch}`;
      if (taken.has(name)) continue;
      taken.add(name);
      names.set(id, name);
    }
  }
  return names;
}

const nameId = (names: ReadonlyMap<string, string>, id: string): string =>
  names.get(id) ?? id.slice(0, 8);

const nameOfPlace = (
  names: ReadonlyMap<string, string>,
  place: SeqId | null | undefined,
): string => (place === null || place === undefined ? "none" : nameId(names, place[1]));

function nameKey(handle: string, keyId: string): string {
  for (let number = 1; number <= MOST_KEYS; number += 1) {
    const key = testKey(handle, number);
    if (key.keyId === keyId || key.base64 === keyId) return `${handle}'s key ${number}`;
  }
  return keyId;
}

function describeEvent(names: ReadonlyMap<string, string>, event: ReaderEvent): string {
  switch (event.kind) {
    case "caught-up":
    case "clock":
      return event.kind;
    case "found": {
      const { carrier, line, isHistorical } = event;
      const file = `${carrier.owner}${carrier.reader === null ? "" : ` to ${carrier.reader}`}`;
      return `${isHistorical ? "historical " : ""}${describeLine(names, line)} in ${file}`;
    }
    case "pin":
    case "verify":
      return `${event.kind} ${nameKey(event.author, event.key)}`;
    case "tier":
      return `${event.author} is ${event.tier}`;
    case "block":
      return `${event.isBlocked ? "block" : "unblock"} ${event.author}`;
    case "deactivate":
    case "revoke": {
      const last = event.last === undefined ? "whole" : nameOfPlace(names, event.last);
      return `${event.kind} ${nameKey(event.author, event.keyId)} after ${last}`;
    }
    case "follow":
      return `follow ${nameOfPlace(names, event.place)}`;
  }
}

function describeLine(names: ReadonlyMap<string, string>, line: Uint8Array): string {
  const parsed = parseObject(line);
  if (!parsed.ok) return `${line.length} bytes of junk`;
  const text = (key: string): string => asText(parsed.value[key]);
  const { seq, body } = parsed.value;
  const name = nameId(names, text("event_id"));
  const prev = seq === undefined ? "" : ` after ${nameId(names, text("prev"))}`;
  const key = nameKey(text("from"), text("public_key_id"));
  const does = isJsonObject(body) ? ` ${asText(body["action"] ?? body["revokes"])}` : "";
  return `${name}${prev}: ${text("type")}${does} by ${key}`;
}

const asText = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

function describeChanges(
  names: ReadonlyMap<string, string>,
  now: Expected,
  before: Expected | undefined,
): readonly string[] {
  const changes: string[] = [];
  if (now.isIgnored) changes.push("ignored");
  if (now.out !== null) changes.push(`out ${now.out}`);
  for (const [id, { verdict }] of now.lines) {
    const word = describeVerdict(verdict);
    const earlier = before?.lines.get(id)?.verdict;
    if (earlier === undefined || describeVerdict(earlier) !== word)
      changes.push(`${nameId(names, id)} ${word}`);
  }
  for (const [author, { whole, forkAt, struck, heldFor }] of Object.entries(now.authors)) {
    const earlier = before?.authors[author];
    if (nameOfPlace(names, whole) !== nameOfPlace(names, earlier?.whole))
      changes.push(`whole ${nameOfPlace(names, whole)}`);
    if (forkAt !== (earlier?.forkAt ?? null)) changes.push(`fork of ${author} at ${forkAt}`);
    if (heldFor !== (earlier?.heldFor ?? null)) changes.push(`${author} held for ${heldFor}`);
    if (struck.length !== (earlier?.struck.length ?? 0))
      changes.push(`struck ${struck.map((id) => nameId(names, id)).join(" ")}`);
  }
  return changes;
}

function describeVerdict(verdict: Verdict): string {
  if (verdict.is === "refused") return `refused ${verdict.reason}`;
  if (verdict.is === "waits") return `waits ${verdict.for}`;
  return verdict.is === "mail" && verdict.isAfterGap ? "mail after a gap" : verdict.is;
}
