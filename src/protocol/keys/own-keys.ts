/** Our keys on this wire, as the proposals of a rotation ask for them. */
export interface OwnKeys {
  readonly current: string;
  /** Since when we sign with it, in ms; undefined: since ever. */
  readonly sinceMs: number | undefined;
  /** The key that waits to be brought in. */
  readonly next: string | undefined;
  /** It is to be used at once, also if some peers do not believe it yet. */
  readonly nextIsUrgent: boolean;
  /** Those that we signed with before and that peers still believe. */
  readonly earlier: readonly string[];
  /** How long a key is believed after we stop signing with it. */
  readonly graceMs: number;
}
