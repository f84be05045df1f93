import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { agentsFileSteps } from "../../src/setup/agents-file.ts";
import { runSteps } from "../../src/setup/steps.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-agents-")));
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (name: string) => join(folder, name);
const text = (name: string) => readFileSync(at(name), "utf8");
const write = (name: string, content: string | Uint8Array) => writeFileSync(at(name), content);
const run = (dryRun = false) =>
  runSteps(agentsFileSteps(nodeDisk(), folder), dryRun).map(({ outcome }) => outcome);

const count = (content: string) => content.split("<!-- deaddrop:begin").length - 1;

test("both files are made, and a second run changes nothing", () => {
  expect(run(true)).toEqual(["would", "would"]);
  expect(run()).toEqual(["done", "done"]);
  expect(text("AGENTS.md")).toBe(text("CLAUDE.md"));
  expect(text("AGENTS.md")).toMatch(
    /^<!-- deaddrop:begin[^]*deaddrop guide[^]*deaddrop:end -->\n$/,
  );
  expect(text("AGENTS.md")).toContain("- A sub-agent does none of this");
  expect(run()).toEqual(["already", "already"]);
});

test("everything else in a file stays, byte for byte, and so does its mode", () => {
  const before = "# Rules\r\n\r\nUse tabs.\r\n";
  write("AGENTS.md", before);
  write("CLAUDE.md", "no newline at its end");
  const { mode } = statSync(at("AGENTS.md"));
  run();
  expect(text("AGENTS.md").startsWith(`${before}\r\n<!--`)).toBe(true);
  expect(text("AGENTS.md").replaceAll("\r\n", "")).not.toContain("\n");
  expect(text("CLAUDE.md").startsWith("no newline at its end\n\n<!--")).toBe(true);
  expect(statSync(at("AGENTS.md")).mode).toBe(mode);
  // What people write around it later stays, too.
  write("AGENTS.md", `above\n${text("AGENTS.md").replaceAll("\r\n", "\n")}below\n`);
  run();
  expect(text("AGENTS.md")).toMatch(/^above\n# Rules[^]*end -->\nbelow\n$/);
});

test("an older block is replaced in its place", () => {
  write(
    "AGENTS.md",
    "above\n<!-- deaddrop:begin, of old -->\nobsolete\n<!-- deaddrop:end -->\nbelow\n",
  );
  expect(run()[0]).toBe("done");
  expect(text("AGENTS.md")).toMatch(/^above\n<!-- deaddrop:begin, kept[^]*end -->\nbelow\n$/);
  expect(text("AGENTS.md")).not.toContain("obsolete");
});

test("a CLAUDE.md that is AGENTS.md, or imports it, gets no block of its own", () => {
  write("AGENTS.md", "# Rules\n");
  symlinkSync("AGENTS.md", at("CLAUDE.md"));
  expect(run()).toEqual(["done", "already"]);
  expect(count(text("AGENTS.md"))).toBe(1);
  rmSync(at("CLAUDE.md"));
  write("CLAUDE.md", "Read this first:\n\n@AGENTS.md\n");
  expect(run()).toEqual(["already", "already"]);
  expect(count(text("CLAUDE.md"))).toBe(0);
});

test("a link is followed within the project, and never out of it", () => {
  mkdirSync(at("docs"));
  write("docs/agents.md", "# Rules\n");
  symlinkSync("docs/agents.md", at("AGENTS.md"));
  run();
  expect(count(text("docs/agents.md"))).toBe(1);
  const elsewhere = mkdtempSync(join(tmpdir(), "deaddrop-elsewhere-"));
  const profile = join(elsewhere, "profile");
  writeFileSync(profile, "mine\n");
  rmSync(at("AGENTS.md"));
  symlinkSync(profile, at("AGENTS.md"));
  expect(() => run()).toThrow("outside of the project");
  expect(readFileSync(profile, "utf8")).toBe("mine\n");
  rmSync(elsewhere, { recursive: true });
});

test.each([
  ["a block without its end", "x\n<!-- deaddrop:begin -->\ny\n", "without its end"],
  ["two blocks", "<!-- deaddrop:begin --><!-- deaddrop:end -->\n".repeat(2), "two blocks"],
  ["what is no text", new Uint8Array([0xff, 0xfe, 0x41]), "not UTF-8"],
])("a file with %s is left as it is", (_what, content, problem) => {
  write("AGENTS.md", content);
  expect(() => run()).toThrow(problem);
  expect(readFileSync(at("AGENTS.md"))).toEqual(Buffer.from(content));
});
