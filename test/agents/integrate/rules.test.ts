import { expect, test } from "vitest";
import type { Joining } from "../../../src/agents/integrate/integration.ts";
import { claude, READING_TOOLS } from "../../../src/agents/integrate/tools/claude.ts";
import { TOOLS } from "../../../src/agents/mcp/tool-table.ts";

const AT: Joining = {
  ...{ tool: "claude", scope: "project", project: "/p", home: "/h", handle: "forge" },
  ...{ wireDir: "/srv/wire", env: {}, program: ["deaddrop"], skill: "", plugin: () => "" },
  allowsReading: false,
};

function settingsOf(at: Joining) {
  const edit = claude.integration(at).edits.find(({ path }) => path === "/p/.claude/settings.json");
  if (edit === undefined) throw new Error("no settings");
  return edit;
}

test("the tools that only read are those of the table", () => {
  const reading = TOOLS.filter(({ effect }) => effect === "reads").map(({ name }) => name);
  // That one is there also while the identity is not clear, and not in the table.
  expect(READING_TOOLS.toSorted()).toEqual([...reading, "whoami"].toSorted());
});

test("rules are written where the person asks for them, and taken out in any case", () => {
  expect(settingsOf(AT).put(undefined)).not.toContain("permissions");
  const own = '{ "permissions": { "allow": ["Bash(ls)"] } }';
  const written = settingsOf({ ...AT, allowsReading: true }).put(own);
  const { permissions } = JSON.parse(written) as { permissions: { allow: string[] } };
  expect(permissions.allow).toEqual([
    "Bash(ls)",
    ...READING_TOOLS.map((tool) => `mcp__deaddrop__${tool}`),
  ]);
  expect(permissions.allow.join()).not.toMatch(/send|mark|answer|propose|claim|request/u);
  expect(JSON.parse(settingsOf(AT).take(written) ?? "{}")).toEqual(JSON.parse(own));
});
