import { describe, expect, test } from "vitest";
import { emptyChain } from "../../src/wire/chain.ts";
import { makeLayout } from "../../src/wire/layout.ts";
import { authenticate } from "../../src/admission/authenticate.ts";
import type { RefusalReason } from "../../src/admission/checks.ts";
import { judge as judgeLine, type Verdict } from "../../src/admission/judge.ts";
import {
  acceptFromHere,
  newLogAdmission,
  restoreLogAdmission,
  saveLogAdmission,
  type LogAdmission,
} from "../../src/admission/log-admission.ts";
import { setAllowUnchained } from "../../src/trust/pins.ts";
import { SeenIds } from "../../src/admission/rules/seen-ids.ts";
import { admit, freshLog, judge, short, verified } from "./admission-scene.ts";
import {
  alice,
  context,
  lineOf,
  NOON_MS,
  note,
  peer,
  signV30,
  signV31,
  storeOf,
  unsignedContext,
  withHold,
  type Fields,
} from "../trust/people.ts";

function refused(reason: RefusalReason, detail: string): Verdict {
  return { outcome: "refused", reason, detail, events: [] };
}

/** `count` signed lines of a chain, from `seq` 1 on. */
function chain(count: number, extra: Fields = {}): Fields[] {
  const lines: Fields[] = [];
  for (let seq = 1; seq <= count; seq += 1) {
    lines.push(signV31(linkTo(lines.at(-1), { seq, body: `line ${seq}`, ...extra })));
  }
  return lines;
}

function linkTo(before: Fields | undefined, extra: Fields): Fields {
  const prev = before?.["event_id"];
  return note({ log: "alice_to_bob", ...(prev === undefined ? {} : { prev }), ...extra });
}

function idOf(fields: Fields): string {
  return String(fields["event_id"]);
}

function at<T>(items: readonly T[], index: number): T {
  const item = items.at(index);
  if (item === undefined) throw new Error(`nothing at ${index}`);
  return item;
}

test("a log of which nothing has been read knows whom the author's other logs address", () => {
  const fresh = {
    chain: emptyChain(),
    seen: new SeenIds(1),
    held: undefined,
    mayBeginLate: false,
  };
  expect(freshLog()).toEqual({
    ...fresh,
    name: "alice_to_bob",
    readers: { own: "bob", others: ["carol"] },
  });
  const outbox = makeLayout("outbox", ["alice", "bob"]);
  expect(newLogAdmission(outbox.logs.get("alice")!, outbox, 1)).toEqual({
    ...fresh,
    name: "alice",
    readers: { own: undefined, others: [] },
  });
});

const NOTHING_SHOWN = { runs: [], mark: "", lately: "" };

