import type { Schema } from "../machine/event.ts";
import {
  isDeliverableType,
  DELIVERABLE_TYPES,
  type Declared,
  type DeliverableType,
} from "./deliverable.ts";
import { isFields, linesOf, type Fields } from "./text.ts";

/** A declared deliverable, and where it is below the folder of the deliverables. */
export interface DeclaredFile extends Declared {
  readonly role: "primary" | "supporting";
  readonly file: string;
  /** Of a supporting one: it has been, or has to be, frozen. */
  readonly frozen: boolean;
}

export interface Deliverables {
  readonly mode: "internal" | "external";
  /** From the round's folder (internal), or from the repository's root (external). */
  readonly dir: string;
  readonly primary: DeclaredFile | undefined;
  readonly supporting: readonly DeclaredFile[];
  readonly attachments: readonly string[];
}

/** What `protocol.json` says of where the round is. Events alone decide it. */
export interface Recorded {
  readonly currentPhase: unknown;
  readonly proposalOwner: unknown;
  readonly waitingFor: unknown;
}

/** `protocol.json`, as far as it can be understood. Spec 6. */
export interface Protocol {
  /** By which it is judged. */
  readonly schema: Schema;
  readonly objective: string;
  readonly participants: readonly string[];
  readonly gates: readonly string[];
  /** Schema 2. */
  readonly deliverables: Deliverables | undefined;
  /** From the round's folder to the repository; of external deliverables. */
  readonly repoRoot: string | undefined;
  readonly recorded: Recorded;
}

/** The primary deliverable, then the supporting ones. */
export function declaredFiles({ deliverables }: Protocol): DeclaredFile[] {
  const { primary, supporting = [] } = deliverables ?? {};
  return [primary, ...supporting].flatMap((each) => each ?? []);
}

/** Far more than any round has of participants, gates, checks or deliverables. */
const MAX_ENTRIES = 256;

/**
 * Reads the object in `protocol.json`, by a given schema or by its own: 1 without a `schemaVersion`. Answers
 * all problems, not only the first.
 */
export function readProtocol(
  file: Fields,
  wanted?: Schema,
): { readonly protocol: Protocol; readonly problems: readonly string[] } {
  const schema = wanted ?? (Object.hasOwn(file, "schemaVersion") ? 2 : 1);
  const problems: string[] = [];
  const say = (problem: string): void => {
    problems.push(`protocol.json ${problem}`);
  };
  const participants = readParticipants(file["participants"], say);
  const gates = readGates(file["completionGates"], schema, say);
  if (typeof file["objective"] !== "string" || file["objective"].trim() === "") {
    say("objective must be a text");
  }
  if (schema === 1 && Object.hasOwn(file, "version")) say("must not have version");
  const deliverables = schema === 1 ? undefined : readSchemaTwo(file, participants, say);
  const { repoRoot, currentPhase, proposalOwner, waitingFor, objective } = file;
  if (schema === 2) checkRepoRoot(repoRoot, deliverables, say);
  return {
    problems,
    protocol: {
      schema,
      objective: typeof objective === "string" ? objective : "",
      participants,
      gates,
      deliverables,
      repoRoot: typeof repoRoot === "string" ? repoRoot : undefined,
      recorded: { currentPhase, proposalOwner, waitingFor },
    },
  };
}

type Say = (problem: string) => void;

/** Names, or objects with an `id`; scripts write either. */
function readParticipants(value: unknown, say: Say): string[] {
  const names = listOf(value).flatMap((each) => {
    const name = isFields(each) ? each["id"] : each;
    return isLine(name) ? [name] : [];
  });
  if (names.length > MAX_ENTRIES) say(`participants must be at most ${MAX_ENTRIES}`);
  if (names.length === 0 || names.length !== listOf(value).length) {
    say('participants must be a list of {"id"}, at least one');
  }
  if (new Set(names).size !== names.length) say("participants must not name anybody twice");
  return [...new Set(names)].slice(0, MAX_ENTRIES);
}

function readGates(value: unknown, schema: Schema, say: Say): string[] {
  const gates = listOf(value).flatMap((each) => {
    const text = schema === 2 && isFields(each) ? each["text"] : each;
    const source = isFields(each) ? each["source"] : "objective";
    const isKnown = source === "objective" || source === "generated";
    return isLine(text) && isKnown ? [text] : [];
  });
  if (gates.length > MAX_ENTRIES) say(`completionGates must be at most ${MAX_ENTRIES}`);
  if (gates.length === 0 || gates.length !== listOf(value).length) {
    const form = schema === 1 ? "texts" : '{"source":"objective"|"generated","text"}';
    say(`completionGates must be a list of ${form}, at least one`);
  }
  for (const file of OBSOLETE_FILES) {
    if (gates.some((gate) => gate.includes(file))) {
      say(`completion gate must not reference obsolete file ${file}`);
    }
  }
  return gates;
}

function readSchemaTwo(
  file: Fields,
  participants: readonly string[],
  say: Say,
): Deliverables | undefined {
  if (file["protocol"] !== "acp") say("protocol must be 'acp'");
  if (file["schemaVersion"] !== 2) say("schemaVersion must be 2");
  const { objectiveGates, deliverables } = file;
  if (!Array.isArray(objectiveGates) || objectiveGates.some((gate) => typeof gate !== "string")) {
    say("objectiveGates must be a list of texts");
  }
  if (participants.length < 2) say("participants must be at least two in schema 2");
  const fields = isFields(deliverables) ? deliverables : {};
  if (!isFields(fields["primary"])) say("deliverables.primary is required");
  return isFields(deliverables) ? readDeliverables(fields, participants, say) : undefined;
}

