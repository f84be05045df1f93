/** What became of one file when a year was archived. Paths are within the wire. Spec 3.10. */
export type ArchivedFile =
  | {
      readonly file: string;
      readonly outcome: "archived";
      /** The segment that it is now. */
      readonly to: string;
      readonly bytes: number;
    }
  /** "not due": its first line is of a later year, or no line says of which it is. */
  | { readonly file: string; readonly outcome: "not due" | "empty" }
  /** It stays as it is. */
  | {
      readonly file: string;
      readonly outcome: "failed";
      readonly problem: string;
      readonly hint: string;
    };

export interface ArchiveAnswer {
  readonly year: number;
  readonly files: readonly ArchivedFile[];
}
