import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { appendEvent, type Wish } from "../../../src/collab/folder/append-event.ts";
import { planInit } from "../../../src/collab/folder/init-plan.ts";
import { initRound } from "../../../src/collab/folder/init-round.ts";
import { readRound } from "../../../src/collab/folder/read-round.ts";
import { RoundRefused } from "../../../src/collab/refused.ts";
import { findingsOf } from "../../../src/collab/rules/validate.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { PRIMARY, ScriptedRound, type Schema } from "../scripted-round.ts";
import { EVENTS, secondDerive, type SecondEvent } from "../second-implementation.ts";

const DISK = nodeDisk();
const ABOUT = {
  nowMs: Date.parse("2026-11-21T12:00:00Z"),
  schema: undefined,
  completed: (seq: number) => expect.unreachable(`seq ${seq} was left without its state`),
  left: (error: Error) => expect.unreachable(error.message),
};
const PARTICIPANTS = ["ann", "bob", "cid"];

type Files = ScriptedRound;
type Spoil = (files: Files) => void;

/** What is wrong, a part of the refusal, and the change of a document or of the event that makes it so. */
type Wrong = readonly [how: string, text: string, change: Spoil | Partial<Wish>];

interface Step {
  readonly from: string;
  readonly event: string;
  readonly extra?: (files: Files) => Partial<Wish>;
  readonly before?: Spoil;
  readonly wrong?: readonly Wrong[];
}

const edited =
  (name: string, from: string | RegExp, to: string): Spoil =>
  (files) => {
    const before = files.read(name);
    expect(before.search(from)).toBeGreaterThan(-1);
    files.write(name, before.replace(from, to));
  };

const added =
  (name: string, text: string): Spoil =>
  (files) =>
    files.write(name, `${files.read(name)}\n${text}\n`);

const OPEN_QUESTIONS = [
  "- [unresolved] Who pays?",
  "- [blocking] Nobody pays.",
  "- [deferred_nonblocking] Who pays later?",
  "- [resolved] TBD",
].map((item): Wrong => [item, "unresolved readiness", added("readiness.md", item)]);

const FROZEN_CHANGED: Wrong = [
  ...(["a frozen file that has changed", "sha256 does not match"] as const),
  added(PRIMARY, "Changed."),
];

const NUMBERS = "accepted decision headings must use D<number>";
const REFLECTED = "accepted decision D1 requires Reflected in";
const DECISIONS: readonly Wrong[] = [
  ["a decision without a number", NUMBERS, edited("decisions.md", /D1\./u, "First:")],
  ["a decision that is nowhere", REFLECTED, edited("decisions.md", /^- Reflected.*$/mu, "")],
];

function review(schema: Schema, from: string, other: string): Step {
  const own = new RegExp(`- ${from} - seq \\d+`, "u");
  const mismatch = `participant '${other}' does not match event from '${from}'`;
  const scope = ["Reviewed primary deliverable:", PRIMARY, "Review Scope:"].map((text): Wrong => {
    const without: Spoil = (files) =>
      files.write("review.md", files.read("review.md").replaceAll(text, ""));
    return [`no ${text}`, text, without];
  });
  return {
    ...{ from, event: "review_submitted" },
    before: (files) => {
      const earlier = files.read("review.md");
      files.writeReview(files.lastSeq + 1, from);
      files.write("review.md", earlier + files.read("review.md"));
    },
    wrong: [
      ["no review of this seq", "review.md heading seq", edited("review.md", own, "- x - seq 999")],
      ["a review of another", mismatch, edited("review.md", `- ${from} -`, `- ${other} -`)],
      ...(schema === 2 ? scope : []),
    ],
  };
}

const primary = () => ({ role: "primary", doc: PRIMARY });
const NEEDS_ROLE = "deliverable events require role";
const NEEDS_PRIMARY = "doc must reference the primary deliverable";
const REFERENCES: readonly Wrong[] = [
  ["no role", NEEDS_ROLE, { role: undefined }],
  ["another role", NEEDS_ROLE, { role: "editor" }],
  ["no doc", NEEDS_PRIMARY, { doc: undefined }],
  ["another doc", NEEDS_PRIMARY, { doc: "proposal.md" }],
  ["a supporting one without doc", "doc must", { role: "supporting", doc: undefined }],
];

const DRAFT: Step = {
  ...{ from: "ann", event: "deliverable_drafted", extra: primary },
  wrong: [
    ...REFERENCES,
    ["no status", "Status: Draft, In Review", edited(PRIMARY, "Status: Draft", "Status: Done")],
    ["a section less", "## Consequences", edited(PRIMARY, "## Consequences", "")],
  ],
};

