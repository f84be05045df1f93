import { describe, expect, it } from "vitest";
import { operationNamed } from "../../src/api/operations.ts";
import type { OperatedAgent, Service } from "../../src/api/service.ts";
import { packDrafts } from "../../src/api/drafts.ts";
import { requestHandler } from "../../src/daemon/socket-server.ts";
import type { Request } from "../../src/api/socket-messages.ts";
import type { Draft } from "../../src/wire/compose.ts";
import { fromPlain, parseObject } from "../../src/wire/json/json.ts";

/** What an agent is asked, in order; every call answers what it was given. */
function recorded() {
  const asked: unknown[] = [];
  const noted =
    (name: string) =>
    async (...args: readonly unknown[]) => {
      asked.push([name, ...args]);
      return args as never;
    };
  const agent: OperatedAgent = {
    view: noted("view"),
    markRead: noted("markRead"),
    setStatus: noted("setStatus"),
    notify: noted("notify"),
    sendOnce: noted("sendOnce"),
    answered: noted("answered"),
    wake: noted("wake"),
    resetPeer: noted("resetPeer"),
    revokeKey: noted("revokeKey"),
    changeMembers: noted("changeMembers"),
    leave: noted("leave"),
    reclaim: noted("reclaim"),
    archive: noted("archive"),
    look: noted("look"),
    reload: noted("reload"),
  };
  const service: Service = {
    inTurn: (work) => work(agent),
    send: noted("send"),
    until: (ask) => ask(),
  };
  let acted = 0;
  const answer = requestHandler(service, () => (acted += 1));
  const { signal: gone } = new AbortController();
  const handle = (request: Request) => answer(request, { gone });
  return { asked, acted: () => acted, handle };
}

const draft: Draft = { to: ["scribe"], type: "feedback", subject: "s", body: fromPlain({ a: 1 }) };

