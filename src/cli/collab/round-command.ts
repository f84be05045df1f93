import { resolve } from "node:path";
import type { Schema } from "../../collab/machine/event.ts";
import { RoundRefused } from "../../collab/refused.ts";
import { sanitise, safeJson } from "../../framing/sanitise.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { Places } from "../../storage/paths.ts";
import type { FlagsOf } from "../command.ts";
import { placesOf, type Cli, type GlobalFlags } from "../context.ts";
import { emit, writeExact } from "../output/output.ts";

/** What the commands of a round refuse with, as the protocol's own scripts do. Spec 6.3. */
const REFUSED = 2;

export const ROUND_OPTIONS = {
  "--folder <folder>": "the folder of the round",
  "--schema <1|2>": "judge by that schema, whatever the folder says",
} as const;
export const PARTICIPANT_OPTIONS = {
  ...ROUND_OPTIONS,
  "--participant <name>": "who you are in this round",
} as const;
type RoundFlags = FlagsOf<typeof ROUND_OPTIONS>;

/** A round as a command reaches it. */
export interface RoundPlace {
  readonly disk: Disk;
  readonly places: Places;
  /** Absolute. */
  readonly folder: string;
  readonly schema: Schema | undefined;
}

/** Runs a command on a round. */
export function onRound(
  cli: Cli,
  flags: RoundFlags,
  work: (place: RoundPlace) => Promise<void> | void,
): Promise<void> {
  return orRefuse(cli, flags, () => work(placeOf(cli, flags)));
}

/** When a command is refused, all reasons go to standard error in one line. */
export async function orRefuse(
  cli: Cli,
  flags: GlobalFlags,
  work: () => Promise<void> | void,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof RoundRefused)) throw error;
    refuse(cli, flags, error.message);
  }
}

export function refuse(cli: Cli, flags: GlobalFlags, message: string): void {
  cli.exitCode = REFUSED;
  if (flags.json === true) {
    writeExact(cli.stderr, `${safeJson({ error: { code: "refused", message, hint: null } })}\n`);
  } else cli.stderr.write(`error: ${sanitise(message)}\n`);
}

function placeOf(cli: Cli, { folder, schema }: RoundFlags): RoundPlace {
  const disk = nodeDisk();
  const path = resolve(cli.cwd, needed("--folder", folder));
  return {
    disk,
    places: placesOf(cli.env),
    // A link to a round is its round.
    folder: disk.stat(path) === undefined ? path : disk.realPath(path),
    schema: schemaOf(schema),
  };
}

export function schemaOf(schema: string | undefined): Schema | undefined {
  if (schema === undefined) return undefined;
  if (schema === "1") return 1;
  if (schema === "2") return 2;
  throw new RoundRefused([`--schema must be 1 or 2, not ${schema}`]);
}

/** The value of a flag that the command cannot do without. */
export function needed(flag: string, value: string | undefined): string {
  return allNeeded({ [flag]: value })[0] ?? "";
}

/** The same of several, in their order; all that are missing are named at once. */
export function allNeeded(flags: Readonly<Record<string, string | undefined>>): string[] {
  const isThere = (value: string | undefined): value is string =>
    value !== undefined && value !== "";
  const missing = Object.keys(flags).filter((flag) => !isThere(flags[flag]));
  if (missing.length > 0) throw new RoundRefused(missing.map((flag) => `${flag} is missing`));
  return Object.values(flags).filter(isThere);
}

/** A whole number of at least `least`. */
export function wholeNumber(flag: string, value: string, least: number): number {
  const number = Number(value);
  if (/^\d{1,9}$/u.test(value) && number >= least) return number;
  throw new RoundRefused([`${flag} must be a whole number of at least ${least}`]);
}

/** A number of seconds, whole or not, of at least `least`. */
export function secondsFrom(flag: string, value: string, least: number): number {
  const number = Number(value);
  if (/^\d{1,9}(\.\d{1,9})?$/u.test(value) && number >= least) return number;
  throw new RoundRefused([`${flag} must be a number of seconds, at least ${least}; not ${value}`]);
}

/** Data as JSON, or rows with words of others in them: nothing in them steers a terminal. */
export function emitRows(
  cli: Cli,
  flags: GlobalFlags,
  data: unknown,
  rows: readonly string[],
): void {
  emit(cli, flags, data, () => rows.map((row) => sanitise(row)).join("\n"));
}

export function tellCompleted(cli: Cli, seq: number): void {
  cli.stderr.write(`protocol.json did not know event ${seq} yet: it is completed now\n`);
}
