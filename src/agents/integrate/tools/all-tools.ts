import { basename } from "node:path";
import type {
  CodingTool,
  Integration,
  Joinable,
  Joining,
  Place,
  ToolTrouble,
} from "../integration.ts";
import type { Written } from "../record.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { amp, cursor } from "./cursor.ts";
import { gemini, qwen } from "./gemini.ts";
import { cline, kilo, opencode, pi } from "./opencode.ts";

/** All tools that can be joined. Spec 8.3. */
export const CODING_TOOLS: { readonly [T in Joinable]: CodingTool } = {
  claude,
  codex,
  gemini,
  opencode,
  kilo,
  pi,
  cline,
  amp,
  copilot,
  qwen,
  cursor,
};

/** Our parts of the files of that tool. */
export function integrationOf(at: Joining): Integration {
  return CODING_TOOLS[at.tool].integration(at);
}

/** What is wrong with the tools that an agent is joined in. Nothing is written. */
export function toolTroubles(place: Place, { files }: Written): ToolTrouble[] {
  return Object.entries(CODING_TOOLS).flatMap(([name, { settings, troubles }]) =>
    Object.entries(files)
      .filter(
        ([path, { users }]) =>
          settings?.test(basename(path)) === true &&
          users.some((user) => user.startsWith(`${name} `)),
      )
      .flatMap(([path]) => troubles?.(place, path) ?? []),
  );
}
