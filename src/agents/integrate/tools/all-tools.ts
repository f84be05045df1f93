import type { Tool } from "../../../api/tool-sessions.ts";
import type { Integration, Joining } from "../integration.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";

const INTEGRATIONS: { readonly [T in Tool]: (at: Joining) => Integration } = {
  claude,
  codex,
  gemini,
  opencode,
};

/** Our parts of the files of that tool. Spec 8.3. */
export function integrationOf(at: Joining): Integration {
  return INTEGRATIONS[at.tool](at);
}
