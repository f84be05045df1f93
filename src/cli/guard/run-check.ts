import { readFileSync } from "node:fs";
import { DeaddropError } from "../../api/errors.ts";
import {
  pushedChanges,
  stagedChanges,
  type Base,
  type Changes,
} from "../../setup/guard/changes.ts";
import type { GuardHook } from "../../setup/guard/hook-text.ts";
import { openRepository, type Repository } from "../../setup/guard/repository.ts";
import { agentPlace } from "../agent-place.ts";
import { UnclearIdentity, type Cli, type GlobalFlags } from "../context.ts";
import { emit, painter, type Paint } from "../output/output.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { askedAgent } from "./asked-agent.ts";
import { behindLine, blockedLines } from "./block-text.ts";
import { judgeChanges, type Judgement } from "./judge-changes.ts";
import { failure, isOverridden, noteOverride, override } from "./override.ts";
import { readText } from "./read-text.ts";

export interface CheckFlags extends GlobalFlags {
  prePush?: boolean;
  settings?: string;
}

/** What the guard says of a commit or a push. */
interface GuardAnswer {
  verdict: "passed" | "blocked" | "overridden" | "undecided";
  handle: string | null;
  /** Paths that may not be changed. */
  blocked: Judgement["blocked"];
  /** Changes of logs that no commit may make. */
  logs: Judgement["logs"];
  /** Logs that are not read to their end. */
  behind: readonly string[];
  /** What happened besides, for a person. */
  notes: string[];
}

/** `deaddrop guard check`: what the hooks run. Exits 1 when the commit or push is blocked. Spec 3.6. */
export async function runCheck(cli: Cli, flags: CheckFlags): Promise<void> {
  const hook = flags.prePush === true ? "pre-push" : "pre-commit";
  const answer = await answerOf(cli, flags, hook);
  const isBlocked = answer.verdict === "blocked";
  if (flags.json === true) emit(cli, flags, answer, () => "");
  else {
    const lines = answerLines(answer, hook, painter(cli.stderr, cli.env));
    if (lines.length > 0) cli.stderr.write(`${lines.join("\n")}\n`);
  }
  if (isBlocked) cli.exitCode = 1;
}

async function answerOf(cli: Cli, given: CheckFlags, hook: GuardHook): Promise<GuardAnswer> {
  let repository: Repository | undefined;
  let flags = given;
  try {
    repository = openRepository(cli.cwd, cli.env);
    flags = askedAgent(cli, given, repository);
    const changes = await changesOf(cli, repository, hook);
    if (changes.every(({ from, replaced }) => [...from, ...replaced].every(isUnchanged))) {
      return { verdict: "passed", handle: null, ...NOTHING, notes: [] };
    }
    const judgement = await judgeChanges(cli, flags, repository, changes);
    return await decided(cli, flags, { hook, repository }, judgement);
  } catch (error) {
    return undecided(cli, flags, { hook, repository }, error);
  }
}

const isUnchanged = ({ changed }: Base): boolean => changed.length === 0;
const NOTHING = { blocked: [], logs: [], behind: [] } as const;

async function changesOf(
  cli: Cli,
  repository: Repository,
  hook: GuardHook,
): Promise<readonly Changes[]> {
  if (hook === "pre-commit") return [stagedChanges(repository)];
  return pushedChanges(repository, await readText(cli.stdin));
}

async function decided(
  cli: Cli,
  flags: CheckFlags,
  about: { readonly hook: GuardHook; readonly repository: Repository },
  judgement: Judgement,
): Promise<GuardAnswer> {
  const { handle, blocked, logs, behind, viaDaemon } = judgement;
  const found = { handle, blocked, logs, behind };
  const notes = viaDaemon ? [] : ["no daemon runs: the logs were read for this"];
  if (blocked.length === 0 && logs.length === 0) return { verdict: "passed", ...found, notes };
  if (!isOverridden(cli)) return { verdict: "blocked", ...found, notes };
  notes.push(...(await override(cli, flags, about, judgement)));
  return { verdict: "overridden", ...found, notes };
}

/**
 * What the guard does that cannot decide: it says why, and blocks where it is strict. It also blocks
 * where it cannot tell whose commit this is: judged as the wrong agent, anything could go through.
 */
function undecided(
  cli: Cli,
  flags: CheckFlags,
  about: { readonly hook: GuardHook; readonly repository: Repository | undefined },
  error: unknown,
): GuardAnswer {
  const why = failure(error);
  const isUnclear = error instanceof UnclearIdentity;
  const notes = [`it cannot decide: ${why}`, ...(isUnclear ? [BIND] : [])];
  const answer = { handle: null, ...NOTHING, notes };
  if (!isUnclear && !isStrict(cli, flags)) return { verdict: "undecided", ...answer };
  if (!isOverridden(cli)) {
    return { verdict: "blocked", ...answer, notes: isUnclear ? notes : [...notes, STRICT] };
  }
  const handle = flags.as ?? cli.env["DEADDROP_AS"] ?? "";
  const blocked = [{ path: "", why }];
  notes.push(noteOverride(cli, flags, { ...about, handle, blocked }));
  return { verdict: "overridden", ...answer };
}

const STRICT = "guard.strict is on, so it is blocked";
const BIND =
  "say whose work tree this is, once: deaddrop guard install --as <handle>, or deaddrop as <handle>";

/** As our own settings say; where they cannot be found, those that the hook was installed with. */
function isStrict(cli: Cli, flags: CheckFlags): boolean {
  try {
    return agentPlace(cli, flags).place.settings["guard.strict"];
  } catch (error) {
    failure(error);
  }
  if (flags.settings === undefined) return false;
  try {
    const settings = JSON.parse(readFileSync(flags.settings, "utf8")) as Record<string, unknown>;
    return settings["guard.strict"] === true;
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === "ENOENT";
    if (isAbsent || error instanceof SyntaxError || error instanceof DeaddropError) return false;
    throw error;
  }
}

function answerLines(answer: GuardAnswer, hook: GuardHook, paint: Paint): string[] {
  const { verdict, blocked, logs, notes } = answer;
  if (verdict === "passed") return behindLine(answer).map((line) => `deaddrop guard: ${line}`);
  const what = hook === "pre-commit" ? "commit" : "push";
  const head: Record<Exclude<GuardAnswer["verdict"], "passed">, string> = {
    blocked: paint("red", `this ${what} is blocked`),
    overridden: paint("yellow", `this ${what} goes through by ALLOW_HOTPATH=1`),
    undecided: `this ${what} was not checked`,
  };
  const problems = logs.flatMap(({ log, line, detail }) => [
    `${paint("red", "blocked")} ${sanitise(log)}${line === null ? "" : `:${line}`}`,
    `  ${sanitise(detail)}`,
  ]);
  return [
    `deaddrop guard: ${head[verdict]}`,
    ...(blocked.length > 0 ? blockedLines(blocked, paint) : []),
    ...problems,
    ...(logs.length > 0 ? [LOGS_REMEDY[hook]] : []),
    ...notes.map((note) => sanitise(note)),
    ...behindLine(answer),
    ...(verdict === "blocked"
      ? [`ALLOW_HOTPATH=1 lets the ${what} through; it is recorded and told.`]
      : []),
  ];
}

const LOGS_REMEDY: Record<GuardHook, string> = {
  "pre-commit":
    "Unstage the logs of the wire (git restore --staged), and put back what is in HEAD: logs are written by deaddrop alone.",
  "pre-push": "Bring back the lines that the remote has: logs are written by deaddrop alone.",
};
