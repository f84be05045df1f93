import type { HeldLine, Store, StoreWriter } from "../../store/store.ts";
import type { OwnChain } from "../../carriers/publisher.ts";
import { composeLine, composeLoose, nextTimestamp, type Draft } from "../../wire/compose.ts";
import { placesNamed, type ChainPlace, type Place } from "../../wire/places.ts";
import type { Signer } from "../../wire/signature.ts";
import type { Mark } from "./mark.ts";
import { newLine } from "./new-line.ts";
import { readLine } from "../../protocol/admit/read-line.ts";

/** By whom, where and when a line is signed. */
export interface Signing {
  readonly signer: Signer;
  readonly wireId: string;
  readonly version: "v3.1" | "v3.0";
  readonly nowMs: number;
  /** Microseconds within the millisecond. */
  readonly micros: number;
}

/** Whether our lines may be signed, or why not. */
export type Readiness =
  /** Our chain is as long as the mark says, or longer: a mark is written before each append. */
  | { readonly is: "ready" }
  /** The key has no mark: it may be in use elsewhere. */
  | { readonly is: "unmarked" }
  /** Lines of ours up to the mark are missing: they are adopted from our carriers, or wanted. */
  | { readonly is: "behind"; readonly whole: number; readonly mark: number }
  /** Lines of ours lie above the mark or on another branch, or our chain is forked: the key is in use elsewhere. */
  | { readonly is: "in use"; readonly at: number };

/** Closes of asks that are judged with one line of ours: it may be one. */
const MOST_JUDGED = 16;
/** In `meta`: the first line with our signature that we have not signed, as a place. */
const FOREIGN = "foreign_line";

/**
 * Our own chain: the store is the log. A line is signed, held and committed in one transaction, and published
 * from there. Spec 4.7.
 */
export class OwnLines {
  readonly #store: Store;
  readonly #self: string;

  constructor(store: Store, self: string) {
    this.#store = store;
    this.#self = self;
  }

  readiness(mark: Mark | undefined): Readiness {
    if (mark === undefined) return { is: "unmarked" };
    const { seq, fork } = this.#store.chains.whole(this.#self);
    if (fork !== null) return { is: "in use", at: fork };
    const foreign = this.#foreign();
    // A line adopted above the mark counts as foreign until the operator continues the chain from there.
    if (foreign !== undefined && !(this.#isLinked(foreign) && foreign.seq <= mark.seq))
      return { is: "in use", at: foreign.seq };
    if (seq < mark.seq) return { is: "behind", whole: seq, mark: mark.seq };
    const isOurs =
      mark.id === null || this.#isLinked({ author: this.#self, seq: mark.seq, id: mark.id });
    return isOurs ? { is: "ready" } : { is: "in use", at: mark.seq };
  }

  /** Lines with our signature above the mark: until they are adopted, nothing is signed. Spec 1.6. */
  noteForeign(into: StoreWriter, places: readonly ChainPlace[]): void {
    const [first] = places;
    const noted = this.#foreign();
    if (first === undefined || (noted !== undefined && !this.#isLinked(noted))) return;
    into.setMeta(FOREIGN, JSON.stringify([first.seq, first.id]));
  }

  /** The operator has decided about them. */
  forgetForeign(into: StoreWriter): void {
    if (this.#store.meta(FOREIGN) !== undefined) into.setMeta(FOREIGN, "");
  }

  /** The first foreign line on record, adopted or not. */
  #foreign(): ChainPlace | undefined {
    const text = this.#store.meta(FOREIGN) ?? "";
    if (text === "") return undefined;
    const [seq, id] = JSON.parse(text) as [number, string];
    return { author: this.#self, seq, id };
  }

  #isLinked(place: ChainPlace): boolean {
    return this.#store.chains.stateOf(place) === "linked";
  }

  /** A place that a draft names and that is not held: nothing is signed that names one. Spec 1.6. */
  unheldPlace({ body }: Draft): Place | undefined {
    return placesNamed(body)
      .map(({ place }) => place)
      .find(({ author, seq, id }) => {
        if (seq === null) return this.#store.lineAt({ author, seq, id }) === undefined;
        return !this.#isLinked({ author, seq, id });
      });
  }

  /**
   * Within a transaction: signs a draft as the next line of our chain, and holds it. It has passed `checkDraft`,
   * names no unheld place, and `readiness` is "ready".
   */
  append(into: StoreWriter, draft: Draft, signing: Signing): HeldLine {
    const { chains } = this.#store;
    const { seq, id } = chains.whole(this.#self);
    const head = id === null ? undefined : { seq, id };
    const { line } = composeLine(draft, { ...this.#at(signing, draft), head }, signing.signer);
    const held = this.#hold(into, line, signing);
    if (held.seq === null) throw new Error("a line of our chain has no number");
    this.#store.asks.judge(signing.wireId, MOST_JUDGED);
    chains.advance(this.#self);
    chains.setJudged(this.#self, held.seq);
    return this.#held(held.n);
  }

  /** Within a transaction: signs a beat that is in no chain. Only the latest is kept. */
  sayLoose(into: StoreWriter, draft: Draft, signing: Signing): HeldLine {
    const { line } = composeLoose(draft, this.#at(signing, draft), signing.signer);
    const held = this.#hold(into, line, signing);
    this.#store.extras.add(line, signing.nowMs);
    return held;
  }

  #hold(into: StoreWriter, bytes: Uint8Array, { wireId, nowMs }: Signing): HeldLine {
    const read = readLine(bytes, wireId);
    if (!read.ok) throw new Error("a line of ours cannot be read");
    const added = newLine(read.line, { isOurs: false, isVerified: true });
    const { n } = into.hold({ ...added, receivedMs: nowMs, isLive: true });
    into.setVerdict(n, "passed");
    return this.#held(n);
  }

  #held(n: number): HeldLine {
    const held = this.#store.line(n);
    if (held === undefined) throw new Error("a line that was just held is missing");
    return held;
  }

  /** What the publisher needs of our chain. */
  chain(): OwnChain {
    return {
      ...chainToPublish(this.#store, this.#self),
      extras: (after) => this.#store.extras.after(after),
    };
  }

  #at({ wireId, version, nowMs, micros }: Signing, { correlationId }: Draft) {
    const last = this.#store.lastTimestamp(this.#self);
    let timestamp = nextTimestamp(nowMs, micros, last);
    // A line in the thread of another one does not seem to begin it, whatever both clocks say.
    if (timestamp === correlationId) timestamp = nextTimestamp(nowMs, micros, timestamp);
    return { timestamp, wireId, version };
  }
}

/** The followed branch of an author's chain, as carriers get it. */
export function chainToPublish(store: Store, author: string): Pick<OwnChain, "last" | "after"> {
  return {
    last: store.chains.whole(author).seq,
    after: (seq, limit) =>
      store.chains.followed(author, seq, limit).flatMap((n) => {
        const line = store.line(n);
        return line === undefined || line.seq === null
          ? []
          : [{ seq: line.seq, bytes: line.bytes }];
      }),
  };
}
