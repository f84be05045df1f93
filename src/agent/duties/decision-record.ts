import { incidentOf } from "../../api/troubles.ts";
import { SharedLines, type SharedRead } from "../../carriers/shared-lines.ts";
import {
  decisionOf,
  judgeEntry,
  recordsAtMs,
  touchedBy,
  type UnsignedDecision,
} from "../../protocol/asks/record.ts";
import { outcomeOf } from "../../protocol/asks/outcome.ts";
import { field, textField } from "../../protocol/body.ts";
import type { AskPart } from "../../store/asks.ts";
import type { NewEntry } from "../../store/decisions.ts";
import type { NamedKey } from "../../store/keys.ts";
import type { HeldLine, Store, StoreWriter } from "../../store/store.ts";
import { eventId, sha256Hex } from "../../wire/canonical.ts";
import { signFields } from "../../wire/compose.ts";
import { agentName } from "../../wire/handle.ts";
import { fromPlain, isJsonObject, parseObject, type JsonObject } from "../../wire/json/json.ts";
import { readPlace, type Place } from "../../wire/places.ts";
import { decodeSignature, parseKeyId, verifySignature } from "../../wire/signature.ts";
import type { CorePlace } from "../core.ts";
import { takeChangedAsks, type Duty, type Ground, type Known } from "./duty.ts";

/** Its path in the wire's folder. */
export const DECISIONS = "decisions.jsonl";
/** In `meta`: how far the file was read, which reading from its beginning this is, and by which keys. */
const CURSOR = "decisions_cursor";
const READING = "decisions_reading";
const KEYS = "decisions_keys";
/** In `meta`: whether this reading has left entries out since too many were not proved, and some are by now. */
const LEFT_OUT = "decisions_left_out";
/** In `meta`: up to which change of asks it was looked for decisions. */
const CHANGED = "decisions_changed";
/** So many changed asks, entries and decisions are looked at together. */
const MOST_CHANGED = 256;
const MOST_JUDGED = 512;
const MOST_CONTESTED = 16;
const MOST_RECORDED = 16;

/**
 * `decisions.jsonl`: what it holds is judged by the lines that are held, and our daemon records what is its to
 * record. Spec 3.4.7.
 */
export class DecisionRecord implements Duty {
  readonly #ground: Ground;
  readonly #wireDir: string;
  #lines: SharedLines | undefined;
  /** Another round has something to do at once. */
  #hasMore = false;
  #keys: { readonly place: CorePlace; readonly mark: string } | undefined;
  /** Event ids of asks that lines close which were taken in since. */
  #closed = new Set<string>();

  constructor(ground: Ground, wireDir: string) {
    this.#ground = ground;
    this.#wireDir = wireDir;
  }

