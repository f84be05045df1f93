import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { IntegrateView } from "../../../src/cli/integrate/run-integrate.ts";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";
import { BIN, start } from "../../support/processes/real-processes.ts";
import { filesOf } from "../../support/processes/tool-terminals.ts";

// The skill `deaddrop` in a project with a library: `skills sync` writes it, and `integrate` leaves it alone.

afterEach(removeWires);

function makeProject() {
  const wire = makeWire({ cadenceSeconds: 60, deadlineSeconds: 3_600 });
  const folder = join(wire.folder, "project");
  mkdirSync(join(folder, ".git"), { recursive: true });
  const fine = async (...words: readonly string[]): Promise<string> => {
    const options = { env: wire.env, cwd: folder, input: "" };
    const { code, stdout, stderr } = await start(process.execPath, [BIN, ...words], options).ended;
    expect([code, stderr], words.join(" ")).toEqual([0, ""]);
    return stdout;
  };
  const integrate = async (tool: string, ...flags: readonly string[]): Promise<IntegrateView> => {
    const who = ["--as", "forge", "--wire", wire.dir, "--json", "--yes"];
    return JSON.parse(await fine("integrate", tool, ...who, ...flags)) as IntegrateView;
  };
  return {
    folder,
    fine,
    integrate,
    read: (path: string) => readFileSync(join(folder, path), "utf8"),
  };
}

const LIBRARY = "agent/skills/deaddrop/SKILL.md";

describe.each([
  ["claude", ".claude/skills", "copy"],
  ["claude", ".claude/skills", "symlink"],
  ["codex", ".agents/skills", "copy"],
  ["gemini", ".agents/skills", "symlink"],
])("%s, whose skills are in %s, as a %s", (tool, mirror, mode) => {
  test("one owner: joined and taken out, the skill stays the library's", async () => {
    const { folder, fine, integrate, read } = makeProject();
    await fine("skills", "init");
    // The project says more about it than we do.
    writeFileSync(join(folder, LIBRARY), `${read(LIBRARY)}\nOur own line.\n`);
    await fine("skills", "sync", "--mode", mode);
    const before = filesOf(folder);
    const joined = await integrate(tool);
    expect(joined.files.filter(({ path }) => path.includes("/skills/"))).toEqual([]);
    expect(read(`${mirror}/deaddrop/SKILL.md`)).toContain("Our own line.");
    await fine("skills", "sync", "--check");
    await integrate(tool, "--remove");
    expect(filesOf(folder)).toEqual(before);
    await fine("skills", "sync", "--check");
  });
});

test("a library that comes later takes the skill over; nothing is loaded twice, and the tool may be taken out", async () => {
  const { folder, fine, integrate, read } = makeProject();
  await integrate("claude");
  await fine("skills", "init");
  await fine("skills", "sync", "--check");
  const skills = Object.keys(filesOf(folder)).filter((path) => path.endsWith("deaddrop/SKILL.md"));
  expect(skills.toSorted()).toEqual([
    ".agents/skills/deaddrop/SKILL.md",
    ".claude/skills/deaddrop/SKILL.md",
    LIBRARY,
  ]);
  expect((await integrate("claude")).files).toEqual([]);
  await integrate("claude", "--remove");
  await fine("skills", "sync", "--check");
  expect(read(".claude/skills/deaddrop/SKILL.md")).toBe(read(LIBRARY));
});

test("where the library lacks its mirror, joining says what writes it", async () => {
  const { folder, fine, integrate } = makeProject();
  await fine("skills", "init");
  rmSync(join(folder, ".claude/skills"), { recursive: true });
  const { files, left } = await integrate("claude");
  expect(files.some(({ path }) => path.includes("/skills/"))).toBe(false);
  expect(left).toContain("the skill is in agent/skills: deaddrop skills sync");
  await fine("skills", "sync");
  expect((await integrate("claude")).left).not.toContain("deaddrop skills sync");
});
