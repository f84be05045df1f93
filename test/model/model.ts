// A slow, independent model of what was agreed on a wire, written from the text of
// its specification alone: chapters 1 and 3 of docs/spec. It computes everything anew from a set of
// lines. Each function names the section that it implements; README.md lists the readings that were
// chosen where the text allows two.
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../src/wire/json/json.ts";

/** An authentic line (next 1.6, 1.8), or an unsigned one that policy takes. */
export interface ModelLine {
  readonly author: string;
  readonly seq: number | null;
  readonly id: string;
  readonly prev: string | null;
  readonly timestamp: string;
  readonly thread: string | undefined;
  readonly type: string;
  /** `"*"` is `["*"]`. */
  readonly to: readonly string[] | undefined;
  readonly body: JsonValue;
  /** Read of unchained lines only: an authentic chained line is signed. */
  readonly isSigned: boolean;
}

/** The reader's private copy of `config.json` (next 1.1). */
export interface Pinned {
  readonly wireId: string;
  readonly roster: readonly string[];
  readonly unchained: readonly string[];
  readonly epoch: number;
}

export type Place = readonly [author: string, seq: number | null, id: string];

export interface AskOutcome {
  readonly ask: Place;
  /** The party of a request; of an unchained ask without addressee, who closed it. */
  readonly of?: string;
  readonly outcome: "pending" | "approved" | "rejected" | "ended" | "disputed";
  readonly close?: Place;
  /** What a close waits for: lines that are not held and linked. `null` stands for an unchained line. */
  readonly waitsFor?: readonly (readonly [author: string, seq: number | null])[];
  /** The ask is unsigned: it counts only where the reader's policy takes it (next 3.4.5). */
  readonly isUnproved?: boolean;
  /** The approval rests on a bare ack (next 3.4.5). */
  readonly isUnprovedByName?: boolean;
}

export interface RosterInForce {
  /** Each member, `true` when it is marked as chaining. */
  readonly members: Readonly<Record<string, boolean>>;
  readonly isForked: boolean;
}

export interface Findings {
  readonly asks: readonly AskOutcome[];
  readonly roster: RosterInForce;
}

/** The set of lines that a reader holds, with its pinned configuration. */
export interface Wire {
  readonly pinned: Pinned;
  readonly lines: readonly ModelLine[];
  readonly byPlace: ReadonlyMap<string, ModelLine>;
  /** The branches that were asked for: finding them anew each time is most of the work. */
  readonly branches: Map<ModelLine, readonly ModelLine[]>;
}

const MAX_WORDS = 1_024;
const MAX_NAMED_ENTRIES = 512;

// --- Verdicts: a condition is true, false, or open while lines are missing (next 3.4.3) ---

type Verdict =
  | { readonly is: "true" }
  | { readonly is: "false" }
  | { readonly is: "open"; readonly missing: readonly Place[] };

const TRUE: Verdict = { is: "true" };
const FALSE: Verdict = { is: "false" };
const openFor = (...missing: readonly Place[]): Verdict => ({ is: "open", missing });
const decided = (condition: boolean): Verdict => (condition ? TRUE : FALSE);

/** If one is false, false; else, if one is open, open. */
function every(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.some(({ is }) => is === "false")) return FALSE;
  const missing = verdicts.flatMap((verdict) => (verdict.is === "open" ? verdict.missing : []));
  return missing.length > 0 ? openFor(...missing) : TRUE;
}

/** If one is true, true; else, if one is open, open. */
function some(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.some(({ is }) => is === "true")) return TRUE;
  const missing = verdicts.flatMap((verdict) => (verdict.is === "open" ? verdict.missing : []));
  return missing.length > 0 ? openFor(...missing) : FALSE;
}

// --- Values ---

const isHandle = (value: JsonValue | undefined): value is string =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value);

/** A handle in either spelling, as the handle (next 1.1). */
function readHandle(value: JsonValue | undefined): string | undefined {
  const plain = typeof value === "string" ? value.replace(/^did:wire:/, "") : undefined;
  return isHandle(plain) ? plain : undefined;
}

const isId = (value: JsonValue | undefined): value is string =>
  typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const isCount = (value: JsonValue | undefined): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
const isSeq = (value: JsonValue | undefined): value is number => isCount(value) && value >= 1;
const isText = (value: JsonValue | undefined): value is string => typeof value === "string";

/** A place: a list of three (next 1.6). Any other value is none. */
function readPlace(value: JsonValue | undefined): Place | undefined {
  if (!isJsonArray(value) || value.length !== 3) return undefined;
  const [author, seq, id] = value;
  if (!isHandle(author) || !(seq === null || isSeq(seq)) || !isId(id)) return undefined;
  return [author, seq, id];
}

/** `[seq, id]` of an author, as it stands in closes and escalations. */
function readPlaceBy(
  author: JsonValue | undefined,
  value: JsonValue | undefined,
): Place | undefined {
  return isJsonArray(value) && value.length === 2 && author !== undefined
    ? readPlace([author, ...value])
    : undefined;
}

export const placeOf = (line: ModelLine): Place => [line.author, line.seq, line.id];
export const samePlace = (a: Place | null | undefined, b: Place | null | undefined): boolean =>
  a !== null && b !== null && a !== undefined && b !== undefined && keyOf(a) === keyOf(b);
const keyOf = ([author, seq, id]: Place): string => `${author} ${seq} ${id}`;

/** The fields of the body; a body that is no object has none. */
export function fieldsOf(line: ModelLine): JsonObject {
  return isJsonObject(line.body) ? line.body : {};
}

