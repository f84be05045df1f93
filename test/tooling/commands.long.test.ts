import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import * as nodeModule from "node:module";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";

const checkout = resolve(import.meta.dirname, "../..");
afterEach(removeWires);

/** What one command has read and loaded, when it has ended. */
interface Needed {
  readonly code: number;
  /** The files of the bundle. */
  readonly files: readonly string[];
  readonly builtins: readonly string[];
}

/** The answer goes to standard error as the process ends: a hook ends it by itself. */
const RUN = `
  const [root, ...args] = process.argv.slice(1);
  process.argv.splice(1, Infinity, root + "/bin/deaddrop.js", ...args);
  process.on("exit", () => {
    const { basename, dirname } = require("node:path");
    const files = Object.keys(require.cache)
      .filter((each) => dirname(each) === root + "/dist/commands")
      .map((each) => basename(each));
    const builtins = process.moduleLoadList
      .filter((each) => each.startsWith("NativeModule "))
      .map((each) => each.slice("NativeModule ".length));
    const needed = { code: process.exitCode ?? 0, files, builtins };
    require("node:fs").writeSync(2, JSON.stringify(needed));
  });
  require(root + "/bin/deaddrop.js");`;

/** Modules of Node that take long to load. */
const slow = (builtins: readonly string[]) =>
  builtins.filter((each) =>
    /^(crypto|child_process|os|perf_hooks|worker_threads|zlib)$/.test(each),
  );

function needed(wire: LiveWire, args: readonly string[], input = ""): Needed {
  const { status, stderr } = spawnSync(process.execPath, ["-e", RUN, checkout, ...args], {
    encoding: "utf8",
    env: wire.env,
    input,
  });
  expect(status, stderr).toBe(0);
  return JSON.parse(stderr) as Needed;
}

const at = (wire: LiveWire) => ["--wire", wire.dir, "--as", "forge"];

describe("the commands that `npm run build` makes", () => {
  it("send, inbox and status through a daemon read one file, and load no crypto", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("forge");
    for (const words of [["send", "hello", "a body"], ["inbox"], ["status"]]) {
      const { code, files, builtins } = needed(wire, [...words, ...at(wire)]);
      expect({ code, files }).toEqual({ code: 0, files: ["first.js"] });
      expect(builtins).toContain("net");
      expect(slow(builtins)).toEqual([]);
    }
    await daemon.stop();
  });

  it("the hook reads one file of its own, and loads no slow module of Node but net", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("forge");
    const event = JSON.stringify({ hook_event_name: "PostToolUse", session_id: "here" });
    const { files, builtins } = needed(wire, ["hook", "claude", ...at(wire)], event);
    expect(files).toEqual(["hook.js"]);
    expect(builtins).toContain("net");
    expect(slow(builtins)).toEqual([]);
    // Its session is known now, so it did ask.
    const { sessions } = await wire.json<{ sessions: readonly object[] }>("forge", "status");
    expect(sessions).toMatchObject([{ tool: "claude", session: "here" }]);
    await daemon.stop();
  });

  it("without a daemon the rest is read too", () => {
    const wire = makeWire();
    const { code, files } = needed(wire, ["send", "hello", ...at(wire)]);
    expect({ code, files: files.toSorted() }).toEqual({ code: 0, files: ["first.js", "rest.js"] });
  });

  it("hold no path of the machine that built them", () => {
    const folder = join(checkout, "dist", "commands");
    for (const name of readdirSync(folder)) {
      expect(readFileSync(join(folder, name), "latin1").includes(checkout), name).toBe(false);
    }
  });
});

describe("what Node.js compiles of commands", () => {
  const program = join(checkout, "bin", "deaddrop.js");
  const isKept = "enableCompileCache" in nodeModule;

  function runWith(env: NodeJS.ProcessEnv): void {
    const { status, stderr } = spawnSync(process.execPath, [program, "--version"], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], ...env },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  }

  it("is kept in a private folder of this user, where Node.js can keep it", () => {
    const { folder } = makeWire();
    runWith({ HOME: folder });
    const cache = join(folder, ".cache", "deaddrop");
    expect(existsSync(cache)).toBe(isKept);
    if (isKept) {
      expect(statSync(cache).mode & 0o777).toBe(0o700);
      expect(readdirSync(cache)).toHaveLength(1);
    }
  });

  it("is kept nowhere in a folder that others can write, behind a link, or below a relative HOME", () => {
    const { folder } = makeWire();
    const cache = join(folder, "open", "deaddrop");
    mkdirSync(cache, { recursive: true });
    chmodSync(cache, 0o777);
    runWith({ XDG_CACHE_HOME: join(folder, "open") });
    expect(readdirSync(cache)).toEqual([]);

    const [target, linked] = [join(folder, "target"), join(folder, "linked")];
    for (const each of [target, linked]) mkdirSync(each);
    symlinkSync(target, join(linked, "deaddrop"));
    runWith({ XDG_CACHE_HOME: linked });
    expect(readdirSync(target)).toEqual([]);

    runWith({ HOME: "relative" });
    expect(existsSync(join(process.cwd(), "relative"))).toBe(false);
  });
});
