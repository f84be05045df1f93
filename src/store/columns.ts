import type { Place } from "../wire/places.ts";

/** An index holds 52 bits of an event id: the most that a number holds with room to add to them. */
const START_DIGITS = 13;

/** The rows of an agent and of a thread whose names are bound. */
export const AGENT = "(select a from agents where name = ?)";
export const THREAD = "(select t from threads where name = ?)";
/** The columns of a place, of `lines` joined with the `agents` who are their authors. */
export const PLACE = "agents.name as author, lines.seq as seq, lower(hex(lines.id)) as id";
/** The line at a place, which `placeValues` binds. */
export const IS_AT = `lines.id_start = ? and lines.id = ? and lines.seq is ? and lines.a = ${AGENT}`;

/** An event id as it is stored. */
export function idBytes(id: string): Uint8Array {
  if (!/^[0-9a-f]{64}$/.test(id)) throw new Error(`${id} is no event id`);
  return Buffer.from(id, "hex");
}

/** The beginning of an id, which an index compares faster than the whole. */
export function idStart(id: string): number {
  return Number.parseInt(id.slice(0, START_DIGITS), 16);
}

/** The range of `id_start` of ids that begin with these hex digits. */
export function idStartRange(prefix: string): readonly [first: number, last: number] {
  const start = prefix.slice(0, START_DIGITS);
  return [idStart(start.padEnd(START_DIGITS, "0")), idStart(start.padEnd(START_DIGITS, "f"))];
}

/** What `IS_AT` binds. */
export function placeInputs({
  author,
  seq,
  id,
}: Place): [number, Uint8Array, number | null, string] {
  return [idStart(id), idBytes(id), seq, author];
}

/** `prev` of a line, or another id that may be null, in hexadecimal digits. */
export function optionalId(column: string): string {
  return `nullif(lower(hex(${column})), '')`;
}
