/** A message that an ack may name. */
export interface KnownLine {
  readonly line: number;
  /** The key of its thread, if it is a proposal. */
  readonly proposalIn: string | undefined;
}

/**
 * The messages of all remembered threads, by log and id. Spec 3.4 asks of an ack whether what it
 * names is a proposal, also when that belongs to another thread. There are up to 131,072 of them, so
 * that one which is no proposal is held as the number of its line.
 */
export type KnownLines = Map<string, Map<string, KnownLine | number>>;

export function knownLine(names: KnownLines, log: string, id: string): KnownLine | undefined {
  const known = names.get(log)?.get(id);
  return typeof known === "number" ? { line: known, proposalIn: undefined } : known;
}

export function kindOf({ proposalIn }: KnownLine): "proposal" | "other" {
  return proposalIn === undefined ? "other" : "proposal";
}

export function learnLine(names: KnownLines, log: string, id: string, named: KnownLine): void {
  const lines = names.get(log) ?? new Map<string, KnownLine | number>();
  names.set(log, lines);
  lines.set(id, named.proposalIn === undefined ? named.line : named);
}

/** Forgets a message together with its thread. */
export function forgetLine(names: KnownLines, log: string, id: string): void {
  names.get(log)?.delete(id);
}
