import { readEntry } from "../duties/decision-record.ts";
import type { Known } from "../duties/duty.ts";
import type { SkippedLines } from "../audit.ts";
import { outcomeOf } from "../../protocol/asks/outcome.ts";
import {
  decisionOf,
  judgeEntry,
  RECORDS_AFTER_MS,
  touchedBy,
  type UnsignedDecision,
} from "../../protocol/asks/record.ts";
import type { AskPart } from "../../store/asks.ts";
import { parseObject } from "../../wire/json/json.ts";
import {
  isChained,
  placeJson,
  type ChainPlace,
  type Place,
  type PlaceJson,
} from "../../wire/places.ts";
import { incidentsView, type IncidentView } from "./incidents.ts";
import { requestsView, type RequestView } from "./requests.ts";

/** Something that breaks a rule. */
export interface Violation {
  /** Why a line was refused, or the name of the rule that was broken. */
  readonly rule: string;
  /** Of the line; null: none is to be named. */
  readonly place: PlaceJson | null;
  /** Of the line, or of an entry of decisions.jsonl. */
  readonly event_id: string | null;
  readonly detail: string;
}

/** Where the keys came from that signatures were checked with. */
export type KeySource = "pinned" | "advertised" | "given" | "none";

/** `deaddrop audit --json`. Spec 4.10. */
export interface AuditReport {
  /** Lines that are messages. */
  readonly messages: number;
  readonly by_type: Readonly<Record<string, number>>;
  readonly threads: number;
  /** All that follow from the lines, recorded or not, oldest first. */
  readonly decisions: readonly Omit<UnsignedDecision, "recorded_by">[];
  /** The newest, with an answer, to each addressee. */
  readonly requests: readonly RequestView[];
  readonly incidents: readonly IncidentView[];
  /** None: nothing breaks a rule. */
  readonly violations: readonly Violation[];
  /** By which keys signatures were checked. */
  readonly keys: KeySource;
  /** Signed lines of agents of whom no key is known: taken as they are. */
  readonly unverified: number;
  /** Decisions that two sides have recorded: readers count one, and nothing is wrong. */
  readonly twins: readonly Violation[];
  /** Torn entries in decisions.jsonl: their recorders died as they wrote. */
  readonly torn: readonly Violation[];
}

/** What an audit compares the lines with. */
export interface Audited {
  readonly keys: KeySource;
  /** Every line of decisions.jsonl, archived parts first; undefined: there is no such file to compare with. */
  readonly record: Iterable<Uint8Array> | undefined;
  /** Files of lines that belong to nobody. */
  readonly unowned: readonly string[];
  /** Lines of carriers that prove nothing about anybody; of a store, which has none of them, nothing. */
  readonly skipped: readonly SkippedLines[];
}

/** Violations listed; beyond, only their number grows. */
const MOST_VIOLATIONS = 10_000;
const PAGE = 1_024;

/** What follows from the lines of a store by the daemon's own functions, compared with the record. */
export function auditReport(
  known: Known,
  { keys, record, unowned, skipped }: Audited,
): AuditReport {
  const { store } = known;
  const found = new Found();
  const types = store.audit.typeCounts();
  findInLines(known, found);
  for (const name of unowned)
    found.add("unowned_log", null, `${name} belongs to nobody of any roster, and is not read`);
  for (const { owner, reason, count, detail } of skipped)
    found.add(
      reason,
      null,
      `${count} ${count === 1 ? "line" : "lines"} in carriers of ${owner}; the first: ${detail}`,
    );
  const decisions = findDecisions(known, found);
  const recorded = record === undefined ? undefined : findInRecord(known, record, found);
  const nowMs = known.world.clock.wallMs();
  for (const { decision, place, closedMs } of decisions) {
    // A required party's daemon records it after a while.
    const isDue = closedMs + 2 * RECORDS_AFTER_MS <= nowMs;
    if (recorded !== undefined && isDue && !recorded.has(place.id))
      found.add(
        "decision_missing",
        place,
        `${decision.decision_id} is in no entry of decisions.jsonl`,
      );
  }
  return {
    messages: [...types.values()].reduce((sum, count) => sum + count, 0),
    by_type: Object.fromEntries(types),
    threads: store.audit.threadCount(),
    decisions: decisions
      .map(({ decision: { recorded_by: _nobody, ...decision } }) => decision)
      .toSorted((one, other) => (one.ratified_at < other.ratified_at ? -1 : 1)),
    requests: requestsView(known),
    incidents: incidentsView(known),
    violations: found.list("violations"),
    keys,
    unverified: keys === "none" ? store.audit.signedCount() : 0,
    twins: found.list("twins"),
    torn: found.list("torn"),
  };
}

type Group = "violations" | "twins" | "torn";

class Found {
  readonly #groups = new Map<Group, Violation[]>();
  #more = 0;

  add(rule: string, place: Place | null, detail: string, group: Group = "violations"): void {
    this.addAt(
      { rule, place: place && placeJson(place), event_id: place?.id ?? null, detail },
      group,
    );
  }