describe("a request over the socket", () => {
  // The JSON that clients of earlier versions send.
  it.each([
    ["view", { name: "whoami" }, ["view", "whoami", undefined]],
    ["view", { name: "inbox" }, ["view", "inbox", {}]],
    [
      "view",
      { name: "inbox", args: { unread: true, limit: 5, from: "scribe", thread: "t" } },
      ["view", "inbox", { unread: true, limit: 5, from: "scribe", thread: "t" }],
    ],
    ["view", { name: "sent", args: { limit: 3 } }, ["view", "sent", { limit: 3 }]],
    [
      "view",
      { name: "thread", args: { id: "abc", by: "event_id" } },
      ["view", "thread", { id: "abc", by: "event_id" }],
    ],
    ["view", { name: "search", args: { text: "x" } }, ["view", "search", { text: "x" }]],
    ["view", { name: "decisions", args: { all: true } }, ["view", "decisions", undefined]],
    ["view", { name: "holds", args: { peer: "scribe" } }, ["view", "holds", { peer: "scribe" }]],
    ["view", { name: "receipt", args: { event_id: "e" } }, ["view", "receipt", { event_id: "e" }]],
    ["view", { name: "resolve_id", args: { id: "e" } }, ["view", "resolve_id", { id: "e" }]],
    ["tick", {}, ["look"]],
    ["changed", { limitMs: 1 }, ["view", "newest", undefined]],
    ["changed", { since: 7, limitMs: 1 }, ["view", "newest", undefined]],
  ])("%s %j only looks", async (op, args, expected) => {
    const { asked, acted, handle } = recorded();
    expect(await handle({ op, args })).toMatchObject({ ok: true });
    expect(asked).toEqual([expected]);
    expect(acted()).toBe(0);
  });

  it.each([
    ["read", { ids: "all" }, ["markRead", "all"]],
    ["read", { ids: ["a", "b"] }, ["markRead", ["a", "b"]]],
    [
      "status",
      { state: "busy", lastAction: "x", headsDown: true },
      ["setStatus", { state: "busy", lastAction: "x", headsDown: true }],
    ],
    [
      "notify",
      { kind: "plan_asks", about: "p", text: "t", newer: 1 },
      ["notify", { kind: "plan_asks", about: "p", text: "t" }],
    ],
    ["reset_peer", { peer: "scribe" }, ["resetPeer", "scribe", undefined]],
    ["reclaim", {}, ["reclaim", undefined]],
    ["reclaim", undefined, ["reclaim", undefined]],
    ["reclaim", null, ["reclaim", undefined]],
    ["reclaim", { from: ["/copy"] }, ["reclaim", ["/copy"]]],
    ["archive", null, ["archive", undefined]],
    ["reload", {}, ["reload"]],
  ])("%s %j acts, and the next round comes soon", async (op, args, expected) => {
    const { asked, acted, handle } = recorded();
    expect(await handle({ op, args })).toMatchObject({ ok: true });
    expect(asked).toEqual([expected]);
    expect(acted()).toBe(1);
  });

  it.each([undefined, null])("transport %j says how it does", async (args) => {
    const { handle } = recorded();
    expect(await handle({ op: "transport", args })).toMatchObject({ ok: true });
  });

  it("takes fields that it does not know for nothing", async () => {
    const { asked, handle } = recorded();
    await handle({ op: "view", args: { name: "inbox", args: { unread: true, newer: 1 } } });
    await handle({ op: "status", args: { state: "idle", newer: 1 } });
    expect(asked).toEqual([
      ["view", "inbox", { unread: true }],
      ["setStatus", { state: "idle" }],
    ]);
  });

  it.each([
    ["nothing", {}, 'the daemon knows no request "nothing"'],
    ["toString", {}, 'the daemon knows no request "toString"'],
    ["view", { name: "constructor" }, 'there is no view "constructor"'],
    ["view", {}, 'there is no view "undefined"'],
    ["notify", { kind: "ratified", about: "p", text: "t" }, "kind must be one of plan_asks"],
    [
      "notify",
      { kind: "plan_asks", about: "p", text: "t".repeat(1_001) },
      "text must be text of at most 1000 characters",
    ],
    ["view", { name: "inbox", args: { limit: "5" } }, "limit must be a whole number of at least 1"],
    ["view", { name: "inbox", args: { limit: 0 } }, "limit must be a whole number of at least 1"],
    ["view", { name: "inbox", args: [] }, "an object was expected"],
    ["view", { name: "thread" }, "id must be text"],
    ["view", { name: "thread", args: { id: "a", by: "x" } }, "by must be one of event_id"],
    ["read", { ids: [1] }, 'ids must be "all" or a list of event ids'],
    ["read", "all", "an object was expected"],
    ["status", { state: "asleep" }, "state must be one of idle, busy, blocked, paused"],
    ["status", { headsDown: "yes" }, "headsDown must be true or false"],
    ["reset_peer", {}, "peer must be text"],
    ["send", { drafts: [] }, "drafts must be a list of 1 to 1024"],
    ["send", { drafts: [null] }, "an object was expected"],
    ["send", { drafts: [{ to: ["A b"] }] }, "to must be a list of handles or *"],
    ["send", { drafts: [{ to: ["a"], type: "t", subject: "s", body: "" }] }, "body is no JSON"],
    [
      "send",
      { drafts: [{ to: ["a"], type: "t", subject: "s", body: "{}", priority: "no" }] },
      "priority must be one of low, medium, high",
    ],
  ])("%s %j is refused in words, and asks nothing", async (op, args, problem) => {
    const { asked, acted, handle } = recorded();
    const reply = await handle({ op, args });
    expect(reply).toMatchObject({
      ok: false,
      error: { code: "usage", message: expect.stringContaining(problem) },
    });
    expect(asked).toEqual([]);
    expect(acted()).toBe(0);
  });
});

describe("drafts", () => {
  it("cross the socket with the spelling of every number", async () => {
    const body = parseObject(Buffer.from('{"a":1.0,"b":123456789012345678,"c":[1e2,null]}'));
    if (!body.ok) throw new Error(body.detail);
    const drafts: Draft[] = [
      { ...draft, body: body.value, ackRequired: true, refs: ["a.ts"], priority: "high" },
      { ...draft, to: ["*"], body: "plain", correlationId: "c", ackRequired: false },
    ];
    const json: unknown = JSON.parse(JSON.stringify({ drafts: packDrafts(drafts) }));
    expect(json).toMatchObject({ drafts: [{ to: ["scribe"] }, { body: '"plain"' }] });
    const { asked, handle } = recorded();
    await handle({ op: "send", args: json });
    expect(asked).toEqual([["send", drafts]]);
    expect(operationNamed("send").acts).toBe(true);
  });

  it.each([undefined, null, "yes", 1])(
    "ask for no ack with ackRequired %j",
    async (ackRequired) => {
      const { asked, handle } = recorded();
      const drafts = packDrafts([draft]).map((packed) => ({ ...packed, ackRequired }));
      await handle({ op: "send", args: { drafts } });
      expect(asked).toEqual([["send", [{ ...draft, ackRequired: false }]]]);
    },
  );
});