/** The type with which a line is read (next 1.3). */
export function typeOf(line: ModelLine): string {
  if (line.type === "shutdown_request") return "request";
  if (line.type === "shutdown_response" || line.type === "plan_approval_response") return "ack";
  return line.type;
}

/** `to` as next 1.2 reads it; absent on a chained line it is `["*"]`. */
function addresseesOf(line: ModelLine): readonly string[] | undefined {
  const { to } = line;
  const isList = to?.every((handle) => isHandle(handle)) === true && to.length <= 1_024;
  if (to !== undefined && (isList || (to.length === 1 && to[0] === "*"))) return to;
  return line.seq === null ? undefined : ["*"];
}

// --- The chain (next 1.6) ---

/** Copies have one id; of copies of an unchained line a signed one is held. */
export function readWire(pinned: Pinned, lines: readonly ModelLine[]): Wire {
  const byPlace = new Map<string, ModelLine>();
  for (const line of lines) {
    const key = keyOf(placeOf(line));
    if (byPlace.get(key)?.isSigned !== true) byPlace.set(key, line);
  }
  return { pinned, lines: [...byPlace.values()], byPlace, branches: new Map() };
}

function predecessorOf(wire: Wire, line: ModelLine): ModelLine | undefined {
  if (line.seq === null || line.seq === 1 || line.prev === null) return undefined;
  return wire.byPlace.get(keyOf([line.author, line.seq - 1, line.prev]));
}

/** The line and all that its `prev` leads to among held lines, by rising `seq` (next 1.6). */
export function branchOf(wire: Wire, line: ModelLine): readonly ModelLine[] {
  const known = wire.branches.get(line);
  if (known !== undefined) return known;
  const branch: ModelLine[] = [];
  for (let at: ModelLine | undefined = line; at !== undefined; at = predecessorOf(wire, at)) {
    branch.push(at);
  }
  branch.reverse();
  wire.branches.set(line, branch);
  return branch;
}

/** Whether a chain of held lines leads from line 1 to this one (next 1.6). */
export function isLinked(wire: Wire, line: ModelLine): boolean {
  const first = branchOf(wire, line)[0];
  return line.seq !== null && first?.seq === 1 && first.prev === null;
}

/** Whether `line` descends from `from`, which is not itself (next 1.6). */
function descends(wire: Wire, line: ModelLine, from: Place): boolean {
  return branchOf(wire, line)
    .slice(0, -1)
    .some((earlier) => samePlace(placeOf(earlier), from));
}

/** The line at a place when it is held and, if chained, linked. */
function lineAt(wire: Wire, place: Place): ModelLine | undefined {
  const line = wire.byPlace.get(keyOf(place));
  if (line === undefined) return undefined;
  return line.seq === null || isLinked(wire, line) ? line : undefined;
}

export function linkedLinesOf(wire: Wire, author: string): readonly ModelLine[] {
  return wire.lines.filter((line) => line.author === author && isLinked(wire, line));
}

/** The last lines of all branches of an author: more than one, and the author has forked. */
function tipsOf(wire: Wire, author: string): readonly ModelLine[] {
  const linked = linkedLinesOf(wire, author);
  const followed = new Set(linked.map((line) => predecessorOf(wire, line)));
  return linked.filter((line) => !followed.has(line));
}

/** The places that a chained line names (next 1.6); `refused` names no outcome (next 3.4.4). */
export function placesNamedBy(
  line: ModelLine,
  withRefused: "refused too" | "but refused" = "refused too",
): readonly Place[] {
  const fields = fieldsOf(line);
  const listIn = (key: string): readonly JsonValue[] => {
    const value = fields[key];
    return isJsonArray(value) ? value.slice(0, MAX_NAMED_ENTRIES) : [];
  };
  const found: (Place | undefined)[] = [];
  for (const key of [
    ...["acks", "about", "counters", "decides"],
    ...["corrects", "resolves", "escalates", "after", "answers"],
  ]) {
    found.push(readPlace(fields[key]));
  }
  if (readPlace(fields["answers"]) === undefined) {
    for (const entry of listIn("answers")) {
      if (!isJsonObject(entry)) continue;
      found.push(readPlaceBy(entry["by"], entry["ack"]), readPlaceBy(entry["by"], entry["at"]));
    }
  }
  for (const key of ["leaves", "ends", "resumes"]) found.push(...listIn(key).map(readPlace));
  for (const beat of listIn("beats")) found.push(readPlaceBy(fields["of"], beat));
  const heads = fields["heads"];
  for (const [author, head] of Object.entries(isJsonObject(heads) ? heads : {})) {
    if (isJsonArray(head) && head.length === 3 && isCount(head[2])) {
      found.push(readPlaceBy(author, head.slice(0, 2)));
    }
  }
  for (const item of withRefused === "refused too" ? listIn("refused") : []) {
    if (!isJsonArray(item) || item.length !== 5) continue;
    const [author, first, last, id, reason] = item;
    if (isSeq(first) && isSeq(last) && first <= last && isText(reason) && id !== undefined) {
      found.push(readPlaceBy(author, [last, id]));
    }
  }
  return found.filter((place) => place !== undefined);
}

/** The places of `other` that are known to the author of a line at that line (next 1.6). */
export function knownAt(wire: Wire, line: ModelLine, other: string): readonly Place[] {
  return branchOf(wire, line)
    .flatMap((each) => placesNamedBy(each))
    .filter(([author]) => author === other && author !== line.author);
}

// --- Asks, answers, closes (next 3.4.1) ---

const isAskType = (line: ModelLine): boolean => ["proposal", "request"].includes(typeOf(line));

function isWord(line: ModelLine, thread: string): boolean {
  return (
    line.thread === thread && ["proposal", "request", "ack", "correction"].includes(typeOf(line))
  );
}

