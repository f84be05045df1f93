import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  checkDrafts,
  recipientHints,
  unheldError,
  voidness,
  type Recipient,
} from "../../../src/agent/lines/check-drafts.ts";
import { DeaddropError } from "../../../src/api/errors.ts";
import { readAsk } from "../../../src/protocol/asks/ask-line.ts";
import { touchedBy } from "../../../src/protocol/asks/record.ts";
import type { Draft } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { MAX_ROSTER } from "../../../src/wire/limits.ts";
import { amount } from "../../support/amounts.ts";
import { CoreWire } from "../../support/core-wire.ts";

const root = mkdtempSync(join(tmpdir(), "deaddrop-drafts-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const SELF = "forge";
const NOW = "2026-06-01T12:00:00Z";

function draft(type: string, body: unknown = "", more: Partial<Draft> = {}): Draft {
  const ackRequired = type === "proposal";
  return { to: ["scribe"], type, subject: "s", body: fromPlain(body), ackRequired, ...more };
}

async function wireOf(...names: string[]): Promise<CoreWire> {
  const wire = new CoreWire(root, names);
  await wire.settle();
  return wire;
}

/** What the sender is told; undefined: it may be signed. */
function refusal(check: () => void): Pick<DeaddropError, "code" | "message"> | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (!(error instanceof DeaddropError)) throw error;
    return { code: error.code, message: error.message };
  }
}

describe("what is refused before it is signed", () => {
  const three = new CoreWire(root, [SELF, "scribe", "ann"]);
  afterAll(() => {
    three.close();
  });

  it.each([
    ["a message", draft("ship"), undefined],
    ["nobody as addressee", draft("ship", "", { to: [] }), "to names nobody"],
    ["a stranger", draft("ship", "", { to: ["mason"] }), 'not sent to "mason": it is no member'],
    ["ourselves", draft("ship", "", { to: ["scribe", "forge"] }), "that is you"],
    ["everybody", draft("ship", "", { to: ["*"] }), undefined],
    ["a type that is none", draft("shop"), 'type "shop" is not one of'],
    ["a body that is too large", draft("ship", "x".repeat(70_000)), "the body has 70002 bytes"],
    ["a request to one", draft("request"), undefined],
    ["a request to all", draft("request", "", { to: ["*"] }), "name its parties in body.required"],
    ["a request to two", draft("request", "", { to: ["ann", "scribe"] }), "name its parties"],
    [
      "a request that names both",
      draft("request", { required: ["ann", "scribe"] }, { to: ["ann", "scribe"] }),
      undefined,
    ],
    ["a party that is not addressed", draft("proposal", { required: ["ann"] }), "and to does not"],
    ["a due that is over", draft("proposal", { due: NOW }), "body.due is not a time"],
    ["a due in an hour", draft("proposal", { due: "2026-06-01T13:30:00Z" }), undefined],
    ["a claim of nothing", draft("claim", { paths: [] }), "paths is no list of patterns"],
    ["a claim", draft("claim", { paths: ["src/**"] }), undefined],
  ])("%s: %#", (_what, said, problem) => {
    const refused = refusal(() => {
      checkDrafts(three.agent(SELF).core, [said]);
    });
    if (problem === undefined) expect(refused).toBeUndefined();
    else expect(refused?.message).toContain(problem);
  });

  it("needs owners of domains that a proposal touches, as long as they are members", () => {
    const { core } = three.agent(SELF);
    const domain = (owner: string, path: string) => ({ owner, paths: [path] });
    const domains = new Map([
      ["parser", domain("ann", "src/parser/**")],
      ["gone", domain("mason", "src/**")],
    ]);
    const known = {
      ...{ store: core.store, history: core.history, world: core.world, members: core.members },
      place: { ...core.place, domains },
    };
    const check = (said: Draft) =>
      refusal(() => {
        checkDrafts(known, [said]);
      })?.message;
    const paths = ["src/parser/a.ts"];
    expect(check(draft("proposal", { paths }))).toContain("this needs ann as well");
    expect(check(draft("proposal", { domains: ["parser"] }))).toContain("this needs ann as well");
    const required = ["scribe", "did:wire:ann"];
    expect(check(draft("proposal", { paths, required }, { to: ["*"] }))).toBeUndefined();
    expect(check(draft("proposal", { paths: ["docs/**"] }))).toBeUndefined();
    expect(touchedBy(domains)(fromPlain({ paths, domains: ["more"] }))).toEqual({
      names: ["more", "parser", "gone"],
      owners: { parser: "ann", gone: "mason" },
    });
  });

  it("no ninth claim, and a ninth after a release", async () => {
    const wire = await wireOf(SELF, "scribe");
    const forge = wire.agent(SELF);
    const claim = draft("claim", { paths: ["src/**"] });
    const claims = Array.from({ length: 8 }, () => forge.say("claim", claim));
    const check = () =>
      refusal(() => {
        checkDrafts(forge.core, [claim]);
      });
    expect(check()).toEqual({ code: "refused", message: "not sent: you have 8 claims already" });
    forge.say("release", draft("release", {}, { correlationId: claims[3]?.thread ?? "" }));
    expect(check()).toBeUndefined();
    expect(
      refusal(() => {
        checkDrafts(forge.core, [claim, claim]);
      })?.code,
    ).toBe("refused");
    wire.close();
  });

  it("no second open request of one request_id, and one after it has ended", async () => {
    const wire = await wireOf(SELF, "scribe");
    const [forge, scribe] = [wire.agent(SELF), wire.agent("scribe")];
    const request = draft("request", { request_id: "0badcafe", request_type: "review" });
    const check = (...drafts: Draft[]) =>
      refusal(() => {
        checkDrafts(forge.core, drafts);
      })?.message;
    expect(check(request, request)).toContain('"0badcafe" is open');
    const asked = forge.say("review?", request);
    expect(check(request)).toContain('"0badcafe" is open');
    await wire.settle();
    scribe.say("no", {
      ...draft("ack", { answers: [SELF, asked.seq, asked.id], approve: false }),
      ...{ to: [SELF], correlationId: asked.thread },
    });
    await wire.settle();
    expect(forge.states(asked.thread)).toEqual(["ended"]);
    expect(check(request)).toBeUndefined();
    wire.close();
  });

  it("says which place is not held", () => {
    const { code, message } = unheldError({ author: "scribe", seq: 7, id: "ab" });
    expect(code).toBe("unknown_id");
    expect(message).toContain("line 7 of scribe with the id ab, which is not held here");
  });
});

