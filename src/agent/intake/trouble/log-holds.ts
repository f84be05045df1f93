import type { HeldBackEvent, HeldEvent, ResetEvent } from "../../../protocol/events.ts";
import { StorageError } from "../../../storage/disk/disk.ts";
import { IDENTITY_HINT } from "../../../storage/own-log/recovery-report.ts";
import { beginningAfter } from "../../../storage/files/tail.ts";
import { acceptFromHere } from "../../../admission/log-admission.ts";
import type { LocalEvent } from "../../state/journal-entries.ts";
import { keepRewriting } from "./evidence.ts";
import { observe, type LogStatus } from "../../state/log-status.ts";
import type { LogIntake, Memory } from "../../state/agent-state.ts";
import { takeSetBack } from "../../state/receipt-times.ts";
import { chainIncident } from "./chain-incidents.ts";
import type { Session } from "../../session/session.ts";
import { moveCursor } from "../../state/log-cursor.ts";

/** What a local event changes outside the state, live and in a replay. */
export function takeLocal(memory: Memory, event: LocalEvent): void {
  if (event.kind === "held") takeHold(memory, event);
  if (event.kind === "held_back") takeHeldBack(memory, event);
  if (event.kind === "set_back") takeSetBack(memory, event);
  if (event.kind === "reset") takeReset(memory, event);
}

function takeHold(memory: Memory, { log, cause, detail, at }: HeldEvent): void {
  const intake = memory.intakes.get(log);
  // A log that the accepted configuration no longer has.
  if (intake === undefined) return;
  if (cause === "identity_in_use") {
    memory.inUse ??= { log, detail, sinceMs: at };
  } else intake.admission.held ??= { cause, detail, sinceMs: at };
}

function takeHeldBack({ intakes }: Memory, { log, id, at, because }: HeldBackEvent): void {
  if (because === "comparison") return;
  const intake = intakes.get(log);
  if (intake !== undefined) intake.admission.ahead = { id, sinceMs: at };
}

function takeReset(memory: Memory, { logs, peer }: ResetEvent): void {
  const { inUse, intakes } = memory;
  if (inUse !== undefined && intakes.get(inUse.log)?.log.owner === peer) {
    memory.inUse = undefined;
  }
  for (const { log, lines, keepsChain } of logs) {
    const intake = intakes.get(log);
    if (intake === undefined) continue;
    if (lines === undefined) {
      if (keepsChain !== true) acceptFromHere(intake.admission);
      // While the author's clock stays wrong, the next line waits for the operator again.
      else intake.admission.ahead = undefined;
    } else beginRewritten(intake, lines);
    observe(intake, { saw: "decision", isFromBeginning: lines !== undefined }, 0);
    intake.order.takesAny = true;
  }
}

/**
 * The log is read from its beginning, and its lines follow those that it had; what is known stays
 * known.
 */
function beginRewritten(intake: LogIntake, lines: number): void {
  acceptFromHere(intake.admission, intake.awaited.keys());
  intake.awaited.clear();
  moveCursor(intake, beginningAfter(lines), "begun again");
  intake.past.historyTo = 0;
}

/**
 * Why nothing is written to our own logs now: one was changed, our key is used elsewhere, or our
 * configuration is from before our move to an outbox.
 */
export function ownTrouble({
  memory,
  files,
}: Pick<Session, "memory" | "files">): StorageError | undefined {
  for (const { status } of memory.intakes.values()) {
    if (status.kind === "damaged") return status.problem;
  }
  return identityTrouble(memory) ?? files.own.begunOutbox;
}

/** Why nothing is written to that log of ours now: new lines must follow those that are there. */
export function obstructionOf(status: LogStatus | undefined): StorageError | undefined {
  return status?.kind === "obstructed" ? status.problem : undefined;
}

/** Why we write nothing while another copy of our key is in use. Spec 1.6. */
function identityTrouble({
  inUse,
  intakes,
}: Pick<Memory, "inUse" | "intakes">): StorageError | undefined {
  if (inUse === undefined) return undefined;
  const path = intakes.get(inUse.log)?.log.path ?? inUse.log;
  return new StorageError("identity_in_use", path, inUse.detail, { hint: IDENTITY_HINT });
}

/**
 * A log holds other lines in the place of ones that we know: its author is held until the operator
 * decides, also after a restart. Spec 1.6.
 */
export function holdRewritten(
  session: Pick<Session, "world" | "place" | "memory" | "files" | "recorder">,
  intake: LogIntake,
  detail: string,
): void {
  const { memory, world } = session;
  const evidence = keepRewriting(session, intake, detail);
  const at = world.clock.wallMs();
  const { name: log } = intake.log;
  const event: HeldEvent = { kind: "held", log, at, cause: "log_rewritten", detail };
  const incident = chainIncident(intake.log, { cause: "log_rewritten", detail }, evidence);
  session.recorder.noteAndTell([{ k: "local", event }], [incident]);
  takeLocal(memory, event);
  session.recorder.fold(event);
}