/** The words of a thread that are read along the branch of a line (next 3.4.2). */
function wordsOf(wire: Wire, line: ModelLine, thread: string): readonly ModelLine[] {
  return branchOf(wire, line)
    .filter((word) => isWord(word, thread))
    .slice(0, MAX_WORDS);
}

/** `required` as a list of handles; `"wrong"` when it is present and no such list (next 3.4.1). */
function requiredOf(ask: ModelLine): readonly string[] | "absent" | "wrong" {
  const value = fieldsOf(ask)["required"];
  if (value === undefined) return "absent";
  if (!isJsonArray(value)) return "wrong";
  const handles = value.map(readHandle);
  return handles.every((handle) => handle !== undefined) ? handles : "wrong";
}

/** The parties of an ask, whether it is void or not (next 3.4.1, and 3.4.5 for an unchained one). */
export function partiesOf(ask: ModelLine): readonly string[] {
  const required = requiredOf(ask);
  if (required === "wrong") return [];
  if (required !== "absent") return required;
  const to = addresseesOf(ask) ?? [];
  return to.length === 1 && to[0] !== "*" ? to : [];
}

/** Whether an unchained ask is for whoever closes it (next 3.4.5). */
function isForAnybody(ask: ModelLine): boolean {
  return ask.seq === null && requiredOf(ask) === "absent" && addresseesOf(ask) === undefined;
}

export const isChange = (line: ModelLine): boolean =>
  typeOf(line) === "proposal" && fieldsOf(line)["action"] === "members";

/** That an ask is not void by next 3.4.1 and, for a change of members, by next 3.11. */
function isNotVoid(wire: Wire, ask: ModelLine): Verdict {
  const required = requiredOf(ask);
  const to = addresseesOf(ask);
  if (required === "wrong") return FALSE;
  if (required === "absent") {
    if (isChange(ask)) return FALSE;
    return decided(isForAnybody(ask) || (partiesOf(ask).length === 1 && to?.[0] !== ask.author));
  }
  const isNamedByTo = (handle: string): boolean =>
    to === undefined || to.includes("*") || to.includes(handle);
  const isSound =
    (required.length > 0 || isChange(ask)) &&
    !required.includes(ask.author) &&
    new Set(required).size === required.length &&
    required.every(isNamedByTo);
  if (!isSound) return FALSE;
  return isChange(ask) ? isSoundChange(wire, ask) : TRUE;
}

interface Answer {
  readonly to: Place;
  readonly approves: boolean;
}

/** What an ack answers among asks of one type: `acks` a proposal, `answers` a request (next 3.4.1). */
function answerIn(line: ModelLine, askType: string): Answer | undefined {
  const fields = fieldsOf(line);
  const to = readPlace(fields[askType === "proposal" ? "acks" : "answers"]);
  const approve = fields["approve"];
  if (typeOf(line) !== "ack" || to === undefined || typeof approve !== "boolean") return undefined;
  return { to, approves: approve };
}

interface Entry {
  readonly by: JsonValue | undefined;
  readonly ack: Place | undefined;
  readonly at: Place | undefined;
}

interface Close {
  readonly line: ModelLine;
  readonly decides: Place;
  readonly outcome: "approved" | "ended";
  readonly of: JsonValue | undefined;
  /** An item that is no object is an entry of nobody. */
  readonly entries: readonly Entry[];
}

/** A line as a close; whose and of what kind it must be is up to the ask (next 3.4.1). */
function readClose(line: ModelLine): Close | undefined {
  const fields = fieldsOf(line);
  const { decides: decidesValue, outcome, of, answers } = fields as Record<string, JsonValue>;
  const decides = readPlace(decidesValue);
  if (typeOf(line) !== "correction" || decides === undefined) return undefined;
  if (outcome !== "approved" && outcome !== "ended") return undefined;
  const items = isJsonArray(answers) ? answers : [];
  const entries = items.map((item): Entry => {
    if (!isJsonObject(item)) return { by: undefined, ack: undefined, at: undefined };
    const at = readPlaceBy(item["by"], item["at"]);
    return {
      by: item["by"],
      ack: readPlaceBy(item["by"], item["ack"]),
      at: at?.[1] === null ? undefined : at,
    };
  });
  return { line, decides, outcome, of: isHandle(of) ? of : undefined, entries };
}

/**
 * The closes of an ask on the branch of a line, in order. `party` is that of a request; it is undefined
 * for a proposal and for a void request, which any `ended` closes.
 */
function closesOf(
  wire: Wire,
  tip: ModelLine,
  ask: ModelLine,
  party: string | undefined,
): readonly Close[] {
  if (ask.thread === undefined) return [];
  return wordsOf(wire, tip, ask.thread)
    .filter((word) => descends(wire, word, placeOf(ask)))
    .map(readClose)
    .filter((close) => close !== undefined)
    .filter(({ decides }) => samePlace(decides, placeOf(ask)))
    .filter(({ of }) => {
      if (party === undefined) return true;
      return of === undefined ? partiesOf(ask).length === 1 : of === party;
    });
}

// --- Positions (next 3.4.2) ---

/** The place that a word makes the position of its author, if it does. */
function placeTakenBy(word: ModelLine): Place | undefined {
  if (typeOf(word) === "proposal") return placeOf(word);
  const answer = answerIn(word, "proposal");
  if (answer !== undefined) return answer.approves ? answer.to : undefined;
  const close = readClose(word);
  const isForUnchained = close?.decides[1] === null && close.decides[0] !== word.author;
  return isForUnchained && close.outcome === "approved" ? close.decides : undefined;
}

