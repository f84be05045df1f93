import { basename } from "node:path";
import { expect, test } from "vitest";
import { agentPaths } from "../../src/storage/paths.ts";
import { documentText } from "../support/document-blocks.ts";

/** Of the paths: what names the place, and its folders. */
const PLACES = new Set(["wireDir", "wireKey", "handle", "configDir", "stateDir"]);

test("the specification names every private file of an agent", () => {
  const places = { configHome: "/config", stateHome: "/state" };
  const paths = agentPaths(places, { wireDir: "/wire", wireKey: "w1", handle: "forge" });
  const all = Object.entries(paths).flatMap(([name, path]: [string, unknown]) =>
    typeof path === "string" && !PLACES.has(name) ? [basename(path)] : [],
  );
  expect(all).toContain("inbox.jsonl");
  const [, section = ""] = documentText("docs/spec/01-wire.md").split("### Private files");
  const [table = ""] = section.split("\n### ");
  expect(all.filter((name) => !table.includes(name))).toEqual([]);
});
