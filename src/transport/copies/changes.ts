/** What a path in the remote is to hold. Nothing is ever removed there. */
export interface Change {
  /** Within the repository. */
  readonly path: string;
  readonly bytes: Uint8Array;
}
