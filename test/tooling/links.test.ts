import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { anchorsIn, linksIn, pathsIn, type Link } from "./links.ts";
import { CHECKOUT, textFiles } from "./repository-files.ts";

const documents = textFiles(["."], /\.md$/);

/** What is wrong with a link of a document; undefined when it leads somewhere. */
function problem(from: string, { line, path, anchor }: Link): string | undefined {
  const to = path === "" ? from : join(dirname(from), path);
  const where = `${from}:${line} links to ${to}`;
  if (!existsSync(join(CHECKOUT, to))) return `${where}, which does not exist`;
  if (anchor === undefined) return undefined;
  if (!to.endsWith(".md")) return `${where}#${anchor}, which has no headings`;
  const anchors = anchorsIn(readFileSync(join(CHECKOUT, to), "utf8"));
  return anchors.has(anchor) ? undefined : `${where}#${anchor}, and there is no such heading`;
}

test("every relative link of every document leads somewhere", () => {
  const links = documents.flatMap(({ path, text }) =>
    linksIn(text).map((link) => ({ path, link })),
  );
  expect(links.length).toBeGreaterThan(50);
  expect(links.flatMap(({ path, link }) => problem(path, link) ?? [])).toEqual([]);
});

/** A test may be named without its ending, and a source file by its folder alone. */
const ENDINGS = ["", ".ts", ".test.ts", ".property.test.ts", ".long.test.ts"];
const FOLDERS = ["", "src", "src/agent/intake", "src/carriers", "test/support"];

function isPathOfOurs(path: string): boolean {
  return FOLDERS.some((folder) =>
    ENDINGS.some((ending) => existsSync(join(CHECKOUT, folder, `${path}${ending}`))),
  );
}

test("every path of ours that a document names in backticks is there", () => {
  const named = documents.flatMap(({ path: from, text }) =>
    pathsIn(text).map(({ line, path }) => ({ where: `${from}:${line}`, path })),
  );
  expect(named.length).toBeGreaterThan(150);
  const gone = named.filter(({ path }) => !isPathOfOurs(path));
  expect(gone.map(({ where, path }) => `${where} names ${path}, which does not exist`)).toEqual([]);
});

describe("the finder", () => {
  it("reads paths in backticks that say where something is, and no patterns", () => {
    const text =
      "`src/wire/json` and\n`test/a.ts:12`, `test/**`, `npx x src/a.ts`, src/b.ts, `lib/c`, `lib/d.ts`";
    expect(pathsIn(text)).toEqual([
      { line: 1, path: "src/wire/json" },
      { line: 2, path: "test/a.ts" },
      { line: 2, path: "lib/d.ts" },
    ]);
  });

  it("finds links that lead nowhere", () => {
    const at = (path: string, anchor?: string): Link => ({ line: 7, path, anchor });
    expect(problem("docs/spec/README.md", at("no-such.md"))).toBe(
      "docs/spec/README.md:7 links to docs/spec/no-such.md, which does not exist",
    );
    expect(problem("docs/spec/README.md", at("01-wire.md", "no-such"))).toBe(
      "docs/spec/README.md:7 links to docs/spec/01-wire.md#no-such, and there is no such heading",
    );
    expect(problem("docs/spec/README.md", at("01-wire.md", "11-the-folder"))).toBeUndefined();
    expect(problem("docs/spec/README.md", at("", "how-numbers-are-cited"))).toBeUndefined();
  });

  it("reads links of all forms, and none in code or to other hosts", () => {
    const text = [
      '[a](a.md) ![b](<b.png>) [c](../c.md#part "title")',
      "`[d](d.md)` ``[e](`e.md`)`` [f](https://example.org/f.md) [g](mailto:g@example.org)",
      "```md",
      "[h](h.md)",
      "```",
      "[i]: i.md",
      "[j](#part-2)",
    ].join("\n");
    expect(linksIn(text).map(({ line, path, anchor }) => [line, path, anchor])).toEqual([
      [1, "a.md", undefined],
      [1, "b.png", undefined],
      [1, "../c.md", "part"],
      [7, "", "part-2"],
      [6, "i.md", undefined],
    ]);
  });

  it("makes anchors as GitHub does", () => {
    const text =
      "# 1.1 The folder\n## `config.json`, and [more](x.md)\n## A b\n## A b\n```\n# no\n```\n";
    expect([...anchorsIn(text)]).toEqual(["11-the-folder", "configjson-and-more", "a-b", "a-b-1"]);
  });
});
