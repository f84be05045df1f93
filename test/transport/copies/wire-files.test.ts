import { expect, it } from "vitest";
import { inOrder, wireFiles } from "../../../src/transport/copies/wire-files.ts";

const PAIR = wireFiles("pairwise", ["forge", "scribe"]);
const TEAM = wireFiles("outbox", ["a", "b.2", "b"]);

it.each([
  ["forge_to_scribe.jsonl", "log"],
  ["archive/2025/forge_to_scribe.jsonl", "log"],
  ["archive/2025/forge_to_scribe.3.jsonl", "log"],
  ["decisions.jsonl", "shared"],
  ["archive/2025/incident_log.2.jsonl", "shared"],
  ["config.json", "document"],
  ["trust/forge.card.json", "document"],
  ["scribe_state.json", "document"],
  [".gitattributes", "other"],
  ["README.md", "other"],
  // A view of one machine: its daemons write it and take it down.
  ["SAFE_MODE", "other"],
  [".github/workflows/x.yml", "other"],
])("%s is a %s", (path, is) => {
  expect(PAIR.of(path)?.is).toBe(is);
});

it.each([
  "../forge_to_scribe.jsonl",
  "/etc/passwd",
  "./config.json",
  "archive/2025/../../config.json",
  "archive/2025/../forge_to_scribe.jsonl",
  "archive/2025/forge_to_scribe.jsonl/x.jsonl",
  "archive/2025/x/forge_to_scribe.jsonl",
  "archive/25/forge_to_scribe.jsonl",
  "forge_to_scribe.2.jsonl",
  "forge_to_mallory.jsonl",
  "outbox/forge.jsonl",
  "trust/mallory.card.json",
  "trust/forge.card.json\n",
  "Config.json",
  "confıg.json",
  "config.json ",
  ".git/config",
  "__proto__",
  "constructor",
  "",
])("%j is no path of a wire", (path) => {
  expect(PAIR.of(path)).toBeUndefined();
});

it("of a handle that ends in a number the longest name counts", () => {
  expect(TEAM.of("archive/2025/b.2.jsonl")).toMatchObject({
    log: { owner: "b.2" },
    segment: { number: 1 },
  });
  expect(TEAM.of("archive/2025/b.2.2.jsonl")).toMatchObject({
    log: { owner: "b.2" },
    segment: { number: 2 },
  });
  expect(TEAM.of("archive/2025/b.3.jsonl")).toMatchObject({
    log: { owner: "b" },
    segment: { number: 3 },
  });
});

it("archived parts come in the order of years and numbers, the live one last", () => {
  const place = (path: string) => {
    const file = TEAM.of(path);
    return { path, segment: file?.is === "log" ? file.segment : undefined };
  };
  const parts = ["outbox/a.jsonl", "archive/2026/a.jsonl", "archive/2025/a.10.jsonl"];
  expect(inOrder([...parts, "archive/2025/a.2.jsonl"].map(place))).toEqual([
    ...["archive/2025/a.2.jsonl", "archive/2025/a.10.jsonl", "archive/2026/a.jsonl"],
    "outbox/a.jsonl",
  ]);
});