/** The position of the author of a line in a thread at that line; `null` is none. */
export function positionAt(wire: Wire, line: ModelLine, thread: string): Place | null {
  let position: Place | null = null;
  for (const word of wordsOf(wire, line, thread)) {
    const answer = answerIn(word, "proposal");
    if (answer?.approves === false && samePlace(position, answer.to)) position = null;
    position = placeTakenBy(word) ?? position;
  }
  return position;
}

// --- Validity of a close (next 3.4.3) ---

/** That `approved` is valid for an ask of a chain. */
function isValidApproval(
  wire: Wire,
  ask: ModelLine,
  party: string | undefined,
  close: Close,
): Verdict {
  const before = predecessorOf(wire, close.line);
  const { thread } = ask;
  if (before === undefined || thread === undefined) return FALSE;
  const isProposal = typeOf(ask) === "proposal";
  const parties = party === undefined ? partiesOf(ask) : [party];

  const conditions: Verdict[] = [
    // 1. The ask is not void, and its asker's position.
    isNotVoid(wire, ask),
    decided(!isProposal || samePlace(positionAt(wire, before, thread), placeOf(ask))),
    // 2. One entry for each party, and no other.
    decided(
      close.entries.length === parties.length &&
        parties.every((handle) => close.entries.some(({ by }) => by === handle)),
    ),
  ];
  for (const entry of close.entries) {
    if (!isHandle(entry.by)) return FALSE;
    if (entry.at === undefined) {
      conditions.push(isUnchainedApproval(wire, ask, entry.by, entry.ack, close.line));
      continue;
    }
    conditions.push(isApprovingAt(wire, ask, entry.ack, entry.at));
    conditions.push(isLastKnown(wire, before, entry.at));
  }
  if (isChange(ask)) {
    // 5. and 6. of next 3.11; nothing unchained counts.
    conditions.push(decided(close.entries.every(({ at }) => at !== undefined)));
    conditions.push(isCountedWord(wire, ask));
    for (const { ack } of close.entries) {
      const word = ack === undefined ? undefined : lineAt(wire, ack);
      // Where it is not held, `at` is not held either, and condition 3 is open.
      if (word !== undefined) conditions.push(isCountedWord(wire, word));
    }
    const between = branchOf(wire, before).filter((line) => descends(wire, line, placeOf(ask)));
    conditions.push(decided(!between.some(isLeave)));
  }
  return every(conditions);
}

/** Condition 3: at `at`, the party's word is that ack. */
function isApprovingAt(wire: Wire, ask: ModelLine, ack: Place | undefined, at: Place): Verdict {
  const last = lineAt(wire, at);
  const { thread } = ask;
  if (thread === undefined) return FALSE;
  if (last === undefined) return openFor(at);
  if (branchOf(wire, last).filter((line) => isWord(line, thread)).length > MAX_WORDS) return FALSE;
  const answers = wordsOf(wire, last, thread).filter((word) =>
    samePlace(answerIn(word, typeOf(ask))?.to, placeOf(ask)),
  );
  if (typeOf(ask) === "proposal") {
    const approving = answers.filter((word) => answerIn(word, "proposal")?.approves === true);
    const lastApproving = approving.at(-1);
    return decided(
      samePlace(positionAt(wire, last, thread), placeOf(ask)) &&
        lastApproving !== undefined &&
        samePlace(ack, placeOf(lastApproving)),
    );
  }
  const lastAnswer = answers.at(-1);
  return decided(
    lastAnswer !== undefined &&
      answerIn(lastAnswer, "request")?.approves === true &&
      samePlace(ack, placeOf(lastAnswer)),
  );
}

/** Condition 4: nothing of the party that the asker knew lies behind `at`. */
function isLastKnown(wire: Wire, before: ModelLine, at: Place): Verdict {
  const [party, atSeq] = at;
  const larger = knownAt(wire, before, party).filter(
    ([, seq]) => seq !== null && atSeq !== null && seq > atSeq,
  );
  return every(
    larger.map((place): Verdict => {
      const last = lineAt(wire, at);
      const known = lineAt(wire, place);
      if (last === undefined) return openFor(at);
      if (known === undefined) return openFor(place);
      return decided(!descends(wire, known, at));
    }),
  );
}

// --- Unchained answers (next 3.4.5) ---

function namesById(answer: ModelLine, ask: ModelLine): boolean {
  const { acks, answers } = fieldsOf(answer) as Record<string, JsonValue>;
  return acks === ask.id || answers === ask.id;
}

/** That an ack of an unchained agent is bare, and may stand for the only ask of its thread. */
function isBare(wire: Wire, answer: ModelLine, ask: ModelLine, close: ModelLine): boolean {
  const fields = fieldsOf(answer);
  const requestId = fields["request_id"];
  const hasNone =
    !isText(fields["acks"]) &&
    readPlace(fields["acks"]) === undefined &&
    !isText(fields["answers"]) &&
    !isJsonArray(fields["answers"]) &&
    readPlace(fields["about"]) === undefined &&
    (!isText(requestId) || requestId === fieldsOf(ask)["request_id"]);
  const to = addresseesOf(answer) ?? [];
  const beginsThread =
    ask.thread === ask.timestamp &&
    !branchOf(wire, ask)
      .slice(0, -1)
      .some((earlier) => earlier.thread === ask.thread);
  const asksBefore = branchOf(wire, close)
    .slice(0, -1)
    .filter((line) => line.thread === ask.thread && isAskType(line));
  return (
    hasNone &&
    (to.includes(ask.author) || to.includes("*")) &&
    beginsThread &&
    asksBefore.length === 1
  );
}

