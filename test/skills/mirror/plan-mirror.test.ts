import { describe, expect, it, test } from "vitest";
import type { MirrorMode } from "../../../src/skills/mirror/manifest.ts";
import type {
  DriftKind,
  LibraryFiles,
  Mirror,
  MirrorAction,
  MirrorEntry,
  MirrorPlan,
  MirrorWish,
  TreeEntry,
} from "../../../src/skills/mirror/mirror.ts";
import { planMirror } from "../../../src/skills/mirror/plan-mirror.ts";

/** One skill with two files, one of them executable. `1` is what the library has now, `0` was before. */
const FILES = new Map([
  ["SKILL.md", { sha256: "text 1", isExecutable: false }],
  ["scripts/run.sh", { sha256: "script 1", isExecutable: true }],
]);
const LIBRARY: LibraryFiles = new Map([["a", FILES]]);
const TEXT: TreeEntry = { kind: "file", sha256: "text 1", isExecutable: false };
const SCRIPT: TreeEntry = { kind: "file", sha256: "script 1", isExecutable: true };

const NOTHING: MirrorWish = {
  ...{ mode: "copy", force: false, keepsExtra: false, sharesFolders: false },
  held: new Set(),
};

type Tree = Readonly<Record<string, TreeEntry | undefined>>;
/** An equal copy, but for these entries; undefined: it is not there. */
function copy(changes: Tree = {}): MirrorEntry {
  const all: Tree = { "SKILL.md": TEXT, "scripts/run.sh": SCRIPT, ...changes };
  const tree = new Map(
    Object.entries(all).flatMap(([path, entry]) => (entry === undefined ? [] : [[path, entry]])),
  );
  return { kind: "folder", tree };
}
const link = (leads: "home" | "elsewhere" | "nowhere"): MirrorEntry => ({ kind: "link", leads });

/** What the manifest says that we wrote; undefined: nothing of ours is there. */
type Known = "now" | "before" | "link" | undefined;

function mirrorOf(entry: MirrorEntry | undefined, known: Known, mode: MirrorMode): Mirror {
  const written = {
    now: new Map([
      ["SKILL.md", "text 1"],
      ["scripts/run.sh", "script 1"],
    ]),
    before: new Map([
      ["SKILL.md", "text 0"],
      ["scripts/run.sh", "script 1"],
    ]),
    link: "link" as const,
  };
  return {
    entries: new Map(entry === undefined ? [] : [["a", entry]]),
    manifest:
      known === undefined ? undefined : { mode, skills: new Map([["a", written[known]] as const]) },
  };
}

/** Kinds of drift as `path kind`, with `kept` where somebody's work would be lost; and what is done. */
function shown({ drift, actions }: MirrorPlan): string[] {
  return [
    ...drift.map(({ path, kind, isKept }) => `${path ?? "."} ${kind}${isKept ? " kept" : ""}`),
    ...actions.map(doing),
  ];
}

function doing(action: MirrorAction): string {
  if (action.do === "clear" || action.do === "link") return `→ ${action.do}`;
  return `→ ${action.do} ${action.path}${action.do === "mode" ? ` ${action.to}` : ""}`;
}

const WRITE_ALL = ["→ write SKILL.md", "→ write scripts/run.sh"];
const EDITED: TreeEntry = { kind: "file", sha256: "somebody's", isExecutable: false };
const OLD: TreeEntry = { kind: "file", sha256: "text 0", isExecutable: false };
const BROKEN: TreeEntry = { kind: "link", isBroken: true };
const LINK: TreeEntry = { kind: "link", isBroken: false };

interface Row {
  readonly what: string;
  readonly entry: MirrorEntry | undefined;
  readonly known: Known;
  /** Without --force, and with it where that differs. */
  readonly says: readonly string[];
  readonly forced?: readonly string[];
}

