import { knownMembership } from "../../agent/config/known-handles.ts";
import type { ArchiveAnswer, ArchivedFile } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { compressArchive, type CompressedFile } from "../../carriers/archive-year.ts";
import { makeWireLayout } from "../../carriers/folder.ts";
import { agentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { sizeText } from "../output/text.ts";
import { emit, type Paint } from "../output/output.ts";

/** Closed years out of the way, nothing lost. Spec 1.10. */
export const archive = define({
  about:
    "Moves your logs and the wire's shared files into archive/YEAR, those that begin in that year " +
    "or before. Nothing is lost: every line stays readable. The daemon does " +
    "it by itself at the turn of the year.",
  options: {
    "--year <year>": {
      about: "which year; without it, the last one that is over",
      parse: parseYear,
    },
    "--compress": "compress what is in the archive as well",
  },
  examples: ["deaddrop transport archive --year 2026", "deaddrop transport archive --compress"],
  async run(cli, flags) {
    const { year } = flags;
    const isCompressing = flags.compress === true;
    const answer = await withClient(cli, flags, (client) =>
      client.ask("archive", year === undefined ? {} : { year }),
    );
    const compressed = isCompressing ? compressAll(cli, flags) : [];
    emit(cli, flags, { ...answer, compressed }, (paint) =>
      text(answer, compressed, isCompressing, paint),
    );
    const failed = [...answer.files, ...compressed].some((row) => "problem" in row);
    if (failed) cli.exitCode = 6;
  },
});

function parseYear(given: string): number {
  if (/^20[0-9]{2}$/.test(given)) return Number(given);
  throw new DeaddropError("usage", `"${given}" is not a year`, { hint: "give it as 2026" });
}

/** Archived parts are closed: that needs no daemon and no lock of our identity. */
function compressAll(cli: Cli, flags: GlobalFlags): CompressedFile[] {
  const { host, place } = agentPlace(cli, flags);
  const { handle, wire } = place;
  const layout = makeWireLayout(knownMembership(host.disk, place));
  return compressArchive(host.disk, { wireDir: wire.folder, handle, layout });
}

function text(
  { year, files }: ArchiveAnswer,
  compressed: readonly CompressedFile[],
  isCompressing: boolean,
  paint: Paint,
): string {
  const lines = files.map((row) => fileText(row, year, paint));
  const packed = compressed.map((row) =>
    "problem" in row
      ? `${paint("red", "not compressed")} ${row.file}: ${row.problem}; ${row.hint}`
      : `${paint("green", "compressed")} ${row.file}, ${sizeText(row.before)} to ${sizeText(row.after)}`,
  );
  if (isCompressing && packed.length === 0) packed.push("nothing is left to compress");
  return [...lines, ...packed].join("\n");
}

function fileText(row: ArchivedFile, year: number, paint: Paint): string {
  switch (row.outcome) {
    case "archived":
      return `${paint("green", "archived")} ${row.file} as ${row.to}, ${sizeText(row.bytes)}`;
    case "empty":
      return `${row.file} is empty: nothing to archive`;
    case "not due":
      return `${row.file} stays: its first line with a date is not of ${year} or before`;
    case "failed":
      return `${paint("red", "not archived")} ${row.file}: ${row.problem}; ${row.hint}`;
  }
}
