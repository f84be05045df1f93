import type { Path, Place, Problem } from "./problem.ts";

/** A document that was read, and can be changed in place: its text keeps comments and order. */
export interface PlanSource {
  /** Plain data; scalars where a text belongs are texts, spelled as in the document. */
  readonly data: unknown;
  readonly warnings: readonly Problem[];
  /** Where that value, or its key, is; of one that is missing, the value that should hold it. */
  placeOf(path: Path, part?: "value" | "key"): Place | undefined;
  /** The text with these values set, in this order; nothing of it is written. */
  withEdits(edits: readonly Edit[]): string;
}

export interface Edit {
  readonly path: Path;
  /** Undefined removes the key. */
  readonly value: unknown;
}

export type SourceRead =
  | { readonly ok: true; readonly source: PlanSource }
  | { readonly ok: false; readonly problems: readonly Problem[] };
