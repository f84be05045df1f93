/** Python's `str.splitlines`, so that both see the same lines of a document. Spec 6.2. */
// oxlint-disable-next-line no-control-regex
const LINE_END = /\r\n|[\n\r\v\f\u001C-\u001E\u0085\u2028\u2029]/u;

/** No pattern of ours needs a longer line; a longer one is text. */
const MAX_PATTERN_CHARS = 8_192;

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Undefined: it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function linesOf(text: string): string[] {
  return text.split(LINE_END).map((line) => line.slice(0, MAX_PATTERN_CHARS));
}

/** A `##` section: its heading, and the lines up to the next heading of that level or above. */
export interface Section {
  readonly heading: string;
  readonly lines: readonly string[];
}

export function sectionsOf(lines: readonly string[], level = 2): Section[] {
  const sections: { heading: string; lines: string[] }[] = [];
  for (const line of lines) {
    const heading = headingOf(line);
    if (heading?.level === level) sections.push({ heading: heading.text, lines: [] });
    else if (heading !== undefined && heading.level < level)
      sections.push({ heading: "", lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections.filter(({ heading }) => heading !== "");
}

function headingOf(line: string): { level: number; text: string } | undefined {
  const found = /^(#{1,6})\s+(\S.*)$/u.exec(line.trimEnd());
  if (found === null) return undefined;
  const [, marks = "", text = ""] = found;
  return { level: marks.length, text: text.trim() };
}

/** Those of the headings that no section has, in their order. */
export function missingSections(lines: readonly string[], needed: readonly string[]): string[] {
  const present = new Set(sectionsOf(lines).map(({ heading }) => heading.toLowerCase()));
  return needed.filter((heading) => !present.has(heading.toLowerCase()));
}

export interface ListItem {
  /** The text in the brackets. */
  readonly mark: string;
  readonly text: string;
}

/** The items `- [mark] text`, whatever their indentation. */
export function listItems(lines: readonly string[]): ListItem[] {
  return lines.flatMap((line) => {
    const found = /^\s*-\s*\[([A-Za-z_]+)\]\s*(.*)$/u.exec(line);
    return found === null ? [] : [{ mark: found[1] ?? "", text: (found[2] ?? "").trim() }];
  });
}
