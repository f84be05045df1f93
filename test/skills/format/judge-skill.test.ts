import { describe, expect, it, test } from "vitest";
import { judgeSkill } from "../../../src/skills/format/judge-skill.ts";
import { nameProblem } from "../../../src/skills/format/skill.ts";

const file = { sha256: "0", isExecutable: false };

function judged(markdown: string, name = "plan", others: readonly string[] = []) {
  const files = new Map(["SKILL.md", ...others].map((path) => [path, file] as const));
  return judgeSkill({ name, markdown, files, refused: [] });
}
function faults(markdown: string, name?: string, others?: readonly string[]): string[] {
  return judged(markdown, name, others).problems.map(
    ({ level, line, text }) => `${level} ${line ?? "-"}: ${text}`,
  );
}
const skill = (fields: string, body = "Do it.\n"): string => `---\n${fields}\n---\n${body}`;
const good = "name: plan\ndescription: Plans work.";

describe("a skill", () => {
  it("is read with all its fields", () => {
    const text = skill(
      `${good}\nlicense: MIT\ncompatibility: Requires git\nmetadata:\n  version: "1.2.3"\n  author: us`,
    );
    const { skill: read, problems } = judged(text);
    expect(problems).toEqual([]);
    expect(read).toMatchObject({
      name: "plan",
      description: "Plans work.",
      license: "MIT",
      compatibility: "Requires git",
      version: "1.2.3",
      allowedTools: [],
      body: "Do it.\n",
    });
  });

  it("may have line ends of Windows, and rows of --- in its text", () => {
    const text = skill(good, "Do it.\n---\nMore.\n").replaceAll("\n", "\r\n");
    expect(judged(text)).toMatchObject({ skill: { name: "plan" }, problems: [] });
    expect(judged(text).skill?.body).toContain("---\r\nMore.");
  });
});

test.each([
  ["no front matter", "name: plan\n", "does not begin with front matter"],
  ["a byte order mark", `\uFEFF${skill(good)}`, "byte order mark"],
  ["front matter without an end", "---\nname: plan\n", "does not begin with front matter"],
  ["no name", skill("description: x"), "the field name is missing"],
  ["no description", skill("name: plan"), "the field description is missing"],
  ["an empty description", skill('name: plan\ndescription: " "'), "the description is empty"],
  ["another folder's name", skill("name: other\ndescription: x"), 'not that of its folder, "plan"'],
  ["a long description", skill(`name: plan\ndescription: ${"x".repeat(1_025)}`), "at most 1024"],
  ["a long compatibility", skill(`${good}\ncompatibility: ${"x".repeat(501)}`), "1 to 500"],
  ["tools as a list", skill(`${good}\nallowed-tools: [Bash]`), "a list or more, not a text"],
  ["metadata as a text", skill(`${good}\nmetadata: x`), "metadata is to be texts"],
  ["metadata within metadata", skill(`${good}\nmetadata: {a: {b: c}}`), "not a text"],
  ["a key that is there twice", skill(`${good}\nname: plan`), "there twice"],
  ["YAML that is none", skill(`${good}\nlicense: [`), "error 5:"],
  ["a list instead of fields", skill("- a"), "no list of fields"],
  ["an alias", skill("name: &a plan\ndescription: *a"), "aliases"],
  ["escape codes", skill('name: plan\ndescription: "a\\x1b[2Jb"'), "control characters"],
  ["words from right to left", skill('name: plan\ndescription: "a\\u202eb"'), "control characters"],
  ["a link out of the folder", skill(good, "[x](../other/SKILL.md)\n"), "leaves the folder"],
  ["an escaped link out of it", skill(good, "[x](%2e%2e/x)\n"), "leaves the folder"],
  ["a link to a file of the machine", skill(good, "[x](/etc/passwd)\n"), "leaves the folder"],
  ["a link to nothing", skill(good, "[x](references/a.md)\n"), "leads to no file"],
])("%s is refused", (_what, markdown, says) => {
  const { skill: read } = judged(markdown);
  expect(read).toBeUndefined();
  expect(faults(markdown).join("\n")).toContain(says);
});

