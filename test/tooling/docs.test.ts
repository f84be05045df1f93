import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generate } from "../../build/docs.ts";
import { CHECKOUT } from "./repository-files.ts";

const FILES = [
  "docs/architecture.md",
  "docs/settings.md",
  "docs/troubles.md",
  "schemas/config.json",
] as const;

test.each(FILES)("%s repeats what the sources say (else: npm run docs)", async (path) => {
  expect(readFileSync(join(CHECKOUT, path), "utf8")).toBe(await generate(path));
});
