import { SharedLines, type SharedRead } from "../../carriers/shared-lines.ts";
import { lineAt, type HistoryLine } from "../../protocol/asks/history.ts";
import { field } from "../../protocol/body.ts";
import { severityOf } from "../../protocol/escalations/incident-line.ts";
import { looseAnswer } from "../../protocol/asks/obligation.ts";
import type { HeldLine, StoreWriter } from "../../store/store.ts";
import type { ToldIncident } from "../../store/told.ts";
import { signFields } from "../../wire/compose.ts";
import { firstCodePoints } from "../../wire/json/code-points.ts";
import { fromPlain, type JsonObject } from "../../wire/json/json.ts";
import { kindOf } from "../../wire/kinds.ts";
import { isChained, isSamePlace, readPlace, type Place } from "../../wire/places.ts";
import type { Duty, Ground } from "./duty.ts";

/** Its path in the wire's folder. */
const INCIDENT_LOG = "incident_log.jsonl";
/** Of what one agent says about one incident. */
const MOST_SAID = 16;
/** Incidents of a thread to which an ack that names nothing may belong. */
const MOST_IN_THREAD = 64;
/** Lines that one round writes. */
const MOST_WRITTEN = 256;
const MAX_SUBJECT_CODE_POINTS = 200;

/**
 * `incident_log.jsonl`: for people, our agent's incidents with what was said about them, byte for byte, and
 * automatic ones that concern the wire. Spec 3.5.
 */
export class IncidentLog implements Duty {
  readonly #ground: Ground;
  readonly #wireDir: string;
  /** Its lines were read up to what is written now; undefined: nothing was to be written yet. */
  #file: SharedLines | undefined;
  #isRead = false;
  /** Something is to be written, and there is more to read first. */
  #isBehind = false;

  constructor(ground: Ground, { wireDir }: { readonly wireDir: string }) {
    this.#ground = ground;
    this.#wireDir = wireDir;
  }

  take(_into: StoreWriter, held: HeldLine): void {
    const { history, place, store } = this.#ground;
    if (!held.isLive || (held.type !== "incident" && held.type !== "ack")) return;
    const line = lineAt(history, held);
    if (line === undefined) return;
    const isOurs = held.type === "incident" && held.author === place.self;
    if (isOurs || this.#isAboutOurs(line)) store.told.copyLine(held.n);
  }

  /** @throws StorageError: what is not written is written by a later round */
  write(): void {
    const due = this.#listDue();
    this.#isBehind = false;
    if (due.length === 0) return;
    this.#file ??= new SharedLines(this.#ground.world.disk, this.#wireDir, INCIDENT_LOG);
    // A process that died after it had written a line did not note that: only then it is there before us.
    if (!this.#isRead) {
      const news = this.#file.read();
      this.#settleFound(due, news);
      this.#isRead = !news.hasMore;
      this.#isBehind = news.hasMore;
      if (news.hasMore) return;
    }
    for (const each of this.#listDue()) {
      let isFound = false;
      const isWritten = this.#file.append(each.line, (news) => {
        isFound = isIn(each.line, news);
        return !isFound;
      });
      // Others have written more than one look takes in: the rest is read first.
      this.#isRead = isWritten || isFound;
      this.#isBehind = !this.#isRead;
      if (this.#isBehind) return;
      this.#settle(each);
    }
  }

  nextDueMs(): number {
    return this.#isBehind ? this.#ground.world.clock.monoMs() : Infinity;
  }

  /** An ack of an incident of ours; of one agent and incident only the first few. */
  #isAboutOurs({ place, type, body, thread }: HistoryLine): boolean {
    const { history, place: ours, store } = this.#ground;
    if (type !== "ack") return false;
    const isOurs = (asked: Place): boolean => {
      const line = asked.author === ours.self ? history.linked(asked) : undefined;
      return line !== undefined && severityOf(line) !== undefined;
    };
    if (isChained(place)) {
      const about = readPlace(field(body, "about"));
      if (about === undefined || !isOurs(about)) return false;
      const said = history.namers(place.author, "about", about, {
        from: "first",
        limit: MOST_SAID,
      });
      return said.some((each) => isSamePlace(each.place, place));
    }
    const loose = history.loose(place);
    const replies = history.looseReplies(place.author, thread);
    return (
      loose !== undefined &&
      replies.length <= MOST_SAID &&
      store
        .newestOfThread(thread, MOST_IN_THREAD)
        .some((asked) => isOurs(asked) && looseAnswer(loose, asked) !== undefined)
    );
  }

  #listDue(): Due[] {
    const { store, place } = this.#ground;
    const copies = store.told.linesToCopy(MOST_WRITTEN).map((n): Due => {
      const line = store.line(n);
      if (line === undefined) throw new Error(`line ${n} is not held`);
      return { is: "copy", of: n, line: line.bytes };
    });
    const told = store.told.toPublish().map((each): Due => {
      const { line } = signFields(noticeFields(each, place.self), place.signer);
      return { is: "notice", of: each.k, line };
    });
    return [...copies, ...told];
  }

  #settleFound(due: readonly Due[], news: SharedRead): void {
    for (const each of due) if (isIn(each.line, news)) this.#settle(each);
  }

  #settle({ is, of }: Due): void {
    const { told } = this.#ground.store;
    this.#ground.store.write(() => {
      if (is === "copy") told.setCopied(of);
      else told.setPublished(of);
    });
  }
}

interface Due {
  readonly is: "copy" | "notice";
  /** `n` of the line, or `k` of the notice. */
  readonly of: number;
  readonly line: Uint8Array;
}

function isIn(line: Uint8Array, { lines }: SharedRead): boolean {
  return lines.some((each) => Buffer.compare(each, line) === 0);
}

/** The same each time it is signed, so that a line which is there already is known. */
function noticeFields(
  { atMs, cause, detail, peer, subject }: ToldIncident,
  from: string,
): JsonObject {
  const timestamp = new Date(atMs).toISOString();
  return fromPlain({
    ...{ timestamp, from, to: ["*"], type: "incident", kind: kindOf("incident") },
    subject: firstCodePoints(subject, MAX_SUBJECT_CODE_POINTS),
    body: { cause, detail, ...(peer === null ? {} : { peer }), severity: "low" },
    ...{ refs: [], priority: "medium", correlation_id: timestamp, ack_required: false },
  }) as JsonObject;
}
