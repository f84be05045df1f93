import { expect, test } from "vitest";
import {
  inboxPage,
  messageNamed,
  searchPage,
  resolveId,
  threadNamed,
} from "../../../src/agent/answers/messages.ts";
import { messagesIn } from "../../../src/agent/answers/threads.ts";
import type { Owing } from "../../../src/agent/answers/pending.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { corePlace, verifyAll } from "../../support/core-wire.ts";
import { readLine } from "../../../src/protocol/admit/read-line.ts";
import { newLine } from "../../../src/agent/lines/new-line.ts";
import { signFields } from "../../../src/wire/compose.ts";
import { kindOf } from "../../../src/wire/kinds.ts";
import { fromPlain, isJsonObject } from "../../../src/wire/json/json.ts";
import { Database } from "../../../src/store/database.ts";
import { Store } from "../../../src/store/store.ts";
import { keyHistory } from "../../../src/agent/answers/key-history.ts";
import { makeSigner } from "../../../src/wire/signature.ts";

// What is asked about messages is answered from the store, page by page.

const WIRE = "0d4be1a97725c83f";
const AT = Date.parse("2026-06-01T12:00:00Z");

class Box implements Owing {
  readonly store = new Store(Database.open(":memory:"));
  readonly history = this.store.history(WIRE);
  readonly members = new Map(["forge", "scribe", "ann"].map((name) => [name, true]));
  readonly world: Owing["world"] = {
    disk: nodeDisk(),
    clock: {
      wallMs: () => AT,
      micros: () => 0,
      monoMs: () => AT,
      nextTurn: () => Promise.resolve(),
    },
    verifyAll,
    random: () => 0.5,
  };
  readonly place: Owing["place"];
  readonly #last = new Map<string, { seq: number; id: string }>();
  #count = 0;

  constructor() {
    const place = corePlace("forge", ["forge", "scribe", "ann", "stranger"]);
    this.place = {
      ...{ ...place, markPath: "", inboxPath: "" },
      believed: (author) => ({
        ...place.believed(author),
        tier: author === "stranger" ? "UNTRUSTED" : "VERIFIED",
      }),
    };
  }

  cadenceMs(): number {
    return 90_000;
  }

