import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { wireAbove } from "../../src/setup/here/wire-above.ts";
import { placesFrom } from "../../src/storage/paths.ts";

const SOMEBODY = 12_345;
const NOT_ROOT =
  process.getuid?.() === 0 ? undefined : "only root can give a folder to another user";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-search-")));
  folder("home");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function folder(name: string, mode = 0o755): string {
  const path = join(root, name);
  mkdirSync(path, { recursive: true });
  chmodSync(path, mode);
  return path;
}

function found(from: string, home = "home"): string | undefined {
  const path = join(root, home);
  return wireAbove(join(root, from), path, placesFrom({}, path));
}

/** An agent of this user has been on the wire in that folder. */
function joined(wire: string): void {
  const agentFolder = folder("home/.config/inter-agent-deaddrop/7c3a91e2b4d05f16/forge");
  writeFileSync(join(agentFolder, "wire.json"), JSON.stringify({ wire_dir: join(root, wire) }));
}

function refusal(why: string): unknown {
  const wire = join(root, "project/_coordination");
  const refused: unknown = expect.objectContaining({
    code: "config",
    message: `${wire}: ${why}, and you have not joined it`,
    hint: `if it is the wire that you mean, name it once: --wire ${wire}`,
  });
  return refused;
}

describe("a folder that is found upward counts", () => {
  it("when it is this user's own and nobody else may write there", () => {
    const wire = folder("project/_coordination");
    folder("project/src");
    expect(found("project/src")).toBe(wire);
    expect(found("project/_coordination")).toBe(wire);
  });

  it.for([0o775, 0o757, 0o1777])("not when others may write there, until it is joined", (mode) => {
    const wire = folder("project/_coordination", mode);
    expect(() => found("project")).toThrow(refusal("other users can write there"));
    joined("project/_coordination");
    expect(found("project")).toBe(wire);
  });

  it("not when it is another user's, until it is joined", (context) => {
    context.skip(NOT_ROOT !== undefined, NOT_ROOT);
    const wire = folder("project/_coordination");
    chownSync(wire, SOMEBODY, SOMEBODY);
    expect(() => found("project")).toThrow(refusal(`it belongs to user ${SOMEBODY}`));
    joined("project/_coordination");
    expect(found("project")).toBe(wire);
  });

  it("not through another user's link, even to a wire of our own", (context) => {
    context.skip(NOT_ROOT !== undefined, NOT_ROOT);
    const own = folder("own/_coordination");
    folder("project");
    joined("own/_coordination");
    const link = join(root, "project/_coordination");
    symlinkSync(own, link);
    expect(found("project")).toBe(link);
    lchownSync(link, SOMEBODY, SOMEBODY);
    expect(() => found("project")).toThrow(
      refusal(`it is a link that belongs to user ${SOMEBODY}`),
    );
  });

  it("never past one that does not: the nearest is named", (context) => {
    context.skip(NOT_ROOT !== undefined, NOT_ROOT);
    folder("_coordination");
    chownSync(folder("project/_coordination"), SOMEBODY, SOMEBODY);
    expect(() => found("project")).toThrow(refusal(`it belongs to user ${SOMEBODY}`));
  });
});

describe("the search ends", () => {
  it("at the top of a git work tree, which is looked at", () => {
    const outer = folder("_coordination");
    folder("project/.git");
    folder("project/src");
    expect(found("project/src")).toBeUndefined();
    expect(found("")).toBe(outer);
    const wire = folder("project/_coordination");
    expect(found("project/src")).toBe(wire);
  });

  it("for a linked work tree at its top, and looks beside the main one too", () => {
    const git = (...args: string[]): void => {
      const { status, stderr } = spawnSync("git", ["-C", join(root, "main"), ...args]);
      if (status !== 0) throw new Error(String(stderr));
    };
    folder("main");
    git("init", "--quiet");
    const author = ["-c", "user.name=x", "-c", "user.email=x@y"];
    git(...author, "commit", "--quiet", "--allow-empty", "--message", "begin");
    git("worktree", "add", "--quiet", join(root, "linked"));
    folder("_coordination");
    folder("linked/src");
    expect(found("linked/src")).toBeUndefined();
    const wire = folder("main/_coordination");
    expect(found("linked/src")).toBe(wire);
    expect(found("linked/src")).not.toBe(folder("linked/_coordination"));
    expect(found("linked/src")).toBe(join(root, "linked/_coordination"));
  });

  it("at a work tree that another user claims to be linked", (context) => {
    context.skip(NOT_ROOT !== undefined, NOT_ROOT);
    folder("main/.git/worktrees/x");
    folder("main/_coordination");
    writeFileSync(join(root, "main/.git/worktrees/x/commondir"), "../..\n");
    folder("linked");
    const pointer = join(root, "linked/.git");
    writeFileSync(pointer, `gitdir: ${join(root, "main/.git/worktrees/x")}\n`);
    expect(found("linked")).toBe(join(root, "main/_coordination"));
    chownSync(pointer, SOMEBODY, SOMEBODY);
    expect(found("linked")).toBeUndefined();
  });

  it("at the home folder, which is looked at", () => {
    folder("_coordination");
    folder("home/project");
    expect(found("home/project")).toBeUndefined();
    const wire = folder("home/_coordination");
    expect(found("home/project")).toBe(wire);
    symlinkSync(join(root, "home"), join(root, "home-link"));
    rmSync(wire, { recursive: true });
    expect(found("home/project", "home-link")).toBeUndefined();
  });

  it("where another filesystem begins", (context) => {
    folder("_coordination");
    const mounted = folder("mounted");
    const { status } = spawnSync("mount", ["-t", "tmpfs", "none", mounted]);
    context.skip(status !== 0, "no filesystem can be mounted here");
    try {
      folder("mounted/deep");
      expect(found("mounted/deep")).toBeUndefined();
    } finally {
      spawnSync("umount", [mounted]);
    }
    expect(found("mounted")).toBe(join(root, "_coordination"));
  });
});
