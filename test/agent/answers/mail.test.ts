import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { mailView, newsOf } from "../../../src/agent/answers/mail.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import type { WaitedFor } from "../../../src/agent/answers/waited-for.ts";
import { CoreWire } from "../../support/core-wire.ts";

// What waits for an agent, without a word of a peer: for `wait`, and for the hooks of its tool.

const root = mkdtempSync(join(tmpdir(), "deaddrop-mail-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const DAY_MS = 86_400_000;

test("who waits for anything, for what is urgent, or for what it owes, is ready when there is that", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  const { core } = wire.agent("forge");
  const news = (awaited: WaitedFor) => newsOf(mailView(core, {}), awaited);
  const ready = () => (["any", "urgent", "owed"] as const).filter((each) => news(each).ready);
  const nothing = { ready: false, unread: 0, notices: 0, urgent: 0, owed: 0, overdue: 0, from: [] };
  expect(news("any")).toEqual(nothing);
  wire.agent("scribe").say("fyi");
  await wire.settle();
  expect(ready()).toEqual(["any"]);
  wire.agent("scribe").say("now", { priority: "high" });
  wire.agent("scribe").say("please", { type: "request" });
  await wire.settle();
  expect(ready()).toEqual(["any", "urgent", "owed"]);
  expect(news("any")).toEqual({
    ...{ ready: true, unread: 3, notices: 0, urgent: 1, owed: 1, overdue: 0 },
    from: [{ handle: "scribe", count: 3 }],
  });
  core.markRead("all");
  expect(ready()).toEqual(["owed"]);
  core.store.write(() => {
    const about = { about: "a", kind: "refused", text: "t", peer: undefined } as const;
    core.store.notices.add(about, wire.nowMs);
  });
  expect(news("any")).toMatchObject({ ready: true, unread: 0, notices: 1 });
});

test("what was shown is not fresh again, and what is owed is late after its time", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle();
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  expect(mailView(forge.core, {})).toMatchObject({ unread: 0, marks: {} });
  const first = scribe.say("one");
  wire.agent("ann").say("step", {
    ...{ type: "request", to: ["forge"], body: fromPlain({ request_type: "plan_step" }) },
  });
  await wire.settle();
  const shown = mailView(forge.core, {});
  expect(shown).toMatchObject({
    ...{ unread: 2, urgent: 0, owed: 1, overdue: 0, steps: 1 },
    from: [
      { handle: "ann", count: 1 },
      { handle: "scribe", count: 1 },
    ],
  });
  expect(shown.fresh.lines).toContainEqual({
    ...{ event_id: first.id, from: "scribe", thread: first.thread, urgent: false, quiet: false },
    received_at: expect.stringMatching(/^2026-06-01T12:/u) as string,
  });
  const { marks } = shown;
  expect(mailView(forge.core, { marks }).fresh).toEqual({ count: 0, urgent: 0, lines: [] });
  const claim = scribe.say("mine", {
    ...{ type: "claim", priority: "high" },
    body: fromPlain({ paths: ["src/"], mode: "exclusive", ttl_seconds: 60, intent: "edit" }),
  });
  await wire.settle();
  const next = mailView(forge.core, { marks });
  expect(next.fresh).toMatchObject({ count: 1, urgent: 1 });
  expect(next.fresh.lines).toMatchObject([{ event_id: claim.id, urgent: true, quiet: true }]);
  expect(mailView(forge.core, { marks: next.marks }).marks).toEqual(next.marks);
  wire.nowMs += DAY_MS;
  expect(mailView(forge.core, {})).toMatchObject({ unread: 3, owed: 1, overdue: 1 });
});

test("a peer that writes much, urgent or not, hides no urgent message of another", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle();
  const core = wire.agent("forge").core;
  const many = (by: string, priority: "high" | "low") => {
    const draft = { type: "ship", to: ["forge"], subject: "s", body: "", priority } as const;
    const sent = wire.agent(by).core.send(Array.from({ length: 70 }, () => draft));
    if (sent.is !== "sent") throw new Error(sent.is);
  };
  many("ann", "low");
  many("scribe", "high");
  const urgent = wire.agent("ann").say("now", { to: ["forge"], priority: "high" });
  for (const name of ["scribe", "ann"]) wire.agent(name).core.publish();
  await wire.settle(4, 40_000);
  const { fresh, marks } = mailView(core, {});
  expect(fresh).toMatchObject({ count: 141, urgent: 71 });
  expect(fresh.lines).toHaveLength(64);
  expect(fresh.lines.find(({ event_id: id }) => id === urgent.id)?.urgent).toBe(true);
  const byAuthor = (name: string) => fresh.lines.filter(({ from }) => from === name).length;
  expect([byAuthor("ann"), byAuthor("scribe")]).toEqual([32, 32]);
  // A store that was lost begins again: what it has now was shown to nobody.
  wire.nowMs += 60_000;
  wire.agent("forge").loseStore();
  await wire.settle(4, 40_000);
  const again = mailView(wire.agent("forge").core, { marks });
  expect(again.fresh.count).toBe(141);
});
