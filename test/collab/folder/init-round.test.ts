import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "../../cli/fake-cli.ts";
import { newFolder, PRIMARY, script, ScriptedRound } from "../scripted-round.ts";

/** All files below a folder, by their ways from it. */
function filesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.map((name) => join(folder, name)).filter((path) => statSync(path).isFile());
  return Object.fromEntries(
    files.map((path) => [relative(folder, path), readFileSync(path, "utf8")]),
  );
}

const refused = (...texts: readonly string[]) => ({
  code: 2,
  stdout: "",
  stderr: expect.stringMatching(
    new RegExp(texts.map((text) => `(?=.*${text})`).join(""), "u"),
  ) as string,
});

const WHO = ["--participant", "ann", "--participant", "bob"];
const WHAT = ["--objective", "Choose a cache.", "--completion", "The choice is written"];
const ADR = ["--primary-deliverable-type", "adr"];

describe("what init makes", () => {
  test.each([1, 2] as const)("schema %i, byte for byte", async (schema) => {
    const round = new ScriptedRound(schema);
    const said = await round.init();
    expect(said).toMatchObject({ code: 0, stderr: "" });
    const golden = new URL(`../../data/collab/schema-${schema}/`, import.meta.url).pathname;
    expect(filesIn(round.folder)).toEqual(filesIn(golden));
    expect(await round.validate()).toMatchObject({ code: 0, stdout: "ACP validation passed\n" });
    expect(readdirSync(round.cwd).toSorted()).toEqual([".home", "round"]);
  });

  test("names are trimmed, repeats dropped", async () => {
    const round = new ScriptedRound(1);
    await round.init("--participant", " bob ", "--participant", " cid");
    const { participants } = JSON.parse(round.read("protocol.json")) as { participants: unknown };
    expect(participants).toEqual([{ id: "ann" }, { id: "bob" }, { id: "cid" }]);
  });

  test.each([
    "design-spec",
    "implementation-plan",
    "decision-memo",
    "review-report",
    "test-plan",
    "adr",
  ])("a template of a %s lacks nothing but its words", async (type) => {
    const round = new ScriptedRound(2);
    await round.init("--primary-deliverable-type", type);
    const doc = `deliverables/${type}.md`;
    await round.say("ann", "deliverable_drafted", "--role", "primary", "--doc", doc);
    expect(await round.validate()).toMatchObject({ code: 0 });
  });

  test("a custom deliverable has its checks as sections", async () => {
    const round = new ScriptedRound(2);
    const file = ["--primary-deliverable-file", "plan.md"];
    const check = ["--primary-deliverable-check", "Who pays?"];
    await round.init("--primary-deliverable-type", "custom", ...file, ...check);
    expect(round.read("deliverables/plan.md")).toContain("## Who pays?");
    const doc = ["--role", "primary", "--doc", "deliverables/plan.md"];
    round.write("deliverables/plan.md", "# Plan\n\nStatus: Draft\n");
    const said = await round.append("ann", "deliverable_drafted", "--reply-to", "1", ...doc);
    expect(said).toEqual(refused("must answer its check: Who pays\\?"));
    round.write("deliverables/plan.md", "# Plan\n\nStatus: Draft\n\n- Who pays? We do.\n");
    await round.say("ann", "deliverable_drafted", ...doc);
  });
});