function isUnchainedApproval(
  wire: Wire,
  ask: ModelLine,
  by: string,
  ack: Place | undefined,
  close: ModelLine,
): Verdict {
  const before = predecessorOf(wire, close);
  if (ack === undefined || ack[1] !== null || before === undefined) return FALSE;
  if (knownAt(wire, before, by).some(([, seq]) => seq !== null)) return FALSE;
  const answer = lineAt(wire, ack);
  if (answer === undefined) return openFor(ack);
  return decided(
    answer.isSigned &&
      typeOf(answer) === "ack" &&
      answer.thread === ask.thread &&
      fieldsOf(answer)["approve"] !== false &&
      (namesById(answer, ask) || isBare(wire, answer, ask, close)),
  );
}

// --- The outcome of an ask of a chain (next 3.4.3, 3.4.4) ---

type BranchOutcome =
  | { readonly is: "none" }
  | { readonly is: "waits"; readonly missing: readonly Place[] }
  | { readonly is: "closed"; readonly close: Close };

/** The first valid close on the branch of `tip`; a close that is open hides all later ones. */
function outcomeOnBranch(
  wire: Wire,
  tip: ModelLine,
  ask: ModelLine,
  party: string | undefined,
): BranchOutcome {
  for (const close of closesOf(wire, tip, ask, party)) {
    if (close.outcome === "ended") return { is: "closed", close };
    const verdict = isValidApproval(wire, ask, party, close);
    if (verdict.is === "true") return { is: "closed", close };
    if (verdict.is === "open") return { is: "waits", missing: verdict.missing };
  }
  return { is: "none" };
}

/** Whether an `ended` is shown as rejected (next 3.4.3). */
function isRejection(wire: Wire, ask: ModelLine, party: string | undefined, close: Close): boolean {
  const parties = party === undefined ? partiesOf(ask) : [party];
  return close.entries.some(({ by, ack }) => {
    if (!isHandle(by) || !parties.includes(by) || ack === undefined) return false;
    const answer = lineAt(wire, ack);
    if (answer === undefined || answer.thread !== ask.thread) return false;
    if (answer.seq === null) {
      return (
        answer.isSigned &&
        typeOf(answer) === "ack" &&
        fieldsOf(answer)["approve"] === false &&
        (namesById(answer, ask) || isBare(wire, answer, ask, close.line))
      );
    }
    if (!wordsOf(wire, answer, answer.thread ?? "").includes(answer)) return false;
    const given = answerIn(answer, typeOf(ask));
    const isCounter =
      typeOf(ask) === "proposal" &&
      typeOf(answer) === "proposal" &&
      samePlace(readPlace(fieldsOf(answer)["counters"]), placeOf(ask));
    return isCounter || (given?.approves === false && samePlace(given.to, placeOf(ask)));
  });
}

const byRecord = (a: Close, b: Close): number =>
  (a.line.seq ?? 0) - (b.line.seq ?? 0) || (a.line.id < b.line.id ? -1 : 1);

function waitsForOf(missing: readonly Place[]): Pick<AskOutcome, "waitsFor"> {
  if (missing.length === 0) return {};
  const pairs = new Map(
    missing.map(([author, seq]) => [`${author} ${seq}`, [author, seq] as const]),
  );
  return {
    waitsFor: [...pairs.values()].toSorted(
      ([a, seqA], [b, seqB]) => (a < b ? -1 : a > b ? 1 : 0) || (seqA ?? 0) - (seqB ?? 0),
    ),
  };
}

/** Whether a party's chain, on any branch, names the close or what descends from it (next 3.4.4). */
function isNamedByParty(wire: Wire, parties: readonly string[], close: ModelLine): boolean {
  return parties
    .flatMap((party) => linkedLinesOf(wire, party))
    .flatMap((line) => placesNamedBy(line, "but refused"))
    .some((place) => {
      const named = lineAt(wire, place);
      return named === close || (named !== undefined && descends(wire, named, placeOf(close)));
    });
}

/** The outcome of an ask of a chain, of a request for one party (next 3.4.3, 3.4.4). */
function outcomeOfChained(wire: Wire, ask: ModelLine, party: string | undefined): AskOutcome {
  const parties = party === undefined ? partiesOf(ask) : [party];
  const head = { ask: placeOf(ask), ...(party === undefined ? {} : { of: party }) };
  const branches = tipsOf(wire, ask.author)
    .filter((tip) => branchOf(wire, tip).includes(ask))
    .map((tip) => outcomeOnBranch(wire, tip, ask, party));
  const closes = branches.flatMap((result) => (result.is === "closed" ? [result.close] : []));
  if (closes.length === 0) {
    const missing = branches.flatMap((result) => (result.is === "waits" ? result.missing : []));
    return { ...head, outcome: "pending", ...waitsForOf(missing) };
  }
  let standing = [...new Set(closes.map(({ outcome }) => outcome))];
  if (standing.length > 1) {
    standing = standing.filter((outcome) =>
      closes.some(
        (close) => close.outcome === outcome && isNamedByParty(wire, parties, close.line),
      ),
    );
  }
  const [outcome] = standing;
  if (outcome === undefined || standing.length > 1) return { ...head, outcome: "disputed" };
  const recorded = closes.filter((close) => close.outcome === outcome).toSorted(byRecord)[0];
  if (recorded === undefined) throw new Error("an outcome without a close");
  const restsOnBare =
    outcome === "approved" &&
    recorded.entries.some(({ ack, at }) => {
      const answer = ack === undefined ? undefined : lineAt(wire, ack);
      return at === undefined && answer !== undefined && !namesById(answer, ask);
    });
  const isShownAsRejected = outcome === "ended" && isRejection(wire, ask, party, recorded);
  return {
    ...head,
    outcome: isShownAsRejected ? "rejected" : outcome,
    close: placeOf(recorded.line),
    ...(restsOnBare ? { isUnprovedByName: true } : {}),
  };
}

