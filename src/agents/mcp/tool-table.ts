import type { AnyTool } from "./tool.ts";
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