function readDeliverables(fields: Fields, participants: readonly string[], say: Say): Deliverables {
  const { mode, dir, owner, coAuthors = [] } = fields;
  const supporting = fewOf(fields["supporting"], "deliverables.supporting", say);
  const attachments = fewOf(fields["attachments"], "deliverables.attachments", say);
  if (mode !== "internal" && mode !== "external") {
    say("deliverables.mode must be internal or external");
  }
  const where = mode === "external" ? "external" : "internal";
  const isPlain = typeof dir === "string" && pathProblem(dir) === undefined;
  // Nothing is looked for at a way that is refused.
  const folder = isPlain ? dir : "deliverables";
  if (!isPlain) say("deliverables.dir must be a relative path without ..");
  if (typeof owner !== "string" || !participants.includes(owner)) {
    say("deliverables.owner must be a participant");
  }
  if (listOf(coAuthors).some((name) => !participants.some((known) => known === name))) {
    say("deliverables.coAuthors must be participants");
  }
  const read = (value: unknown, role: DeclaredFile["role"], at = ""): DeclaredFile | undefined => {
    const declared = readDeclared(value, `deliverables.${role}${at}`, say);
    if (declared === undefined) return undefined;
    return { ...declared, role, reference: referenceOf(where, folder, declared.file) };
  };
  const { primary } = fields;
  return {
    mode: where,
    dir: folder,
    primary: isFields(primary) ? read(primary, "primary") : undefined,
    supporting: supporting.flatMap((each, at) => read(each, "supporting", `[${at}]`) ?? []),
    attachments: attachments.flatMap((each, at) => readAttachment(each, `attachments[${at}]`, say)),
  };
}

/** How events and documents name a deliverable. Spec 6.2. */
export function referenceOf(mode: "internal" | "external", dir: string, file: string): string {
  return mode === "external" ? `external:${file}` : `${dir}/${file}`;
}

function readDeclared(
  value: unknown,
  name: string,
  say: Say,
): Omit<DeclaredFile, "role" | "reference"> | undefined {
  const { type, file, checklist = [], frozen = false } = isFields(value) ? value : {};
  const problem = fileProblem(file);
  if (problem !== undefined) say(`${name}.file ${problem}`);
  if (!isDeliverableType(type)) say(`${name}.type must be one of ${DELIVERABLE_TYPES.join(", ")}`);
  const checks = fewOf(checklist, `${name}.checklist`, say).filter((each) => isLine(each));
  if (!Array.isArray(checklist) || checks.length !== checklist.length) {
    say(`${name}.checklist must be a list of texts`);
  }
  if (type === "custom" && checks.length === 0) {
    say(`${name}.checklist of a custom deliverable needs a check`);
  }
  if (typeof frozen !== "boolean") say(`${name}.frozen must be true or false`);
  if (problem !== undefined || typeof file !== "string") return undefined;
  const known: DeliverableType = isDeliverableType(type) ? type : "custom";
  return { type: known, file, checklist: checks, frozen: frozen === true };
}

function readAttachment(value: unknown, name: string, say: Say): string[] {
  const file = isFields(value) ? value["file"] : undefined;
  if (typeof file === "string" && pathProblem(file) === undefined) return [file];
  say(`deliverables.${name}.file must be a relative path without ..`);
  return [];
}

function checkRepoRoot(value: unknown, deliverables: Deliverables | undefined, say: Say): void {
  if (deliverables?.mode !== "external") {
    if (value !== undefined) say("repoRoot is for external deliverables only");
    return;
  }
  if (typeof value !== "string" || value === "" || value.startsWith("/")) {
    say("repoRoot must be a relative path to an ancestor of the folder");
  }
}

/** What is wrong with the path of a deliverable, in words that follow its name. */
export function fileProblem(file: unknown): string | undefined {
  if (typeof file !== "string" || file === "") return "must be a text";
  const problem = pathProblem(file);
  if (problem !== undefined) return problem;
  return file.endsWith(".md") ? undefined : "must end in .md";
}

/** What is wrong with a path below a folder. */
export function pathProblem(path: string): string | undefined {
  if (path === "") return "must not be empty";
  if (/^([/\\]|[A-Za-z]:)/u.test(path)) return "must be relative";
  if (path.split(/[/\\]/u).includes("..")) return "must not hold ..";
  return path.includes("\0") ? "must not hold a zero character" : undefined;
}

/** The first of a list that somebody else has written. */
function fewOf(value: unknown, name: string, say: Say): readonly unknown[] {
  const list = listOf(value);
  if (list.length > MAX_ENTRIES) say(`${name} must have at most ${MAX_ENTRIES} entries`);
  return list.slice(0, MAX_ENTRIES);
}

/** A text of one line: a gate, or a name, that has more cannot be found in a document. */
export function isLine(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "" && linesOf(value).length === 1;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** Files of older rounds, which must not be there nor be named. Spec 6. */
export const OBSOLETE_FILES = ["state.log", "discussion.md", "opinions.md"] as const;

/** Files that every round has. */
export const ROUND_FILES = [
  "protocol.json",
  "events.jsonl",
  "proposal.md",
  "review.md",
  "decisions.md",
  "readiness.md",
  "conclusion.md",
] as const;