// --- Unchained asks (next 3.4.5) ---

/** The outcome of an unchained ask in the chain of its one party. */
function outcomeByParty(wire: Wire, ask: ModelLine, party: string): AskOutcome {
  const { thread } = ask;
  const closesOn = (tip: ModelLine): readonly Close[] =>
    wordsOf(wire, tip, thread ?? "")
      .map(readClose)
      .filter((close) => close !== undefined)
      .filter(({ decides }) => samePlace(decides, placeOf(ask)));
  const isValid = (close: Close): boolean =>
    close.outcome === "ended" || isNotVoid(wire, ask).is === "true";
  const closes = tipsOf(wire, party)
    .map((tip) => closesOn(tip).find(isValid))
    .filter((close) => close !== undefined);
  const outcomes = new Set(closes.map(({ outcome }) => outcome));
  if (outcomes.size > 1) return { ask: placeOf(ask), outcome: "disputed" };
  const recorded = closes.toSorted(byRecord)[0];
  if (recorded === undefined) return { ask: placeOf(ask), outcome: "pending" };
  const isRejected = recorded.outcome === "ended" && fieldsOf(recorded.line)["approve"] === false;
  return {
    ask: placeOf(ask),
    outcome: isRejected ? "rejected" : recorded.outcome,
    close: placeOf(recorded.line),
  };
}

function outcomesOfUnchained(wire: Wire, ask: ModelLine): readonly AskOutcome[] {
  const unproved = ask.isSigned ? {} : { isUnproved: true };
  if (isForAnybody(ask)) {
    const others = [...new Set(wire.lines.map(({ author }) => author))].filter(
      (author) => author !== ask.author,
    );
    const closed = others
      .map((party) => ({ ...outcomeByParty(wire, ask, party), of: party, ...unproved }))
      .filter(({ outcome }) => outcome !== "pending");
    if (closed.length > 0) return closed;
  }
  const [party, ...others] = partiesOf(ask);
  if (party === undefined || party === ask.author || others.length > 0) {
    return [{ ask: placeOf(ask), outcome: "pending", ...unproved }];
  }
  const isRequest = typeOf(ask) === "request" && isNotVoid(wire, ask).is === "true";
  return [
    { ...outcomeByParty(wire, ask, party), ...(isRequest ? { of: party } : {}), ...unproved },
  ];
}

// --- Members (next 3.11) ---

export type Roster = ReadonlyMap<string, boolean>;

export interface Change {
  readonly after: number | Place;
  readonly starts: Roster;
  readonly leaves: readonly Place[];
  readonly makes: Roster;
  readonly required: readonly string[];
}

function readRoster(value: JsonValue | undefined): Roster | undefined {
  if (!isJsonObject(value)) return undefined;
  const roster = new Map<string, boolean>();
  for (const [key, mark] of Object.entries(value)) {
    const handle = readHandle(key);
    if (handle === undefined || roster.has(handle) || typeof mark !== "boolean") return undefined;
    roster.set(handle, mark);
  }
  return roster;
}

function readPlaces(value: JsonValue | undefined): readonly Place[] | undefined {
  if (!isJsonArray(value)) return undefined;
  const places = value.map(readPlace);
  return places.every((place) => place !== undefined) ? places : undefined;
}

/** The fields of a change; undefined when one is missing or has another form. */
export function readChange(ask: ModelLine): Change | undefined {
  const fields = fieldsOf(ask);
  const after = isCount(fields["after"]) ? fields["after"] : readPlace(fields["after"]);
  const starts = readRoster(fields["starts"]);
  const makes = readRoster(fields["makes"]);
  const leaves = readPlaces(fields["leaves"]);
  const required = requiredOf(ask);
  if (!isChange(ask) || ask.seq === null) return undefined;
  if (after === undefined || starts === undefined || makes === undefined) return undefined;
  if (leaves === undefined || !Array.isArray(required)) return undefined;
  return { after, starts, leaves, makes, required };
}

export function threadOf(wireId: string, after: number | Place): string {
  if (typeof after !== "number") return `roster:${after[2]}`;
  return after === 0 ? `roster:${wireId}` : `roster:${wireId}:${after}`;
}

/** A leave is a `shutdown` with `"leave": true` in a chain. */
export const isLeave = (line: ModelLine): boolean =>
  line.seq !== null && typeOf(line) === "shutdown" && fieldsOf(line)["leave"] === true;

const isSameRoster = (a: Roster, b: Roster): boolean =>
  a.size === b.size && [...a].every(([handle, mark]) => b.get(handle) === mark);

const isSameSet = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((handle) => b.includes(handle));

/** `roster` less the member that wrote each of the leaves; undefined if one is of no member of it. */
function lessLeaves(roster: Roster, leaves: readonly Place[]): Roster | undefined {
  const rest = new Map(roster);
  for (const [author] of leaves) {
    if (!rest.delete(author)) return undefined;
  }
  return rest;
}

/** Who has to take a change: the asker and who is required. */
export function takersOf(starts: Roster, makes: Roster): readonly string[] {
  return [...makes]
    .filter(([handle, mark]) => mark && starts.has(handle))
    .map(([handle]) => handle);
}

