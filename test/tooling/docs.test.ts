import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generate } from "../../build/docs.ts";
import { CHECKOUT } from "./repository-files.ts";

test.each(["schemas/config.json", "docs/settings.md", "docs/troubles.md"] as const)(
  "%s repeats what the sources say (else: npm run docs)",
  async (path) => {
    expect(readFileSync(join(CHECKOUT, path), "utf8")).toBe(await generate(path));
  },
);
