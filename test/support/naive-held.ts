// The chains of 1.6 (docs/spec), slowly: everything anew from a list of lines.
import { isJsonObject, type JsonValue } from "../../src/wire/json/json.ts";
import type { TimedLine } from "./timed-lines.ts";

export const fieldOf = ({ body }: TimedLine, name: string): JsonValue | undefined =>
  isJsonObject(body) ? body[name] : undefined;
export const isPlaceOf = (value: JsonValue | undefined, line: TimedLine): boolean =>
  JSON.stringify(value) === JSON.stringify([line.author, line.seq, line.id]);

/** The lines of a set, and what leads from one to the other. */
export class Held {
  readonly lines: readonly TimedLine[];

  constructor(lines: readonly TimedLine[]) {
    this.lines = lines.filter((line, at) => lines.findIndex(({ id }) => id === line.id) === at);
  }

  /** The line and all that its `prev` leads to, the line first; undefined when it is not linked. */
  branch(line: TimedLine): readonly TimedLine[] | undefined {
    const branch = [line];
    for (let at = line; at.seq !== 1;) {
      const before = this.lines.find(
        ({ author, seq, id }) =>
          author === at.author && seq === (at.seq ?? 0) - 1 && id === at.prev,
      );
      if (before === undefined) return undefined;
      branch.push(before);
      at = before;
    }
    return branch;
  }

  linked(): readonly TimedLine[] {
    return this.lines.filter((line) => line.seq !== null && this.branch(line) !== undefined);
  }

  isAtOrBehind(line: TimedLine, older: TimedLine): boolean {
    return this.branch(line)?.some(({ id }) => id === older.id) === true;
  }
}
