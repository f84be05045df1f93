/** A message that an ack may name: where it is, and whether it is a proposal. */
export interface KnownLine {
  readonly line: number;
  /** The key of its thread. */
  readonly topic: string;
  readonly isProposal: boolean;
}

/**
 * The messages of all remembered threads, by log and id. Spec 3.4 asks of an ack whether what it
 * names is a proposal, also when that belongs to another thread.
 */
export type KnownLines = Map<string, Map<string, KnownLine>>;

export function knownLine(names: KnownLines, log: string, id: string): KnownLine | undefined {
  return names.get(log)?.get(id);
}

export function learnLine(names: KnownLines, log: string, id: string, named: KnownLine): void {
  const lines = names.get(log) ?? new Map<string, KnownLine>();
  names.set(log, lines);
  lines.set(id, named);
}

/** Forgets a message together with its thread. */
export function forgetLine(names: KnownLines, log: string, id: string): void {
  names.get(log)?.delete(id);
}
