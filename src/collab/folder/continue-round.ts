import { generatedGates } from "../documents/gates.ts";
import { linesOf } from "../documents/text.ts";
import { RoundRefused } from "../refused.ts";
import { stateOf, textOf } from "../rules/round.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { InitWish } from "./init-plan.ts";
import { readRound } from "./read-round.ts";

/** What a new round takes from one that has ended; what is asked for outright goes first. */
export interface Continued {
  readonly wish: InitWish;
  readonly copied: Readonly<Record<string, string>>;
}

/**
 * Inputs and documents of a completed or blocked round, for a new one: its proposal, its decisions and
 * its internal deliverable as a draft. Reviews, readiness and conclusion begin new. Spec 6.3.
 */
export function continueFrom(disk: Disk, old: string, wish: InitWish): Continued {
  const { round } = readRound(disk, old);
  const phase = stateOf(round)?.currentPhase;
  if (phase !== "completed" && phase !== "blocked") {
    throw new RoundRefused([`${old} has not ended: its phase is ${phase ?? "unknown"}`]);
  }
  const { protocol, documents, deliverables } = round;
  const { primary, mode, dir } = protocol.deliverables ?? {};
  const generated = primary === undefined ? [] : generatedGates(primary.reference, primary.type);
  const isInternal = primary !== undefined && mode === "internal";
  const copied = {
    "proposal.md": textOf(documents.get("proposal.md")),
    "decisions.md": textOf(documents.get("decisions.md")),
    ...(isInternal
      ? { [primary.reference]: draftOf(textOf(deliverables.get(primary.reference))) }
      : {}),
  };
  return {
    copied: Object.fromEntries(Object.entries(copied).filter(([, text]) => text !== "")),
    wish: {
      folder: wish.folder,
      participants: wish.participants.length > 0 ? wish.participants : protocol.participants,
      objective: wish.objective ?? protocol.objective,
      completion:
        wish.completion.length > 0
          ? wish.completion
          : protocol.gates.filter((gate) => !generated.includes(gate)),
      schema: wish.schema ?? protocol.schema,
      type: wish.type ?? primary?.type,
      file: wish.file ?? primary?.file,
      checks: wish.checks.length > 0 ? wish.checks : (primary?.checklist ?? []),
      mode: wish.mode ?? mode,
      dir: wish.dir ?? dir,
      repoRoot: wish.repoRoot,
    },
  };
}

function draftOf(text: string): string {
  const frozen = linesOf(text).find((line) => /^Status:\s*(Frozen|In Review)\s*$/u.test(line));
  return frozen === undefined ? text : text.replace(frozen, "Status: Draft");
}