describe("the chain", () => {
  test("moves line by line", () => {
    const log = freshLog();
    for (const line of chain(3)) {
      expect(judge(line, log)).toEqual({ outcome: "accepted", afterGap: false, events: [] });
    }
    expect(log.chain.head?.seq).toBe(3);
  });

  test("moves for a line that later checks refuse, so the next one follows it", () => {
    const log = freshLog();
    const lines = chain(2, { type: "claim", body: "x".repeat(70_000) });
    const verified = context({ store: storeOf(peer(alice, "VERIFIED")) });
    expect(short(judge(at(lines, 0), log, verified))).toBe("tier_refused");
    expect(log.chain.head?.seq).toBe(1);
    expect(short(judge(at(lines, 1), log))).toBe("body_too_large");
    expect(log.chain.head?.seq).toBe(2);
    expect(log.chain.gaps).toEqual([]);
  });

  test("log_gap: lines after it are delivered, and told", () => {
    const log = freshLog();
    const lines = chain(5);
    judge(at(lines, 0), log);
    expect(judge(at(lines, 3), log)).toEqual({
      outcome: "accepted",
      afterGap: true,
      events: [{ cause: "log_gap", detail: "alice_to_bob: lines 2 to 3 are missing" }],
    });
    expect(judge(at(lines, 4), log)).toMatchObject({ afterGap: false, events: [] });
    expect(judge(at(lines, 2), log)).toEqual({ outcome: "accepted", afterGap: true, events: [] });
    expect(judge(at(lines, 1), log)).toMatchObject({ outcome: "accepted", afterGap: false });
    expect(log.chain.gaps).toEqual([]);
  });

  test("log_gap: of one line", () => {
    const log = freshLog();
    const lines = chain(3);
    judge(at(lines, 0), log);
    expect(judge(at(lines, 2), log)).toMatchObject({
      events: [{ cause: "log_gap", detail: "alice_to_bob: line 2 is missing" }],
    });
  });

  test("an unsigned line is after no gap, whatever place it claims", () => {
    const ctx = unsignedContext();
    const log = freshLog();
    const lines = chain(3);
    judge(at(lines, 0), log, ctx);
    judge(at(lines, 2), log, ctx);
    const claimed = note({ log: "alice_to_bob", seq: 3 });
    expect(judge(claimed, log, ctx)).toEqual({ outcome: "accepted", afterGap: false, events: [] });
  });

  test("a filler that does not link is a fork", () => {
    const log = freshLog();
    const lines = chain(3);
    judge(at(lines, 0), log);
    judge(at(lines, 2), log);
    const other = signV31(linkTo(at(lines, 0), { seq: 2, body: "another line 2" }));
    expect(short(judge(other, log))).toBe("log_forked");
  });

  test("log_forked: the next place with another line before it", () => {
    const log = freshLog();
    const lines = chain(2);
    for (const line of lines) judge(line, log);
    const fork = signV31(linkTo(at(lines, 0), { seq: 3 }));
    const before = idOf(at(lines, 1));
    const detail = `alice_to_bob: line 3 does not follow line 2; the line is ${idOf(fork)} (the chain ended at line 2, ${before})`;
    expect(judge(fork, log)).toEqual({
      outcome: "refused",
      reason: "log_forked",
      detail,
      events: [{ cause: "log_forked", detail }],
    });
    expect(log.held).toEqual({ cause: "log_forked", detail, sinceMs: NOON_MS });
    expect(log.chain.head?.seq).toBe(2);
  });

  test("log_forked: a first line that names one before it", () => {
    const fork = signV31(note({ log: "alice_to_bob", seq: 1, prev: "ab".repeat(32) }));
    const detail = `alice_to_bob: line 1 names a line before it; the line is ${idOf(fork)}`;
    expect(judge(fork, freshLog())).toMatchObject({ reason: "log_forked", detail });
  });

  test("log_forked: an old place with a new line", () => {
    const log = freshLog();
    const lines = chain(2);
    for (const line of lines) judge(line, log);
    const fork = signV31(linkTo(at(lines, 0), { seq: 2, body: "instead" }));
    expect(short(judge(fork, log))).toBe("log_forked");
  });

  test("after a fork nothing is taken until the operator decides", () => {
    const log = freshLog();
    const lines = chain(4);
    for (const line of lines.slice(0, 2)) judge(line, log);
    judge(signV31(linkTo(at(lines, 0), { seq: 2, body: "instead" })), log);
    expect(short(judge(at(lines, 2), log))).toBe("wait");
    expect(log.chain.head?.seq).toBe(2);
    acceptFromHere(log);
    expect(judge(at(lines, 2), log)).toMatchObject({ outcome: "accepted", afterGap: true });
    expect(judge(at(lines, 3), log)).toMatchObject({ outcome: "accepted", afterGap: false });
    expect(short(judge(at(lines, 0), log))).toBe("duplicate");
  });

  test("a copy of the line that forked holds nobody again, and is taken by no later chain", () => {
    const log = freshLog();
    const lines = chain(3);
    for (const line of lines.slice(0, 2)) judge(line, log);
    const fork = signV31(linkTo(at(lines, 0), { seq: 2, body: "instead" }));
    judge(fork, log);
    acceptFromHere(log);
    expect(short(judge(fork, log))).toBe("duplicate");
    expect(short(judge(at(lines, 2), log))).toBe("accepted");
    expect(short(judge(fork, log))).toBe("duplicate");
    expect(log.held).toBeUndefined();
  });

  test("lines that were taken in and are gone stay known, in whatever bytes they come back", () => {
    const log = freshLog();
    const lines = chain(2);
    acceptFromHere(log, [idOf(at(lines, 0))]);
    expect(short(judge(at(lines, 0), log))).toBe("duplicate");
    expect(short(judge(respelled(at(lines, 0)), log))).toBe("duplicate");
    expect(log.chain.head).toBeUndefined();
    expect(short(judge(at(lines, 1), log))).toBe("accepted");
  });

  test("a hold in the store stops every log of the author", () => {
    const why = { cause: "key_revoked", detail: "it was lost", sinceMs: 0 };
    const ctx = context({ store: withHold(storeOf(peer(alice)), "alice", why) });
    expect(judge(at(chain(1), 0), freshLog(), ctx)).toEqual({
      outcome: "wait",
      because: "held",
      detail: "alice is held since key_revoked: it was lost",
      events: [],
    });
  });

  test("one that begins above 1 waits for its archive or the operator's decision", () => {
    const log = freshLog();
    const lines = chain(3);
    const detail =
      "alice_to_bob begins with line 3: lines 1 to 2 are missing, and it needs its archive or the operator's decision";
    expect(judge(at(lines, 2), log)).toEqual({
      outcome: "wait",
      because: "late",
      detail,
      events: [{ cause: "log_gap", detail }],
    });
    expect(log.seen.size).toBe(0);
    for (const line of lines) expect(short(judge(line, log))).toBe("accepted");

    const late = freshLog();
    acceptFromHere(late);
    expect(judge(at(lines, 1), late)).toMatchObject({ outcome: "accepted", afterGap: true });
    expect(judge(at(lines, 0), late)).toMatchObject({ outcome: "accepted", afterGap: false });
  });

  test("an old line in other bytes cannot set the chain back after the operator's decision", () => {
    const log = freshLog();
    const lines = chain(3);
    for (const line of lines) judge(line, log);
    acceptFromHere(log);
    expect(short(judge(respelled(at(lines, 0)), log))).toBe("replayed");
    expect(log.chain.head).toBeUndefined();
  });

  test("a line outside the chain does not let the chain begin late, whatever number it states", () => {
    const log = freshLog();
    const loose = signV30(note({ seq: 1 }));
    const first = { ok: true, message: verified(loose) } as const;
    const live = { mode: "live", receivedAtMs: NOON_MS } as const;
    judgeLine(first, log, context(), { ...live, line: 1 });
    const second = { ok: true, message: verified(at(chain(5), 4)) } as const;
    const verdict = judgeLine(second, log, context(), { ...live, line: 2 });
    expect(verdict).toMatchObject({ outcome: "wait", because: "late" });
  });

  test("nor does it fork the chain that began late on the operator's decision", () => {
    const log = freshLog();
    const lines = chain(3);
    for (const line of lines) judge(line, log);
    acceptFromHere(log);
    // The author goes on from another line 3 than the one that we have seen.
    const later = signV31(note({ log: "alice_to_bob", seq: 4, prev: "ab".repeat(32) }));
    expect(judge(later, log)).toMatchObject({ outcome: "accepted", afterGap: true });
    expect(short(judge(respelled(at(lines, 2)), log))).toBe("replayed");
    expect(log.held).toBeUndefined();
  });

  test("wrong_wire: the line names another wire, or none", () => {
    const ctx = context({ wireId: "w1" });
    const log = freshLog();
    const another = refused("wrong_wire", "the line was written for another wire; this one is w1");
    const none = refused("wrong_wire", "the line names no wire; this one is w1");
    expect(judge(at(chain(1, { wire: "w2" }), 0), log, ctx)).toEqual(another);
    expect(judge(at(chain(1), 0), log, ctx)).toEqual(none);
    expect(judge(signV31(note({ wire: "w2" })), log, ctx)).toEqual(another);
    expect(log.chain.head).toBeUndefined();
    expect(short(judge(signV31(note()), log, ctx))).toBe("accepted");
    expect(short(judge(at(chain(1, { wire: "w1" }), 0), log, ctx))).toBe("accepted");
  });

  test("wrong_wire: a wire without an id checks none", () => {
    expect(short(judge(at(chain(1, { wire: "w2" }), 0), freshLog()))).toBe("accepted");
  });

  test("unchained: after chained lines", () => {
    const log = freshLog();
    expect(short(judge(signV31(note({ body: "before" })), log))).toBe("accepted");
    judge(at(chain(1), 0), log);
    const outside = refused(
      "unchained",
      "this log is chained, and the line carries no place in the chain",
    );
    expect(judge(signV31(note()), log)).toEqual(outside);
    expect(judge(signV30(note()), log)).toEqual(outside);
    expect(short(judge(signV31(note({ body: "before" })), log))).toBe("duplicate");
  });

  test("unchained: let pass from whom the operator lets", () => {
    const store = setAllowUnchained(storeOf(peer(alice)), "alice", true);
    if (!store.ok) throw new Error(store.detail);
    const ctx = context({ store: store.store });
    const log = freshLog();
    const lines = chain(2);
    judge(at(lines, 0), log, ctx);
    expect(short(judge(signV30(note()), log, ctx))).toBe("accepted");
    expect(short(judge(at(lines, 1), log, ctx))).toBe("accepted");
  });

  test("an unsigned line that policy admits stands outside, whatever place it claims", () => {
    const ctx = unsignedContext();
    const log = freshLog();
    judge(at(chain(1), 0), log, ctx);
    const forged = note({ log: "alice_to_bob", seq: 1, body: "a fork, if it were signed" });
    expect(short(judge(forged, log, ctx))).toBe("accepted");
    expect(log.chain.head?.seq).toBe(1);
    expect(log.held).toBeUndefined();
  });

  test("an unsigned copy that comes first does not break the chain", () => {
    const ctx = unsignedContext();
    const log = freshLog();
    const lines = chain(3);
    judge(at(lines, 0), log, ctx);
    const { signature: _, public_key_id: __, ...copy } = at(lines, 1);
    expect(short(judge(copy, log, ctx))).toBe("accepted");
    expect(short(judge(at(lines, 1), log, ctx))).toBe("replayed");
    expect(short(judge(at(lines, 2), log, ctx))).toBe("accepted");
  });
});