describe("what init refuses, and then makes nothing", () => {
  const init = async (...flags: readonly string[]) => {
    const cwd = newFolder();
    mkdirSync(join(cwd, "there"));
    const said = await script("init_collab", cwd, ...flags);
    expect(readdirSync(cwd).filter((name) => name !== ".home")).toEqual(["there"]);
    return said;
  };

  test("all that is missing at once", async () => {
    expect(await init()).toEqual(
      refused("--folder", "--participant", "--objective", "--completion"),
    );
    expect(await init("--schema", "2")).toEqual(refused("two --participant", "deliverable-type"));
  });

  test.each([
    ["a folder that is there", ["--folder", "there"], "exists already"],
    ["one participant in schema 2", ["--folder", "r", ...ADR, "--participant", "ann"], "two"],
    [
      "a way out",
      ["--folder", "r", ...ADR, "--primary-deliverable-file", "../x.md"],
      "hold \\.\\.",
    ],
    [
      "an absolute file",
      ["--folder", "r", ...ADR, "--primary-deliverable-file", "/x.md"],
      "relative",
    ],
    ["no .md", ["--folder", "r", ...ADR, "--primary-deliverable-file", "x.txt"], "end in \\.md"],
    ["a folder out", ["--folder", "r", ...ADR, "--deliverables-dir", "a/../.."], "hold \\.\\."],
    ["a mode", ["--folder", "r", ...ADR, "--deliverables-mode", "both"], "internal or external"],
    ["a type", ["--folder", "r", "--primary-deliverable-type", "poem"], "must be one of adr"],
    ["a root inside", ["--folder", "r", ...ADR, "--repo-root", ".."], "external"],
    [
      "a root that is no ancestor",
      ["--folder", "r", ...ADR, "--deliverables-mode", "external", "--repo-root", "there"],
      "ancestor",
    ],
    [
      "no repository",
      ["--folder", "r", ...ADR, "--deliverables-mode", "external"],
      "require --repo-root",
    ],
    ["a flag of schema 2", ["--folder", "r", "--deliverables-dir", "d"], "is for schema 2"],
    ["an obsolete gate", ["--folder", "r", "--completion", "state.log is closed"], "obsolete file"],
    ["a name of two lines", ["--folder", "r", "--participant", "a\nb"], "must be one line"],
    ["a gate of two lines", ["--folder", "r", "--completion", "a\u2028b"], "must be one line"],
    ["a schema", ["--folder", "r", "--schema", "3"], "must be 1 or 2"],
  ])("%s", async (_name, flags, text) => {
    const who = flags.includes("--participant") ? [] : WHO;
    expect(await init(...who, ...WHAT, ...flags)).toEqual(refused(text));
  });
});

