import { normalize } from "node:path/posix";
import { quote } from "../../wire/quote.ts";
import type { Problem } from "../../plans/plan/problem.ts";

const LINK = /\]\(\s{0,9}<?([^)\s>]{1,1000})>?(?:\s{1,9}"[^"]{0,1000}")?\s{0,9}\)/gu;
/** Names in backticks that are in one of the three folders of the format. */
const NAMED = /`((?:scripts|references|assets)\/[\w./-]{1,200})`/gu;

/** What a skill's text refers to and its folder does not have. Lines count from the top of the text. */
export function referenceProblems(
  body: string,
  files: { has(path: string): boolean; keys(): Iterable<string> },
): Problem[] {
  const folders = new Set([...files.keys()].flatMap((path) => foldersOf(path)));
  const found: Problem[] = [];
  for (const { line, text } of rowsOutsideFences(body)) {
    for (const [, target = ""] of text.matchAll(LINK)) {
      const wrong = linkProblem(target, (path) => files.has(path) || folders.has(path));
      if (wrong !== undefined) found.push({ level: "error", line, column: 1, text: wrong });
    }
    for (const [, path = ""] of text.matchAll(NAMED)) {
      if (files.has(path) || folders.has(path.replace(/\/$/u, ""))) continue;
      const text = `${quote(path)} is not in the folder of the skill`;
      found.push({ level: "warning", line, column: 1, text });
    }
  }
  return found;
}

function linkProblem(target: string, isThere: (path: string) => boolean): string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|#)/iu.test(target)) return undefined;
  const path = normalize(decoded(target.replace(/[#?].*$/u, ""))).replace(/\/$/u, "");
  if (path.startsWith("/") || path === ".." || path.startsWith("../")) {
    return `the link ${quote(target)} leaves the folder of the skill`;
  }
  if (path === "." || isThere(path)) return undefined;
  return `the link ${quote(target)} leads to no file of the skill`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // as it is spelled: a lone % is no escape
  }
}

function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_part, at) => parts.slice(0, at + 1).join("/"));
}

function rowsOutsideFences(body: string): { line: number; text: string }[] {
  let fence: string | undefined;
  return body.split(/\r?\n/u).flatMap((text, at) => {
    const mark = /^\s{0,3}(`{3,}|~{3,})/u.exec(text)?.[1];
    if (mark !== undefined && fence === undefined) fence = mark;
    else if (mark !== undefined && fence !== undefined && mark.startsWith(fence)) fence = undefined;
    else if (fence === undefined) return [{ line: at + 1, text }];
    return [];
  });
}