const NEEDS_HASH = "deliverable_frozen requires sha256";
const FREEZE: Step = {
  ...{ from: "ann", event: "deliverable_frozen" },
  before: (files) => {
    const filled = files.read(PRIMARY).replaceAll(/^(## .*)$/gmu, "$1\n\nWritten.");
    files.write(PRIMARY, filled.replace("Status: Draft", "Status: Frozen"));
  },
  extra: (files) => ({ ...primary(), sha256: files.sha256(PRIMARY) }),
  wrong: [
    ...REFERENCES,
    ["no sha256", NEEDS_HASH, { sha256: undefined }],
    ["no hash", NEEDS_HASH, { sha256: "ab" }],
    ["a hash in upper case", NEEDS_HASH, { sha256: "AB".repeat(32) }],
    ["a wrong hash", "sha256 does not match", { sha256: "ab".repeat(32) }],
    ["a draft", "Frozen", edited(PRIMARY, "Status: Frozen", "Status: Draft")],
    ["an empty section", "## Context", edited(PRIMARY, "## Context\n\nWritten.", "## Context")],
  ],
};

function readiness(schema: Schema): Step {
  const notReady = edited("readiness.md", /- \[x\] Ready/u, "- [ ] Ready");
  return {
    ...{ from: "ann", event: "readiness_passed", before: (files) => files.check() },
    wrong: [
      ["not ready", "Ready to implement", notReady],
      ...OPEN_QUESTIONS,
      ...(schema === 2 ? [FROZEN_CHANGED] : []),
    ],
  };
}

function completion(schema: Schema): Step {
  const file = "conclusion.md";
  const conclusions: readonly (readonly [string, Spoil])[] = [
    ["a heading less", edited(file, "## Rationale", "")],
    ["a placeholder", added(file, "The rest is TBD.")],
    ["an unresolved question", added(file, "One is Unresolved.")],
    ["no outcome", edited(file, /- \[proceed\]/u, "-")],
    ["two outcomes", added(file, "- [defer] Or later.")],
    ["a blocked outcome", edited(file, /\[proceed\]/u, "[blocked]")],
    ["nothing", (files) => files.write(file, "")],
    ...(schema === 2 ? [["no deliverable", edited(file, PRIMARY, "It")] as const] : []),
  ];
  const docs = [undefined, "decisions.md", `./${file}`].map((doc): Wrong => [
    ...([`doc ${doc}`, `completed must reference ${file}`, { doc }] as const),
  ]);
  const gates = ["- [ ] The choice is written", "- [x] The choice is written nearly", ""].map(
    (gate): Wrong => [
      ...([`gate ${gate}`, "completion gates"] as const),
      edited("readiness.md", /- \[x\] The choice is written/u, gate),
    ],
  );
  return {
    ...{ from: "ann", event: "completed", before: (files) => files.conclude() },
    extra: () => ({ doc: file }),
    wrong: [
      ...[...docs, ...gates, ...OPEN_QUESTIONS],
      ...conclusions.map(([how, change]): Wrong => [how, "completed requires", change]),
      ...conclusions.map(([how, change]): Wrong => [`${how}, named`, file, change]),
      ["not ready", "completed requires", edited("readiness.md", /.*Ready to implement/u, "")],
      ...(schema === 2 ? [FROZEN_CHANGED, ...DECISIONS] : []),
    ],
  };
}

function stepsOf(schema: Schema): readonly Step[] {
  const isSecond = schema === 2;
  const wrong = isSecond ? [...OPEN_QUESTIONS, ...DECISIONS] : OPEN_QUESTIONS;
  return [
    ...(isSecond ? [DRAFT] : []),
    { from: "ann", event: "proposal_submitted" },
    review(schema, "cid", "bob"),
    review(schema, "bob", "ann"),
    { from: "ann", event: "proposal_revised" },
    {
      ...{ from: "ann", event: "question_classified" },
      before: edited("readiness.md", "[unresolved]", "[resolved]"),
    },
    ...["bob", "ann", "cid"].map((from) => ({ from, event: "decision_accepted", wrong })),
    ...(isSecond ? [FREEZE] : []),
    readiness(schema),
    completion(schema),
    { from: "bob", event: "blocked" },
  ];
}

function started(schema: Schema): Files {
  const files = new ScriptedRound(schema);
  const wish = {
    ...{ folder: files.folder, participants: PARTICIPANTS, schema, objective: "Choose a cache." },
    ...{ completion: ["The choice is written"], type: schema === 2 ? "adr" : undefined },
    ...{ file: undefined, checks: [], mode: undefined, dir: undefined, repoRoot: undefined },
  };
  initRound(DISK, planInit(DISK, wish, "/"), ABOUT.nowMs);
  return files;
}

/** The bytes of every file below the folder; a folder has none. */
function contents({ folder }: Files): Map<string, string | undefined> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  return new Map(
    names.map((name) => {
      const path = join(folder, name);
      return [name, statSync(path).isFile() ? readFileSync(path, "latin1") : undefined];
    }),
  );
}

function expectRefused(
  files: Files,
  wish: Wish,
  text: string,
  { how, before = contents(files) }: { how: string; before?: ReturnType<typeof contents> },
): void {
  let refused: unknown;
  try {
    appendEvent(DISK, files.folder, wish, ABOUT);
  } catch (error) {
    refused = error;
  }
  expect(refused, how).toBeInstanceOf(RoundRefused);
  expect(String(refused), how).toContain(text);
  expect(contents(files), how).toEqual(before);
}

/** Takes each step of a complete round, when a look at what is wrong there has been taken. */
function walk(schema: Schema, look: (files: Files, step: Step, wish: Wish) => void): void {
  const files = started(schema);
  for (const step of stepsOf(schema)) {
    const { from, event } = step;
    step.before?.(files);
    const wish = { from, event, summary: "-", replyTo: files.lastSeq, ...step.extra?.(files) };
    look(files, step, wish);
    appendEvent(DISK, files.folder, wish, ABOUT);
  }
  expect(findingsOf(readRound(DISK, files.folder).round)).toEqual([]);
}

/** What the product says of what the second implementation calls so; `<event>` stands for it. */
const TEXTS: Readonly<Record<string, string>> = {
  "no participant says it": "'eve' is not a participant",
  "schema 1 has no such event": "<event>",
  "only the owner says it": "<event> is said by the proposal's owner",
  "nobody waits for it": "it is not the turn of",
  "there is no draft": "proposal_submitted requires prior primary deliverable_drafted",
  "the questions are not classified": "question_classified",
  "nothing is frozen": "readiness_passed requires primary deliverable_frozen",
  "it is frozen already": "frozen already",
  "readiness has not been passed": "completed requires",
};

const textFor = (reason: string, event: string): string =>
  (TEXTS[reason] ?? reason.replace(/^not while/u, "<event> is not allowed from phase")).replace(
    "<event>",
    event,
  );

/** Who says it, and what, as far as it may not be said now; and why. */
function wrongTurns(files: Files, schema: Schema) {
  const lines = files.read("events.jsonl").trimEnd().split("\n");
  const events = lines.map((line) => JSON.parse(line) as SecondEvent);
  const rules = { schema, participants: PARTICIPANTS, primary: PRIMARY };
  return EVENTS.flatMap((event) =>
    [...PARTICIPANTS, "eve"].flatMap((from) => {
      const doc = event === "completed" ? { doc: "conclusion.md" } : {};
      const about = event.startsWith("deliverable_") ? primary() : doc;
      const said = { from, event, ...about };
      const verdict = secondDerive(rules, [...events, { ...said, seq: events.length + 1 }]);
      return verdict.ok ? [] : [{ said, reason: verdict.reason }];
    }),
  );
}

describe.each([1, 2] as const)("at each step of schema %i, nothing changes by", (schema) => {
  test("an event out of turn, or out of phase", () => {
    const reasons = new Set<string>();
    walk(schema, (files, { event }, { replyTo }) => {
      const before = contents(files);
      const sha256 = schema === 2 ? { sha256: files.sha256(PRIMARY) } : {};
      for (const { said, reason } of wrongTurns(files, schema)) {
        reasons.add(reason);
        const hash = said.event === "deliverable_frozen" ? sha256 : {};
        const how = `${said.event} of ${said.from} before ${event}`;
        const wish = { ...said, ...hash, summary: "-", replyTo };
        expectRefused(files, wish, textFor(reason, said.event), { how, before });
      }
    });
    expect(reasons.size).toBe(schema === 1 ? 12 : 14);
  });

  test("an event that answers nothing earlier", () => {
    walk(schema, (files, { event }, wish) => {
      const none = { ...wish, replyTo: undefined };
      expectRefused(files, none, "reply_to is required after initialized", { how: event });
      const seq = files.lastSeq;
      for (const replyTo of [seq + 1, seq + 2, 0, -1, 1.5]) {
        expectRefused(files, { ...wish, replyTo }, "reply_to", { how: `${event} to ${replyTo}` });
      }
    });
  });

  test("an event that its documents, or its own fields, do not bear out", () => {
    walk(schema, (files, { event, wrong = [] }, wish) => {
      for (const [how, text, change] of wrong) {
        const before = contents(files);
        if (typeof change === "function") change(files);
        const wrongly = typeof change === "function" ? wish : { ...wish, ...change };
        expectRefused(files, wrongly, text, { how: `${event}: ${how}` });
        for (const [name, bytes] of before) {
          if (bytes !== undefined) writeFileSync(join(files.folder, name), bytes, "latin1");
        }
      }
    });
  });
});

test("a line of a supporting deliverable that names no document is an error", () => {
  const files = started(2);
  const at = "2026-11-21T12:00:00Z";
  const about = {
    seq: 2,
    from: "bob",
    event: "deliverable_drafted",
    at,
    summary: "-",
    reply_to: 1,
  };
  const line = JSON.stringify({ ...about, role: "supporting" });
  files.write("events.jsonl", `${files.read("events.jsonl")}${line}\n`);
  const found = findingsOf(readRound(DISK, files.folder).round);
  expect(found.map((each) => each.text).join()).toContain("doc");
});
