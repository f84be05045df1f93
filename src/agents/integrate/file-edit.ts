import { DeaddropError } from "../../api/errors.ts";

/** Our part of one file of a tool. The text of a file is undefined while there is none. */
export interface FileEdit {
  readonly path: string;
  /** Several tools read it: it goes with the last of them, and stays when it was there before all. */
  readonly isShared: boolean;
  /** The text with our part in it. Throws DeaddropError ("config") for what it cannot read. */
  put(text: string | undefined): string;
  /** The text without it; undefined when nothing else is left. */
  take(text: string): string | undefined;
}

/** Whose part of a file it is. */
export interface Owner {
  readonly tool: string;
  /** As `identityIn` gives it, also where the part itself names nobody. */
  readonly identity: string;
}

/** Nothing of the file was changed. */
export function unreadable(path: string, problem: string, hint?: string): DeaddropError {
  return new DeaddropError("config", `${path}: ${problem}`, {
    hint: hint ?? "correct the file, and run this again; nothing was changed",
  });
}

/** The file has our part already, for another agent or another wire. */
export class BoundElsewhere extends DeaddropError {}

/** @param tools those that read that file */
export function boundElsewhere(path: string, tools: readonly string[]): BoundElsewhere {
  const remove = tools.map((tool) => `deaddrop integrate ${tool} --remove`).join("; or ");
  const problem = `${path} joins ${tools.join(" or ")} to another agent or wire already`;
  return new BoundElsewhere("config", problem, {
    hint: `as that agent, there: ${remove}; nothing was changed`,
  });
}
