import { basename } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { Change } from "../plan/changes.ts";
import { parsePlan, type PlanDocument } from "../plan/parse-plan.ts";
import { problemText } from "../plan/problem.ts";
import {
  changePlanFile,
  hashOfPlan,
  readPlanFile,
  validPlan,
  type HashedPlan,
} from "./plan-file.ts";

/** The plan that is in force, beside a file that a person may change at any time. */
export interface HeldPlan {
  readonly document: PlanDocument;
  /** Of the text in force. */
  readonly hash: string;
  /** Takes a person's edit, which counts from then on; one that is invalid is only told of. */
  look(): void;
  /**
   * Changes the file; while it is broken, only what is in force here. What is lost of that when the
   * file is whole again follows from the wire. Spec 7.5.
   */
  change(change: (document: PlanDocument) => Change): void;
}

/** Opens a plan. Throws DeaddropError when it is invalid already. `tell`: what is wrong with an edit. */
export function holdPlan(disk: Disk, file: string, tell: (text: string) => void): HeldPlan {
  let { hash, ...document } = validPlan(disk, file);
  /** Names the edit that is no plan: it is told of once. */
  let broken: string | undefined;

  function take(next: HashedPlan): void {
    ({ hash, ...document } = next);
    broken = undefined;
  }

  function refuse(edit: string, text: string): void {
    if (broken === edit) return;
    broken = edit;
    tell(`the plan was changed and is invalid; the old one stays in force:\n${text}`);
  }

  function look(): void {
    try {
      if (hashOfPlan(disk, file) === (broken ?? hash)) return;
      const { read, hash: next } = readPlanFile(disk, file);
      const { id } = document.plan;
      if (!read.ok) {
        const lines = read.problems.map((problem) => problemText(basename(file), problem));
        refuse(next, lines.join("\n"));
      } else if (id !== undefined && read.plan.id !== id) {
        const why = `plan_id has to stay ${id}: the requests on the wire are named by it`;
        refuse(next, `${basename(file)}: ${why}`);
      } else take({ ...read, hash: next });
    } catch (error) {
      // It is gone, or too long to be read: an edit too.
      if (!(error instanceof DeaddropError)) throw error;
      refuse(error.message, error.message);
    }
  }

  return {
    get document() {
      return document;
    },
    get hash() {
      return hash;
    },
    look,
    change(change) {
      look();
      if (broken === undefined) {
        take(changePlanFile(disk, file, change));
        return;
      }
      const changed = change(document);
      if (!changed.ok) throw new DeaddropError("refused", changed.reason);
      const text = document.source.withEdits(changed.edits);
      const read = parsePlan(Buffer.from(text, "utf8"), basename(file));
      if (read.ok) document = read;
    },
  };
}