test.each([
  ["yes", "yes or no"],
  ["On", "yes or no"],
  ["n", "yes or no"],
  ["true", "yes or no"],
  ["1.0", "a number"],
  ["1_000", "a number"],
  ["0x1F", "a number"],
  ["12:30:45", "a number"],
  [".inf", "a number"],
  ["2026-11-25", "a date"],
  ["2026-11-25 10:00:00", "a date"],
  ["~", "empty"],
  ["null", "empty"],
  ["", "empty"],
])("%j bare is no text, and is one in quotes", (word, kind) => {
  const bare = faults(skill(`name: plan\ndescription: ${word}`));
  expect(bare).toHaveLength(1);
  expect(bare[0]).toMatch(new RegExp(`^error 3: "description" is ${kind}, not a text`));
  expect(faults(skill(`${good}\nmetadata:\n  version: ${word}`))[0]).toContain(
    `"metadata.version" is ${kind}`,
  );
  if (word !== "") expect(faults(skill(`name: plan\ndescription: "${word}"`))).toEqual([]);
});

test.each([
  "!!python/object/apply:os.system [ls]",
  "!!js/function 'function () {}'",
  "!!binary aGVsbG8=",
])("front matter that would execute elsewhere is refused: %s", (value) => {
  const found = faults(skill(`${good}\nmetadata:\n  x: ${value}`));
  expect(found.join("\n")).toContain("plain data");
});

describe("costly front matter", () => {
  it("is not read when it is long", () => {
    expect(faults(skill(`${good}\nmetadata:\n  x: ${'"'.repeat(1_000_000)}`))[0]).toContain(
      "at most 16384",
    );
  });
  it("is not expanded", () => {
    const bomb = ["a: &a [x,x]", "b: &b [*a,*a]", "c: [*b,*b]"].join("\n");
    expect(judged(skill(`${good}\n${bomb}`)).skill).toBeUndefined();
  });
});

describe("what is odd, and no fault", () => {
  it("fields that nobody knows, grants, and a long text are warned about", () => {
    const text = skill(`${good}\nmodel: x\nallowed-tools: Bash(git:*) Read`, "a\n".repeat(600));
    const { skill: read } = judged(text);
    expect(read?.allowedTools).toEqual(["Bash(git:*)", "Read"]);
    expect(faults(text)).toEqual([
      'warning 4: "model" is no field of the open format',
      "warning 5: allowed-tools: in a project's skill it grants permissions without asking",
      expect.stringMatching(/^warning 7: 600 lines; keep it under 500/),
    ]);
  });
  it("names in backticks that the folder lacks are warned about, links in code are none", () => {
    const text = skill(good, "`scripts/a.sh` and `scripts/b.sh`\n```\n[x](../y)\n```\n");
    expect(faults(text, "plan", ["scripts/a.sh"])).toEqual([
      'warning 5: "scripts/b.sh" is not in the folder of the skill',
    ]);
    const linked = skill(good, "[a](scripts/a.sh#top) [b](scripts/) [c](https://x.org) [d](#e)\n");
    expect(faults(linked, "plan", ["scripts/a.sh"])).toEqual([]);
  });
});

test.each([
  "../x",
  "..",
  ".",
  "a/b",
  "a\\b",
  "A",
  "a--b",
  "-a",
  "a-",
  "",
  "a b",
  "a\u0000b",
  "a\u001b[2J",
  "pl\u0430n", // a Cyrillic letter
  "plan\u200b",
  "\u202eplan",
  "a".repeat(65),
  "a\nb",
])("the name %j is refused, as a folder and as a field", (name) => {
  expect(nameProblem(name)).toBeDefined();
  expect(judged(skill(good), name).skill).toBeUndefined();
  const text = skill(`name: ${JSON.stringify(name)}\ndescription: x`);
  expect(judged(text).skill).toBeUndefined();
  // What is told holds nothing that a terminal acts on.
  expect(faults(text, name).join("")).toMatch(/^[ -~…]*$/);
});

test.each(["a", "a1", "plan", "my-own-skill", "1", "a".repeat(64)])("%s is a name", (name) => {
  expect(nameProblem(name)).toBeUndefined();
});