/** The same content in other bytes. */
function respelled(fields: Fields): Uint8Array {
  return new TextEncoder().encode(` ${JSON.stringify(fields)}`);
}

describe("an unsigned copy of a chained line", () => {
  const signing = { enforceSigned: true, allowUnsignedFrom: ["alice"] };
  const ctx = unsignedContext({ signing });
  const unsigned = (line: Fields): Fields => ({
    ...line,
    event_id: undefined,
    public_key_id: undefined,
    signature: undefined,
  });

  test("that comes before the first line does not keep the chain from beginning", () => {
    const log = freshLog();
    const [first, second] = chain(2) as [Fields, Fields];
    expect(short(judge(unsigned(first), log, ctx))).toBe("accepted");
    expect(short(judge(first, log, ctx))).toBe("replayed");
    expect(short(judge(second, log, ctx))).toBe("accepted");
    expect(log.chain.head?.seq).toBe(2);
  });

  test("that comes into a gap does not keep the gap open", () => {
    const log = freshLog();
    const [first, second, third] = chain(3) as [Fields, Fields, Fields];
    const verdicts = [first, third, unsigned(second), second].map((line) =>
      short(judge(line, log, ctx)),
    );
    expect(verdicts).toEqual(["accepted", "accepted", "accepted", "replayed"]);
    expect(log.chain.gaps).toEqual([]);
  });
});

