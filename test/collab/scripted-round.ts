import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { run } from "../cli/fake-cli.ts";

export type Schema = 1 | 2;

/** What a program that calls one of the protocol's scripts sees. */
export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The protocol's five scripts by their jobs, each as our command. */
const SCRIPTS = {
  init_collab: "init",
  append_event: "append",
  next_action: "next",
  wait_turn: "wait",
  validate_collab: "validate",
} as const;

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A temporary folder, removed after the test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "round-"));
  folders.push(folder);
  return folder;
}

/** Runs a script in a folder, with its own state of the user. */
export async function script(
  name: keyof typeof SCRIPTS,
  cwd: string,
  ...flags: readonly string[]
): Promise<Said> {
  const env = { HOME: join(cwd, ".home"), PATH: process.env["PATH"] };
  const nowMs = Date.parse("2026-11-21T12:00:00Z");
  const { exitCode, stdout, stderr } = await run(["collab", SCRIPTS[name], ...flags], {
    ...{ cwd, env, nowMs },
  });
  return { code: exitCode, stdout, stderr };
}

export const PRIMARY = "deliverables/adr.md";

/** A round of ann, who owns the proposal, and bob. */
export class ScriptedRound {
  readonly cwd = newFolder();
  readonly folder = join(this.cwd, "round");
  readonly schema: Schema;

  constructor(schema: Schema) {
    this.schema = schema;
  }

  async init(...flags: readonly string[]): Promise<Said> {
    const about = ["--objective", "Choose a cache.", "--completion", "The choice is written"];
    const kind = this.schema === 1 ? [] : ["--primary-deliverable-type", "adr"];
    const who = ["--participant", "ann", "--participant", "bob"];
    return script(
      "init_collab",
      this.cwd,
      "--folder",
      "round",
      ...who,
      ...about,
      ...kind,
      ...flags,
    );
  }

  async append(from: string, event: string, ...flags: readonly string[]): Promise<Said> {
    const at = ["--folder", "round", "--participant", from];
    const what = ["--event", event, "--summary", `${event} by ${from}`];
    return script("append_event", this.cwd, ...at, ...what, ...flags);
  }

  /** The same, answering the last event; it must be taken. */
  async say(from: string, event: string, ...flags: readonly string[]): Promise<void> {
    const seq = this.lastSeq;
    if (event === "question_classified") {
      this.write(
        "readiness.md",
        this.read("readiness.md").replaceAll("[unresolved]", "[resolved]"),
      );
    }
    const said = await this.append(from, event, "--reply-to", String(seq), ...flags);
    expect(said).toEqual({ code: 0, stdout: `appended seq ${seq + 1}: ${event}\n`, stderr: "" });
  }

  next(participant: string): Promise<Said> {
    return script("next_action", this.cwd, "--folder", "round", "--participant", participant);
  }

  validate(...flags: readonly string[]): Promise<Said> {
    return script("validate_collab", this.cwd, "--folder", "round", ...flags);
  }

  get lastSeq(): number {
    return this.read("events.jsonl").trimEnd().split("\n").length;
  }

  read(name: string): string {
    return readFileSync(join(this.folder, name), "utf8");
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Changes a JSON file of the round. */
  change(name: string, how: (value: Record<string, unknown>) => void): void {
    const value = JSON.parse(this.read(name)) as Record<string, unknown>;
    how(value);
    this.write(name, `${JSON.stringify(value, undefined, 2)}\n`);
  }

  sha256(name: string): string {
    return createHash("sha256").update(this.read(name)).digest("hex");
  }

  /** Up to where reviews are written. */
  async propose(): Promise<void> {
    if (this.schema === 2) {
      await this.say("ann", "deliverable_drafted", "--role", "primary", "--doc", PRIMARY);
    }
    await this.say("ann", "proposal_submitted");
  }

  /** Behind the reviews that are there. */
  addReview(seq: number, participant: string): void {
    const before = this.read("review.md");
    this.writeReview(seq, participant);
    this.write("review.md", `${before}\n${this.read("review.md").replace("# Review\n\n", "")}`);
  }

  async review(): Promise<void> {
    this.writeReview(this.lastSeq + 1, "bob");
    await this.say("bob", "review_submitted");
  }

  writeReview(seq: number, participant: string): void {
    const parts = ["Context", "Position", "Concerns", "Required Changes", "Questions"];
    const scope = [
      `Reviewed primary deliverable: ${PRIMARY}`,
      "Review Scope: Primary deliverable completeness",
    ];
    this.write(
      "review.md",
      [
        "# Review",
        "",
        `## 2026-11-21T12:00:00Z - ${participant} - seq ${seq}`,
        ...(this.schema === 2 ? scope : []),
        ...parts.flatMap((part) => [`### ${part}`, "None."]),
        "",
      ].join("\n"),
    );
  }

  /** Up to the readiness check. */
  async accept(): Promise<void> {
    await this.say("ann", "proposal_revised");
    await this.say("ann", "question_classified");
    await this.say("ann", "decision_accepted");
    await this.say("bob", "decision_accepted");
  }

  /** Fills in the deliverable and freezes it. */
  async freeze(): Promise<void> {
    const filled = this.read(PRIMARY)
      .replaceAll(/^(## .*)$/gmu, "$1\n\nWritten.")
      .replace("Status: Draft", "Status: Frozen");
    this.write(PRIMARY, filled);
    const frozen = ["--role", "primary", "--doc", PRIMARY, "--sha256", this.sha256(PRIMARY)];
    await this.say("ann", "deliverable_frozen", ...frozen);
  }

  /** Checks what `readiness.md` holds. */
  check(): void {
    this.write("readiness.md", this.read("readiness.md").replaceAll("- [ ]", "- [x]"));
  }

  conclude(outcome = "- [proceed] The cache is chosen."): void {
    const filled = this.read("conclusion.md")
      .replaceAll(/^(## .*)$/gmu, "$1\n\nWritten.")
      .replace("## Decision Outcome\n", `## Decision Outcome\n\n${outcome}\n`)
      .replace("## Deliverable Receipt\n", `## Deliverable Receipt\n\n${PRIMARY}\n`);
    this.write("conclusion.md", filled);
  }

  /** Up to the readiness check, in one go. */
  async toReadiness(): Promise<void> {
    await this.init();
    await this.propose();
    await this.review();
    await this.accept();
  }

  /** From the readiness check to the end. */
  async complete(): Promise<void> {
    if (this.schema === 2) await this.freeze();
    this.check();
    await this.say("ann", "readiness_passed");
    this.conclude();
    await this.say("ann", "completed", "--doc", "conclusion.md");
  }
}
