import type { Effect } from "../../protocol/effects.ts";
import { isNewWork, isParking, withParking } from "../../protocol/requests/parking.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { Draft } from "../../wire/compose.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { Session } from "../session/session.ts";

/**
 * Runs the stop hook of an agent that has approved its shutdown, and notes how it ended. After a crash
 * it runs once more: an agent that has ended is ended again. Spec 3.8.
 */
export function stopAgent(
  { world, recorder }: Pick<Session, "world" | "recorder">,
  { by, request, peer }: Extract<Effect, { do: "stop_agent" }>,
): void {
  const stopHook = world.hooks?.stop;
  const none = { outcome: "none", detail: "no command is set" } as const;
  const end = stopHook === undefined ? none : stopHook.run({ by, request, peer });
  if (end === undefined) return;
  // Told first: a process that dies in between runs the hook again, and tells nothing twice.
  if (end.outcome === "failed") {
    recorder.tell({
      key: `stop_hook_failed:${by}`,
      cause: "stop_hook_failed",
      subject: "the stop hook did not work",
      detail: `the agent has approved the shutdown that ${peer} asked for, and its daemon is parked; the command that ends it: ${end.detail}`,
      concernsWire: false,
    });
  }
  recorder.local({ kind: "stopped", by, ...end, at: world.clock.wallMs() });
  world.log.info({ request, peer, hook: end.outcome }, "the agent is parked");
}

/** A draft as it is signed: with what follows from it for us. Throws what a parked agent does not begin. */
export function draftToSign(
  { memory, env, place }: Pick<Session, "memory" | "env" | "place">,
  draft: Draft,
): Draft {
  const { heartbeats, requests, threads } = memory.state;
  if (heartbeats.parking.parked !== undefined && isNewWork(draft.type)) {
    const { handle } = place;
    throw new DeaddropError("refused", `not sent: ${handle} is parked and begins nothing new`, {
      hint: `it has approved its shutdown; deaddrop wake ends that`,
    });
  }
  if (isParking(draft)) {
    throw new DeaddropError("bad_draft", "not sent: body.parks is for the daemon to write", {
      hint: "deaddrop respond <request> --approve says it where it is due",
    });
  }
  return withParking(draft, { requests, threads }, env);
}

/**
 * Why the approval of a shutdown cannot be written now: what was said before it waits for its log, and
 * would come after it. Spec 3.8.
 */
export function waitsBefore(
  { files }: Pick<Session, "files">,
  drafts: readonly Draft[],
): StorageError | undefined {
  const stuck = drafts.some(isParking) ? files.own.writer.stuck() : undefined;
  if (stuck === undefined) return undefined;
  const { code, path, message, hint } = stuck;
  return new StorageError(code, path, `lines of yours wait for their log: ${message}`, { hint });
}
