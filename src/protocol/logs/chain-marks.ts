import { IdColumn } from "./id-column.ts";
import { lastAtOrBelow } from "./line-ranges.ts";

/** A chained line: where it is, and what its author signed of its place in the chain. */
export interface ChainMark {
  readonly line: number;
  readonly seq: number;
  readonly id: string;
}

/**
 * Chained lines of one log, in order. In columns, since they are most of what is held of a log that
 * nobody reads: an object for each would take three times as much.
 */
export interface ChainMarks {
  lines: number[];
  seqs: number[];
  readonly ids: IdColumn;
}

export function noMarks(): ChainMarks {
  return { lines: [], seqs: [], ids: new IdColumn() };
}

export function addMark(marks: ChainMarks, { line, seq, id }: ChainMark): void {
  marks.lines.push(line);
  marks.seqs.push(seq);
  marks.ids.push(id);
}

/** The mark at that place in the list; counted from the end when it is negative. */
export function markAt({ lines, seqs, ids }: ChainMarks, at: number): ChainMark | undefined {
  const [line, seq, id] = [lines.at(at), seqs.at(at), ids.at(at)];
  return line === undefined || seq === undefined || id === undefined
    ? undefined
    : { line, seq, id };
}

/** The first mark with that id. */
export function markOf(marks: ChainMarks, id: string | undefined): ChainMark | undefined {
  const [at] = id === undefined ? [] : marks.ids.placesOf(id);
  return at === undefined ? undefined : markAt(marks, at);
}

/** The place of the last chained line among the first `lines`; -1 when there is none. */
export function placeUpTo(marks: ChainMarks, lines: number): number {
  return lastAtOrBelow(marks.lines, lines, (line) => line);
}

/** The last chained line among the first `lines`. */
export function markUpTo(marks: ChainMarks, lines: number): ChainMark | undefined {
  const at = placeUpTo(marks, lines);
  return at === -1 ? undefined : markAt(marks, at);
}

/** Forgets so many of the first ones. */
export function dropMarks(marks: ChainMarks, count: number): void {
  if (count <= 0) return;
  marks.lines = marks.lines.slice(count);
  marks.seqs = marks.seqs.slice(count);
  marks.ids.dropFirst(count);
}
