/** The last line of a chain. */
export interface ChainHead {
  readonly seq: number;
  /** Its event id: the `prev` of the line after it. */
  readonly id: string;
}
