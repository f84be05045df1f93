import { randomBytes } from "node:crypto";
import { renameSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Disk } from "../../storage/disk/disk.ts";
import { calling } from "../../storage/disk/errno.ts";
import { eventLine } from "../documents/event-lines.ts";
import { readProtocol } from "../documents/protocol-file.ts";
import { sortedJson } from "../documents/sorted-json.ts";
import { RoundRefused } from "../refused.ts";
import { deliverableTemplate, documentTemplates } from "../rules/templates.ts";
import { formatSeconds } from "./complete-protocol.ts";
import type { Plan } from "./init-plan.ts";
import { EVENTS_FILE, PROTOCOL_FILE } from "./read-round.ts";

/** As the user's other files: members of a group may write where the umask lets them. */
const folderMode = (): number => 0o777 & ~process.umask();
const fileMode = (): number => 0o666 & ~process.umask();

/**
 * Makes the folder of a round, whole or not at all: it is written beside its place and renamed. An external
 * deliverable that is there stays as it is. Spec 6.3.
 */
export function initRound(disk: Disk, plan: Plan, nowMs: number): void {
  const { folder } = plan;
  const write = (path: string, text: string): void => {
    disk.makeFolder(dirname(path), folderMode());
    disk.replace(path, Buffer.from(text, "utf8"), fileMode());
  };
  refuseExisting(disk, folder);
  disk.makeFolder(dirname(folder), folderMode());
  const made = join(dirname(folder), `.${basename(folder)}.${randomBytes(6).toString("hex")}`);
  const { files, external } = filesOf(plan, nowMs);
  try {
    disk.makeFolder(made, folderMode());
    for (const [name, text] of Object.entries(files)) write(join(made, name), text);
    if (external !== undefined && disk.stat(external.path) === undefined) {
      write(external.path, external.text);
    }
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

interface NewFiles {
  /** By their names in the folder. */
  readonly files: Readonly<Record<string, string>>;
  /** A deliverable outside of the folder. */
  readonly external: { readonly path: string; readonly text: string } | undefined;
}

function filesOf({ folder, fields, participants, schema, copied }: Plan, nowMs: number): NewFiles {
  const [owner = ""] = participants;
  const at = formatSeconds(nowMs);
  const { protocol } = readProtocol(fields, schema);
  const { deliverables, objective, repoRoot = "" } = protocol;
  const { primary } = deliverables ?? {};
  const text = primary === undefined ? "" : deliverableTemplate(primary, objective);
  const isExternal = deliverables?.mode === "external";
  const state = { currentPhase: "drafting", proposalOwner: owner, waitingFor: [owner] };
  const files = {
    ...documentTemplates(protocol),
    ...(primary === undefined || isExternal ? {} : { [primary.reference]: text }),
    ...copied,
    [EVENTS_FILE]: eventLine({
      ...{ seq: 1, from: owner, event: "initialized", at, summary: "Round initialized." },
    }),
    [PROTOCOL_FILE]: `${sortedJson({ ...fields, ...state, createdAt: at, updatedAt: at })}\n`,
  };
  const external =
    primary !== undefined && isExternal
      ? { path: join(resolve(folder, repoRoot), deliverables.dir, primary.file), text }
      : undefined;
  return { files, external };
}
