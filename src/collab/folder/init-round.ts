import { randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { renameSync, rmSync } from "node:fs";
import { eventLine } from "../documents/event-lines.ts";
import { sortedJson } from "../documents/sorted-json.ts";
import { RoundRefused } from "../refused.ts";
import { deliverableTemplate, documentTemplates } from "../rules/templates.ts";
import { calling } from "../../storage/disk/errno.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { Plan } from "./init-plan.ts";
import { EVENTS_FILE, PROTOCOL_FILE } from "./read-round.ts";
import { secondsOf } from "./write-protocol.ts";

/** As the user's other files: members of a group may write where the umask lets them. */
const folderMode = (): number => 0o777 & ~process.umask();
const fileMode = (): number => 0o666 & ~process.umask();

/**
 * Makes the folder of a round, whole or not at all: it is written beside its place and renamed.
 * `copied`: documents of an older round instead of templates. Spec 6.3.
 */
export function initRound(disk: Disk, plan: Plan, nowMs: number): void {
  const { folder } = plan;
  refuseExisting(disk, folder);
  disk.makeFolder(dirname(folder), folderMode());
  const made = join(dirname(folder), `.${basename(folder)}.${randomBytes(6).toString("hex")}`);
  try {
    disk.makeFolder(made, folderMode());
    for (const [name, text] of Object.entries(filesOf(plan, nowMs))) {
      const path = join(made, name);
      disk.makeFolder(dirname(path), folderMode());
      disk.replace(path, Buffer.from(text, "utf8"), fileMode());
    }
    writeExternal(disk, plan);
    calling(folder, "making", () => renameSync(made, folder));
    disk.syncFolder(dirname(folder));
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    // Another process has made it meanwhile.
    refuseExisting(disk, folder);
    throw error;
  }
}

function refuseExisting(disk: Disk, folder: string): void {
  if (disk.stat(folder) === undefined) return;
  throw new RoundRefused([`${folder} exists already; --resume goes on with it`]);
}

function filesOf(plan: Plan, nowMs: number): Record<string, string> {
  const [owner = ""] = plan.round.participants;
  const at = secondsOf(nowMs);
  const { round, deliverables, copied } = plan;
  const { primary } = round;
  const isInternal = deliverables?.mode === "internal" && primary !== undefined;
  return {
    ...documentTemplates(round),
    ...(isInternal ? { [primary.reference]: deliverableTemplate(primary, round.objective) } : {}),
    ...copied,
    [EVENTS_FILE]: eventLine({
      seq: 1,
      from: owner,
      event: "initialized",
      at,
      summary: "Round initialized.",
    }),
    [PROTOCOL_FILE]: `${sortedJson(protocolFields(plan, owner, at))}\n`,
  };
}

function protocolFields({ round, deliverables, objectiveGates }: Plan, owner: string, at: string) {
  const { objective, participants, gates, schema } = round;
  const common = {
    objective,
    participants: participants.map((id) => ({ id })),
    currentPhase: "drafting",
    proposalOwner: owner,
    waitingFor: [owner],
    createdAt: at,
    updatedAt: at,
  };
  if (schema === 1 || deliverables === undefined) return { ...common, completionGates: gates };
  const { mode, dir, repoRoot, primary } = deliverables;
  const { type, file, checklist } = primary;
  return {
    ...common,
    protocol: "acp",
    schemaVersion: 2,
    objectiveGates,
    completionGates: gates.map((text) => ({
      source: objectiveGates.includes(text) ? "objective" : "generated",
      text,
    })),
    ...(repoRoot === undefined ? {} : { repoRoot }),
    deliverables: {
      ...{ mode, dir, owner, coAuthors: [] },
      ...{ primary: { type, file, checklist }, supporting: [], attachments: [] },
    },
  };
}

/** A deliverable outside of the folder; a file that is there stays as it is. */
function writeExternal(disk: Disk, { deliverables, round }: Plan): void {
  if (deliverables?.mode !== "external" || round.primary === undefined) return;
  const path = deliverables.path;
  if (disk.stat(path) !== undefined) return;
  disk.makeFolder(dirname(path), folderMode());
  const text = deliverableTemplate(round.primary, round.objective);
  disk.replace(path, Buffer.from(text, "utf8"), fileMode());
}
