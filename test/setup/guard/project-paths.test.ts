import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { absolutePath, projectFrom, projectPath } from "../../../src/setup/guard/project-paths.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-paths-")));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function folder(...names: readonly string[]): string {
  const path = join(root, ...names);
  mkdirSync(path, { recursive: true });
  return path;
}

/** How the project names a path that is given in a folder. */
function named(wireDir: string, from: string, path: string): string | undefined {
  return projectPath(projectFrom(wireDir, from), absolutePath(from, path));
}

describe("a path of the project", () => {
  test("is relative to the folder that holds the wire, without git too", () => {
    const wire = folder("p", "_coordination");
    const src = folder("p", "src");
    expect(named(wire, src, "a.ts")).toBe("src/a.ts");
    expect(named(wire, src, "../not/there/yet.ts")).toBe("not/there/yet.ts");
    expect(named(wire, src, "../..")).toBeUndefined();
    expect(named(wire, src, "../../other")).toBeUndefined();
    // Not above it: only its name begins with two dots.
    expect(named(wire, src, "../..a")).toBe("..a");
  });

  test("is relative to the top of the work tree where the wire is elsewhere", () => {
    const wire = folder("elsewhere", "_coordination");
    folder("p", ".git");
    expect(named(wire, folder("p", "src"), "a.ts")).toBe("src/a.ts");
  });

  test("of a submodule begins at the folder that holds the wire", () => {
    const wire = folder("p", "_coordination");
    folder("p", ".git", "modules", "lib");
    const sub = folder("p", "lib");
    writeFileSync(join(sub, ".git"), "gitdir: ../.git/modules/lib\n");
    expect(named(wire, sub, "a.ts")).toBe("lib/a.ts");
  });

  test.each([["p/linked"], ["elsewhere"]])(
    "of a linked work tree in %s is the path in the main one",
    (place) => {
      const wire = folder("p", "_coordination");
      const own = folder("p", ".git", "worktrees", "x");
      writeFileSync(join(own, "commondir"), "../..\n");
      const linked = folder(place);
      writeFileSync(join(linked, ".git"), `gitdir: ${own}\n`);
      expect(named(wire, folder(place, "src"), "a.ts")).toBe("src/a.ts");
    },
  );

  test("is looked up through links, but for a link that is meant itself", () => {
    const wire = folder("p", "_coordination");
    folder("p", "src");
    symlinkSync("src", join(root, "p", "link"));
    expect(named(wire, join(root, "p"), "link/a.ts")).toBe("src/a.ts");
    expect(named(wire, join(root, "p"), "link")).toBe("link");
  });
});
