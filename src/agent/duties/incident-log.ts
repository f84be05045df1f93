import { SharedLines } from "../../carriers/shared-lines.ts";
import { lineAt, type HistoryLine } from "../../protocol/asks/history.ts";
import { field } from "../../protocol/body.ts";
import { severityOf } from "../../protocol/escalations/incident-line.ts";
import { looseAnswer } from "../../protocol/asks/obligation.ts";
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
export function incidentLog(ground: Ground, wireDir: string): Duty {
  const { history, store, world } = ground;
  let file: SharedLines | undefined;
  /** Something is to be written, and there is more to read first. */
  let isBehind = false;

  function listDue(): Due[] {
    const { place } = ground;
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

  function settle({ is, of }: Due): void {
    store.write(() => {
      if (is === "copy") store.told.setCopied(of);
      else store.told.setPublished(of);
    });
  }

  return {
    take(_into, held) {
      if (!held.isLive || (held.type !== "incident" && held.type !== "ack")) return;
      const line = lineAt(history, held);
      if (line === undefined) return;
      const isOurs = held.type === "incident" && held.author === ground.place.self;
      if (isOurs || isAboutOurs(ground, line)) store.told.copyLine(held.n);
    },

    /** @throws StorageError: what is not written is written by a later round */
    write() {
      isBehind = false;
      const due = new Set(listDue());
      if (due.size === 0) return;
      file ??= new SharedLines(world.disk, wireDir, INCIDENT_LOG);
      for (const each of due) {
        const isWritten = file.append(each.line, ({ lines }) => {
          // A process that died after it had written a line did not note that.
          for (const other of due)
            if (lines.some((line) => Buffer.compare(line, other.line) === 0)) {
              settle(other);
              due.delete(other);
            }
          return due.has(each);
        });
        if (isWritten) settle(each);
        // Others have written more than one look takes in: the rest is read first.
        else if (due.has(each)) {
          isBehind = true;
          return;
        }
      }
    },

    nextDueMs: () => (isBehind ? world.clock.monoMs() : Infinity),
  };
}

/** An ack of an incident of ours; of one agent and incident only the first few. */
function isAboutOurs(
  { history, place: ours, store }: Ground,
  { place, type, body, thread }: HistoryLine,
): boolean {
  if (type !== "ack") return false;
  const isOurs = (asked: Place): boolean => {
    const line = asked.author === ours.self ? history.linked(asked) : undefined;
    return line !== undefined && severityOf(line) !== undefined;
  };
  if (isChained(place)) {
    const about = readPlace(field(body, "about"));
    if (about === undefined || !isOurs(about)) return false;
    const said = history.namers(place.author, "about", about, { from: "first", limit: MOST_SAID });
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

interface Due {
  readonly is: "copy" | "notice";
  /** `n` of the line, or `k` of the notice. */
  readonly of: number;
  readonly line: Uint8Array;
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
