import type { CheckedPath, PathBlock } from "../../api/views.ts";
import { toBeCopied, type Paint } from "../output/output.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { quotedWord } from "../../wire/quote.ts";

/** Blocked paths that a person is shown; `--json` has all of them. */
const SHOWN_PATHS = 20;

/** Why a path is blocked, in a few words. */
export function whyBlocked(block: PathBlock): string {
  if (block.kind === "domain") {
    return `domain ${sanitise(block.domain)} of ${block.owner}, and no decision in force that you both agreed to`;
  }
  const reason = block.reason === null ? "" : `: ${sanitise(block.reason)}`;
  return `claimed by ${block.from} for itself alone until ${block.until}${reason}`;
}

/** The blocked paths, each with its reasons, and what to do about each reason once. */
export function blockedLines(blocked: readonly CheckedPath[], paint: Paint): string[] {
  const rows = blocked
    .slice(0, SHOWN_PATHS)
    .flatMap(({ path, blocked_by }) => [
      `${paint("red", "blocked")} ${sanitise(path)}`,
      ...blocked_by.map((block) => `  ${whyBlocked(block)}`),
    ]);
  const more = blocked.length - SHOWN_PATHS;
  if (more > 0) rows.push(`and ${more} more paths (--json shows all)`);
  return [...rows, ...remedies(blocked)];
}

/** One for each domain, and one for each agent that claims something: until its last claim ends. */
function remedies(blocked: readonly CheckedPath[]): string[] {
  const byReason = new Map<string, { block: PathBlock; path: string }>();
  for (const { path, blocked_by } of blocked) {
    for (const block of blocked_by) {
      const key = block.kind === "domain" ? `domain ${block.domain}` : `claims of ${block.from}`;
      const known = byReason.get(key);
      if (known === undefined) byReason.set(key, { block, path });
      else if (endOf(block) > endOf(known.block)) byReason.set(key, { ...known, block });
    }
  }
  return [...byReason.values()].map(({ block, path }) => remedy(block, path));
}

function endOf(block: PathBlock): string {
  return block.kind === "claim" ? block.until : "";
}

function remedy(block: PathBlock, path: string): string {
  if (block.kind === "domain") {
    const { owner, domain } = block;
    const flags = `--required ${owner} --domain ${word(domain)}`;
    const command = `deaddrop propose ${word(`edit ${path}`)} ${flags}`;
    return `Ask ${owner} to agree first:\n  ${toBeCopied(command)}`;
  }
  const { from, until } = block;
  const command = `deaddrop send ${from} ${word(`may I edit ${path}?`)}`;
  return `Wait until ${until}, or ask ${from} to release it:\n  ${toBeCopied(command)}`;
}

/** An argument for a shell, with nothing in it that steers a terminal. */
function word(text: string): string {
  return quotedWord(sanitise(text));
}

/** A note on logs that are not read to their end. */
export function behindLine({ behind }: { readonly behind: readonly string[] }): string[] {
  if (behind.length === 0) return [];
  return [
    `Not read to the end yet, so this may change: ${behind.map((log) => sanitise(log)).join(", ")}`,
  ];
}