describe("an ask is void", () => {
  const handle = fc.constantFrom("forge", "scribe", "ann", "did:wire:ann", "a b", "");
  const requiring = fc.oneof(
    fc.constant(undefined),
    fc.array(fc.oneof(handle, fc.constant(3)), { maxLength: 4 }),
    fc.constantFrom("scribe", null, { scribe: true }),
    fc.constantFrom(
      ...[MAX_ROSTER, MAX_ROSTER + 1].map((length) =>
        Array.from({ length }, (_, at) => `agent${at}`),
      ),
    ),
  );
  const to = fc.oneof(
    fc.constant(["*"]),
    fc.array(fc.constantFrom("scribe", "ann", "forge", "*"), { minLength: 1, maxLength: 3 }),
  );

  it("exactly when every reader finds it void", () => {
    const type = fc.constantFrom("proposal", "request");
    const action = fc.constantFrom(undefined, "members");
    fc.assert(
      fc.property(type, action, requiring, to, (is, action_, required, addressees) => {
        const said = draft(is, { required, action: action_ }, { to: addressees });
        const ask = readAsk({
          ...{ ...said, timestamp: NOW, thread: NOW, isAckRequired: true, refs: [] },
          place: { author: SELF, seq: 1, id: "0".repeat(64) },
        });
        expect(voidness(said, SELF) !== undefined).toBe(ask?.isVoid);
      }),
      { numRuns: amount(500, 50_000) },
    );
  });
});

describe("a sender is told of recipients", () => {
  const plain: Recipient = {
    ...{ tierThere: "ATTESTED", tierHere: "ATTESTED", isPaused: false, notWoken: undefined },
  };
  const nowMs = Date.parse(NOW);
  const notWoken = { untilMs: nowMs + 60_000, urgentUntilMs: nowMs + 30_000 };
  const later = (ms: number) => [{ peer: "scribe", until: new Date(nowMs + ms).toISOString() }];
  const ship = draft("ship");

  it.each<[string, Draft, Partial<Recipient>, object]>([
    ["nothing", ship, {}, {}],
    [
      "that refuse the type",
      draft("claim"),
      { tierThere: "VERIFIED" },
      { refused_by: [{ peer: "scribe", tier: "VERIFIED" }] },
    ],
    ["that take other types", ship, { tierThere: "VERIFIED" }, {}],
    ["that have not compared", ship, { tierThere: "UNTRUSTED" }, { awaits_comparison: ["scribe"] }],
    [
      "that say nothing, and that we have not compared",
      ship,
      { tierThere: undefined, tierHere: "UNTRUSTED" },
      { awaits_comparison: ["scribe"] },
    ],
    ["that have compared though we have not", ship, { tierHere: "UNTRUSTED" }, {}],
    ["of a card, which a stranger takes", draft("agent_card"), { tierThere: "UNTRUSTED" }, {}],
    ["that are paused", ship, { isPaused: true }, { paused: ["scribe"] }],
    ["that are not woken", ship, { notWoken }, { not_woken: later(60_000) }],
    [
      "that are not woken, though it is urgent",
      draft("ship", "", { subject: "urgent: red" }),
      { notWoken },
      { not_woken: later(30_000) },
    ],
    [
      "that wake for an incident",
      draft("incident"),
      { notWoken: { ...notWoken, urgentUntilMs: undefined } },
      {},
    ],
    ["that were not woken", ship, { notWoken: { untilMs: nowMs, urgentUntilMs: undefined } }, {}],
    ["of what wakes nobody", draft("release"), { notWoken }, {}],
    ["of a yes to a proposal", draft("ack", { acks: [], approve: true }), { notWoken }, {}],
    [
      "of a yes to a request",
      draft("ack", { answers: [], approve: true }),
      { notWoken },
      { not_woken: later(60_000) },
    ],
  ])("%s", (_what, said, known, hints) => {
    const recipient = { ...plain, ...known };
    expect(recipientHints([said], new Map([["scribe", recipient]]), nowMs)).toEqual(hints);
    const everybody = { ...said, to: ["*"] };
    expect(recipientHints([everybody], new Map([["scribe", recipient]]), nowMs)).toEqual(hints);
    expect(recipientHints([said], new Map([["ann", recipient]]), nowMs)).toEqual({});
  });
});
