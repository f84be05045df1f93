import { VERBS, type VerbEntry } from "../../verbs/table.ts";
import { object, pick } from "./schema.ts";
import { REQUEST_KEY, saying } from "./say.ts";
import { tool, type AnyTool } from "./tool.ts";
import { ANSWER_TOOL, REQUEST_TOOL } from "./tools/answers.ts";
import { CLAIM_TOOL } from "./tools/claims.ts";
import { PROPOSE_TOOL } from "./tools/decisions.ts";
import { INBOX_TOOL, MARK_TOOL } from "./tools/inbox.ts";
import { READ_TOOL } from "./tools/read.ts";
import { SEND_TOOL } from "./tools/send.ts";

/** Every tool but `whoami`, which needs no agent; always in this order. Spec 8.1. */
export const TOOLS: readonly AnyTool[] = [
  ...[INBOX_TOOL, READ_TOOL, MARK_TOOL, SEND_TOOL],
  ...[PROPOSE_TOOL, ANSWER_TOOL, REQUEST_TOOL, CLAIM_TOOL],
];

/** These, and a tool for each verb that none of them says. */
export async function toolsFor(
  verbs: Readonly<Record<string, VerbEntry>> = VERBS,
): Promise<readonly AnyTool[]> {
  const said = new Set(TOOLS.flatMap(({ says = [] }) => says));
  const others = Object.entries(verbs).filter(([name]) => !said.has(name));
  return [...TOOLS, ...(await Promise.all(others.map(toolOf)))];
}

async function toolOf([name, { summary, load }]: [string, VerbEntry]): Promise<AnyTool> {
  const verb = await load();
  const fields = pick(verb.fields, ...Object.keys(verb.fields));
  return tool({
    name,
    description: `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
    input: { ...object({ ...fields, ...REQUEST_KEY }), required: verb.needs },
    effect: verb.binds === true ? "binds" : "sends",
    run: (call, args) => saying(call, args, () => verb.prepare(call, args)),
  });
}
