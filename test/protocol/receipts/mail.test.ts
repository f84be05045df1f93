import { expect, test } from "vitest";
import { noUnread } from "../../../src/protocol/receipts/unread-lines.ts";
import { unreadLines } from "../../support/scripts/unread-view.ts";
import { apply } from "../../../src/protocol/core.ts";
import { mailView, type Marks } from "../../../src/protocol/receipts/mail.ts";
import { newsView } from "../../../src/protocol/receipts/news.ts";
import { MAX_UNREAD } from "../../../src/protocol/receipts/receipts-state.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import {
  hours,
  lineEvent,
  NOON,
  scriptEnv,
  WireScript,
  type Saying,
} from "../../support/scripts/wire-script.ts";

// What is unread and owed, for those who announce it: numbers and ids, and no word of an author.

/** Forge among several; each peer has one log. */
function scene() {
  const script = new WireScript("outbox", ["forge", "mason", "scribe"]);
  const env = scriptEnv(script.layout, "forge");
  const state = emptyState();
  const ofPeer = (handle: string): string =>
    [...script.layout.logs.values()].find(({ owner }) => owner === handle)?.name ?? "";
  let at = NOON;
  return {
    ofPeer,
    /** The id of the message. */
    hear(from: string, saying: Saying & { readonly priority?: "high" }): string {
      const line = script.say(ofPeer(from), (at += 1_000), saying);
      const { priority = line.message.priority } = saying;
      apply(state, lineEvent(line, "forge", { message: { ...line.message, priority } }), env);
      return line.message.id;
    },
    read: (...ids: readonly string[]) =>
      apply(state, { kind: "read", ids, at: (at += 1_000) }, env),
    mail: (marks: Marks = {}, nowMs = at) => mailView(state, env, nowMs, marks),
    news: () => newsView(state, env, at, "any"),
    /** An unread line of a log that no agent of the roster has. */
    addForeign(log: string): void {
      const known = [...state.receipts.taken.values()].at(-1);
      if (known !== undefined) state.receipts.taken.set(log, known);
    },
    unreadLines: (from: string) =>
      unreadLines(state.receipts.taken.get(ofPeer(from))?.unread ?? noUnread()),
  };
}

test("nothing unread and nothing owed is nothing", () => {
  const { mail } = scene();
  expect(mail()).toEqual({
    ...{ unread: 0, notices: 0, urgent: 0, owed: 0, overdue: 0, from: [], marks: {} },
    fresh: { count: 0, urgent: 0, lines: [] },
  });
});

test("a message is counted for its author, and told by its id, without a word of it", () => {
  const { hear, mail, ofPeer } = scene();
  const saying = { type: "feedback", subject: "WORDS", body: "WORDS" };
  const first = hear("scribe", saying);
  const second = hear("scribe", saying);
  hear("mason", saying);
  hear("mason", { type: "heartbeat", body: { wakeup_count: 1, state: "idle" } });
  const view = mail();
  expect(view).toMatchObject({ unread: 3, urgent: 0, marks: { [ofPeer("scribe")]: 2 } });
  expect(view.from.toSorted((a, b) => b.count - a.count)).toEqual([
    { handle: "scribe", count: 2 },
    { handle: "mason", count: 1 },
  ]);
  expect(view.fresh.lines.map(({ event_id }) => event_id).slice(0, 2)).toEqual([first, second]);
  expect(view.fresh.lines[0]).toMatchObject({ from: "scribe", urgent: false, quiet: false });
  expect(JSON.stringify(view)).not.toContain("WORDS");
});

test("urgent is what has high priority, and an incident; those that daemons declare are quiet", () => {
  const { hear, mail } = scene();
  const plain = hear("scribe", { type: "feedback" });
  const high = hear("scribe", { type: "feedback", priority: "high" });
  const declared = hear("mason", { type: "incident", body: { severity: "high" } });
  const byDaemon = hear("mason", { type: "incident", body: { cause: "peer_silent" } });
  const { urgent, fresh } = mail();
  expect([urgent, fresh.urgent]).toEqual([3, 3]);
  // Those that cannot wait come first, and each kind in the order of its receipt.
  expect(fresh.lines.map(({ event_id }) => event_id)).toEqual([high, declared, byDaemon, plain]);
  expect(fresh.lines.map(({ quiet }) => quiet)).toEqual([false, false, true, false]);
});

