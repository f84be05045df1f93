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
export function oursAmong(groups: unknown, tool: string): Omit<FoundHook, "event">[] {
  return listOf(groups).flatMap((each, group) =>
    listOf(field(each, "hooks")).flatMap((hook, index) =>
      isHookOf(tool, hook) ? [{ group, index, hook }] : [],
    ),
  );
}

/** Our hooks in a file of that tool. */
export function hooksIn(disk: Disk, path: string, tool: Joinable): FoundHook[] {
  return Object.entries(json(disk, path)["hooks"] ?? {}).flatMap(([event, groups]) =>
    oursAmong(groups, tool).map((found) => ({ event, ...found })),
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

/** The settings of a tool with our hooks in them. */
interface HookSettings {
  readonly tool: Joinable;
  readonly path: string;
  /** Those of the person, and the folder that these are of. */
  readonly user: string;
  readonly folder: string;
  readonly isApproved: boolean;
  /** What approves them. */
  readonly missing: string;
  /** The setting that switches hooks off. */
  readonly off?: readonly [names: readonly string[], value: boolean];
  readonly unit?: "seconds" | "milliseconds";
}

/** What keeps a tool from running our hooks. */
export function hookTroubles(disk: Disk, at: HookSettings): ToolTrouble[] {
  const { tool, path, off: [names, value] = [["disableAllHooks"], true] } = at;
  const setting = names.join(".");
  const file = [path, at.user].find(
    (each) => names.reduce<unknown>(field, json(disk, each)) === value,
  );
  const switchedOff = {
    problem: `${tool} runs no hooks: ${file} switches them off with ${setting}`,
    fix: `take ${setting} out of ${file}`,
  };
  return [
    ...(at.isApproved ? [] : [notApproved(tool, at.folder, at.missing)]),
    ...(file === undefined ? [] : [switchedOff]),
    ...shortTimeouts(tool, path, hooksIn(disk, path, tool), at.unit),
  ];
}