  addAt(violation: Violation, group: Group = "violations"): void {
    const list = this.#groups.get(group) ?? [];
    this.#groups.set(group, list);
    if (list.length < MOST_VIOLATIONS) list.push(violation);
    else if (group === "violations") this.#more += 1;
  }

  list(group: Group): readonly Violation[] {
    const list = this.#groups.get(group) ?? [];
    if (group !== "violations" || this.#more === 0) return list;
    const detail = `${this.#more} more violations are not listed`;
    return [...list, { rule: "more", place: null, event_id: null, detail }];
  }
}

function findInLines({ store, roster }: Known, found: Found): void {
  const { audit } = store;
  for (
    let after = 0, page = audit.refused(after, PAGE);
    page.length > 0;
    page = audit.refused(after, PAGE)
  ) {
    for (const line of page)
      found.add(line.reason, line, `${line.author} wrote it, and it is refused`);
    after = page.at(-1)?.n ?? Infinity;
  }
  for (const place of audit.forks(MOST_VIOLATIONS))
    found.add("log_forked", place, `${place.author} has signed another line ${place.seq}`);
  for (const line of audit.gaps())
    found.add(
      "log_gap",
      line,
      `lines of ${line.author} between ${line.whole} and ${line.seq} are missing`,
    );
  for (const close of audit.closes(MOST_VIOLATIONS))
    if (close.verdict === "no")
      found.add(
        "decision_unproved",
        close,
        `it closes ${close.ask.slice(0, 8)} with answers that do not prove it`,
      );
  if (roster.isForked) {
    const { after } = roster;
    const detail = "two changes of members follow the same one, and neither is in force";
    found.add("roster_forked", typeof after === "number" ? null : after, detail);
  }
}

interface Derived {
  readonly decision: UnsignedDecision;
  /** Of the proposal. */
  readonly place: Place;
  /** When its close was taken in. */
  readonly closedMs: number;
}

/** Every approved proposal; what waits for lines, and what is disputed, is a violation. */
function findDecisions(known: Known, found: Found): Derived[] {
  const decisions: Derived[] = [];
  for (const part of allAsks(known)) {
    const { ask, party } = part;
    const { place } = ask;
    const outcome = outcomeOf(known.history, ask, party === "" ? undefined : party);
    if (outcome.is === "disputed")
      found.add("disputed", place, `${place.author} has closed it differently on two branches`);
    if (outcome.is === "pending" && outcome.waitsFor.length > 0) {
      const [first] = outcome.waitsFor;
      found.add("log_gap", place, `its close waits for a line of ${first?.author} that is missing`);
    }
    if (outcome.is !== "approved" || ask.is !== "proposal") continue;
    const decision = decisionFrom(known, place, outcome.close);
    const closedMs = known.history.receipt(outcome.close)?.atMs ?? 0;
    if (decision !== undefined) decisions.push({ decision, place, closedMs });
  }
  return decisions;
}

function decisionFrom(
  { history, place: { domains } }: Known,
  proposal: Place,
  close: ChainPlace,
): UnsignedDecision | undefined {
  const recorder = isChained(proposal) ? proposal.author : close.author;
  return decisionOf(history, proposal, touchedBy(domains), recorder);
}

function* allAsks({ store }: Known): Generator<AskPart> {
  for (let after = 0; ;) {
    const page = store.asks.changed({ after, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.changed;
  }
}

/** Entries that nobody proves. Returns the event ids of the proposals that a proved entry records. */
function findInRecord(
  known: Known,
  lines: Iterable<Uint8Array>,
  found: Found,
): ReadonlySet<string> {
  const recorded = new Set<string>();
  for (const line of lines) {
    const entry = readEntry(known, line);
    const parsed = parseObject(line);
    if (entry === undefined || !parsed.ok) {
      const [rule, group] = isTorn(line) ? (["torn", "torn"] as const) : (["malformed"] as const);
      found.add(rule, null, "a line of decisions.jsonl is no JSON object", group);
      continue;
    }
    const { id, signer, proposal } = entry;
    const verdict = judgeEntry(known.history, parsed.value, signer);
    const about = { place: null, event_id: id };
    // What no agent has signed that is known binds nobody, and anybody can write it.
    if (verdict.is === "unproved" && signer !== undefined)
      found.addAt({ rule: "decision_unproved", ...about, detail: verdict.detail });
    if (verdict.is === "pending" && signer !== undefined)
      found.addAt({ rule: "decision_pending", ...about, detail: verdict.detail });
    if (verdict.is !== "proved" || proposal === undefined) continue;
    if (recorded.has(proposal)) {
      const detail = `proposal ${proposal} is recorded twice; readers count one`;
      found.addAt({ rule: "decision_twice", ...about, detail }, "twins");
    }
    recorded.add(proposal);
  }
  return recorded;
}

/** Whether a crash has left only a part of an entry: its beginning, or zero bytes, which no JSON has. */
function isTorn(bytes: Uint8Array): boolean {
  return bytes[0] === 0x7b || bytes.includes(0);
}
