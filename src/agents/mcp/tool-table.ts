import type { AnyTool } from "./tool.ts";
import { ANSWER_TOOLS } from "./tools/answers.ts";
import { CLAIM_TOOLS } from "./tools/claims.ts";
import { DECISION_TOOLS } from "./tools/decisions.ts";
import { IDENTITY_TOOLS } from "./tools/identity.ts";
import { INBOX_TOOLS } from "./tools/inbox.ts";
import { INCIDENT_TOOLS } from "./tools/incidents.ts";
import { MESSAGE_TOOLS } from "./tools/messages.ts";
import { PLAN_TOOLS } from "./tools/plans.ts";
import { REQUEST_TOOLS } from "./tools/requests.ts";
import { THREAD_TOOLS } from "./tools/threads.ts";

/** Every tool but `whoami`, which needs no agent; always in this order. Spec 8.1. */
export const TOOLS: readonly AnyTool[] = [
  ...INBOX_TOOLS,
  ...MESSAGE_TOOLS,
  ...ANSWER_TOOLS,
  ...DECISION_TOOLS,
  ...CLAIM_TOOLS,
  ...REQUEST_TOOLS,
  ...PLAN_TOOLS,
  ...INCIDENT_TOOLS,
  ...THREAD_TOOLS,
  ...IDENTITY_TOOLS,
];
