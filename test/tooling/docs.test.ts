import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generatedFiles } from "../../build/docs.ts";
import { CHECKOUT } from "./repository-files.ts";

test("documents and schemas repeat what the sources say (else: npm run docs)", async () => {
  for (const [path, text] of await generatedFiles())
    expect(readFileSync(join(CHECKOUT, path), "utf8"), path).toBe(text);
});
