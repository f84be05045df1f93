import type { Disk } from "../../storage/disk/disk.ts";
import { HOOK_SECONDS, isHookOf, type Joinable, type ToolTrouble } from "./integration.ts";
import { field, json, listOf } from "./tool-state.ts";

/** A hook of ours in the settings of a tool: `hooks.<event>[group].hooks[index]`. */
export interface FoundHook {
  readonly event: string;
  readonly group: number;
  readonly index: number;
  readonly hook: unknown;
}

/** Where our hooks are among those of one event. */
export function oursAmong(
  groups: unknown,
  isOurs: (hook: unknown) => boolean,
): Omit<FoundHook, "event">[] {
  return listOf(groups).flatMap((each, group) =>
    listOf(field(each, "hooks")).flatMap((hook, index) =>
      isOurs(hook) ? [{ group, index, hook }] : [],
    ),
  );
}

/** Our hooks in a file of that tool. */
export function hooksIn(disk: Disk, path: string, tool: Joinable): FoundHook[] {
  const isOurs = (hook: unknown): boolean => isHookOf(tool, hook);
  return Object.entries(json(disk, path)["hooks"] ?? {}).flatMap(([event, groups]) =>
    oursAmong(groups, isOurs).map((found) => ({ event, ...found })),
  );
}

/** A tool ends a hook that takes longer; several sessions start theirs at the same time. */
export function shortTimeouts(
  tool: Joinable,
  path: string,
  hooks: readonly FoundHook[],
  unit: "seconds" | "milliseconds" = "seconds",
): ToolTrouble[] {
  const limit = unit === "seconds" ? HOOK_SECONDS : HOOK_SECONDS * 1_000;
  const isShort = hooks.some(({ hook }) => Number(field(hook, "timeout") ?? limit) < limit);
  if (!isShort) return [];
  return [
    {
      problem: `hooks in ${path} may take less than ${HOOK_SECONDS} seconds: where several start at once, ${tool} cuts them off`,
      fix: `write them again: deaddrop integrate ${tool}`,
    },
  ];
}

/** What a tool has still to be asked by its person, before it runs our part. */
export function notApproved(tool: Joinable, folder: string, missing: string): ToolTrouble {
  return {
    problem: `${tool} does not run what joins it to the wire in ${folder}`,
    fix: missing,
  };
}

export function switchedOff(tool: Joinable, path: string, setting: string): ToolTrouble {
  return {
    problem: `${tool} runs no hooks: ${path} switches them off with ${setting}`,
    fix: `take ${setting} out of ${path}`,
  };
}
