import { join } from "node:path";
import type { Client } from "../../api/client.ts";
import { sha256Hex } from "../../wire/canonical.ts";
import { isJsonObject, toPlain } from "../../wire/json/json.ts";
import { quote, shellWord } from "../../wire/quote.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { Telling } from "../coordinator/decide.ts";
import { stepNamed, planRequestId, type Plan, type Step } from "../plan/plan.ts";
import { readJson, writeJson, type PlanPlaces } from "./plan-folder.ts";

/** What a run has asked its operator about one attempt at a step. */
export interface Asked {
  readonly attempt: number;
  readonly text: string;
  /** ISO-8601, UTC. */
  readonly at: string;
}

/** The last question about each step of a plan with the most steps is shorter. */
const MAX_QUESTIONS_BYTES = 8 * 1_048_576;
/** A longer path is not in a notice; the command without one means the plan in use. */
const MAX_PATH_SHOWN = 500;
const DIGEST_DIGITS = 8;

export interface OperatorPlace {
  readonly disk: Disk;
  readonly places: PlanPlaces;
  /** Undefined: without a wire, no daemon can give a notice. */
  readonly client: Pick<Client, "ask"> | undefined;
}

/**
 * Asks the operator, also when nobody watches: kept in the plan's folder, for `plan status`, and given as a
 * notice by the daemon. Asking again changes nothing. Spec 3.12, 7.5. Throws what a disk or daemon throws.
 */
export async function askOperator(
  { disk, places, client }: OperatorPlace,
  plan: Plan & { readonly id: string },
  about: Telling,
  text: string,
  nowMs: number,
): Promise<void> {
  const step = stepNamed(plan, about.step);
  if (step === undefined || about.level !== "asks") return;
  const { id, attempt } = step;
  const all = askedBefore(disk, places);
  const last = all.get(id);
  if (last?.attempt !== attempt || last.text !== text) {
    all.set(id, { attempt, text, at: new Date(nowMs).toISOString() });
    writeJson(disk, askedFile(places), Object.fromEntries(all));
  }
  const digest = sha256Hex(Buffer.from(text, "utf8")).slice(0, DIGEST_DIGITS);
  await client?.ask("notify", {
    kind: "plan_asks",
    about: `${planRequestId(plan.id, id, attempt)} ${digest}`,
    text: noticeText(plan.id, step, places.file),
  });
}

/** No word of a report is in it, since a peer may have written it. */
function noticeText(planId: string, { id }: Step, file: string): string {
  const path = file.length > MAX_PATH_SHOWN ? "" : ` ${shellWord(file)}`;
  return `The run of plan ${quote(planId)} asks its operator about step ${quote(id)}: deaddrop plan status${path}`;
}

/** What the operator was asked about a step that still waits for an answer; undefined: nothing. */
export function openQuestion(
  asked: ReadonlyMap<string, Asked>,
  { id, attempt, status }: Step,
): Asked | undefined {
  const last = asked.get(id);
  const isOpen = status === "blocked" || status === "in_progress";
  return isOpen && last?.attempt === attempt ? last : undefined;
}

/** The last question about each step, by its id. A file that is damaged holds none. */
export function askedBefore(disk: Disk, places: PlanPlaces): Map<string, Asked> {
  const kept = readJson(disk, askedFile(places), MAX_QUESTIONS_BYTES) ?? {};
  return new Map(
    Object.entries(kept).flatMap(([id, value]) => {
      if (!isJsonObject(value)) return [];
      const { attempt, text, at } = toPlain(value) as Partial<Asked>;
      const isWhole =
        typeof attempt === "number" && typeof text === "string" && typeof at === "string";
      return isWhole ? [[id, { attempt, text, at }] as const] : [];
    }),
  );
}

function askedFile({ folder }: PlanPlaces): string {
  return join(folder, "asked.json");
}
