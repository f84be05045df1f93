import { DeaddropError, type ErrorCode } from "../../api/errors.ts";
import { NO_HINT, trouble, type TroubleView } from "../../api/troubles.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { when } from "../../framing/when.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { readerOf, withClient, type Cli, type GlobalFlags } from "../context.ts";
import type { Paint } from "../output/output.ts";

/** What `doctor` and `status --check` exit with when something is wrong now. */
export const EXIT_WRONG = 1;

/** Of these an agent is in trouble, and nothing is wrong with the command that met them. */
const OF_THE_AGENT: ReadonlySet<ErrorCode> = new Set(["timeout", "already_running", "storage"]);

/**
 * All that is wrong with an agent now. A daemon that does not answer, or a disk that fails, is
 * trouble too. Throws DeaddropError for a wire or an identity that there is not.
 */
export async function liveTroubles(cli: Cli, flags: GlobalFlags): Promise<TroubleView[]> {
  try {
    return await withClient(cli, flags, async (client) => {
      const troubles = await client.view("troubles");
      // Only a daemon watches collaboration rounds. Spec 6.3.
      const rounds = client.viaDaemon ? await client.ask("rounds") : [];
      const unreadable = rounds.filter(({ phase }) => phase === null);
      return [
        ...troubles,
        ...unreadable.map(({ folder, detail }) =>
          trouble("round_unreadable", { folder, problem: detail }),
        ),
      ];
    });
  } catch (error) {
    const isOfAgent =
      error instanceof StorageError ||
      (error instanceof DeaddropError && OF_THE_AGENT.has(error.code));
    if (!isOfAgent) throw error;
    return [trouble("daemon_failed", { problem: error.message, hint: error.hint ?? NO_HINT })];
  }
}

/** What is wrong, and what ends it for whoever reads this. */
export function troubleTexts(cli: Cli, { detail, end, operator_end: more, since }: TroubleView) {
  const began = since === null ? "" : `, since ${when(since, cli.clock.nowMs())}`;
  const isForOperator = more !== undefined && readerOf(cli) === "operator";
  return {
    detail: `${detail}${began}`,
    end: isForOperator ? `${end}; or, as the operator: ${more}` : end,
  };
}

/** The same in one line. */
export function troubleLine(cli: Cli, view: TroubleView, paint: Paint): string {
  const { detail, end } = troubleTexts(cli, view);
  const code = paint(view.severity === "error" ? "red" : "yellow", view.code);
  return `${code}: ${sanitise(detail)} ${paint("bold", `→ ${sanitise(end)}`)}`;
}
