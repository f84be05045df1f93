import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const CHECKOUT = resolve(import.meta.dirname, "../..");

/** Who runs a block: the operator of the first agent, or of the other one. */
export type Operator = "forge" | "scribe";

/** A fenced block of a document, with what the HTML comment directly before it says. */
export interface Block {
  /** Of its fence, or of the comment before it. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** `<!-- not played: reason -->` */
  readonly notPlayed: string | undefined;
  /** `<!-- played by scribe -->` */
  readonly by: Operator;
  /** `<!-- played in the checkout -->`: not on the scratch wire. */
  readonly inCheckout: boolean;
  /** True when nothing but blank lines stands between it and the block before. */
  readonly followsBlock: boolean;
}

/** All fenced blocks of a Markdown text, in order. */
export function blocksOf(markdown: string): Block[] {
  const fence = /(?:^<!-- (.*?) -->\n+)?^```(\S*)\n([^]*?)^```$/gm;
  let end = -1;
  return [...markdown.matchAll(fence)].map((found) => {
    const { 0: whole, 1: comment = "", 2: language = "", 3: text = "", index } = found;
    const between = end === -1 ? "no block" : markdown.slice(end, index);
    end = index + whole.length;
    return {
      line: markdown.slice(0, index).split("\n").length,
      language,
      text,
      notPlayed: /^not played: (.+)$/.exec(comment)?.[1],
      by: comment === "played by scribe" ? "scribe" : "forge",
      inCheckout: comment === "played in the checkout",
      followsBlock: between.trim() === "",
    };
  });
}

/** The blocks that hold commands. */
export function shellBlocks(markdown: string): Block[] {
  return blocksOf(markdown).filter(({ language }) => language === "sh");
}

/** Prints of each block that is left out why. */
export function tellNotPlayed(document: string, blocks: readonly Block[]): void {
  for (const { line, notPlayed } of blocks) {
    if (notPlayed !== undefined) console.log(`${document}:${line} is not played: ${notPlayed}`);
  }
}

/**
 * One bash script that runs the blocks that are played, in order, and stops at the first command
 * that fails. `before` is put before each block. A line `--- <document>:<line>` begins its output.
 */
export function scriptOf(
  document: string,
  blocks: readonly Block[],
  before: (block: Block) => string = () => "",
): string {
  // Daemons that a failed block leaves behind must not outlive the test.
  const start = "set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n";
  const played = blocks.filter(({ notPlayed }) => notPlayed === undefined);
  return (
    start +
    played
      .map((each) => `echo "--- ${document}:${each.line}"\n${before(each)}${each.text}`)
      .join("")
  );
}

/** The documents for people, by their path in the checkout. CHANGELOG.md tells of old versions. */
export function documents(): string[] {
  const inDocs = readdirSync(join(CHECKOUT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name));
  return ["README.md", "CONTRIBUTING.md", "SECURITY.md", join("bench", "README.md"), ...inDocs];
}

/** The documents that agents read: skills and the workflow. No test plays them. */
export function agentDocuments(): string[] {
  const skills = readdirSync(join(CHECKOUT, "skills")).map((name) => `skills/${name}/SKILL.md`);
  return [...skills, "agent/policies/WORKFLOW.md"];
}

export function documentText(path: string): string {
  return readFileSync(join(CHECKOUT, path), "utf8");
}