test("claims, releases and the acceptance of a proposal are quiet; a rejection and an answer are not", () => {
  const { hear, mail } = scene();
  hear("scribe", { type: "claim", body: { paths: ["src"] } });
  hear("scribe", { type: "release", body: {} });
  const answer = (body: object) => hear("scribe", { type: "ack", thread: "a-thread", body });
  const acks = "1".repeat(64);
  answer({ acks, approve: true });
  answer({ acks, approve: false, reason: "no" });
  answer({ acks });
  answer({ acks, request_id: "r", approve: true });
  const { fresh } = mail();
  expect(fresh.lines.map(({ quiet }) => quiet)).toEqual([true, true, true, false, false, false]);
});

test("who knows what the marks tell is told only what came after", () => {
  const { hear, read, mail } = scene();
  hear("scribe", { type: "feedback", priority: "high" });
  const { marks } = mail();
  expect(mail(marks)).toMatchObject({ unread: 1, urgent: 1, fresh: { count: 0, urgent: 0 } });
  const other = hear("mason", { type: "feedback" });
  const next = hear("scribe", { type: "feedback" });
  const view = mail(marks);
  expect(view).toMatchObject({ unread: 3, fresh: { count: 2, urgent: 0 } });
  expect(view.fresh.lines.map(({ event_id }) => event_id)).toEqual([other, next]);
  expect(mail(view.marks).fresh.count).toBe(0);
  // Reading takes nothing back: what came before stays known.
  read(next);
  expect(mail(view.marks)).toMatchObject({ unread: 2, fresh: { count: 0 }, marks: view.marks });
});

test("of very many unread messages all are counted, and the first ones listed", () => {
  const { hear, mail, unreadLines } = scene();
  const count = MAX_UNREAD + 100;
  for (let at = 0; at < count; at += 1) hear("scribe", { type: "feedback" });
  expect(unreadLines("scribe")).toHaveLength(MAX_UNREAD);
  const view = mail();
  expect(view).toMatchObject({ unread: count, from: [{ handle: "scribe", count }] });
  expect(view.fresh.lines).toHaveLength(64);
  expect(view.fresh.lines[0]?.event_id).toBe(unreadLines("scribe")[0]?.id);
});

test("who waits is told of the same authors and numbers as who is shown the mail", () => {
  const { hear, mail, news, read, unreadLines } = scene();
  hear("mason", { type: "feedback", priority: "high" });
  for (let at = 0; at < MAX_UNREAD + 3; at += 1) hear("scribe", { type: "feedback" });
  expect(news()).toMatchObject({ unread: MAX_UNREAD + 4, urgent: 1, from: ["mason", "scribe"] });
  // What is left of the scribe is no longer remembered line by line.
  read(...unreadLines("scribe").map(({ id }) => id));
  const { unread, urgent, from } = mail();
  expect(from).toContainEqual({ handle: "scribe", count: 3 });
  expect(news()).toMatchObject({ unread, urgent, from: from.map(({ handle }) => handle).sort() });
});

test("answers that we owe are counted, also those whose time is over", () => {
  const steps = ["a asks R request=0badcafe01", "a asks S request=0badcafe02 thread=second"];
  const view = (more: readonly string[], nowMs: number) => {
    const all = [...steps, "b asks T request=0badcafe03 thread=third", ...more];
    const script = new OutcomeScript("pairwise", ["a", "b"], all);
    return mailView(script.fold("b"), script.env("b"), nowMs, {});
  };
  // What others owe to us is not ours.
  expect(view([], NOON)).toMatchObject({ owed: 2, overdue: 0 });
  expect(view([], NOON + hours(10_000))).toMatchObject({ owed: 2, overdue: 2 });
  expect(view(["b approves R"], NOON + hours(10_000))).toMatchObject({ owed: 1, overdue: 1 });
});

test("an author of whom all is read, or who is no part of the wire, is not named", () => {
  const { hear, read, mail, addForeign, ofPeer } = scene();
  const saying = { type: "feedback", subject: "WORDS", body: "WORDS" };
  const id = hear("scribe", saying);
  hear("mason", saying);
  read(id);
  addForeign("gone_to_forge");
  const { from, fresh, marks } = mail();
  expect(from).toEqual([{ handle: "mason", count: 1 }]);
  expect(fresh).toMatchObject({ count: 1, urgent: 0 });
  expect(marks).toEqual({ [ofPeer("mason")]: 1 });
});
