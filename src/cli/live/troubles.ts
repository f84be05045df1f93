import { DeaddropError, type ErrorCode } from "../../api/errors.ts";
import type { RoundView } from "../../api/rounds.ts";
import type { TransportView } from "../../api/transport.ts";
import { asTrouble, type TroubleView, type TroubleKind } from "../../api/troubles.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { when } from "../../framing/when.ts";
import { RESUME_COMMAND } from "../../protocol/escalations/safe-mode-end.ts";
import type { Finding } from "../../setup/checks/host-checks.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { HOUR_MS } from "../../wire/durations.ts";
import { readerOf, withClient, type Cli, type GlobalFlags } from "../context.ts";
import type { Paint } from "../output/output.ts";

/** What `doctor` and `status --check` exit with when something is wrong now. */
export const EXIT_WRONG = 1;

/** Of these an agent is in trouble, and nothing is wrong with the command that met them. */
const OF_THE_AGENT: ReadonlySet<ErrorCode> = new Set(["timeout", "already_running", "storage"]);

/** Offline is normal; for so long it is not worth a word. */
const OFFLINE_MS = HOUR_MS;

function transportTroubles(transport: TransportView | null, nowMs: number): TroubleView[] {
  const { code, detail, hint, since } = transport?.problem ?? {};
  if (code === undefined || detail === undefined || since === undefined) return [];
  if (code === "unreachable" && nowMs - Date.parse(since) < OFFLINE_MS) return [];
  return [{ what: "transport", detail, end: hint ?? "deaddrop transport status", since }];
}

/** Collaboration rounds that the daemon watches, and cannot read. Spec 6.3. */
function roundTroubles(rounds: readonly RoundView[]): TroubleView[] {
  return rounds.flatMap(({ folder, phase, detail }): TroubleView[] => {
    if (phase !== null) return [];
    const end = `deaddrop collab status --folder ${folder}`;
    return [{ what: "rounds", detail: `${folder} cannot be read: ${detail}`, end, since: null }];
  });
}

/**
 * All that is wrong with an agent now. A daemon that does not answer, or a disk that fails, is
 * trouble too. Throws DeaddropError for a wire or an identity that there is not.
 */
export async function liveTroubles(cli: Cli, flags: GlobalFlags): Promise<TroubleView[]> {
  try {
    return await withClient(cli, flags, async (client) => {
      const troubles = await client.view("troubles");
      const transport = client.viaDaemon ? await client.ask("transport", {}) : null;
      const rounds = client.viaDaemon ? await client.ask("rounds") : [];
      return [
        ...troubles.map((trouble) => forReader(cli, trouble)),
        ...transportTroubles(transport, cli.clock.nowMs()),
        ...roundTroubles(rounds),
      ];
    });
  } catch (error) {
    if (error instanceof StorageError) return [asTrouble("daemon", error)];
    if (!(error instanceof DeaddropError) || !OF_THE_AGENT.has(error.code)) throw error;
    return [asTrouble("daemon", error)];
  }
}

/** An operator can end safe mode in one more way. Spec 3.5. */
function forReader(cli: Cli, trouble: TroubleView): TroubleView {
  if (trouble.what !== "safe_mode" || readerOf(cli) === "agent") return trouble;
  return { ...trouble, end: `${trouble.end}; or, as the operator: ${RESUME_COMMAND}` };
}

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
