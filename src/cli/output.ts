import { styleText } from "node:util";
import { safeJson, sanitise } from "./sanitise.ts";

/** Where text goes: a terminal, a pipe, or a test. */
export interface Screen {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "magenta";
export type Paint = (style: Style, text: string) => string;

/** Our own words as they are, a peer's words sanitised; `style` colours the whole cell. */
export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

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
  const text = flags.json === true ? safeJson(data) : human(painter(cli.stdout, cli.env));
  if (text !== "") cli.stdout.write(`${text}\n`);
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
  const clean = rows.map((row) => row.map((cell) => ({ ...cell, text: sanitise(cell.text) })));
  const widths: number[] = [];
  for (const row of clean) {
    for (const [column, { text }] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, displayWidth(text));
    }
  }
  return clean.map((row) => line(row, widths, paint, width)).join("\n");
}

function line(
  row: readonly Cell[],
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

/** At most `room` columns, with an ellipsis where something was left out. */
export function cut(text: string, room: number): string {
  if (displayWidth(text) <= room) return text;
  let shown = "";
  let used = 1;
  for (const character of text) {
    used += displayWidth(character);
    if (used > room) break;
    shown += character;
  }
  return `${shown}…`;
}

const ZERO_WIDTH = /[\p{M}\u200c\u200d]/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** Columns on a terminal: wide characters take two, combining ones none. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    if (ZERO_WIDTH.test(character)) continue;
    width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}
