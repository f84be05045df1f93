import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GUESSES } from "./cli.ts";
import { makeScene, named, words, type Done, type Scene } from "./scene.ts";

// The command line is what a person or a model would guess: a guess does what its author meant, or nothing.

let scene: Scene;
beforeAll(async () => {
  scene = await makeScene();
});
afterAll(() => {
  scene.close();
});

const known = new Map<string, Done>();

async function meant(line: string): Promise<Done> {
  const done = known.get(line) ?? (await scene.done(line));
  known.set(line, done);
  // A check that finds something says so.
  const exitCode = done.stdout === "" ? 0 : expect.any(Number);
  expect(done, line).toMatchObject({ exitCode, stderr: "" });
  return done;
}

/** The lines to copy that an answer holds. */
function linesIn({ stderr }: Done): string[] {
  return [...stderr.matchAll(/^ +deaddrop (.+)$/gm)].map(([, line = ""]) => line);
}

/** What became of a guess; of one that does not do as it should, what it did instead. */
async function outcomeOf(guess: string, means: readonly string[]): Promise<string> {
  const done = await scene.done(guess);
  const wanted: Done[] = [];
  for (const line of means) wanted.push(await meant(line));
  const same = (a: Done, b: Done | undefined) => JSON.stringify(a) === JSON.stringify(b);
  if (wanted.length === 1 && same(done, wanted[0])) return "works";
  if (done.exitCode === 0 || done.acts.length > 0) {
    return `misleads: ${JSON.stringify(done.acts)} ${done.stdout} ${done.stderr}`;
  }
  const lines = linesIn(done);
  const corrected: Done[] = [];
  for (const line of lines) corrected.push(await scene.done(line));
  const isRight =
    done.exitCode === 1 &&
    lines.length === wanted.length &&
    corrected.every((each, at) => same(each, wanted[at]));
  return isRight ? "corrected" : `refused: ${done.stderr}`;
}

describe.each(Object.entries(GUESSES))("%s", (_style, guesses) => {
  it.each(guesses)("%s: %s", async (outcome, guess, ...means) => {
    const found = await outcomeOf(guess, means);
    if (found !== outcome) throw new Error(found);
  });
});

it("the commands that guesses are compared with do what they say", async () => {
  expect((await meant('send --to bob --subject hello --body "Hi bob"')).acts).toEqual([
    [{ to: ["bob"], type: "feedback", subject: "hello", body: "Hi bob" }],
  ]);
  expect((await meant("accept $proposal")).acts).toMatchObject([
    [{ to: ["bob"], type: "ack", body: { acks: [{}, {}, scene.ids["proposal"]], approve: true } }],
  ]);
  expect((await meant("inbox --unread")).stdout).toContain("I have forgotten.");
  expect(words(named({ a: "4f2a91c700" }, `send "a b" 'c "d"' $a`))).toEqual([
    ...["send", "a b", 'c "d"', "4f2a91c700"],
  ]);
});
