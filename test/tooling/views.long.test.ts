import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generate } from "../../build/docs.ts";
import { CHECKOUT } from "./repository-files.ts";

test("docs/views.md repeats what the sources say (else: npm run docs)", async () => {
  const path = "docs/views.md";
  expect(readFileSync(join(CHECKOUT, path), "utf8")).toBe(await generate(path));
});
