import { agentName } from "../../wire/handle.ts";
import type { JsonObject, JsonValue } from "../../wire/json/json.ts";
import { MAX_ROSTER } from "../../wire/limits.ts";
import type { Absence, Absences, LogPlace, Return } from "../../wire/roster/members.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { shown, type DocumentReader } from "./document.ts";

/** How often one handle may leave and come back. */
const MAX_ABSENCES = 64;

/** Reads `left` of `config.json`: who left, with its last lines, and who came back. Spec 1.1. */
export function readLeft(
  reader: DocumentReader,
  fields: JsonObject,
  roster: readonly string[],
): Absences {
  const left = new Map<string, readonly Absence[]>();
  for (const [name, value] of Object.entries(reader.object(fields["left"], "left") ?? {})) {
    const path = `left[${shown(name)}]`;
    const handle = agentName(name) ?? name;
    if (!roster.includes(handle))
      reader.problem(path, "is not in the roster; expected a handle of it");
    const list = reader.list(value, path) ?? [];
    if (list.length > MAX_ABSENCES) reader.problem(path, `has more than ${MAX_ABSENCES} entries`);
    const absences = list
      .slice(0, MAX_ABSENCES)
      .flatMap((each, at) => readAbsence(reader, each, `${path}[${at}]`) ?? []);
    if (absences.slice(0, -1).some(({ back }) => back === undefined)) {
      reader.problem(path, "has an entry after one without back; only the last may lack it");
    }
    if (absences.length > 0) left.set(handle, absences);
  }
  return left;
}

function readAbsence(reader: DocumentReader, value: JsonValue, path: string): Absence | undefined {
  const fields = reader.object(value, path);
  if (fields === undefined) return undefined;
  const { at, back } = fields;
  const known = back === null ? undefined : readReturn(reader, back, `${path}.back`);
  // It was no member before: then it has no last lines.
  const atMs = at === null ? undefined : readTime(reader, at, `${path}.at`);
  return { atMs, logs: readPlaces(reader, fields["logs"], `${path}.logs`), back: known };
}

function readReturn(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
): Return | undefined {
  const fields = reader.object(value, path);
  if (fields === undefined) return undefined;
  const atMs = readTime(reader, fields["at"], `${path}.at`);
  return { atMs: atMs ?? 0, logs: readPlaces(reader, fields["logs"], `${path}.logs`) };
}

function readTime(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
): number | undefined {
  const atMs = typeof value === "string" ? parseTimestamp(value) : undefined;
  if (atMs === undefined) reader.problem(path, `is ${said(value)}; expected an ISO 8601 time`);
  return atMs;
}

/** Reads lines by log: `{"<log>": {"lines", "seq", "event_id"}}`. */
function readPlaces(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
): ReadonlyMap<string, LogPlace> {
  const places = new Map<string, LogPlace>();
  const entries = Object.entries(reader.object(value, path) ?? {});
  if (entries.length > MAX_ROSTER) reader.problem(path, `has more than ${MAX_ROSTER} logs`);
  for (const [log, each] of entries.slice(0, MAX_ROSTER)) {
    const at = `${path}[${shown(log)}]`;
    const fields = reader.object(each, at);
    const count = (name: string) =>
      fields?.[name] === null
        ? undefined
        : reader.wholeNumber(fields?.[name], `${at}.${name}`, 0, Number.MAX_SAFE_INTEGER);
    const id = fields?.["event_id"];
    const lines = count("lines");
    if (lines === undefined)
      reader.problem(`${at}.lines`, "is missing; expected a number of lines");
    places.set(log, {
      lines: lines ?? 0,
      seq: count("seq"),
      eventId: id === null ? undefined : reader.text(id, `${at}.event_id`),
    });
  }
  return places;
}

function said(value: JsonValue | undefined): string {
  return value === undefined ? "missing" : shown(value);
}

/** Lines by log, as `config.json` and a proposal name them. */
export function placesJson(places: ReadonlyMap<string, LogPlace>): Record<string, PlaceJson> {
  return Object.fromEntries(
    [...places].map(([log, { lines, seq, eventId }]) => [
      log,
      { lines, seq: seq ?? null, event_id: eventId ?? null },
    ]),
  );
}

/** A line of a log as `config.json` has it. */
export interface PlaceJson {
  lines: number;
  seq: number | null;
  event_id: string | null;
}

/** `left` as `config.json` has it. */
export function leftJson(left: Absences): Record<string, unknown[]> {
  const iso = (ms: number): string => new Date(ms).toISOString();
  return Object.fromEntries(
    [...left].map(([handle, absences]) => [
      handle,
      absences.map(({ atMs, logs, back }) => ({
        logs: placesJson(logs),
        at: atMs === undefined ? null : iso(atMs),
        back: back === undefined ? null : { logs: placesJson(back.logs), at: iso(back.atMs) },
      })),
    ]),
  );
}