describe("clock_skew", () => {
  test("is a line dated more than the limit after our receipt", () => {
    const line = signV31(note());
    const limitMs = 300_000;
    expect(short(judge(line, freshLog(), context(), NOON_MS - limitMs))).toBe("accepted");
    expect(short(judge(line, freshLog(), context(), NOON_MS - limitMs - 1))).toBe("clock_skew");
  });

  test("never minds old lines", () => {
    const line = signV31(note({ timestamp: "1999-01-01T00:00:00Z" }));
    expect(short(judge(line, freshLog()))).toBe("accepted");
  });

  test("minds the year 9999", () => {
    const line = signV31(note({ timestamp: "9999-12-31T23:59:59Z" }));
    const detail = "dated 251621985599 s ahead of our clock; at most 300 s are let pass";
    expect(judge(line, freshLog())).toEqual(refused("clock_skew", detail));
  });
});

describe("replays", () => {
  test.each([
    ["chained", at(chain(1), 0)],
    ["unchained", signV31(note())],
    ["v3.0", signV30(note())],
  ])("a byte-identical %s line in the same log is a duplicate", (_, line) => {
    const log = freshLog();
    expect(short(judge(line, log))).toBe("accepted");
    const before = saveLogAdmission(log);
    expect(short(judge(line, log))).toBe("duplicate");
    expect(saveLogAdmission(log)).toEqual(before);
  });

  test.each([
    ["chained", at(chain(1), 0)],
    ["unchained", signV31(note())],
    ["v3.0", signV30(note())],
  ])("a %s line in other bytes is replayed", (_, line) => {
    const log = freshLog();
    judge(line, log);
    const again = judge(respelled(line), log);
    expect(again).toEqual(
      refused("replayed", expect.stringMatching(/^alice_to_bob has shown [0-9a-f]{64} before$/)),
    );
  });

  test("a line that was refused and comes again is a duplicate, not another refusal", () => {
    const log = freshLog();
    const line = signV31(note());
    expect(short(judge(line, log, context(), 0))).toBe("clock_skew");
    expect(short(judge(line, log))).toBe("duplicate");
  });

  test("the correlation id, which a thread shares, is no key", () => {
    const log = freshLog();
    judge(signV31(note()), log);
    const reply = signV31(note({ body: "more" }));
    expect(short(judge(reply, log))).toBe("accepted");
  });

  test("the same unchained content once in each addressee's log is a broadcast", () => {
    const line = signV31(note({ to: ["bob", "carol"] }));
    const logs = [freshLog("alice_to_bob"), freshLog("alice_to_carol")];
    expect(logs.map((log) => short(judge(line, log)))).toEqual(["accepted", "accepted"]);
    expect(logs.map((log) => short(judge(respelled(line), log)))).toEqual(["replayed", "replayed"]);
  });

  test.each([
    [["*"], "accepted"],
    [["bob", "*"], "accepted"],
    [["bob", "carol"], "accepted"],
    [undefined, "accepted"],
    [["bob"], "replayed"],
    [["somebody"], "accepted"],
    [[], "accepted"],
  ])("unchained content to %j in the log to carol: %s", (to, expected) => {
    expect(short(judge(signV31(note({ to })), freshLog("alice_to_carol")))).toBe(expected);
  });

  test("a copy out of another log is told as one", () => {
    const detail = "unchained, and to bob, not to carol: a copy out of another log";
    expect(judge(signV31(note()), freshLog("alice_to_carol"))).toEqual(refused("replayed", detail));
  });

  test("a chained line says itself where it belongs", () => {
    const line = signV31(note({ to: ["bob"], log: "alice_to_carol", seq: 1 }));
    expect(short(judge(line, freshLog("alice_to_carol")))).toBe("accepted");
  });

  test("in an outbox every recipient reads the same line", () => {
    const outbox = makeLayout("outbox", ["alice", "bob", "carol"]);
    const source = outbox.logs.get("alice");
    if (source === undefined) throw new Error("no outbox");
    expect(short(judge(signV31(note({ to: ["bob"] })), newLogAdmission(source, outbox, 1)))).toBe(
      "accepted",
    );
  });
});

