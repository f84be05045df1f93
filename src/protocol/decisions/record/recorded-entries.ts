import type { DecisionEntry, EntryRecord } from "./decision-record.ts";

/** Entries kept that are not proved, signed ones and others apart; beyond, the oldest go. */
const MAX_DOUBTFUL = 4_096;
/** With so many, an agent that is behind in the logs reads these first. */
const MANY_DOUBTFUL = MAX_DOUBTFUL / 2;
/** Proved entries kept of one proposal: each required party may have recorded it, and once again. */
const MAX_PROVED = 16;

export type Verdict =
  | { readonly is: "proved" }
  | { readonly is: "pending"; readonly detail: string }
  /** `signed`: by a pinned agent, so the operator is told. */
  | { readonly is: "unproved"; readonly signed: boolean; readonly detail: string };

export interface JudgedEntry {
  readonly id: string;
  readonly record: EntryRecord;
  readonly signedBy: string | undefined;
  readonly signatureValid: boolean;
  verdict: Verdict;
}

/** What has been read of decisions.jsonl, so that one entry is found without a look at the others. */
export interface RecordedEntries {
  /** In the order of the file. */
  readonly all: Map<string, JudgedEntry>;
  /** By the proposal that they name. */
  readonly byProposal: Map<string, Set<string>>;
  /** Those that are not proved: by a pinned agent, and others. */
  readonly doubtful: { readonly signed: Set<string>; readonly unsigned: Set<string> };
  /** Some were read and are not kept. */
  areDropped: boolean;
}

export function noEntries(): RecordedEntries {
  const doubtful = { signed: new Set<string>(), unsigned: new Set<string>() };
  return { all: new Map(), byProposal: new Map(), doubtful, areDropped: false };
}

/** The id does not cover the signature: an entry without a valid one must not hide the real one. */
function keyOf({ id, signedBy, signatureValid }: Omit<DecisionEntry, "record">): string {
  return `${id} ${signatureValid ? "signed" : "unsigned"} ${signedBy ?? ""}`;
}

/** A line that is there twice, or is read again after the file was changed, adds nothing. */
export function isKnownEntry(entries: RecordedEntries, entry: DecisionEntry): boolean {
  if (entries.all.has(keyOf(entry))) return true;
  const others = entriesOf(entries, entry.record.proposal_id);
  return others.filter(({ verdict }) => verdict.is === "proved").length >= MAX_PROVED;
}

/** Adds an entry at the end. */
export function addEntry(entries: RecordedEntries, entry: JudgedEntry): void {
  const key = keyOf(entry);
  entries.all.set(key, entry);
  const { proposal_id: proposal } = entry.record;
  if (proposal !== undefined) {
    const same = entries.byProposal.get(proposal);
    if (same === undefined) entries.byProposal.set(proposal, new Set([key]));
    else same.add(key);
  }
  if (entry.verdict.is !== "proved") doubt(entries, key, entry);
}

export function judgeAgain(entries: RecordedEntries, entry: JudgedEntry, verdict: Verdict): void {
  entry.verdict = verdict;
  if (verdict.is === "proved") doubtfulLike(entries, entry).delete(keyOf(entry));
  else doubt(entries, keyOf(entry), entry);
}

/** The entries that name a proposal, in the order of the file. */
export function entriesOf(
  { all, byProposal }: RecordedEntries,
  proposalId: string | undefined,
): JudgedEntry[] {
  const keys = proposalId === undefined ? undefined : byProposal.get(proposalId);
  return keys === undefined ? [] : [...keys].flatMap((key) => all.get(key) ?? []);
}

/** The entries that are not proved. */
export function doubtfulEntries({ all, doubtful }: RecordedEntries): JudgedEntry[] {
  return [...doubtful.signed, ...doubtful.unsigned].flatMap((key) => all.get(key) ?? []);
}

/** Whether many signed ones wait for lines that prove them: more would push out the oldest. */
export function areManyWaiting({ doubtful }: RecordedEntries): boolean {
  return doubtful.signed.size >= MANY_DOUBTFUL;
}

function doubtfulLike({ doubtful }: RecordedEntries, { signatureValid }: JudgedEntry): Set<string> {
  return signatureValid ? doubtful.signed : doubtful.unsigned;
}

/**
 * An agent that can write to the file but has no key cannot push out entries that wait for their
 * proof.
 */
function doubt(entries: RecordedEntries, key: string, entry: JudgedEntry): void {
  const { all, byProposal } = entries;
  const alike = doubtfulLike(entries, entry).add(key);
  if (alike.size <= MAX_DOUBTFUL) return;
  for (const oldest of alike) {
    alike.delete(oldest);
    const proposal = all.get(oldest)?.record.proposal_id ?? "";
    const same = byProposal.get(proposal);
    same?.delete(oldest);
    // Anybody can write entries that name proposals that there are not, as many as they like.
    if (same?.size === 0) byProposal.delete(proposal);
    all.delete(oldest);
    entries.areDropped = true;
    return;
  }
}
