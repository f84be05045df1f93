import { describe, expect, test } from "vitest";
import { appendEvent } from "../../src/collab/folder/append-event.ts";
import { planInit } from "../../src/collab/folder/init-plan.ts";
import { initRound } from "../../src/collab/folder/init-round.ts";
import { readRound } from "../../src/collab/folder/read-round.ts";
import { stateOf } from "../../src/collab/rules/round.ts";
import { findingsOf } from "../../src/collab/rules/validate.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import {
  scriptJson,
  secondAppend,
  secondRead,
  type SecondEvent,
  type SecondState,
} from "./second-implementation.ts";
import { PRIMARY, ScriptedRound, type Schema } from "./scripted-round.ts";

const DISK = nodeDisk();
const NOW_MS = Date.parse("2026-11-21T12:00:00Z");
/** With what one of the two does not escape, what both must, and what neither may. */
const SUMMARY = 'é 𝒃 "quoted" \\ \u2028 \u0085 \u000b \u001d end';
const FIELDS = ["seq", "from", "event", "at", "summary", "doc", "reply_to", "role", "sha256"];

type Extra = Partial<Record<"doc" | "role" | "sha256", string>>;

/** A round in which one participant uses the product, and all others the scripts. */
class MixedRound {
  readonly files: ScriptedRound;
  readonly others: readonly string[];
  readonly #ours: string;
  readonly #owner: string;
  #nowMs = NOW_MS;

