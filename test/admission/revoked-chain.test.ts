import { describe, expect, test } from "vitest";
import type { AdmissionContext } from "../../src/admission/context.ts";
import { saveLogAdmission, type LogAdmission } from "../../src/admission/log-admission.ts";
import type { PinnedKey } from "../../src/trust/store.ts";
import { admit, freshLog, judge, LOG, short, verified } from "./admission-scene.ts";
import {
  alice,
  context,
  NOON_MS,
  note,
  peer,
  person,
  pinned,
  signV31,
  storeOf,
} from "../trust/people.ts";
import type { Fields, Person } from "../trust/people.ts";

// Spec 2.5: alice's key was stolen. Lines 2 and 3 are the attacker's; alice herself stands at line 1.

const renewed = person("alice", " renewed");

function line(who: Person, seq: number, before: Fields | undefined, body: string): Fields {
  const prev = before === undefined ? {} : { prev: before["event_id"] };
  return signV31(note({ log: LOG, seq, body, ...prev }), who);
}

const honest = line(alice, 1, undefined, "honest");
const forged = line(alice, 2, honest, "forged");
const last = line(alice, 3, forged, "forged too");

/** What bob believes once he has revoked the old key at that line and proved the new one. */
function believing(end: Fields, lost: Partial<PinnedKey> = {}): AdmissionContext {
  const ends = new Map([[LOG, { seq: Number(end["seq"]), id: String(end["event_id"]) }]]);
  const stopped: PinnedKey = { ...pinned(alice, false), revoked: true, ends, ...lost };
  return context({ store: storeOf({ ...peer(alice), keys: [stopped, pinned(renewed)] }) });
}

/** The log as it stood when the key was revoked. */
function logAt(...lines: readonly Fields[]): LogAdmission {
  const log = freshLog();
  for (const each of lines) expect(short(judge(each, log))).toBe("accepted");
  return log;
}

describe("the first line of the new key", () => {
  test.each([
    ["where alice had stood", line(renewed, 2, honest, "new")],
    ["at the beginning", line(renewed, 1, undefined, "new")],
    ["behind the attacker", line(renewed, 4, last, "new")],
    ["beyond what anybody has seen", line(renewed, 9, honest, "new")],
  ])("is taken %s, and the chain goes on from it", (_where, first) => {
    const ctx = believing(last);
    const log = logAt(honest, forged, last);
    const accepted = { outcome: "accepted", afterGap: false, events: [] };
    expect(judge(first, log, ctx)).toEqual(accepted);
    const seq = Number(first["seq"]);
    expect(log.chain).toEqual({ head: { seq, id: first["event_id"] }, gaps: [] });
    expect(judge(line(renewed, seq + 1, first, "and on"), log, ctx)).toEqual(accepted);
    expect(short(judge(line(renewed, seq + 1, first, "twice"), log, ctx))).toBe("log_forked");
  });

  test("is recalled from the journal as it was judged", () => {
    const ctx = believing(last);
    const live = logAt(honest, forged, last);
    const recalled = logAt(honest, forged, last);
    const first = line(renewed, 2, honest, "new");
    judge(first, live, ctx);
    const noted = { reason: undefined };
    admit(verified(first, ctx), recalled, ctx, NOON_MS, { mode: "recall", noted });
    expect(saveLogAdmission(recalled)).toEqual(saveLogAdmission(live));
    expect(recalled.held).toBeUndefined();
  });

  test("leaves what was shown before known", () => {
    const ctx = believing(last);
    const log = logAt(honest, forged, last);
    judge(line(renewed, 2, honest, "new"), log, ctx);
    for (const each of [honest, forged, last]) {
      expect(short(judge(each, log, { ...ctx, store: context().store }))).toBe("duplicate");
    }
  });
});

describe("the chain is not let go", () => {
  const first = line(renewed, 2, honest, "new");

  test.each([
    ["for a key that was only stopped", { revoked: false }],
    ["where nothing was noted of that log", { ends: new Map() }],
    ["where another line was noted", { ends: new Map([[LOG, { seq: 2, id: "00" }]]) }],
  ])("%s", (_why, lost) => {
    const log = logAt(honest, forged, last);
    expect(short(judge(first, log, believing(last, lost)))).toBe("log_forked");
  });

  test("once it has gone beyond the line that was noted", () => {
    const log = logAt(honest, forged, last);
    expect(short(judge(first, log, believing(forged)))).toBe("log_forked");
  });

  test("by the revoked key itself", () => {
    const log = logAt(honest, forged, last);
    const again = line(alice, 2, honest, "the attacker once more");
    const alive = believing(last, { active: true });
    expect(short(judge(again, log, alive))).toBe("log_forked");
  });

  test("by a line that is wrong by itself, or that stands outside the chain", () => {
    const ctx = believing(last);
    const linked = signV31(note({ log: LOG, seq: 1, prev: honest["event_id"] }), renewed);
    expect(short(judge(linked, logAt(honest, forged, last), ctx))).toBe("log_forked");
    const loose = signV31(note({ log: LOG, seq: 2 }), renewed);
    expect(short(judge(loose, logAt(honest, forged, last), ctx))).toBe("log_forked");
    const log = logAt(honest, forged, last);
    expect(short(judge(signV31(note(), renewed), log, ctx))).toBe("unchained");
    expect(log.chain.head?.seq).toBe(3);
  });

  test("in a log that has shown nothing, there is none", () => {
    expect(short(judge(line(renewed, 1, undefined, "new"), freshLog(), believing(last)))).toBe(
      "accepted",
    );
  });
});