const COPIES: readonly Row[] = [
  { what: "equal", entry: copy(), known: "now", says: [] },
  { what: "missing", entry: undefined, known: undefined, says: [". missing", ...WRITE_ALL] },
  { what: "missing, and we wrote it", entry: undefined, known: "now", says: [". missing", ...WRITE_ALL] },
  { what: "without a file", entry: copy({ "SKILL.md": undefined }), known: "now", says: ["SKILL.md missing", "→ write SKILL.md"] },
  { what: "outdated", entry: copy({ "SKILL.md": OLD }), known: "before", says: ["SKILL.md outdated", "→ write SKILL.md"] },
  { what: "edited", entry: copy({ "SKILL.md": EDITED }), known: "now", says: ["SKILL.md edited kept"], forced: ["SKILL.md edited", "→ write SKILL.md"] },
  { what: "edited, and the library changed", entry: copy({ "SKILL.md": EDITED }), known: "before", says: ["SKILL.md edited kept"], forced: ["SKILL.md edited", "→ write SKILL.md"] },
  { what: "with a file of somebody", entry: copy({ "notes.md": EDITED }), known: "now", says: ["notes.md extra kept"], forced: ["notes.md extra", "→ remove notes.md"] },
  { what: "not executable", entry: copy({ "scripts/run.sh": { ...SCRIPT, isExecutable: false } as TreeEntry }), known: "now", says: ["scripts/run.sh mode", "→ mode scripts/run.sh true"] },
  { what: "executable", entry: copy({ "SKILL.md": { ...TEXT, isExecutable: true } as TreeEntry }), known: "now", says: ["SKILL.md mode", "→ mode SKILL.md false"] },
  { what: "a broken link in the place of a file", entry: copy({ "SKILL.md": BROKEN }), known: "now", says: ["SKILL.md broken_link", "→ write SKILL.md"] },
  { what: "a broken link beside the files", entry: copy({ "old.md": BROKEN }), known: "now", says: ["old.md broken_link", "→ remove old.md"] },
  { what: "a link in the place of a file", entry: copy({ "SKILL.md": LINK }), known: "now", says: ["SKILL.md link kept"], forced: ["SKILL.md link", "→ write SKILL.md"] },
  { what: "a link in the place of a folder", entry: copy({ "scripts/run.sh": undefined, scripts: LINK }), known: "now", says: ["scripts link kept"], forced: ["scripts link", "→ remove scripts", "→ write scripts/run.sh"] },
  { what: "a broken link in the place of a folder", entry: copy({ "scripts/run.sh": undefined, scripts: BROKEN }), known: "now", says: ["scripts broken_link", "→ remove scripts", "→ write scripts/run.sh"] },
  { what: "a link to the library", entry: link("home"), known: undefined, says: [". form", "→ clear", ...WRITE_ALL] },
  { what: "a link to nothing", entry: link("nowhere"), known: undefined, says: [". broken_link", "→ clear", ...WRITE_ALL] },
  { what: "a link of somebody", entry: link("elsewhere"), known: undefined, says: [". link kept"], forced: [". link", "→ clear", ...WRITE_ALL] },
  { what: "a file in its place", entry: { kind: "other" }, known: undefined, says: [". foreign kept"], forced: [". foreign", "→ clear", ...WRITE_ALL] },
  { what: "a skill of somebody", entry: copy({ "SKILL.md": EDITED }), known: undefined, says: [". foreign kept"], forced: [". foreign", "→ clear", ...WRITE_ALL] },
  { what: "what a sync that was cut short has left", entry: copy({ "SKILL.md": undefined }), known: undefined, says: ["SKILL.md missing", "→ write SKILL.md"] },
]; // prettier-ignore

const RELINK = ["→ clear", "→ link"];
const LINKS: readonly Row[] = [
  { what: "equal", entry: link("home"), known: "link", says: [] },
  { what: "missing", entry: undefined, known: "link", says: [". missing", "→ link"] },
  { what: "a broken link", entry: link("nowhere"), known: "link", says: [". broken_link", ...RELINK] },
  { what: "a link to something else, and ours was there", entry: link("elsewhere"), known: "link", says: [". link", ...RELINK] },
  { what: "a link of somebody", entry: link("elsewhere"), known: undefined, says: [". link kept"], forced: [". link", ...RELINK] },
  { what: "an equal copy", entry: copy(), known: "now", says: [". form", ...RELINK] },
  { what: "an outdated copy", entry: copy({ "SKILL.md": OLD }), known: "before", says: [". form", ...RELINK] },
  { what: "an equal copy of somebody", entry: copy(), known: undefined, says: [". form", ...RELINK] },
  { what: "an edited copy", entry: copy({ "SKILL.md": EDITED }), known: "now", says: ["SKILL.md edited kept"], forced: ["SKILL.md edited", ...RELINK] },
  { what: "a copy with a file of somebody", entry: copy({ "notes.md": EDITED }), known: "now", says: ["notes.md edited kept"], forced: ["notes.md edited", ...RELINK] },
  { what: "a skill of somebody", entry: copy({ "SKILL.md": EDITED }), known: undefined, says: [". foreign kept"], forced: [". foreign", ...RELINK] },
  { what: "a file in its place", entry: { kind: "other" }, known: "link", says: [". foreign kept"], forced: [". foreign", ...RELINK] },
]; // prettier-ignore

