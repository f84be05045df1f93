import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findHandle, findWire, processCli, type Cli } from "../../src/cli/context.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "deaddrop-context-"));
  mkdirSync(join(root, "project/_coordination/archive"), { recursive: true });
  mkdirSync(join(root, "project/src/deep"), { recursive: true });
  mkdirSync(join(root, "other"));
  for (const [home, handles] of [
    ["one", ["forge"]],
    ["two", ["scribe", "forge"]],
  ] as const) {
    const folder = join(root, home, "inter-agent-deaddrop");
    mkdirSync(join(folder, "7c3a91e2b4d05f16"), { recursive: true });
    for (const handle of handles) {
      writeFileSync(join(folder, `${handle}.key`), "");
      writeFileSync(join(folder, `${handle}.pub.json`), "");
    }
  }
});
afterAll(() => rmSync(root, { recursive: true }));

function at(cwd: string, env: NodeJS.ProcessEnv = {}): Cli {
  // Of the user who runs the tests no wire and no identity counts.
  return { ...processCli(), cwd: join(root, cwd), env: { HOME: join(root, "nobody"), ...env } };
}

describe("findWire", () => {
  it("takes --wire, then DEADDROP_WIRE, then the nearest _coordination/ upward", () => {
    const env = { DEADDROP_WIRE: join(root, "other") };
    expect(findWire(at("project", env), { wire: "src" })).toBe(join(root, "project/src"));
    expect(findWire(at("project", env), {})).toBe(join(root, "other"));
    expect(findWire(at("project/src/deep"), {})).toBe(join(root, "project/_coordination"));
    expect(findWire(at("project"), {})).toBe(join(root, "project/_coordination"));
  });

  it("finds the wire from inside it", () => {
    const wire = join(root, "project/_coordination");
    expect(findWire(at("project/_coordination/archive"), {})).toBe(wire);
    expect(findWire(at("project/_coordination"), {})).toBe(wire);
  });

  it("says which of the names was wrong", () => {
    expect(() => findWire(at("project"), { wire: "nowhere" })).toThrow(
      expect.objectContaining({
        code: "config",
        exitCode: 2,
        hint: expect.stringMatching("^--wire"),
      }),
    );
    expect(() => findWire(at("project", { DEADDROP_WIRE: "nowhere" }), {})).toThrow(
      expect.objectContaining({ hint: expect.stringMatching("^DEADDROP_WIRE") }),
    );
    expect(() => findWire(at("other"), {})).toThrow(/no wire here/);
  });
});

describe("findHandle", () => {
  const home = (name: string) => ({ XDG_CONFIG_HOME: join(root, name) });

  it("takes --as, then DEADDROP_AS, then the only identity on this machine", () => {
    const env = { ...home("one"), DEADDROP_AS: "scribe" };
    expect(findHandle(at("other", env), { as: "mason" })).toBe("mason");
    expect(findHandle(at("other", env), {})).toBe("scribe");
    expect(findHandle(at("other", home("one")), {})).toBe("forge");
  });

  it("does not guess", () => {
    expect(() => findHandle(at("other", home("two")), {})).toThrow(/forge, scribe/);
    expect(() => findHandle(at("other", home("none")), {})).toThrow(
      expect.objectContaining({ code: "config", message: "no identity on this machine" }),
    );
  });
});
