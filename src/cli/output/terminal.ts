import type { Cli } from "../context.ts";
import { TO_BE_COPIED, type Screen } from "./output.ts";
import { columnsAtMost, isCjkLocale } from "./width.ts";

/** What every row begins with that goes on with the text of the row before. */
const BAR = "  │ ";
/** On a terminal that does not say how wide it is. */
const USUAL_COLUMNS = 80;
/** With fewer columns, rows are cut: there is no room for the bar. */
const FEWEST_COLUMNS = 8;
/** Our own colours. A peer's escapes never get here: its text is sanitised. */
const ESCAPE = "\u001b";
const COLOUR = new RegExp(`${ESCAPE}\\[[0-9;]*m`, "y");

/**
 * The same command line with terminals that break rows themselves, so that a peer's text never
 * begins a row: not where the terminal would go on with it at its edge either. Pipes and other
 * screens stay as they are. Spec 8.2.
 */
export function onTerminals(cli: Cli): Cli {
  const screens = new Map<"stdout" | "stderr", Screen>();
  const screen = (name: "stdout" | "stderr") => (): Screen => {
    const known = screens.get(name) ?? rowBreaking(cli[name], cli.env);
    screens.set(name, known);
    return known;
  };
  // The streams are made when they are asked for, and no sooner.
  return Object.create(cli, {
    stdout: { get: screen("stdout") },
    stderr: { get: screen("stderr") },
  }) as Cli;
}

function rowBreaking(screen: Screen, env: NodeJS.ProcessEnv): Screen {
  if (screen.isTTY !== true) return screen;
  const rows = rowBreaker(() => screen.columns, env);
  return {
    write: (text) => screen.write(rows(text)),
    writeExact: (text) => screen.write(text),
    isTTY: true,
    get columns() {
      return screen.columns || USUAL_COLUMNS;
    },
  };
}

/**
 * Breaks what is written, in pieces of any size, into rows that no terminal of that width breaks
 * again. Between words where that is possible; a row that goes on begins with a bar.
 */
export function rowBreaker(
  columns: () => number | undefined,
  env: NodeJS.ProcessEnv,
): (text: string) => string {
  const isCjk = isCjkLocale(env);
  const widthOf = (character: string): number => columnsAtMost(character, isCjk);
  const barWidth = Array.from(BAR).reduce((sum, each) => sum + widthOf(each), 0);
  /** Columns taken in the row that is being written. */
  let used = 0;
  /** The rest of it is a command of ours, to be copied. */
  let isCopied = false;

  return (text) => {
    const width = columns() || USUAL_COLUMNS;
    let done = "";
    let row = "";
    /** The last place in this row where a word ends: in `row`, and in columns. */
    let words: { readonly at: number; readonly used: number } | undefined;

    /** Between words, unless too little stays in this row or the next has no room for the rest. */
    function breakRow(taken: number): void {
      const here = { at: row.length, used };
      const isGood =
        words !== undefined &&
        words.used >= width / 2 &&
        barWidth + used - words.used + taken <= width;
      const { at, used: before } = words === undefined || !isGood ? here : words;
      done += `${row.slice(0, at)}\n`;
      row = BAR + row.slice(at);
      used = barWidth + used - before;
      words = undefined;
    }

    for (const part of partsOf(text)) {
      if (part === TO_BE_COPIED) {
        isCopied = true;
      } else if (part === "\n") {
        done += `${row}\n`;
        row = "";
        used = 0;
        words = undefined;
        isCopied = false;
      } else if (isCopied || part.startsWith(ESCAPE)) {
        row += part;
      } else {
        const taken = widthOf(part);
        const isFull = used + taken > width;
        if (isFull && width < FEWEST_COLUMNS) continue;
        if (isFull) breakRow(taken);
        row += part;
        used += taken;
        if (part === " ") words = { at: row.length, used };
      }
    }
    return done + row;
  };
}

/** Its characters, each colour of ours as one part. */
function* partsOf(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    COLOUR.lastIndex = at;
    const part = COLOUR.exec(text)?.[0] ?? String.fromCodePoint(text.codePointAt(at) ?? 0);
    at += part.length;
    yield part;
  }
}