describe.each<[MirrorMode, readonly Row[]]>([
  ["copy", COPIES],
  ["symlink", LINKS],
])("a mirror in mode %s", (mode, rows) => {
  it.each(rows)("that is $what", ({ entry, known, says, forced = says }) => {
    const mirror = mirrorOf(entry, known, mode);
    expect(shown(planMirror(LIBRARY, mirror, { ...NOTHING, mode }))).toEqual(says);
    expect(shown(planMirror(LIBRARY, mirror, { ...NOTHING, mode, force: true }))).toEqual(forced);
  });

  it("has every kind of drift in this table", () => {
    const kinds = new Set(rows.flatMap(({ says }) => says).flatMap(kindsIn));
    const all: readonly DriftKind[] =
      mode === "copy"
        ? [
            "missing",
            "outdated",
            "edited",
            "extra",
            "mode",
            "link",
            "broken_link",
            "form",
            "foreign",
          ]
        : // A link has no file of its own that could be outdated, extra or of another mode.
          ["missing", "edited", "link", "broken_link", "form", "foreign"];
    expect([...kinds].toSorted()).toEqual(all.toSorted());
  });

  it("is planned once: what was kept is kept, and nothing more is done after it", () => {
    for (const { entry, known } of rows) {
      const { drift, manifest } = planMirror(LIBRARY, mirrorOf(entry, known, mode), {
        ...NOTHING,
        mode,
      });
      if (drift.some(({ isKept }) => isKept)) continue;
      const equal = mode === "copy" ? copy() : link("home");
      const after = planMirror(
        LIBRARY,
        { entries: new Map([["a", equal]]), manifest },
        {
          ...NOTHING,
          mode,
        },
      );
      expect(after).toEqual({ drift: [], actions: [], manifest });
    }
  });
});

function kindsIn(row: string): string[] {
  const [, kind] = /^[^→]\S* (\w+)/u.exec(row) ?? [];
  return kind === undefined ? [] : [kind];
}

test.each<[string, MirrorEntry, Known, readonly string[]]>([
  ["a copy as we wrote it", copy(), "now", ["SKILL.md extra", "scripts/run.sh extra", "→ remove SKILL.md", "→ remove scripts/run.sh"]],
  ["an edited copy", copy({ "SKILL.md": EDITED }), "now", ["SKILL.md extra kept", "scripts/run.sh extra", "→ remove scripts/run.sh"]],
  ["our link", link("nowhere"), "link", [". extra", "→ clear"]],
  ["a link of somebody in the place of our copy", link("elsewhere"), "now", [". extra kept"]],
])("a skill that the library has no more: %s", (_what, entry, known, says) => {
  const mirror = mirrorOf(entry, known, "copy");
  expect(shown(planMirror(new Map(), mirror, NOTHING))).toEqual(says);
  // Its skill is only invalid just now, or people write here: nothing goes.
  const held = new Set(["a"]);
  expect(shown(planMirror(new Map(), mirror, { ...NOTHING, held }))).toEqual([]);
  expect(shown(planMirror(new Map(), mirror, { ...NOTHING, keepsExtra: true }))).toEqual([]);
}); // prettier-ignore

test("a skill that is not of the library and not ours is not looked at", () => {
  const mirror = mirrorOf(copy({ "SKILL.md": EDITED }), undefined, "copy");
  for (const force of [false, true]) {
    expect(planMirror(new Map(), mirror, { ...NOTHING, force })).toMatchObject({
      ...{ drift: [], actions: [] },
    });
  }
});