  /** A line that is delivered, or refused for a reason; its id. */
  add(
    author: string,
    said: {
      type?: string;
      subject?: string;
      body?: unknown;
      thread?: string;
      refused?: string;
    } = {},
  ): string {
    const { type = "ship", subject = "s", body = "", thread, refused } = said;
    this.#count += 1;
    const timestamp = new Date(AT + this.#count).toISOString();
    const last = this.#last.get(author);
    const seq = (last?.seq ?? 0) + 1;
    const fields = fromPlain({
      ...{ timestamp, from: author, to: ["forge"], type, kind: kindOf(type), subject, body },
      ...{ correlation_id: thread ?? timestamp, wire: WIRE, seq, prev: last?.id },
    });
    if (!isJsonObject(fields)) throw new Error("no object");
    const { line, id } = signFields(fields, makeSigner(author, Buffer.alloc(32, author)));
    const read = readLine(line, WIRE);
    if (!read.ok) throw new Error(read.problem.detail);
    this.store.write((into) => {
      const { n } = into.hold({
        ...newLine(read.line, { isOurs: true, isVerified: true }),
        receivedMs: AT,
        isLive: true,
      });
      if (refused === undefined) into.deliver(n);
      else into.setVerdict(n, refused);
    });
    this.#last.set(author, { seq, id });
    return id;
  }
}

const ids = (page: { messages: readonly { _meta: { id: string } }[] }): string[] =>
  page.messages.map(({ _meta }) => _meta.id);

test("pages of the inbox follow one another, and count what is left", () => {
  const box = new Box();
  const sent = Array.from({ length: 5 }, () => box.add("scribe"));
  const first = inboxPage(box, { limit: 2 });
  expect([ids(first), first.more]).toEqual([sent.slice(0, 2), 3]);
  const second = inboxPage(box, { limit: 2, after: first.next });
  expect([ids(second), second.more]).toEqual([sent.slice(2, 4), 1]);
  const third = inboxPage(box, { limit: 2, after: second.next });
  expect([ids(third), third.more]).toEqual([sent.slice(4), 0]);
  const later = box.add("scribe");
  expect(ids(inboxPage(box, { after: third.next }))).toEqual([later]);
  expect(ids(inboxPage(box, { limit: 2, newest: true }))).toEqual([sent[4], later]);
  expect(() => inboxPage(box, { after: "99" })).toThrow(/beyond the end/u);
  expect(() => inboxPage(box, { after: "x" })).toThrow(/`next` of a page/u);
});

test("an author who has sent much hides nobody on a page of what is unread", () => {
  const box = new Box();
  const many = Array.from({ length: 6 }, () => box.add("scribe"));
  const one = box.add("ann");
  const page = inboxPage(box, { unread: true, limit: 4 });
  expect(ids(page)).toEqual([...many.slice(0, 3), one]);
  expect(page.more).toBe(3);
  const next = inboxPage(box, { unread: true, limit: 4, after: page.next });
  expect(ids(next)).toEqual([...many.slice(3), one]);
  expect(next.more).toBe(0);
});

test("a thread has its lines in order, its corrections, and no refused line of a stranger", () => {
  const box = new Box();
  const root = box.add("scribe", { thread: "T" });
  const refused = box.add("ann", { thread: "T", refused: "body_too_large" });
  box.add("stranger", { thread: "T", refused: "tier_refused" });
  const correction = box.add("scribe", {
    ...{ thread: "T", type: "correction" },
    body: { corrects: ["scribe", 1, root], text: "no" },
  });
  box.add("ann", { thread: "T", type: "correction", body: { corrects: ["scribe", 1, root] } });
  const messages = messagesIn(box, box.store.newestOfThread("T", 100));
  expect(messages.map(({ _meta }) => _meta.id).slice(0, 3)).toEqual([root, refused, correction]);
  expect(messages.map(({ _meta }) => _meta.corrections.length)).toEqual([1, 0, 0, 0]);
  expect(messages.map(({ _meta }) => _meta.refused)).toEqual([null, "body_too_large", null, null]);
});

test("a message is named by the beginning of its id, a thread by its name too", () => {
  const box = new Box();
  const id = box.add("scribe", { thread: "T" });
  expect(messageNamed(box, id.slice(0, 8)).line.id).toBe(id);
  expect(() => messageNamed(box, "T")).toThrow(/no message is named/u);
  expect(threadNamed(box, { id: "T" })).toEqual({ thread: "T", isByName: true });
  expect(threadNamed(box, { id })).toEqual({ thread: "T", isByName: false });
  // A peer that names a thread like another message's id.
  box.add("ann", { thread: id });
  expect(() => threadNamed(box, { id })).toThrow(/could mean/u);
  expect(threadNamed(box, { id, by: "event_id" })).toEqual({ thread: "T", isByName: false });
});

test("a message that is named is answered by its place, and is for who it says", () => {
  const box = new Box();
  const id = box.add("scribe", { subject: "look" });
  expect(resolveId(box, id.slice(0, 9))).toEqual({
    ...{ event_id: id, place: ["scribe", 1, id], correlation_id: expect.any(String) as string },
    ...{ from: "scribe", type: "ship", subject: "look", to: ["forge"] },
  });
});

test("a search finds words by their beginnings, the newest page first", () => {
  const box = new Box();
  const one = box.add("scribe", { subject: "the parser fails" });
  const two = box.add("scribe", { body: { text: "Parsers everywhere" } });
  box.add("scribe", { subject: "something else" });
  expect(ids(searchPage(box, { text: "pars" }))).toEqual([one, two]);
  const newest = searchPage(box, { text: "pars", limit: 1 });
  expect(ids(newest)).toEqual([two]);
  expect(ids(searchPage(box, { text: "pars", before: newest.next ?? "" }))).toEqual([one]);
  expect(() => searchPage(box, { text: "pars", before: "-1" })).toThrow(/`next` of a page/u);
});

test("a flood of lines in a thread hides no correction of what a key has signed", () => {
  const box = new Box();
  const id = box.add("scribe", { thread: "T" });
  for (let at = 0; at < 1_100; at += 1) box.add("scribe", { thread: "T" });
  const body = { corrects: ["scribe", 1, id], text: "the key is stolen" };
  const correction = box.add("ann", { thread: "T", type: "correction", body });
  const { keyId } = makeSigner("scribe", Buffer.alloc(32, "scribe"));
  const [first, second] = keyHistory(box, keyId, 0);
  expect([first?.corrected_by, second?.corrected_by]).toEqual([[correction], []]);
});