describe("what a sender may say", () => {
  test("tier_refused: a stranger speaks", () => {
    const ctx = context({ store: storeOf(peer(alice, "UNTRUSTED")) });
    expect(short(judge(signV31(note()), freshLog(), ctx))).toBe("tier_refused");
  });

  test("tier_refused: an agent unknown to us whom policy lets write unsigned", () => {
    const ctx = context({
      store: storeOf(),
      signing: { enforceSigned: false, allowUnsignedFrom: [] },
    });
    const log = freshLog();
    const detail = "alice is UNTRUSTED: feedback is not taken";
    expect(judge(note(), log, ctx)).toEqual(refused("tier_refused", detail));
    expect(short(judge(note({ type: "heartbeat" }), log, ctx))).toBe("accepted");
  });

  test("tier_refused: everything of a blocked agent, its heartbeats too", () => {
    const ctx = context({ store: storeOf({ ...peer(alice, "TRUSTED"), blocked: true }) });
    const verdict = judge(signV31(note({ type: "heartbeat" })), freshLog(), ctx);
    expect(verdict).toEqual(refused("tier_refused", "alice is blocked: heartbeat is not taken"));
  });

  test("tier_refused: everything of an agent of no tier", () => {
    const ctx = context({ store: storeOf({ ...peer(alice), tier: undefined }) });
    expect(judge(signV31(note({ type: "heartbeat" })), freshLog(), ctx)).toEqual(
      refused("tier_refused", "alice is of no known tier: heartbeat is not taken"),
    );
  });

  test("an unknown kind goes by the tier", () => {
    const line = signV31(note({ type: undefined, kind: 1999 }));
    const at = (tier: "UNTRUSTED" | "VERIFIED"): string =>
      short(judge(line, freshLog(), context({ store: storeOf(peer(alice, tier)) })));
    expect([at("UNTRUSTED"), at("VERIFIED")]).toEqual(["tier_refused", "accepted"]);
  });

  const accepted: Verdict = { outcome: "accepted", afterGap: false, events: [] };

  // Two quotes stand around the text in its canonical form.
  test.each([
    [65_536, accepted],
    [65_537, refused("body_too_large", "body has 65537 bytes; at most 65536 are taken")],
  ])("a body of %i bytes", (bytes, expected) => {
    const line = signV31(note({ body: "x".repeat(bytes - 2) }));
    expect(judge(line, freshLog())).toEqual(expected);
  });

  test("the canonical form of a body is measured, not how it is spelled", () => {
    const line = signV31(note({ body: "é".repeat(20_000) }));
    const text = JSON.stringify(line).replaceAll("é", "\\u00e9");
    expect(text.length).toBeGreaterThan(65_536);
    expect(short(judge(new TextEncoder().encode(text), freshLog()))).toBe("accepted");
  });

  test("a TRUSTED sender has no body cap, and the line limit all the same", () => {
    const ctx = context({ store: storeOf(peer(alice, "TRUSTED")) });
    const line = signV31(note({ body: "x".repeat(200_000) }));
    expect(short(judge(line, freshLog(), ctx))).toBe("accepted");
    const longer = lineOf(signV31(note({ body: "x".repeat(1_048_576) })));
    expect(authenticate(longer, { owner: "alice", log: undefined }, ctx)).toMatchObject({
      reason: "oversized",
    });
  });

  test.each([
    [64, accepted],
    [65, refused("too_many_refs", "refs has 65 entries; at most 64 are taken")],
  ])("%i refs", (count, expected) => {
    const refs = Array.from({ length: count }, (_, index) => `docs/${index}.md`);
    expect(judge(signV31(note({ refs })), freshLog())).toEqual(expected);
  });
});