  take(_into: StoreWriter, { type, id, bytes }: HeldLine): void {
    if (type !== "proposal" && type !== "correction") return;
    const { decisions } = this.#ground.store;
    const parsed = parseObject(bytes);
    const body = (parsed.ok ? field(parsed.value, "body") : undefined) ?? null;
    if (textField(body, "action") === "add_key") this.#keys = undefined;
    const about = type === "proposal" ? id : readPlace(field(body, "decides"))?.id;
    if (about === undefined) return;
    if (type === "correction" && this.#closed.size < MOST_CHANGED) this.#closed.add(about);
    if (decisions.hasPending()) decisions.judgeAgain(about);
  }

  decide(into: StoreWriter): boolean {
    const { store, place } = this.#ground;
    const { decisions } = store;
    const changed = takeChangedAsks(store, into, CHANGED, MOST_CHANGED);
    const closed = [...this.#closed].flatMap((id) => store.asks.withPrefix(id, MOST_CONTESTED));
    this.#closed.clear();
    for (const part of [...changed, ...closed]) this.#tellUnproved(into, part);
    for (const { ask, party, state } of changed) {
      // Whoever closes an ask that names no party decides it for itself.
      const isOther = ask.parties === undefined && party !== place.self;
      if (ask.is !== "proposal" || isOther) continue;
      decisions.judgeAgain(ask.place.id);
      this.#expect(ask.place, state === "contested");
    }
    for (const { n, at } of decisions.contested(MOST_CONTESTED)) {
      const line = store.line(n);
      if (line === undefined || this.#recordsAt(line) === at) continue;
      decisions.judgeAgain(line.id);
      this.#expect(line, true);
    }
    this.#judge(into);
    this.#hasMore ||= changed.length === MOST_CHANGED;
    return false;
  }

  write(): void {
    const { store, place, world, readiness } = this.#ground;
    // Before our own lines are read hardly any entry could be proved.
    if (this.#ground.knownMs(place.self) === undefined) return;
    this.#hasMore = this.#read().hasMore;
    if (this.#hasMore || readiness.is !== "ready") return;
    const due = store.decisions.toRecord(world.clock.wallMs(), MOST_RECORDED);
    for (const n of due) {
      const line = store.line(n);
      const decision = line && this.#decisionOf(line);
      if (line !== undefined && decision !== undefined) this.#record(line, decision);
    }
    if (due.length === 0) return;
    this.#hasMore = this.#read().hasMore || due.length === MOST_RECORDED;
  }

  nextDueMs(): number {
    const { clock } = this.#ground.world;
    if (this.#hasMore) return clock.monoMs();
    // What is overdue could not be written: it is tried again with the next round.
    const nowMs = clock.wallMs();
    const at = this.#ground.store.decisions.nextAfter(nowMs);
    return at === undefined ? Infinity : clock.monoMs() + at - nowMs;
  }

  /** A close whose answers do not prove it closes nothing, and its author should not have signed it. 3.4.3. */
  #tellUnproved(into: StoreWriter, { ask, party }: AskPart): void {
    const { history } = this.#ground;
    const outcome = outcomeOf(history, ask, party === "" ? undefined : party);
    for (const place of outcome.is === "pending" ? outcome.unproved : []) {
      if (history.receipt(place)?.isLive !== true) continue;
      const { author, id } = place;
      const detail = `${id.slice(0, 8)} closes ${ask.place.id.slice(0, 8)} with answers that do not prove it; it closes nothing`;
      this.#tell(into, id, author, detail);
    }
  }

  #tell(into: StoreWriter, id: string, peer: string, problem: string): void {
    this.#ground.tell(into, incidentOf("decision_unproved", { peer, problem }, id));
  }

  #expect(proposal: Place, isContested: boolean): void {
    const { store, history } = this.#ground;
    const n = history.receipt(proposal)?.n;
    const at = this.#recordsAt(proposal);
    if (n === undefined) return;
    if (at === undefined && !isContested) store.decisions.expectNot(n);
    else store.decisions.expect(n, { id: proposal.id, at, isContested });
  }

  #recordsAt(proposal: Place): number | undefined {
    const { history, place } = this.#ground;
    const decision = this.#decisionOf(proposal);
    return decision && recordsAtMs(history, decision, place.self);
  }

  #decisionOf(proposal: Place): UnsignedDecision | undefined {
    const { history, place } = this.#ground;
    return decisionOf(history, proposal, touchedBy(place.domains), place.self);
  }

  #record({ id }: HeldLine, decision: UnsignedDecision): void {
    const { store, place } = this.#ground;
    const unsigned = fromPlain(decision);
    if (!isJsonObject(unsigned)) throw new Error("a decision is an object");
    this.#open().append(signFields(unsigned, place.signer).line, (news) => {
      this.#take(news);
      return store.decisions.proved(id).length === 0;
    });
  }

  /** What other keys have signed, or what was left out, may be proved by now: it is read from the beginning. */
  #open(): SharedLines {
    const { world, store, place } = this.#ground;
    if (this.#keys?.place !== place) this.#keys = { place, mark: keysMark(this.#ground) };
    const isAgain = this.#keys.mark !== store.meta(KEYS) || store.meta(LEFT_OUT) === "proved";
    const cursor = isAgain ? undefined : store.meta(CURSOR);
    if (isAgain || this.#lines === undefined)
      this.#lines = new SharedLines(world.disk, this.#wireDir, DECISIONS, cursor);
    return this.#lines;
  }

  #read(): SharedRead {
    const lines = this.#open();
    const before = lines.cursor;
    const news = lines.read();
    if (news.isAgain || lines.cursor !== before) this.#take(news);
    return news;
  }

  /** Keeps entries together with how far the file is read. */
  #take(news: SharedRead): void {
    const { store } = this.#ground;
    store.write((into) => {
      const reading = Number(store.meta(READING) ?? 0) + (news.isAgain ? 1 : 0);
      if (news.isAgain) into.setMeta(LEFT_OUT, "none");
      const entries = news.lines.flatMap((line) => readEntry(this.#ground, line) ?? []);
      if (!store.decisions.add(entries, reading)) into.setMeta(LEFT_OUT, "some");
      if (!news.hasMore) store.decisions.forgetUnseen(reading);
      this.#judge(into);
      into.setMeta(READING, String(reading));
      into.setMeta(KEYS, this.#keys?.mark ?? "");
      into.setMeta(CURSOR, this.#lines?.cursor ?? "[]");
    });
  }

  /** Judges entries that are due, within a transaction. */
  #judge(into: StoreWriter): void {
    const { store, history } = this.#ground;
    let hasProved = false;
    for (let due = store.decisions.due(MOST_JUDGED); ; due = store.decisions.due(MOST_JUDGED)) {
      for (const { e, id, bytes, signer } of due) {
        const parsed = parseObject(bytes);
        if (!parsed.ok) throw new Error("an entry that is kept is no JSON object");
        const verdict = judgeEntry(history, parsed.value, signer ?? undefined);
        store.decisions.settle(e, verdict.is, verdict.is === "proved" ? "" : verdict.detail);
        hasProved ||= verdict.is === "proved";
        if (verdict.is !== "unproved" || signer === null) continue;
        const entry = `entry ${id.slice(0, 8)} of decisions.jsonl`;
        this.#tell(into, id, signer, `${entry}: ${verdict.detail}`);
      }
      if (due.length < MOST_JUDGED) break;
    }
    if (hasProved && store.meta(LEFT_OUT) === "some") into.setMeta(LEFT_OUT, "proved");
  }
}

/** A line of the file, and who has signed it; undefined for what is no JSON object: a torn line, or junk. */
export function readEntry(by: KeysKnown, line: Uint8Array): NewEntry | undefined {
  const parsed = parseObject(line);
  if (!parsed.ok) return undefined;
  const id = eventId(parsed.value);
  const proposal = readPlace(field(parsed.value, "proposal"))?.id;
  return { id, signer: signerOf(by, parsed.value, id), proposal, bytes: line };
}

/** By what it is told who has signed an entry. */
export interface KeysKnown {
  readonly place: Pick<CorePlace, "believed">;
  readonly store: Pick<Store, "namedKeys">;
}

function signerOf(by: KeysKnown, entry: JsonObject, id: string): string | undefined {
  const keyId = textField(entry, "public_key_id");
  const author = keyId === undefined ? undefined : agentName(parseKeyId(keyId)?.handle ?? "");
  const signature = decodeSignature(textField(entry, "signature") ?? "");
  if (author === undefined || signature === undefined || textField(entry, "event_id") !== id)
    return undefined;
  const signed = Buffer.from(id, "hex");
  const isValid = keysOf(by, author).some(
    (each) => each.keyId === keyId && verifySignature(each.key, signed, signature),
  );
  return isValid ? author : undefined;
}

function keysOf({ place, store }: KeysKnown, author: string): readonly NamedKey[] {
  return [...place.believed(author).keys, ...store.namedKeys.of(author)];
}

/** Changes with the keys that entries may be signed with. */
function keysMark(known: Known): string {
  const keys = [...known.members.keys()].map((author) =>
    keysOf(known, author).map(({ keyId }) => keyId),
  );
  return sha256Hex(Buffer.from(JSON.stringify(keys)));
}
