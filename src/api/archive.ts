import type { ArchivedFile } from "../carriers/archive-year.ts";

export type { ArchivedFile };

/** What became of each file when a year was archived. Spec 1.10. */
export interface ArchiveAnswer {
  readonly year: number;
  readonly files: readonly ArchivedFile[];
}
