import { styleText } from "node:util";
import { safeJson, sanitise } from "../../framing/sanitise.ts";
import type { Paint, Style } from "../../framing/paint.ts";
import { cut, displayWidth } from "./width.ts";

/** Where text goes: a terminal, a pipe, or a test. */
export interface Screen {
  write(text: string): unknown;
  /** On a screen that breaks rows: leaves the text as it is. */
  writeExact?(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export type { Paint, Style } from "../../framing/paint.ts";

/** A text, or one whose style colours the whole cell. */
export type Cell = string | { readonly text: string; readonly style?: Style | undefined };

/** Rows that a list shows a person; a script gets all. */
export const SHOWN_TO_PEOPLE = 20;
/** How often `--follow` asks for news. */
export const FOLLOW_PAUSE_MS = 1_000;

const GAP = "  ";
const MIN_LAST_COLUMN = 20;

/** Colours for this screen: none in pipes, none with NO_COLOR, always with FORCE_COLOR. */
export function painter(screen: Screen, env: NodeJS.ProcessEnv): Paint {
  const forced = env["FORCE_COLOR"] !== undefined && env["FORCE_COLOR"] !== "0";
  const wanted = screen.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  if (!forced && !wanted) return (_style, text) => text;
  // The decision is made here, for this screen; styleText would ask process.stdout again.
  return (style, text) => styleText(style, text, { validateStream: false });
}

/** Prints the data as one line of JSON, or what `human` makes of it. */
export function emit(
  cli: { readonly stdout: Screen; readonly env: NodeJS.ProcessEnv },
  flags: { json?: boolean | undefined },
  data: unknown,
  human: (paint: Paint) => string,
): void {
  if (flags.json === true) {
    writeExact(cli.stdout, `${safeJson(data)}\n`);
    return;
  }
  const text = human(painter(cli.stdout, cli.env));
  if (text === "") return;
  const breaksRows = cli.stdout.writeExact !== undefined;
  cli.stdout.write(`${breaksRows ? text : text.replaceAll(TO_BE_COPIED, "")}\n`);
}

/** Prints items as JSON, or as rows of a table; without items says so. */
export function emitTable<Item>(
  cli: { readonly stdout: Screen; readonly env: NodeJS.ProcessEnv },
  flags: { json?: boolean | undefined },
  items: readonly Item[],
  rowOf: (item: Item) => readonly Cell[],
  nothing: string,
): void {
  emit(cli, flags, items, (paint) =>
    items.length === 0 ? nothing : table(items.map(rowOf), paint, cli.stdout.columns),
  );
}

/** Facts below each other, their names dimmed. */
export function factsTable(
  facts: readonly (readonly [name: string, value: Cell])[],
  paint: Paint,
): string {
  const rows = facts.map(([name, value]): Cell[] => [{ text: name, style: "dim" }, value]);
  return table(rows, paint, undefined);
}

/** Comes before a command line to be copied, which ends its row. No peer's text can hold a control character. */
export const TO_BE_COPIED = "\u0001";

/** A command line to be copied: a terminal may break its row, but nothing is put into it. */
export function toBeCopied(command: string): string {
  return `${TO_BE_COPIED}${command}`;
}

/** Text for programs, whose lines are not to be broken: JSON, a script. */
export function writeExact(screen: Screen, text: string): void {
  if (screen.writeExact === undefined) screen.write(text);
  else screen.writeExact(text);
}

/**
 * Rows in aligned columns. Cells are sanitised here. On a terminal the last column is cut to its
 * width; in a pipe nothing is cut.
 */
export function table(
  rows: readonly (readonly Cell[])[],
  paint: Paint,
  width: number | undefined,
): string {
  const clean = rows.map((row) =>
    row.map((cell) => {
      const { text, style } = typeof cell === "string" ? { text: cell } : cell;
      return { text: sanitise(text), style };
    }),
  );
  const widths: number[] = [];
  for (const row of clean) {
    for (const [column, { text }] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, displayWidth(text));
    }
  }
  return clean.map((row) => line(row, widths, paint, width)).join("\n");
}

/** A table with further rows below each of its rows. */
export function withBelow(text: string, below: (row: number) => readonly string[]): string {
  return text
    .split("\n")
    .flatMap((line, row) => [line, ...below(row)])
    .join("\n");
}

function line(
  row: readonly { readonly text: string; readonly style: Style | undefined }[],
  widths: readonly number[],
  paint: Paint,
  width: number | undefined,
): string {
  let used = 0;
  const parts = row.map(({ text, style }, column) => {
    const last = column === row.length - 1;
    const room = width === undefined ? Infinity : Math.max(MIN_LAST_COLUMN, width - used);
    const shown = last ? cut(text, room) : text;
    const columnWidth = widths[column] ?? 0;
    used += columnWidth + GAP.length;
    const padding = last ? "" : " ".repeat(columnWidth - displayWidth(text));
    return (style === undefined ? shown : paint(style, shown)) + padding;
  });
  return parts.join(GAP).trimEnd();
}