describe("the checkpoint", () => {
  test("keeps all that admission remembers", () => {
    const lines = chain(6);
    for (let cut = 0; cut <= lines.length; cut += 1) {
      const log = freshLog();
      for (const line of lines.slice(0, cut)) judge(line, log);
      const saved = JSON.parse(JSON.stringify(saveLogAdmission(log))) as ReturnType<
        typeof saveLogAdmission
      >;
      const restored = restoreLogAdmission(freshLog(), saved);
      if (restored === undefined) throw new Error("not restored");
      for (const line of lines) {
        expect(judge(line, restored)).toEqual(judge(line, log));
      }
    }
  });

  test("of a log that is not held names no hold", () => {
    expect(saveLogAdmission(freshLog())).toStrictEqual({
      chain: { head: undefined, gaps: [] },
      seen: NOTHING_SHOWN,
      mayBeginLate: false,
    });
  });

  test("leaves the ids out where they are written apart", () => {
    const log = freshLog();
    for (const line of chain(2)) judge(line, log);
    const saved = saveLogAdmission(log);
    expect(saved.seen.lately).not.toBe("");
    const seen = { ...saved.seen, lately: "" };
    expect(saveLogAdmission(log, "apart")).toEqual({ ...saved, seen });
  });

  test("keeps a hold, and the operator's decision", () => {
    const log = freshLog();
    log.held = { cause: "log_forked", detail: "line 3", sinceMs: 1 };
    log.mayBeginLate = true;
    const saved = saveLogAdmission(log);
    expect(saved).toStrictEqual({
      chain: { head: undefined, gaps: [] },
      seen: NOTHING_SHOWN,
      mayBeginLate: true,
      held: log.held,
    });
    expect(restoreLogAdmission(freshLog(), saved)).toEqual(log);
  });

  test("that is damaged is not restored", () => {
    const seen = { ...NOTHING_SHOWN, lately: "AAAA" };
    const saved = { ...saveLogAdmission(freshLog()), seen };
    expect(restoreLogAdmission(freshLog(), saved)).toBeUndefined();
    const elsewhere = { ...NOTHING_SHOWN, runs: [{ first: 1, count: 1 }] };
    const withRows = { ...saved, seen: elsewhere };
    expect(restoreLogAdmission(freshLog(), withRows)).toBeUndefined();
  });
});

