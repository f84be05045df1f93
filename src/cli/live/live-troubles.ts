import { DeaddropError, type ErrorCode } from "../../api/errors.ts";
import type { TroubleView } from "../../api/troubles.ts";
import { asTrouble } from "../../agent/views/troubles.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";

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
    return await withClient(cli, flags, (client) => client.view("troubles"));
  } catch (error) {
    if (error instanceof StorageError) return [asTrouble("daemon", error)];
    if (!(error instanceof DeaddropError) || !OF_THE_AGENT.has(error.code)) throw error;
    return [asTrouble("daemon", error)];
  }
}