describe("on a terminal", () => {
  const answers = ["round", "ann", "bob", "", "Choose a cache.", "The choice is written", ""];

  test("what is missing is asked for", async () => {
    const cwd = newFolder();
    const outside = { cwd, env: { HOME: cwd }, tty: true, stdin: `${answers.join("\n")}\n` };
    const { exitCode, stderr } = await run(["collab", "init"], outside);
    expect([exitCode, stderr.split(": ").slice(0, -1)]).toEqual([
      0,
      [
        "Folder of the round",
        ...Array.from({ length: 3 }, () => "Participant (or Enter)"),
        "Objective",
        ...Array.from({ length: 2 }, () => "Completion gate (or Enter)"),
      ],
    ]);
    const golden = new URL("../../data/collab/schema-1/protocol.json", import.meta.url).pathname;
    const made = readFileSync(join(cwd, "round", "protocol.json"), "utf8");
    expect(made).toBe(readFileSync(golden, "utf8"));
  });

  test("an end of the input is no answer: it is refused, and nothing is made", async () => {
    const cwd = newFolder();
    const outside = { cwd, env: { HOME: cwd }, tty: true, stdin: "round\nann\n" };
    const { exitCode, stderr } = await run(["collab", "init"], outside);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("error: --objective is missing; --completion is missing");
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe("resume and continue", () => {
  test("--resume leaves a folder as it is, whatever else is asked", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    const before = filesIn(round.folder);
    const said = await round.init("--resume", "--schema", "2", "--completion", "Another");
    expect(said).toMatchObject({ code: 0, stderr: "" });
    expect(filesIn(round.folder)).toEqual(before);
  });

  test.each([1, 2] as const)("--continue takes inputs and documents, schema %i", async (schema) => {
    const round = new ScriptedRound(schema);
    const more = ["--folder", "next", "--continue", "round"];
    await round.init();
    expect(await script("init_collab", round.cwd, ...more)).toEqual(refused("has not ended"));
    round.write("proposal.md", "# Proposal\n\nThe old one.\n");
    if (schema === 2) round.write(PRIMARY, round.read(PRIMARY).replace("Draft", "Frozen"));
    await round.say("bob", "blocked");
    expect(await script("init_collab", round.cwd, ...more)).toMatchObject({ code: 0, stderr: "" });
    const next = filesIn(join(round.cwd, "next"));
    expect(next["proposal.md"]).toContain("The old one.");
    const made = JSON.parse(next["protocol.json"] ?? "") as Record<string, unknown>;
    const old = JSON.parse(round.read("protocol.json")) as Record<string, unknown>;
    for (const name of ["objective", "participants", "completionGates", "deliverables"]) {
      expect(made[name]).toEqual(old[name]);
    }
    if (schema === 2) expect(next[PRIMARY]).toContain("Status: Draft");
    const valid = await script("validate_collab", round.cwd, "--folder", "next");
    expect(valid).toMatchObject({ code: 0 });
  });
});

describe("deliverables outside of the folder", () => {
  /** A repository with a round in `rounds/r`. */
  async function external(cwd: string) {
    mkdirSync(join(cwd, "repo", ".git"), { recursive: true });
    const at = ["--folder", "repo/rounds/r", "--deliverables-mode", "external"];
    return script("init_collab", cwd, ...at, "--deliverables-dir", "docs", ...WHO, ...WHAT, ...ADR);
  }

  const draft = (cwd: string) =>
    script(
      "append_event",
      cwd,
      ...["--folder", "repo/rounds/r", "--participant", "ann", "--event", "deliverable_drafted"],
      ...["--summary", "x", "--reply-to", "1", "--role", "primary", "--doc", "external:adr.md"],
    );

  test("are in the repository, and are named external", async () => {
    const cwd = newFolder();
    expect(await external(cwd)).toMatchObject({ code: 0, stderr: "" });
    const protocol = readFileSync(join(cwd, "repo/rounds/r/protocol.json"), "utf8");
    expect(protocol).toContain('"repoRoot": "../.."');
    expect(readFileSync(join(cwd, "repo/docs/adr.md"), "utf8")).toContain("Status: Draft");
    expect(await draft(cwd)).toMatchObject({ code: 0 });
    const valid = await script("validate_collab", cwd, "--folder", "repo/rounds/r");
    expect(valid).toMatchObject({ code: 0, stdout: "ACP validation passed\n" });
  });

  test("a document that is there stays", async () => {
    const cwd = newFolder();
    mkdirSync(join(cwd, "repo/docs"), { recursive: true });
    writeFileSync(join(cwd, "repo/docs/adr.md"), "mine\n");
    await external(cwd);
    expect(readFileSync(join(cwd, "repo/docs/adr.md"), "utf8")).toBe("mine\n");
  });

  test("never lead out of it through a link", async () => {
    const cwd = newFolder();
    await external(cwd);
    mkdirSync(join(cwd, "elsewhere"));
    writeFileSync(join(cwd, "elsewhere/adr.md"), "Status: Draft\n");
    const docs = join(cwd, "repo/docs");
    renameSync(docs, `${docs}.old`);
    symlinkSync("../elsewhere", docs);
    expect(await draft(cwd)).toEqual(refused("is outside, through a symbolic link"));
  });

  test("are no links themselves", async () => {
    const round = new ScriptedRound(2);
    await round.init();
    rmSync(join(round.folder, PRIMARY));
    symlinkSync("/etc/passwd", join(round.folder, PRIMARY));
    const doc = ["--role", "primary", "--doc", PRIMARY, "--reply-to", "1"];
    const said = await round.append("ann", "deliverable_drafted", ...doc);
    expect(said).toEqual(refused("symbolic link"));
    expect(said.stderr).not.toContain("root:");
  });
});
