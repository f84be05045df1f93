import { parentPort, Worker, workerData } from "node:worker_threads";
import { verifyEach, type SignatureCheck } from "../wire/signature.ts";

/** What a thread is told at its start that is to run this file. */
const ROLE = "deaddrop: check signatures";

/**
 * Starts a thread that answers each message of checks with their verdicts, in order.
 *
 * @param execArgv what Node is told for it: nothing of what this process was started with
 */
export function startCheckWorker(execArgv: readonly string[] = []): Worker {
  return new Worker(new URL(import.meta.url), { execArgv: [...execArgv], workerData: ROLE });
}

if (workerData === ROLE) {
  parentPort?.on("message", (checks: readonly SignatureCheck[]) => {
    parentPort?.postMessage(verifyEach(checks));
  });
}
