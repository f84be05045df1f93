import { createTwoFilesPatch } from "diff";
import type { FileChange } from "../../agents/integrate/integrate.ts";
import {
  JOINABLE,
  SCOPES,
  type Joinable,
  type Joining,
} from "../../agents/integrate/integration.ts";
import { DeaddropError, EXIT_CODES } from "../../api/errors.ts";
import { sanitise, sanitiseLines } from "../../framing/sanitise.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { define, type FlagsOf, type Options } from "../command.ts";
import type { Cli } from "../context.ts";
import { askYesNo } from "../input/confirm.ts";
import { emit, painter, type Paint } from "../output/output.ts";
import { allRemovals, joiningOf } from "./joining.ts";

const OPTIONS = {
  "--scope <scope>": {
    about: "whose files: yours, the project's to share, or yours in it (default local)",
    choices: SCOPES,
  },
  "--dry-run": "show what would change, and change nothing",
  "--yes": "ask nobody",
  "--remove": "take all of it out again",
  "--all": "with --remove: every tool that an agent of yours is joined in",
  "--allow-commands": "claude: allow the tools that only read without a question",
  "--open-sandbox": "claude, codex: let commands in its sandbox connect to the daemon",
} as const satisfies Options;
type Flags = FlagsOf<typeof OPTIONS>;

/** Joins a coding tool to a wire, and takes it out again. Spec 8.3. */
export const integrate = define({
  about:
    "Joins a coding tool to the wire: its MCP server, its hooks, the skill, a block in the file of " +
    "instructions that it reads. Shows what it changes, and asks. Your other settings stay as they are; " +
    "unless you say --scope project, git leaves what is written out of commits.",
  args: { "[tool]": { about: "which tool", choices: JOINABLE } },
  options: OPTIONS,
  examples: ["deaddrop integrate claude --as forge", "deaddrop integrate claude --remove"],
  run(cli, flags, { tool }) {
    if (tool !== undefined && flags.all !== true) return runIntegrate(cli, tool, flags);
    if (tool === undefined && flags.all === true && flags.remove === true) {
      return removeEverywhere(cli, flags);
    }
    throw new DeaddropError("usage", "name one tool, or give --remove --all", {
      hint: `deaddrop integrate <${JOINABLE.join("|")}>`,
    });
  },
});

/** `integrate --json`. */
export interface IntegrateView {
  tool: Joinable;
  /** What was done, or with --dry-run would be done. */
  action: "join" | "remove";
  dry_run: boolean;
  files: { path: string; what: "made" | "changed" | "removed" }[];
  /** What the person has to do in the tool. */
  left: string[];
}

/** `deaddrop integrate <tool>`: shows what it changes, asks, and changes it. Spec 8.3. */
async function runIntegrate(cli: Cli, tool: Joinable, flags: Flags): Promise<void> {
  const joining = joiningOf(cli, tool, flags);
  const plan = flags.remove === true ? undefined : joining.plan();
  const changes = plan?.changes ?? joining.removal();
  let isShown = false;
  if (flags.dryRun !== true) {
    if (plan === undefined) joining.remove(changes);
    else {
      isShown = await consent(cli, flags, changes);
      joining.join(plan);
    }
  }
  const view = viewOf(joining.at, plan?.left ?? [], changes, flags);
  emit(cli, flags, view, (paint) => textOf(view, isShown ? [] : changes, paint));
}

/**
 * `deaddrop integrate --remove --all`: takes out what agents of this user have written into tools, on
 * every wire. What cannot be taken out is said, and the rest is. Spec 8.3.
 */
function removeEverywhere(cli: Cli, flags: Flags): void {
  const all = allRemovals(cli).flatMap((joined) => {
    try {
      const changes = joined.removal();
      if (flags.dryRun !== true) joined.remove(changes);
      return [{ changes, view: viewOf(joined.at, [], changes, flags) }];
    } catch (error) {
      if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
      cli.stderr.write(`${joined.at.tool} is left as it is: ${sanitise(error.message)}\n`);
      cli.exitCode = EXIT_CODES.config;
      return [];
    }
  });
  const views = all.map(({ view }) => view);
  emit(cli, flags, { removed: views }, (paint) =>
    all.length === 0
      ? "no coding tool is integrated"
      : all
          .map(({ view, changes }) => textOf(view, flags.dryRun === true ? changes : [], paint))
          .join("\n"),
  );
}

/** Whether the changes were shown with the question. Throws DeaddropError ("refused") without a yes. */
async function consent(cli: Cli, { yes }: Flags, changes: readonly FileChange[]): Promise<boolean> {
  if (yes === true || changes.length === 0) return false;
  const isTerminal = cli.stdin.isTTY === true && cli.stderr.isTTY === true;
  const paint = painter(cli.stderr, cli.env);
  const rows = isTerminal ? changes.flatMap((change) => diffRows(change, paint)) : [];
  if (rows.length > 0) cli.stderr.write(`${rows.join("\n")}\n\n`);
  const answer = await askYesNo(cli, "Write this?");
  if (answer === true) return true;
  const problem = answer === false ? "not confirmed" : "it changes the settings of a coding tool";
  throw new DeaddropError("refused", `${problem}; nothing was changed`, {
    hint: "--dry-run shows every line; say yes on a terminal, or give --yes",
  });
}

function viewOf(
  { tool }: Joining,
  left: readonly string[],
  changes: readonly FileChange[],
  { dryRun, remove }: Flags,
): IntegrateView {
  const what = ({ before, after }: FileChange) =>
    before === undefined ? "made" : after === undefined ? "removed" : "changed";
  return {
    tool,
    action: remove === true ? "remove" : "join",
    dry_run: dryRun === true,
    files: changes.map((change) => ({ path: change.path, what: what(change) })),
    left: [...left],
  };
}

function textOf(view: IntegrateView, changes: readonly FileChange[], paint: Paint): string {
  const rows = changes.flatMap((change) => diffRows(change, paint));
  const count = view.files.length;
  const files = count === 1 ? "1 file" : `${count} files`;
  const done = view.action === "remove" ? "taken out" : "joined";
  const summary =
    count === 0
      ? `${view.tool}: nothing to change`
      : view.dry_run
        ? `${view.tool}: this would change ${files}; nothing was changed`
        : `${view.tool}: ${done}, ${files} changed`;
  const todo =
    view.left.length === 0
      ? []
      : ["", "What is left to you:", ...view.left.map((each) => `  ${each}`)];
  return [...rows, ...(rows.length > 0 ? [""] : []), summary, ...todo].join("\n");
}

/** What changes in a file. Its words are not ours. */
function diffRows({ path, before = "", after = "" }: FileChange, paint: Paint): string[] {
  const patch = createTwoFilesPatch(path, path, before, after, "", "", { context: 2 });
  return patch
    .split("\n")
    .slice(1)
    .filter((row) => row !== "")
    .map((row) => {
      const [line = ""] = sanitiseLines(row);
      if (line.startsWith("+")) return paint("green", line);
      return line.startsWith("-") ? paint("red", line) : line;
    });
}
