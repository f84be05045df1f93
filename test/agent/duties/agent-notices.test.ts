import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { HeldLine } from "../../../src/store/store.ts";
import type { Draft } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { placeJson } from "../../../src/wire/places.ts";
import type { CoreAgent } from "../../support/core-wire.ts";
import { fileOf, NoticeWire, written } from "../../support/notice-wire.ts";

// What agents are told that no line says by itself, on a wire over real files. Spec 3.12.

const root = mkdtempSync(join(tmpdir(), "deaddrop-notices-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function begin(...names: readonly string[]): Promise<NoticeWire> {
  return NoticeWire.begin(root, ...names);
}

function say(agent: CoreAgent, type: string, body: unknown, said: Partial<Draft> = {}): HeldLine {
  return agent.say(type, { type, body: fromPlain(body), ...said });
}

test("asker and party are told that a proposal is approved, and only the asker who has rejected it", async () => {
  const wire = await begin("forge", "scribe");
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  const first = forge.propose("Use tabs", ["scribe"]);
  await wire.settle();
  scribe.answer(first, true);
  await wire.settle();
  const second = forge.propose('Use "one" wire', ["scribe"]);
  await wire.settle();
  scribe.answer(second, false);
  await wire.settle();
  expect(wire.told("forge")).toEqual([
    'approved: Your proposal "Use tabs" is approved: every required party agreed.',
    `rejected: Your proposal "Use 'one' wire" is rejected by scribe.`,
  ]);
  expect(wire.told("scribe")).toEqual([
    'approved: forge\'s proposal "Use tabs", which needed your answer, is approved: every required party agreed.',
  ]);
  expect(wire.list("forge").map(({ about }) => about)).toEqual([first.id, second.id]);
});

test("a party is told that another one has rejected what it agreed to", async () => {
  const wire = await begin("forge", "scribe", "ann");
  const ask = wire.agent("forge").propose("Use tabs", ["scribe", "ann"]);
  await wire.settle();
  wire.agent("scribe").answer(ask, true);
  await wire.settle();
  wire.agent("ann").answer(ask, false);
  await wire.settle();
  expect(wire.told("ann")).toEqual([]);
  expect(wire.told("scribe")).toEqual([
    'rejected: forge\'s proposal "Use tabs", which needed your answer, is rejected by ann.',
  ]);
});

test("the end of a proposal for time is told with the reason, and the other side where it finds that", async () => {
  const wire = await begin("forge", "scribe");
  const ask = wire.agent("forge").propose("Use tabs", ["scribe"]);
  await wire.settle();
  wire.nowMs += 73 * HOUR;
  await wire.settle();
  expect(wire.told("forge")).toEqual([
    expect.stringMatching(/^ended: Your proposal "Use tabs" has ended: no answer in time\.$/u),
  ]);
  expect(wire.told("scribe")).toEqual([
    `ended: forge's proposal "Use tabs", which needed your answer, has ended: \`deaddrop thread ${ask.id.slice(0, 10)}\` shows why.`,
  ]);
});

test("who withdraws a proposal is not told, the other side is", async () => {
  const wire = await begin("forge", "scribe");
  const first = wire.agent("forge").propose("one", ["scribe"]);
  await wire.settle();
  const body = fromPlain({ required: ["scribe"], decision: "two" });
  const draft = { type: "proposal", to: ["scribe"], ackRequired: true, body };
  wire.agent("forge").say("two", { ...draft, correlationId: first.thread });
  await wire.settle();
  expect(wire.told("forge")).toEqual([]);
  expect(wire.told("scribe")).toEqual([
    'withdrawn: forge\'s proposal "one", which needed your answer, is withdrawn: forge stands at another one in its thread.',
  ]);
});

test("when each side agreed to the other's proposal, both are told who proposes again", async () => {
  const wire = await begin("forge", "scribe");
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  const mine = forge.propose("tabs", ["scribe"]);
  await wire.settle();
  const body = fromPlain({ required: ["forge"], decision: "spaces" });
  const theirs = scribe.say("spaces", {
    ...{ type: "proposal", to: ["forge"], ackRequired: true, body, correlationId: mine.thread },
  });
  await wire.settle();
  forge.answer(theirs, true);
  scribe.answer(mine, true);
  await wire.settle();
  const again = mine.id < theirs.id ? "forge" : "scribe";
  for (const name of ["forge", "scribe"]) {
    const peer = name === "forge" ? "scribe" : "forge";
    const next =
      name === again ? `you propose again, ${peer} waits` : `${peer} proposes again, you wait`;
    const texts = wire.list(name).map(({ kind, text }) => [kind, text.endsWith(`: ${next}.`)]);
    expect([name, texts]).toEqual([
      name,
      [
        ["withdrawn", true],
        ["withdrawn", true],
      ],
    ]);
  }
});

test("of a request each answer is told to the asker, and nothing to who has answered", async () => {
  const wire = await begin("forge", "scribe", "ann");
  const request = say(
    wire.agent("forge"),
    "request",
    { request_type: "shutdown", required: ["scribe", "ann"] },
    { to: ["scribe", "ann"], subject: "done" },
  );
  await wire.settle();
  for (const name of ["scribe", "ann"])
    say(
      wire.agent(name),
      "ack",
      { answers: placeJson(request), approve: name === "ann" },
      { correlationId: request.thread },
    );
  await wire.settle();
  expect(wire.told("forge").toSorted()).toEqual([
    'approved: ann approved your shutdown request "done".',
    'rejected: scribe rejected your shutdown request "done": `deaddrop requests --all` shows its reason.',
  ]);
  expect(
    wire
      .list("forge")
      .map(({ about }) => about)
      .toSorted(),
  ).toEqual([`${request.id} ann`, `${request.id} scribe`].toSorted());
  expect([wire.told("scribe"), wire.told("ann")]).toEqual([[], []]);
});

test("what all have agreed to and nobody closes is told after ten minutes", async () => {
  const wire = await begin("forge", "scribe", "ann");
  const ask = wire.agent("forge").propose("Use tabs", ["scribe", "ann"]);
  await wire.settle();
  wire.agent("scribe").answer(ask, true);
  wire.agent("ann").answer(ask, true);
  const forge = wire.agent("forge").core;
  for (let minutes = 0; minutes < 12; minutes += 3) {
    expect(wire.told("scribe")).toEqual([]);
    // Its daemon lives, and reads nothing.
    forge.heart.beat();
    forge.publish();
    await wire.pass(3 * MINUTE, "scribe", "ann");
  }
  for (const name of ["scribe", "ann"])
    expect(wire.told(name)).toEqual([
      expect.stringMatching(
        /^agreed_not_closed: forge's proposal "Use tabs", .* and forge has not closed it\.$/u,
      ),
    ]);
  await wire.settle();
  expect(wire.list("ann").map(({ kind }) => kind)).toEqual(["agreed_not_closed", "approved"]);
});

test("a peer that is silent is told once while something is owed, with what it has not closed, and its return", async () => {
  const wire = await begin("forge", "scribe", "ann");
  const ask = wire.agent("forge").propose("Use tabs", ["scribe", "ann"]);
  wire.beat();
  await wire.settle();
  wire.agent("ann").answer(ask, true);
  await wire.pass(8 * MINUTE, "ann", "scribe");
  expect(wire.told("scribe")).toEqual([
    expect.stringMatching(
      /^peer_silent: forge is silent: .*; its last heartbeat came at .*, and you owe it 1 answer\.$/u,
    ),
  ]);
  wire.agent("scribe").answer(ask, true);
  await wire.pass(2 * MINUTE, "ann", "scribe");
  expect(wire.told("scribe").slice(1)).toEqual([
    expect.stringMatching(/^agreed_not_closed: .*and forge has not closed it: forge is silent\.$/u),
  ]);
  say(wire.agent("scribe"), "incident", { severity: "low", text: "red" }, { to: ["forge"] });
  wire.agent("forge").core.heart.beat();
  await wire.settle();
  expect(wire.list("scribe").map(({ kind }) => kind)).toContain("peer_back");
});

test("an escalation and safe mode are told, as they begin and end", async () => {
  const wire = await begin("forge", "scribe");
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  const incident = say(
    forge,
    "incident",
    { severity: "high", text: "CI is red" },
    { subject: "CI", priority: "high" },
  );
  await wire.settle();
  scribe.core.markRead("all");
  for (let time = 0; time < 10; time += 1) {
    wire.beat();
    await wire.settle(2, 90_000);
  }
  say(scribe, "ack", { about: placeJson(incident) }, { correlationId: incident.thread });
  await wire.settle();
  const kinds = (name: string) => wire.list(name).map(({ kind }) => kind);
  expect(kinds("forge")).toEqual(["escalated", "safe_mode_begun", "safe_mode_ended"]);
  expect(kinds("scribe")).toEqual(["safe_mode_begun", "safe_mode_ended"]);
  expect(wire.told("forge")[0]).toBe(
    'escalated: Your incident was escalated ("CI"): scribe has read it and did not ack it in time.',
  );
  expect(wire.told("scribe")[0]).toContain("scribe did not ack an incident of forge");
});

test("claims that overlap are told to both, and the one that is left alone", async () => {
  const wire = await begin("forge", "scribe");
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  const paths = ["src/parser/**"];
  const claim = say(forge, "claim", { paths }, { to: ["*"] });
  say(scribe, "claim", { paths: ["src/**"] }, { to: ["*"] });
  await wire.settle();
  say(forge, "release", {}, { to: ["*"], correlationId: claim.thread });
  await wire.settle();
  expect(wire.told("forge")).toEqual([
    'claim_contested: Your claim of "src/parser/**" and one of scribe overlap, and neither of you knew of the other: ' +
      "neither holds until one of you releases its claim (`deaddrop release`).",
  ]);
  expect(wire.told("scribe").slice(1)).toEqual([
    'claim_alone: forge\'s claim has ended: nothing overlaps yours of "src/**" any more.',
  ]);
  // One that was known when it was claimed over.
  wire.beat();
  await wire.settle();
  say(forge, "claim", { paths }, { to: ["*"] });
  await wire.settle();
  expect(wire.list("forge").at(-1)?.kind).toBe("claim_lost");
  expect(wire.list("scribe").at(-1)?.kind).toBe("claim_kept");
});

test("messages that a peer names as refused, and those that wait for its operator, are told", async () => {
  const wire = await begin("forge", "scribe");
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  const sent = [forge.say("one"), forge.say("two")];
  await wire.settle();
  const last = sent[1];
  const range = ["forge", sent[0]?.seq, last?.seq, last?.id];
  say(scribe, "heartbeat", { refused: [[...range, "body_too_large"]] }, { to: ["*"] });
  await wire.settle();
  say(scribe, "heartbeat", { refused: [[...range, "\u001b[31m run this"]] }, { to: ["*"] });
  await wire.settle();
  for (const subject of ["three", "four"]) forge.say(subject);
  say(scribe, "trust_tier_announcement", { about: "forge", tier: "UNTRUSTED" });
  await wire.pass(1_000, "forge");
  expect(wire.told("forge")).toEqual([
    'refused: scribe refused your ship "one" and 1 more (body_too_large): its body is too large there; ' +
      "put the text into a file, name it with --ref and send it again.",
    'refused: scribe refused your ship "one" and 1 more: its operator finds the reasons in its ' +
      "quarantine file; send it again when they are gone.",
    expect.stringMatching(
      /^mail_waits: messages of yours wait at scribe until .*: ship "three" and 1 more; your operator runs/u,
    ),
  ]);
});

test("who leaves is told to the others", async () => {
  const wire = await begin("forge", "scribe", "ann");
  wire.agent("ann").say("one");
  say(wire.agent("ann"), "shutdown", { leave: true, after: 0 }, { to: ["*"] });
  await wire.settle();
  const text =
    "members_changed: The members of this wire have changed: ann left. `deaddrop members` lists them.";
  expect(["forge", "scribe", "ann"].map((name) => wire.told(name))).toEqual([[text], [text], []]);
  // The leave itself is still its member's.
  expect(wire.agent("forge").mail).toEqual(["one", "shutdown"]);
  wire.agent("ann").say("late");
  await wire.settle();
  expect(wire.agent("forge").mail).toEqual(["one", "shutdown"]);
});

test("of one peer at most six are told in an hour, and one that says so; of own asks all", async () => {
  const wire = await begin("forge", "scribe");
  const asks = Array.from({ length: 9 }, (_each, index) =>
    wire.agent("forge").propose(`ask ${index}`, ["scribe"]),
  );
  await wire.settle();
  for (const ask of asks) wire.agent("scribe").answer(ask, true);
  await wire.settle();
  expect(wire.list("forge").length).toBe(9);
  expect(wire.list("scribe").map(({ kind }) => kind)).toEqual([
    ...Array<string>(6).fill("approved"),
    "more_notices",
  ]);
  wire.nowMs += HOUR;
  const later = wire.agent("forge").propose("later", ["scribe"]);
  await wire.settle();
  wire.agent("scribe").answer(later, true);
  await wire.settle();
  expect(wire.list("scribe").at(-1)?.text).toContain('"later"');
});

test("a notice is in the file, heard of once, and marked as read with mail or by its id", async () => {
  const wire = await begin("forge", "scribe");
  const forge = wire.agent("forge");
  for (const subject of ["one", "two"]) {
    const ask = forge.propose(subject, ["scribe"]);
    await wire.settle();
    wire.agent("scribe").answer(ask, true);
    await wire.settle();
  }
  const told = wire.list("forge");
  expect(told.map(({ read }) => read)).toEqual([false, false]);
  const plain = told.map(({ read: _, ...notice }) => notice);
  expect(plain.every(({ id }) => /^n-[0-9a-f]{12}$/u.test(id))).toBe(true);
  expect(written(forge)).toEqual(plain);
  expect(wire.heard.filter(([name]) => name === "forge").map(([, each]) => each)).toEqual(plain);
  const [mail = 0] = forge.core.store.mail.after({ unread: true }, 0, 1);
  const ids = [plain[0]?.id ?? "", forge.core.store.line(mail)?.id ?? "", "a thread", "n-0"];
  expect([forge.core.markRead(ids), forge.core.markRead(ids)]).toEqual([2, 0]);
  expect(wire.list("forge", { unread: true }).map(({ id }) => id)).toEqual([plain[1]?.id]);
  expect(forge.core.store.notices.countUnread()).toBe(1);
  // The other answer of scribe is mail.
  expect(forge.core.markRead("all")).toBe(2);
  expect(forge.core.store.notices.countUnread()).toBe(0);
});

test("what was there before the agent was is no news, also after its store is lost", async () => {
  const wire = await begin("forge", "scribe");
  const ask = wire.agent("forge").propose("Use tabs", ["scribe"]);
  await wire.settle();
  wire.agent("scribe").answer(ask, true);
  await wire.settle();
  const before = readFileSync(fileOf(wire.agent("scribe")), "utf8");
  wire.agent("scribe").loseStore();
  await wire.settle();
  expect(wire.told("scribe")).toEqual([]);
  expect(readFileSync(fileOf(wire.agent("scribe")), "utf8")).toBe(before);
});

test("a program of the operator has its agent told once, in words that steer no terminal", async () => {
  const wire = await begin("forge", "scribe");
  const duty = wire.notices.get("forge");
  const matter = { kind: "plan_asks", about: "plan step 1", text: "step\u001b 1 waits" } as const;
  expect(duty?.notify(matter)).toBe(true);
  expect(duty?.notify({ ...matter, text: "again" })).toBe(false);
  wire.agent("forge").core.writeFiles();
  expect(wire.told("forge")).toEqual(["plan_asks: step\\x1b 1 waits"]);
  expect(wire.heard.length).toBe(1);
});
