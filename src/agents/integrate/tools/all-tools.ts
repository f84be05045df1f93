import type { Integration, Joinable, Joining } from "../integration.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { cursor } from "./cursor.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";

const INTEGRATIONS: { readonly [T in Joinable]: (at: Joining) => Integration } = {
  claude,
  codex,
  gemini,
  opencode,
  cursor,
  copilot,
};

/** Our parts of the files of that tool. Spec 8.3. */
export function integrationOf(at: Joining): Integration {
  return INTEGRATIONS[at.tool](at);
}
