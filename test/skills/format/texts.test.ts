import { describe, expect, it, test } from "vitest";
import { requirementsIn, unmet } from "../../../src/skills/format/compatibility.ts";
import { judgeSkill } from "../../../src/skills/format/judge-skill.ts";
import { listingProblem, xmlListing } from "../../../src/skills/format/listing.ts";
import {
  bumped,
  newSkillText,
  withChange,
  withVersion,
} from "../../../src/skills/format/write-skill.ts";

describe("the list for a model", () => {
  it("is escaped: no text ends its element or begins another", () => {
    const text = xmlListing([
      {
        name: "</name><x>",
        description: 'a\n</description>\n<skill>\u001b[2J\u202e & "b"',
        location: "/tmp/<&>/SKILL.md",
      },
    ]);
    expect(text.split("\n")).toEqual([
      "<available_skills>",
      "<skill>",
      "<name>",
      "&lt;/name&gt;&lt;x&gt;",
      "</name>",
      "<description>",
      "a &lt;/description&gt; &lt;skill&gt;\\x1b[2J\\u202e &amp; &quot;b&quot;",
      "</description>",
      "<location>",
      "/tmp/&lt;&amp;&gt;/SKILL.md",
      "</location>",
      "</skill>",
      "</available_skills>",
    ]);
  });
  it("is measured as a whole", () => {
    const skills = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        name: `s${at}`,
        description: "x".repeat(900),
        location: undefined,
      }));
    expect(listingProblem(skills(8))).toBeUndefined();
    expect(listingProblem(skills(9))).toContain("leaves out what is behind 8000");
  });
});

test.each([
  ["Requires git, docker and jq", ["git", "docker", "jq"]],
  ["Requires Python 3.14+ and uv.", ["python3 3.14", "uv"]],
  ["Needs node >=20, and access to the internet", ["node 20"]],
  ["Designed for Claude Code", []],
  ["Requires Node.js 20.19", ["node 20.19"]],
])("%j names %j", (text, programs) => {
  const named = requirementsIn(text).map(({ program, version }) =>
    version === undefined ? program : `${program} ${version}`,
  );
  expect(named).toEqual(programs);
});

test("what is missing or too old is named; a version that nobody knows is no fault", () => {
  const versions: Record<string, string> = { node: "20.9.1", git: "" };
  const versionOf = (program: string) => versions[program];
  expect(unmet("Requires git, node 20.19 and jq", versionOf)).toEqual([
    "node is 20.9.1, and 20.19 is needed",
    "there is no jq in PATH",
  ]);
  expect(unmet("Requires git 99 and node 20", versionOf)).toEqual([]);
});

test.each([
  ["1.2.3", "major", "2.0.0"],
  ["1.2.3", "minor", "1.3.0"],
  ["1.2.3", "patch", "1.2.4"],
  ["1.2.3-rc.1", "patch", "1.2.3"],
  ["2.0.0-rc.1", "major", "2.0.0"],
  ["1.2.3+build-5", "patch", "1.2.4"],
] as const)("%s, %s: %s", (from, part, to) => {
  expect(bumped(from, part)).toBe(to);
});

describe("a changed version", () => {
  it("leaves comments, order and line ends", () => {
    const text =
      "---\r\n# ours\r\nmetadata:\r\n  a: b # why\r\n  version: '1.0.0'\r\nname: x\r\n---\r\nBody\r\n";
    expect(withVersion(text, "1.1.0")).toBe(text.replace("'1.0.0'", '"1.1.0"'));
  });
  it("is added where there was none, and stays a text", () => {
    const text = withVersion("---\nname: x\ndescription: z\n---\nBody\n", "1.0.0");
    const files = new Map([["SKILL.md", { sha256: "", isExecutable: false }]]);
    const { skill } = judgeSkill({ name: "x", markdown: text, files, refused: [] });
    expect([skill?.version, skill?.body]).toEqual(["1.0.0", "Body\n"]);
  });
  it("is noted before the older ones", () => {
    const change = { version: "1.1.0", date: "2026-11-25", note: "a\nb" };
    expect(withChange(undefined, change)).toBe("# Changes\n\n- 1.1.0 (2026-11-25): a b\n");
    expect(withChange("# Changes\n\n- 1.0.0 (x): y\n", change)).toBe(
      "# Changes\n\n- 1.1.0 (2026-11-25): a b\n- 1.0.0 (x): y\n",
    );
  });
});

test("a new skill is valid", () => {
  const files = new Map([["SKILL.md", { sha256: "", isExecutable: false }]]);
  const markdown = newSkillText("my-skill", 'Does "x": y');
  expect(judgeSkill({ name: "my-skill", markdown, files, refused: [] }).problems).toEqual([]);
});
