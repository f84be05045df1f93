import { readFileSync } from "node:fs";
import type { InboxMessage } from "../../api/views.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { DemoFailure, type CommandResult, type Stage } from "./stage.ts";

/** Handles of the demo; no agent of anybody. */
export const FORGE = "forge";
export const SCRIBE = "scribe";

/** How long one thing is waited for, and how often it is looked at. */
const STORY_PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 300;

export type Say = (line: string) => void;

export interface Telling {
  readonly stage: Stage;
  readonly say: Say;
  step: number;
}

export function heading(told: Telling, text: string): void {
  told.step += 1;
  told.say("");
  told.say(`${told.step}. ${text}`);
}

/** It may hold peers' words: one line, sanitised. */
export function note(told: Telling, text: string): void {
  told.say(`   ${sanitise(text)}`);
}

export async function must(
  told: Telling,
  handle: string | undefined,
  args: readonly string[],
): Promise<CommandResult> {
  told.say(`   ${handle ?? "operator"} $ deaddrop ${args.map(quoted).join(" ")}`);
  return succeed(await told.stage.run(handle, args), args);
}

/** Throws what a command said that failed. */
export function succeed(result: CommandResult, args: readonly string[]): CommandResult {
  if (result.exitCode === 0) return result;
  const said = (result.stderr.trim() || result.stdout.trim()).slice(0, 2_000);
  throw new DemoFailure(`deaddrop ${args.join(" ")}: exit code ${result.exitCode}\n${said}`);
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word);
}

/** What a command says with --json; asked quietly. */
export async function ask<T>(told: Telling, handle: string, ...args: string[]): Promise<T> {
  const { stdout } = succeed(await told.stage.run(handle, [...args, "--json"]), args);
  return JSON.parse(stdout) as T;
}

export async function inboxOf(told: Telling, handle: string): Promise<InboxMessage[]> {
  const args = ["inbox", "--json"];
  const { stdout } = succeed(await told.stage.run(handle, args), args);
  const lines = stdout.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as InboxMessage);
}

export async function until<T>(
  told: Telling,
  what: string,
  look: () => Promise<T>,
  isSo: (seen: T) => boolean,
): Promise<T> {
  const endMs = Date.now() + STORY_PATIENCE_MS;
  for (;;) {
    refuseDeadDaemon(told);
    const seen = await look();
    if (isSo(seen)) return seen;
    if (Date.now() > endMs) {
      throw new DemoFailure(
        `${what}: not within ${STORY_PATIENCE_MS / 1_000} s; last seen:\n${JSON.stringify(seen, null, 2).slice(0, 2_000)}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

function refuseDeadDaemon({ stage }: Telling): void {
  for (const handle of [FORGE, SCRIBE]) {
    const end = stage.daemonEnd(handle);
    if (end === undefined) continue;
    const log = readFileSync(stage.daemonLog(handle), "utf8").slice(-2_000);
    throw new DemoFailure(`the daemon of ${handle} ended with ${end}:\n${log}`);
  }
}

export async function asks<T>(told: Telling, handle: string, args: readonly string[]): Promise<T> {
  return JSON.parse((await must(told, handle, [...args, "--json"])).stdout) as T;
}
