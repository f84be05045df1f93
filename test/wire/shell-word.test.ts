import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { quotedWord, shellWord } from "../../src/wire/quote.ts";

const WORDS = [
  "plain",
  "a/b.c-d_e:f@g%h+i=j",
  "it's",
  '$HOME `id` \\ "x"',
  "a b",
  "",
  "-n",
  "ä\n'x",
];

test.each(WORDS)("%j means itself to a shell", (word) => {
  for (const written of [quotedWord(word), shellWord(word)]) {
    const run = spawnSync("sh", ["-c", `printf %s. ${written}`]);
    expect(run.stdout.toString()).toBe(`${word}.`);
  }
});

test("a plain word has no quotes", () => {
  expect(shellWord("/srv/wire-1")).toBe("/srv/wire-1");
});
