import type { TroubleKind, TroubleView } from "../../api/troubles.ts";
import type { Finding } from "../../setup/checks/host-checks.ts";
import type { Paint } from "../output/output.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { when } from "../../framing/when.ts";

/** What a trouble is called where checks are listed. */
const CHECKS: { readonly [K in TroubleKind]: string } = {
  daemon: "daemon",
  sending: "sending",
  storage: "storage",
  held: "peers now",
  silent: "peers now",
  waiting: "logs now",
  transport: "transport",
  safe_mode: "safe mode",
  policy: "accepted configuration",
  clock: "clock of what we sent",
  undelivered: "not delivered",
  incident: "incidents",
  overdue: "overdue",
  rounds: "rounds",
  notices: "notices",
  incident_notices: "incident notices",
};

/** A trouble in the form of a failed check. */
export function troubleFinding({ what, detail, end, since }: TroubleView, nowMs: number): Finding {
  const began = since === null ? "" : `, since ${when(since, nowMs)}`;
  return { check: CHECKS[what], result: "failed", detail: `${detail}${began}`, fix: end };
}

/** The same in one line. */
export function troubleLine(trouble: TroubleView, nowMs: number, paint: Paint): string {
  const { check, detail, fix = "" } = troubleFinding(trouble, nowMs);
  return `${paint("red", check)}: ${sanitise(detail)} ${paint("bold", `→ ${sanitise(fix)}`)}`;
}