  constructor(schema: Schema, participants: readonly string[], ours: string) {
    const [owner = "", ...others] = participants;
    this.files = new ScriptedRound(schema);
    [this.#owner, this.others, this.#ours] = [owner, others, ours];
    const wish = {
      ...{ folder: this.files.folder, participants, schema, objective: "Choose a cache." },
      ...{ completion: ["The choice is written"], type: schema === 2 ? "adr" : undefined },
      ...{ file: undefined, checks: [], mode: undefined, dir: undefined, repoRoot: undefined },
    };
    initRound(DISK, planInit(DISK, wish, "/"), NOW_MS);
    this.#expectAgreement();
  }

  owner(event: string, extra: Extra = {}): void {
    this.say(this.#owner, event, extra);
  }

  /** Of the primary deliverable. */
  ownersFile(event: string): void {
    const sha256 = event === "deliverable_frozen" ? { sha256: this.files.sha256(PRIMARY) } : {};
    this.owner(event, { role: "primary", doc: PRIMARY, ...sha256 });
  }

  everybody(event: string): void {
    for (const from of [...this.others, this.#owner]) this.say(from, event);
  }

  say(from: string, event: string, extra: Extra = {}): void {
    const { folder } = this.files;
    const replyTo = this.files.lastSeq;
    const wish = { from, event, summary: SUMMARY, ...extra };
    if (from === this.#ours) {
      const about = {
        nowMs: this.#nowMs,
        schema: undefined,
        completed: (seq: number) => expect.unreachable(`seq ${seq} was left without its state`),
        left: (error: Error) => expect.unreachable(error.message),
      };
      appendEvent(DISK, folder, { ...wish, replyTo }, about);
    } else {
      // Its clock is behind.
      secondAppend(folder, { ...wish, reply_to: replyTo }, this.#nowMs - 5_000);
    }
    this.#nowMs += 1_000;
    expect(this.#expectAgreement()).toMatchObject({ seq: replyTo + 1, ...wish, reply_to: replyTo });
  }

  review(from: string): void {
    const before = this.files.read("review.md");
    this.files.writeReview(this.files.lastSeq + 1, from);
    this.files.write("review.md", before + this.files.read("review.md"));
    this.say(from, "review_submitted");
  }

  /** Says where the round is now, as both see it. */
  state(): SecondState {
    const verdict = secondRead(this.files.folder);
    if (!verdict.ok) throw new Error(verdict.reason);
    return verdict.state;
  }

  /** Both see the same, and the files are such as either would have written; the last event. */
  #expectAgreement(): SecondEvent {
    const { round } = readRound(DISK, this.files.folder);
    const state = this.state();
    expect(stateOf(round)).toEqual(state);
    const text = this.files.read("protocol.json");
    const protocol = JSON.parse(text) as Record<string, unknown>;
    const lines = this.files.read("events.jsonl").split("\n").slice(0, -1);
    const last = JSON.parse(lines.at(-1) ?? "") as SecondEvent & { at: string };
    expect(protocol).toMatchObject({ ...state, updatedAt: last.at });
    expect(text).toBe(scriptJson(protocol));
    expect(JSON.stringify(last)).toHaveLength(JSON.stringify(last, FIELDS).length);
    expect(Object.keys(last)).toEqual(FIELDS.filter((name) => name in last));
    expect(lines.join("")).not.toMatch(/[\u0085\u2028\u2029]/u);
    return last;
  }
}

/** Two proposals, each reviewed by all. */
function propose(round: MixedRound, schema: Schema): void {
  const { files, others } = round;
  files.write("proposal.md", "# Proposal\n\nA small cache.\n");
  if (schema === 2) round.ownersFile("deliverable_drafted");
  round.owner("proposal_submitted");
  for (const from of others) round.review(from);
  expect(round.state().currentPhase).toBe("revising");
  files.write("proposal.md", "# Proposal\n\nA larger cache.\n");
  if (schema === 2) round.ownersFile("deliverable_revised");
  round.owner("proposal_submitted");
  // The last one first.
  for (const from of others.toReversed()) round.review(from);
}

/** A decision that changes twice while it is being accepted. */
function decide(round: MixedRound, schema: Schema): void {
  const { files, others } = round;
  const readiness = files.read("readiness.md").replace("[unresolved]", "[resolved]");
  const withItems = (...items: readonly string[]): void =>
    files.write("readiness.md", readiness.replace("## Blockers", `${items.join("\n")}\n\n$&`));
  withItems("- [unresolved] Who pays?");
  round.owner("proposal_revised");
  round.owner("question_classified");
  withItems("- [resolved] We pay.", "- [deferred_nonblocking] Colours. Reason: taste.");
  round.say(others[0] ?? "", "decision_accepted");
  if (schema === 2) {
    const entry = `\n### D2. Size\n\n- Decision: Large.\n- Reflected in: ${PRIMARY}\n`;
    files.write("decisions.md", files.read("decisions.md") + entry);
  } else {
    files.write("decisions.md", "# Decisions\n\n- Large.\n");
  }
  round.owner("decision_proposed");
  round.owner("question_classified");
  round.owner("decision_accepted");
  round.owner("question_classified");
  round.everybody("decision_accepted");
  expect(round.state().currentPhase).toBe("readiness_check");
}

function finish(round: MixedRound, schema: Schema): void {
  const { files, others } = round;
  if (schema === 2) {
    const supporting = { role: "supporting", doc: PRIMARY };
    for (const from of others) round.say(from, "deliverable_revised", supporting);
    files.write(
      PRIMARY,
      files
        .read(PRIMARY)
        .replaceAll(/^(## .*)$/gmu, "$1\n\nWritten.")
        .replace("Status: Draft", "Status: Frozen"),
    );
    round.ownersFile("deliverable_frozen");
  }
  files.check();
  round.owner("readiness_passed");
  round.owner("readiness_passed");
  files.conclude();
  round.owner("completed", { doc: "conclusion.md" });
}

const TWO = ["ann", "bob"];
const THREE = ["zoë", "ann", "Bob"];
const CASES = ([1, 2] as const).flatMap((schema) =>
  [TWO, THREE].flatMap((participants) =>
    participants.map((ours) => ({ schema, participants, ours })),
  ),
);

describe("the product and the scripts take turns in a folder", () => {
  test.each(CASES)(
    "schema $schema, $participants, $ours has the product",
    ({ schema, participants, ours }) => {
      const round = new MixedRound(schema, participants, ours);
      propose(round, schema);
      decide(round, schema);
      finish(round, schema);
      expect(round.state()).toEqual({
        ...{ currentPhase: "completed", proposalOwner: participants[0], waitingFor: [] },
      });
      expect(findingsOf(readRound(DISK, round.files.folder).round)).toEqual([]);
    },
  );

  test.each(CASES)(
    "until one blocks: schema $schema, $participants, $ours has the product",
    ({ schema, participants, ours }) => {
      const round = new MixedRound(schema, participants, ours);
      propose(round, schema);
      for (const from of participants) round.say(from, "blocked");
      expect(round.state()).toMatchObject({ currentPhase: "blocked", waitingFor: [] });
      expect(findingsOf(readRound(DISK, round.files.folder).round)).toEqual([]);
    },
  );
});
