/** Something that is wrong, or odd, in a plan. Lines and columns count from 1. */
export interface Problem {
  readonly level: "error" | "warning";
  /** Undefined where it is about the whole document. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  readonly text: string;
}

/** Where something is in a document: keys and places in lists, from the top. */
export type Path = readonly (string | number)[];

export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A problem of the data, before its place in the document is known. */
export interface Fault {
  readonly level: Problem["level"];
  readonly path: Path;
  readonly text: string;
  /** It is about the key, not the value. */
  readonly isOfKey?: boolean;
}

export function errorAt(path: Path, text: string): Fault {
  return { level: "error", path, text };
}

/** As people read it: `plan.yaml:12:5: error: …`. */
export function problemText(name: string, { level, line, column, text }: Problem): string {
  const where = line === undefined ? name : `${name}:${line}:${column ?? 1}`;
  return `${where}: ${level}: ${text}`;
}

export function isError({ level }: Pick<Problem, "level">): boolean {
  return level === "error";
}
