import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  blocksOf,
  CHECKOUT,
  documents,
  documentText,
  scriptOf,
  shellBlocks,
  tellNotPlayed,
  type Block,
} from "../support/document-blocks.ts";
import { TEST_LIMIT_MS } from "../support/hang-guard.ts";
import { BIN } from "../support/processes/real-processes.ts";

/** README.md has a test of its own, which also installs. */
const PLAYED = documents().filter((path) => path !== "README.md");
const WITH_COMMANDS = PLAYED.filter((path) => shellBlocks(documentText(path)).length > 0);
/** What a fence may hold besides commands. */
const LANGUAGES = ["sh", "text", "json", "yaml", "ts", "mermaid"];

/** Two operators with a home each, and a project that both work in. */
interface Stage {
  readonly root: string;
  readonly homes: Readonly<Record<Block["by"], string>>;
  readonly project: string;
  readonly env: NodeJS.ProcessEnv;
}

function makeStage(): Stage {
  const root = mkdtempSync(join(tmpdir(), "deaddrop-documents-"));
  onTestFinished(() => {
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });
  const [forge, scribe, bin] = ["forge", "scribe", "bin"].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  const project = join(forge, "project");
  for (const folder of [forge, scribe, bin, project]) mkdirSync(folder);
  symlinkSync(BIN, join(bin, "deaddrop"));
  const env = {
    PATH: [bin, process.env["PATH"]].join(delimiter),
    LANG: "C.UTF-8",
    NO_COLOR: "1",
    DEADDROP_PASSPHRASE: "five words at random, please",
    NPM_CONFIG_UPDATE_NOTIFIER: "false",
  };
  return { root, homes: { forge, scribe }, project, env };
}

/** The wire that a document takes for granted, unless it makes one itself. */
function wireFor({ homes }: Stage, blocks: readonly Block[]): string {
  if (blocks.some(({ text }) => text.includes("deaddrop init"))) return "";
  return [
    `HOME='${homes.forge}' deaddrop init --me forge --peer scribe`,
    `HOME='${homes.scribe}' deaddrop join ./_coordination --me scribe\n`,
  ].join("\n");
}

function outputs(said: string): ReadonlyMap<string, string> {
  const parts = said.split(/^--- (\S+:\d+)\n/m);
  return new Map(
    parts.flatMap((place, at) => (at % 2 === 1 ? [[place, parts[at + 1] ?? ""]] : [])),
  );
}

/** What is another one in each run: numbers, digests, where the home is. */
function comparable(text: string, stage?: Stage): string {
  const local = stage === undefined ? text : text.replaceAll(stage.homes.forge, "~");
  return local
    .replaceAll(/[0-9a-f]{4,}/g, "#")
    .replaceAll(/\d+/g, "#")
    .trim();
}

/** The lines that the document shows of a block's output, where it shows any; "…" leaves some out. */
function shownAfter(all: readonly Block[], block: Block): readonly string[] {
  const next = all[all.findIndex(({ line }) => line === block.line) + 1];
  if (next?.language !== "text" || !next.followsBlock) return [];
  return next.text.split("\n").filter((line) => line.trim() !== "" && line.trim() !== "…");
}

test.each(WITH_COMMANDS)("every command of %s works, in order, and says what is shown", (path) => {
  const all = blocksOf(documentText(path));
  const blocks = all.filter(({ language }) => language === "sh");
  tellNotPlayed(path, blocks);
  const stage = makeStage();
  const { homes, project, env } = stage;
  const script = scriptOf(
    path,
    blocks,
    ({ by, inCheckout }) => `export HOME='${homes[by]}'\ncd '${inCheckout ? CHECKOUT : project}'\n`,
  );
  const run = spawnSync(
    "bash",
    ["-c", `exec 2>&1 </dev/null\n${wireFor(stage, blocks)}${script}`],
    {
      cwd: project,
      encoding: "utf8",
      env: { ...env, HOME: homes.forge },
      timeout: TEST_LIMIT_MS,
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  expect(run.status, run.stdout).toBe(0);
  const said = outputs(run.stdout);
  for (const block of blocks.filter(({ notPlayed }) => notPlayed === undefined)) {
    const lines = (said.get(`${path}:${block.line}`) ?? "no output").split("\n");
    const real = lines.map((line) => comparable(line, stage));
    let from = 0;
    for (const line of shownAfter(all, block)) {
      const at = real.indexOf(comparable(line), from);
      expect(at, `"${line}" is not in the output:\n${lines.join("\n")}`).toBeGreaterThanOrEqual(0);
      from = at + 1;
    }
  }
});

test("blocks are played in documents, and few are left out", () => {
  const blocks = PLAYED.flatMap((path) => shellBlocks(documentText(path)));
  const played = blocks.filter(({ notPlayed }) => notPlayed === undefined);
  expect(played.length).toBeGreaterThanOrEqual(6);
  expect(blocks.length - played.length).toBeLessThanOrEqual(15);
});

test.each(documents())("%s: each fence has a language, and begins at the margin", (path) => {
  const text = documentText(path);
  const blocks = blocksOf(text);
  expect(blocks.filter(({ language }) => !LANGUAGES.includes(language))).toEqual([]);
  expect(text.split("\n").filter((line) => /^\s*```/.test(line))).toHaveLength(2 * blocks.length);
});

test("who plays a block, where, and whether, is in the comment before it", () => {
  const text = [
    "<!-- played by scribe -->\n\n```sh\na\n```\n",
    "```text\nb\n```\n\nand\n",
    "<!-- played in the checkout -->\n\n```sh\nc\n```\n",
    "<!-- not played: why -->\n\n```sh\nd\n```\n",
  ].join("\n");
  const facts = blocksOf(text).map(({ line: _line, ...each }) => each);
  const plain = { by: "forge", notPlayed: undefined, inCheckout: false, followsBlock: false };
  expect(facts).toEqual([
    { ...plain, language: "sh", text: "a\n", by: "scribe" },
    { ...plain, language: "text", text: "b\n", followsBlock: true },
    { ...plain, language: "sh", text: "c\n", inCheckout: true },
    // A comment belongs to the block that it stands before.
    { ...plain, language: "sh", text: "d\n", notPlayed: "why", followsBlock: true },
  ]);
});