/** `makes` is `starts` with one handle more, one less, or none, and no mark falls. */
function isOneStep(starts: Roster, makes: Roster): boolean {
  const added = [...makes.keys()].filter((handle) => !starts.has(handle));
  const removed = [...starts.keys()].filter((handle) => !makes.has(handle));
  const hasFallen = [...makes].some(([handle, mark]) => !mark && starts.get(handle) === true);
  const chaining = [...starts.values()].filter((mark) => mark).length;
  return (
    added.length + removed.length <= 1 &&
    !hasFallen &&
    (removed.length === 0 || starts.size >= 3) &&
    (!removed.some((handle) => starts.get(handle) === true) || chaining >= 3)
  );
}

/** Whether handles can be those of one wire (next 1.1). */
function canBeRoster(handles: readonly string[]): boolean {
  const lower = handles.map((handle) => handle.toLowerCase());
  const pairs = lower.flatMap((a) => lower.filter((b) => a !== b).map((b) => `${a}_to_${b}`));
  return (
    handles.length <= 256 &&
    new Set(lower).size === lower.length &&
    new Set(pairs).size === pairs.length &&
    !lower.some((handle) => /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/.test(handle))
  );
}

/** The change before, when the line at `after` is the valid `approved` close of one. */
function changeBefore(wire: Wire, after: Place): { verdict: Verdict; change?: Change } {
  const line = lineAt(wire, after);
  if (line === undefined) return { verdict: openFor(after) };
  const decides = readClose(line)?.decides;
  const ask = decides === undefined ? undefined : lineAt(wire, decides);
  const change = ask === undefined ? undefined : readChange(ask);
  if (ask === undefined || change === undefined) return { verdict: FALSE };
  const result = outcomeOnBranch(wire, line, ask, undefined);
  if (result.is === "waits") return { verdict: openFor(...result.missing) };
  const isIt =
    result.is === "closed" && result.close.line === line && result.close.outcome === "approved";
  return isIt ? { verdict: TRUE, change } : { verdict: FALSE };
}

/** A valid change with all that it follows, the latest first. */
function lineageOf(wire: Wire, change: Change): readonly Change[] {
  if (typeof change.after === "number") return [change];
  const earlier = changeBefore(wire, change.after).change;
  return [change, ...(earlier === undefined ? [] : lineageOf(wire, earlier))];
}

/** The `after` of a leave: the epoch, or the close of the last change that its author knew. */
function afterOfLeave(line: ModelLine): number | Place | undefined {
  const value = fieldsOf(line)["after"];
  return isCount(value) ? value : readPlace(value);
}

const isOneOf = (after: number | Place, afters: readonly (number | Place)[]): boolean =>
  afters.some((other) =>
    typeof after === "number" || typeof other === "number"
      ? after === other
      : samePlace(after, other),
  );

/** "When a change is void", the other way round. */
function isSoundChange(wire: Wire, ask: ModelLine): Verdict {
  const change = readChange(ask);
  if (change === undefined) return FALSE;
  const { after, starts, leaves, makes, required } = change;
  const takers = takersOf(starts, makes);
  const isSound =
    ask.thread === threadOf(wire.pinned.wireId, after) &&
    starts.get(ask.author) === true &&
    makes.get(ask.author) === true &&
    canBeRoster([...makes.keys()]) &&
    isOneStep(starts, makes) &&
    isSameSet(
      required,
      takers.filter((handle) => handle !== ask.author),
    ) &&
    new Set(leaves.map(([author]) => author)).size === leaves.length &&
    leaves.every(([author]) => !starts.has(author));
  if (!isSound) return FALSE;
  const isLeaveAfter =
    (afters: readonly (number | Place)[] | undefined) =>
    (place: Place): Verdict => {
      const line = lineAt(wire, place);
      if (line === undefined) return openFor(place);
      const own = afterOfLeave(line);
      if (!isLeave(line) || own === undefined) return FALSE;
      return decided(afters === undefined || isOneOf(own, afters));
    };
  if (typeof after === "number") return every(leaves.map(isLeaveAfter([after])));
  const before = changeBefore(wire, after);
  if (before.change === undefined) {
    return every([before.verdict, ...leaves.map(isLeaveAfter(undefined))]);
  }
  const lineage = lineageOf(wire, before.change);
  const left = lessLeaves(before.change.makes, leaves);
  const countedBefore = lineage.flatMap((earlier) => earlier.leaves);
  return every([
    ...leaves.map(isLeaveAfter([after, ...lineage.map((earlier) => earlier.after)])),
    decided(left !== undefined && isSameRoster(starts, left)),
    decided(!leaves.some((place) => countedBefore.some((other) => samePlace(place, other)))),
  ]);
}

/** That a place is the end of the ask at `ask`. */
function isEndOf(wire: Wire, place: Place, ask: Place): Verdict {
  const line = lineAt(wire, place);
  if (line === undefined) return openFor(place);
  const asked = lineAt(wire, ask);
  if (line.seq === null || asked === undefined || typeOf(asked) !== "proposal") return FALSE;
  if (!descends(wire, line, ask)) return FALSE;
  const isEnded = closesOf(wire, line, asked, undefined).some(
    (close) => close.line === line && close.outcome === "ended",
  );
  if (!isEnded && !isLeave(line)) return FALSE;
  const before = predecessorOf(wire, line);
  if (before === undefined) return FALSE;
  const result = outcomeOnBranch(wire, before, asked, undefined);
  if (result.is === "waits") return openFor(...result.missing);
  return decided(result.is === "none");
}

