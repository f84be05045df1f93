import fc from "fast-check";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import {
  join as joinTool,
  joiningChanges,
  remove,
  removalChanges,
} from "../../../src/agents/integrate/integrate.ts";
import { JOINABLE, SCOPES, type Joining } from "../../../src/agents/integrate/integration.ts";
import { integrationRecord } from "../../../src/agents/integrate/record.ts";
import { integrationOf } from "../../../src/agents/integrate/tools/all-tools.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { amount } from "../../support/amounts.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** What a person may have in the files that we write to. */
const OWN: Readonly<Record<string, string>> = {
  "project/.claude/settings.local.json": '{\n  // mine\n  "model": "x",\n  "hooks": {}\n}\n',
  "project/.claude/settings.json":
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"}]}]}}',
  "project/.mcp.json": '{\n\t"mcpServers": { "other": { "command": "b" } },\n}\n',
  "project/.codex/config.toml": "# mine\r\nmodel = 'x'\r\n",
  "project/.codex/hooks.json": '{ "hooks": { "Stop": [] } }',
  "project/.gemini/settings.json": "{}",
  "project/opencode.json": '{ "model": "y" }\n',
  "project/AGENTS.md": "# Agents\n\nBe kind.",
  "project/CLAUDE.md": "\n",
  "project/GEMINI.md": "# G\r\n",
  "home/.claude.json": '{ "projects": {} }',
  "home/.codex/config.toml": "",
};

const act = fc.record({
  tool: fc.constantFrom(...JOINABLE),
  scope: fc.constantFrom(...SCOPES),
  how: fc.constantFrom("join", "join", "remove"),
  allows: fc.boolean(),
});
const there = fc.subarray(Object.keys(OWN));

/** A machine with one person, one project, and the record of one agent. */
function machine(names: readonly string[]) {
  const root = mkdtempSync(join(tmpdir(), "deaddrop-mix-"));
  folders.push(root);
  for (const folder of ["project", "home"]) mkdirSync(join(root, folder));
  for (const name of names) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), OWN[name] ?? "");
  }
  const disk = nodeDisk();
  const [project, home] = [join(root, "project"), join(root, "home")];
  const record = integrationRecord(disk, join(root, "private", "integrations.json"));
  const perform = ({
    tool,
    scope,
    how,
    allows = false,
  }: {
    tool: Joining["tool"];
    scope: Joining["scope"];
    how: string;
    allows?: boolean;
  }) => {
    const at: Joining = {
      ...{ tool, scope, project, home, handle: "forge", wireDir: "/srv/wire", env: {} },
      program: ["deaddrop"],
      allowsReading: allows,
      skill: "---\nname: deaddrop\n---\nhow\n",
      plugin: () => '// deaddrop: a plugin of a tool\nconst COMMAND = ["deaddrop", "hook"];\n',
    };
    const { edits } = integrationOf(at);
    const root = scope === "user" ? home : project;
    const place = { disk, root, joined: { tool, scope, project } };
    if (how === "join") joinTool(place, edits, joiningChanges(place, edits), record);
    else remove(place, edits, removalChanges(place, edits, record.read()), record);
  };
  const removeAll = () => {
    for (const tool of JOINABLE)
      for (const scope of SCOPES) perform({ tool, scope, how: "remove" });
  };
  return { root, perform, removeAll };
}

function filesOf(root: string, below = ""): Record<string, string> {
  return Object.assign(
    {},
    ...readdirSync(join(root, below), { withFileTypes: true }).map((entry) => {
      const name = join(below, entry.name);
      if (name === "private") return {};
      if (entry.isDirectory()) return { [`${name}/`]: "", ...filesOf(root, name) };
      return { [name]: readFileSync(join(root, name), "utf8") };
    }),
  ) as Record<string, string>;
}

test("whatever is joined and taken out, in the end every byte and folder is as before", () => {
  fc.assert(
    fc.property(there, fc.array(act, { maxLength: 8 }), (names, acts) => {
      const { root, perform, removeAll } = machine(names);
      const before = filesOf(root);
      for (const each of acts) perform(each);
      removeAll();
      expect(filesOf(root)).toEqual(before);
    }),
    { numRuns: amount(60, 400) },
  );
});

test("joining twice changes nothing", () => {
  fc.assert(
    fc.property(
      there,
      fc.constantFrom(...JOINABLE),
      fc.constantFrom(...SCOPES),
      (names, tool, scope) => {
        const { root, perform } = machine(names);
        perform({ tool, scope, how: "join" });
        const once = filesOf(root);
        perform({ tool, scope, how: "join" });
        expect(filesOf(root)).toEqual(once);
      },
    ),
    { numRuns: amount(30, 300) },
  );
});

test("what a person writes around ours stays, and nothing of ours does", () => {
  fc.assert(
    fc.property(there, fc.array(act, { minLength: 1, maxLength: 6 }), (names, acts) => {
      const { root, perform, removeAll } = machine(names);
      for (const each of acts) perform({ ...each, how: "join" });
      const edited = Object.keys(filesOf(root)).filter((name) => {
        const path = join(root, name);
        if (name.endsWith(".md") && !name.includes("skills")) {
          writeFileSync(
            path,
            `first line of mine\n${readFileSync(path, "utf8")}last line of mine\n`,
          );
        } else if (name.endsWith(".toml")) {
          writeFileSync(path, `${readFileSync(path, "utf8")}[mine]\nkey = 1\n`);
        } else if (name.endsWith(".json")) {
          const text = readFileSync(path, "utf8");
          const comma = /^\s*\{\s*\}/u.test(text) ? "" : ",";
          writeFileSync(path, text.replace("{", `{ /* of mine */ "mine": [1, 2]${comma}`));
        } else return false;
        return true;
      });
      removeAll();
      const after = filesOf(root);
      for (const name of edited) {
        expect(after[name], name).toContain("mine");
        const own = names.includes(name) ? (OWN[name] ?? "") : "";
        // A list or object that had nothing in it goes with what we put there.
        const words =
          own.match(/\w{2,}/gu)?.filter((word) => !/^(?:hooks|Stop)$/u.test(word)) ?? [];
        for (const word of words) expect(after[name], name).toContain(word);
      }
      for (const [name, text] of Object.entries(after))
        expect(text, name).not.toContain("deaddrop");
    }),
    { numRuns: amount(60, 400) },
  );
});