describe("a line recalled from the journal", () => {
  const lines = chain(3);

  function recalled(line: Fields, reason: RefusalReason | undefined, taken: number): LogAdmission {
    const log = freshLog();
    for (const before of lines.slice(0, taken)) judge(before, log);
    const result = authenticate(lineOf(line), { owner: "alice", log: log.name }, context());
    if (!result.ok) throw new Error(result.detail);
    admit(result.message, log, context(), NOON_MS, { mode: "recall", noted: { reason } });
    return log;
  }

  test.each([
    ["that was accepted moves the chain", undefined, 3],
    ["that a later check refused moves it too", "tier_refused", 3],
    ["for another wire moves nothing", "wrong_wire", 2],
    ["outside the chain moves nothing", "unchained", 2],
  ] as const)("%s", (_, reason, size) => {
    const log = recalled(at(lines, 2), reason, 2);
    expect([log.chain.head?.seq, log.seen.size, log.held]).toEqual([size, size, undefined]);
  });

  test("that forked it holds the log", () => {
    const fork = signV31(linkTo(at(lines, 0), { seq: 3 }));
    const live = freshLog();
    for (const line of [...lines.slice(0, 2), fork]) judge(line, live);
    expect(saveLogAdmission(recalled(fork, "log_forked", 2))).toEqual(saveLogAdmission(live));
  });

  test("is what the journal says, whatever the chain says now", () => {
    const fork = signV31(linkTo(at(lines, 0), { seq: 3 }));
    const taken = recalled(fork, undefined, 2);
    expect([taken.chain.head?.id, taken.held]).toEqual([fork["event_id"], undefined]);
    const held = recalled(at(lines, 2), "log_forked", 2);
    expect([held.chain.head?.seq, held.held?.cause]).toEqual([2, "log_forked"]);
  });
});