/** That a word which takes a change counts: "One change for each `after`". */
export function isCountedWord(wire: Wire, word: ModelLine): Verdict {
  const taken = placeTakenBy(word);
  if (taken === undefined || word.thread === undefined) return FALSE;
  const words = wordsOf(wire, word, word.thread);
  if (!words.includes(word)) return FALSE;
  const earlier = words
    .slice(0, -1)
    .map((line) => ({ line, place: placeTakenBy(line) }))
    .filter(({ place }) => place !== undefined && !samePlace(place, taken))
    .at(-1);
  if (earlier?.place === undefined) return TRUE;
  const other = earlier.place;
  const listed = fieldsOf(word)["ends"];
  const ends = (isJsonArray(listed) ? listed.slice(0, MAX_NAMED_ENTRIES) : [])
    .map(readPlace)
    .filter((place) => place !== undefined);
  return every([
    isCountedWord(wire, earlier.line),
    some(ends.map((place) => isEndOf(wire, place, other))),
  ]);
}

export interface RosterPath {
  /** What the applied changes have made. */
  readonly reached: Roster;
  /** What a next change may have as its `after`: the epoch, or a close of the last change. */
  readonly afters: readonly (number | Place)[];
  /** The epoch and the closes of all applied changes. */
  readonly applied: readonly (number | Place)[];
  readonly counted: readonly Place[];
  readonly isForked: boolean;
}

/** The approved changes that follow on one of `afters`, where `roster` was reached. */
export function changesAfter(
  wire: Wire,
  asks: readonly AskOutcome[],
  afters: readonly (number | Place)[],
  roster: Roster,
): readonly { readonly ask: ModelLine; readonly change: Change }[] {
  return asks.flatMap(({ ask: askPlace, outcome }) => {
    const ask = lineAt(wire, askPlace);
    const change = ask === undefined ? undefined : readChange(ask);
    if (outcome !== "approved" || ask === undefined || change === undefined) return [];
    if (!isOneOf(change.after, afters)) return [];
    if (typeof change.after !== "number") return [{ ask, change }];
    const left = lessLeaves(roster, change.leaves);
    return left !== undefined && isSameRoster(change.starts, left) ? [{ ask, change }] : [];
  });
}

/** The first valid closes of an ask, of all branches of its asker. */
function closesOnBranches(wire: Wire, ask: ModelLine): readonly Place[] {
  return tipsOf(wire, ask.author)
    .filter((tip) => branchOf(wire, tip).includes(ask))
    .map((tip) => outcomeOnBranch(wire, tip, ask, undefined))
    .flatMap((result) => (result.is === "closed" ? [placeOf(result.close.line)] : []));
}

/** Applies one change after the other, as long as there is exactly one. */
export function followRoster(wire: Wire, asks: readonly AskOutcome[]): RosterPath {
  const { pinned } = wire;
  const counted: Place[] = [];
  const applied: (number | Place)[] = [pinned.epoch];
  let reached: Roster = new Map(
    pinned.roster.map((handle) => [handle, !pinned.unchained.includes(handle)] as const),
  );
  let afters: readonly (number | Place)[] = applied;
  for (;;) {
    const changes = changesAfter(wire, asks, afters, reached);
    const [next] = changes;
    if (next === undefined || changes.length > 1) {
      return { reached, afters, applied, counted, isForked: changes.length > 1 };
    }
    reached = next.change.makes;
    counted.push(...next.change.leaves);
    afters = closesOnBranches(wire, next.ask);
    applied.push(...afters);
  }
}

/** The leaves of an agent, on any of its branches, that end its membership on this path. */
export function leavesInForce(wire: Wire, handle: string, path: RosterPath): readonly Place[] {
  return linkedLinesOf(wire, handle)
    .filter((line) => {
      const after = afterOfLeave(line);
      return isLeave(line) && after !== undefined && isOneOf(after, path.applied);
    })
    .map(placeOf)
    .filter((leave) => !path.counted.some((place) => samePlace(place, leave)));
}

/** The roster in force. */
function rosterInForce(wire: Wire, asks: readonly AskOutcome[]): RosterInForce {
  const path = followRoster(wire, asks);
  const members = [...path.reached]
    .filter(([handle]) => leavesInForce(wire, handle, path).length === 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { members: Object.fromEntries(members), isForked: path.isForked };
}

// --- All of it ---

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function compareAsks(a: AskOutcome, b: AskOutcome): number {
  return (
    compareText(a.ask[0], b.ask[0]) ||
    (a.ask[1] ?? 0) - (b.ask[1] ?? 0) ||
    compareText(a.ask[2], b.ask[2]) ||
    compareText(a.of ?? "", b.of ?? "")
  );
}

/** Each ask of a wire: a word that is read and linked, or an unchained line of a thread. */
function asksOf(wire: Wire): readonly ModelLine[] {
  return wire.lines.filter((line) => {
    if (!isAskType(line) || line.thread === undefined) return false;
    return (
      line.seq === null || (isLinked(wire, line) && wordsOf(wire, line, line.thread).includes(line))
    );
  });
}

function outcomesOfAsk(wire: Wire, ask: ModelLine): readonly AskOutcome[] {
  if (ask.seq === null) return outcomesOfUnchained(wire, ask);
  if (typeOf(ask) === "proposal" || isNotVoid(wire, ask).is === "false") {
    return [outcomeOfChained(wire, ask, undefined)];
  }
  return partiesOf(ask).map((party) => outcomeOfChained(wire, ask, party));
}

/** What follows from a set of lines: sorted by the author, number and id of the ask, and the party. */
export function findingsOf(pinned: Pinned, lines: readonly ModelLine[]): Findings {
  const wire = readWire(pinned, lines);
  const asks = asksOf(wire)
    .flatMap((ask) => outcomesOfAsk(wire, ask))
    .toSorted(compareAsks);
  return { asks, roster: rosterInForce(wire, asks) };
}
