import type { Plan } from "./plan.ts";
import type { Row } from "./row.ts";
import { benchAgents } from "./rows/agents.ts";
import { benchAudit } from "./rows/audit.ts";
import { benchCatchUp, benchOneCore } from "./rows/catch-up.ts";
import { benchDecisions } from "./rows/decisions.ts";
import { benchDelivery } from "./rows/delivery.ts";
import { benchDurableSend, benchGroupCommit } from "./rows/durable-send.ts";
import { benchGit } from "./rows/git.ts";
import { benchHistory } from "./rows/history.ts";
import { benchIdle } from "./rows/idle.ts";
import { benchLiveness } from "./rows/liveness.ts";
import { benchLoop } from "./rows/loop.ts";
import { benchMembers } from "./rows/members.ts";
import { benchMemory } from "./rows/memory.ts";
import { benchProcessStart } from "./rows/process-start.ts";
import { benchRestart } from "./rows/restart.ts";
import { benchTestCommand } from "./rows/test-command.ts";

/** What measures each figure, by its number. P13 and P14 have nothing to measure yet. */
export const ROWS: ReadonlyMap<string, (plan: Plan) => Promise<Row[]>> = new Map([
  ["P1", benchCatchUp],
  ["P2", benchOneCore],
  ["P3", benchDurableSend],
  ["P4", benchGroupCommit],
  ["P5", benchDelivery],
  ["P6", benchProcessStart],
  ["P7", benchRestart],
  ["P8", benchAudit],
  ["P9", benchMemory],
  ["P10", benchIdle],
  ["P11", benchAgents],
  ["P12", benchGit],
  ["P15", benchLiveness],
  ["P16", benchHistory],
  ["P17", benchDecisions],
  ["P18", benchLoop],
  ["P19", benchTestCommand],
  ["P20", benchMembers],
]);

/** Run unless some are named: P19 is a command of its own and measured only when it is named. */
export const USUAL: readonly string[] = [...ROWS.keys()].filter((name) => name !== "P19");
