import { lineAt } from "./repository-files.ts";

/** A link of a document to another place in the repository. */
export interface Link {
  readonly line: number;
  /** Empty: the document itself. */
  readonly path: string;
  /** Undefined: no heading is meant. */
  readonly anchor: string | undefined;
}

const INLINE = /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g;
const DEFINED = /^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$/gm;

/** The relative links of a markdown document: those within code are none. */
export function linksIn(markdown: string): Link[] {
  const text = withoutCode(markdown);
  return [...text.matchAll(INLINE), ...text.matchAll(DEFINED)].flatMap((match) => {
    const [, target = ""] = match;
    if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(target)) return [];
    const [path = "", anchor] = target.split("#");
    return [{ line: lineAt(text, match.index), path: decodeURIComponent(path), anchor }];
  });
}

const NAMED_PATH =
  /`((?:bench|bin|docs|launchd|schemas|src|systemd|test)\/[^`\s*<{…:]*|[a-z][a-z-]*\/[\w./-]+\.[jt]s)(?::\d+)?`/g;

/** The files and folders of the repository that a document names in backticks; no patterns. */
export function pathsIn(markdown: string): { readonly line: number; readonly path: string }[] {
  return [...markdown.matchAll(NAMED_PATH)].map((match) => ({
    line: lineAt(markdown, match.index),
    path: match[1] ?? "",
  }));
}

/** The anchors that GitHub gives the headings of a document. */
export function anchorsIn(markdown: string): Set<string> {
  const anchors = new Set<string>();
  const times = new Map<string, number>();
  for (const [, title = ""] of withoutFences(markdown).matchAll(/^#{1,6}[ \t]+(.+?)[ \t#]*$/gm)) {
    const slug = slugOf(title);
    const before = times.get(slug) ?? 0;
    times.set(slug, before + 1);
    anchors.add(before === 0 ? slug : `${slug}-${before}`);
  }
  return anchors;
}

function slugOf(title: string): string {
  const words = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
  return words.replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "").replaceAll(" ", "-");
}

/** With the lines of code empty, so that every other line keeps its number. */
function withoutCode(markdown: string): string {
  return withoutFences(markdown).replaceAll(/(`+)(?!`)[^]*?[^`]\1(?!`)/g, blank);
}

function withoutFences(markdown: string): string {
  return markdown.replaceAll(/^ *(```+|~~~+)[^]*?^ *\1[ \t]*$/gm, blank);
}

function blank(code: string): string {
  return code.replaceAll(/[^\n]/g, " ");
}
