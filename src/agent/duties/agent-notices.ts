import type { HeldNotice, Notice, NoticeKind } from "../../store/notices.ts";
import type { HeldLine, Store, StoreWriter } from "../../store/store.ts";
import { SECOND_MS } from "../../wire/durations.ts";
import { sanitise } from "../../wire/quote.ts";
import { noticeId, PlainFile, writtenIn, type PlainRow, type PlainRows } from "../plain-files.ts";
import { tellAsks, watchAsk } from "./ask-notices.ts";
import { tellClaims, tellGrant } from "./claim-notices.ts";
import type { Duty, Ground } from "./duty.ts";
import { tellLine } from "./line-notices.ts";
import { PeerNotices, tellMembers, tellSafeMode } from "./standing-notices.ts";

/** What a program of our own operator may have our agent told. */
export const ASKED_KINDS = ["plan_asks"] as const satisfies readonly NoticeKind[];
export type OwnMatter = Pick<Notice, "about" | "text"> & {
  readonly kind: (typeof ASKED_KINDS)[number];
};

export interface AgentNoticesOptions {
  /** `notices.jsonl`. */
  readonly path: string;
  /**
   * Called once for each notice, when it is durable and in the file; not again for one that was told just before
   * the process died. It returns at once and never throws.
   */
  readonly onNotice?: ((notice: Notice) => void) | undefined;
}

/** What is not told by a line alone is looked at so often. */
const PEERS_EVERY_MS = SECOND_MS;
/** Claims that overlap ours may end by their time. */
const CLAIMS_EVERY_MS = 5 * SECOND_MS;
const MOST_HEARD = 64;

/**
 * Tells our agent what no line says by itself: rows of the store, repeated in `notices.jsonl`. Spec 3.12, 4.8.
 */
export class AgentNotices implements Duty {
  readonly #ground: Ground;
  readonly #file: PlainFile;
  readonly #onNotice: AgentNoticesOptions["onNotice"];
  readonly #peers = new PeerNotices();
  /** Up to which notice the listener has heard. */
  #heard: number;
  /** The first reading had ended when it was last decided: what is different since then is news. */
  #wasLive: boolean;
  #peersDueMs = -Infinity;
  /** Claims are looked at then: monotonic ms. */
  #claimsDueMs = -Infinity;

  constructor(ground: Ground, { path, onNotice }: AgentNoticesOptions) {
    this.#ground = ground;
    this.#file = new PlainFile(ground.world.disk, path, noticeRows(ground.store), noticeId);
    this.#onNotice = onNotice;
    this.#heard = ground.store.notices.last();
    this.#wasLive = ground.isLive;
  }

  take(_: StoreWriter, line: HeldLine): void {
    const nowMs = this.#nowMs;
    watchAsk(this.#ground, line);
    tellLine(this.#ground, line, nowMs);
    tellGrant(this.#ground, line, nowMs);
    if (line.type === "claim" || line.type === "release") this.#claimsDueMs = -Infinity;
  }

  decide(into: StoreWriter): boolean {
    const ground = this.#ground;
    const nowMs = this.#nowMs;
    const monoMs = ground.world.clock.monoMs();
    const isNews = this.#wasLive;
    tellAsks(ground, into, nowMs);
    tellMembers(ground, into, { isNews, nowMs });
    if (isNews) tellSafeMode(ground, into, nowMs);
    if (monoMs >= this.#claimsDueMs) {
      const hasAny = tellClaims(ground, into, nowMs);
      this.#claimsDueMs = hasAny ? monoMs + CLAIMS_EVERY_MS : Infinity;
    }
    if (isNews && monoMs >= this.#peersDueMs) {
      this.#peers.tell(ground, into, nowMs);
      this.#peersDueMs = monoMs + PEERS_EVERY_MS;
    }
    this.#wasLive = ground.isLive;
    return false;
  }

  write(): void {
    this.#file.write();
    const { notices } = this.#ground.store;
    for (;;) {
      const rows = notices.after(this.#heard, MOST_HEARD);
      if (rows.length === 0) return;
      for (const row of rows) {
        this.#heard = row.m;
        this.#onNotice?.(plainNotice(row));
      }
    }
  }

  /**
   * Tells what the operator's own program has to say, once for each kind and about. False: it was told before. The
   * file gets it when files are written next.
   */
  notify({ kind, about, text }: OwnMatter): boolean {
    const { store } = this.#ground;
    const matter = { kind, about, text: sanitise(text), peer: undefined };
    return store.write(() => store.notices.add(matter, this.#nowMs));
  }

  close(): void {
    this.#file.close();
  }

  get #nowMs(): number {
    return Math.floor(this.#ground.world.clock.wallMs());
  }
}

/** Notices of a store, as rows of `notices.jsonl`. */
function noticeRows(store: Store): PlainRows {
  return {
    after: (m, limit) => store.notices.after(m, limit).map(plainRow),
    numberOf: (id) => store.notices.numberOf(id),
    oldestUnread: () => store.notices.oldestUnread(),
    ...writtenIn(store, "notices written"),
  };
}

function plainRow(notice: HeldNotice): PlainRow {
  const bytes = Buffer.from(JSON.stringify(plainNotice(notice)), "utf8");
  return { m: notice.m, id: notice.id, bytes };
}

function plainNotice({ at, id, kind, about, text }: HeldNotice): Notice {
  return { at, id, kind, about, text };
}
