import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";

const checkout = resolve(import.meta.dirname, "../..");
afterEach(removeWires);

/** What one command has read and loaded, when it has ended. */
interface Needed {
  readonly code: number;
  /** The files of the bundle, and whether V8 took the cache of each. */
  readonly scripts: Readonly<Record<string, "taken" | "refused" | "none">>;
  readonly builtins: readonly string[];
}

const CACHE_OF = `
  const cacheOf = ({ cachedDataRejected: refused }) =>
    refused === undefined ? "none" : refused ? "refused" : "taken";
  const builtins = () => process.moduleLoadList
    .filter((each) => each.startsWith("NativeModule "))
    .map((each) => each.slice("NativeModule ".length));`;

const RUN = `${CACHE_OF}
  const [root, ...args] = process.argv.slice(1);
  const { main, scripts } = require(root + "/bin/commands.js").openCommands(root);
  main(args).then((code) => {
    const used = Object.fromEntries([...scripts].map(([name, script]) => [name, cacheOf(script)]));
    require("node:fs").writeSync(2, JSON.stringify({ code, scripts: used, builtins: builtins() }));
  });`;

const RUN_HOOK = `${CACHE_OF}
  const [root, ...args] = process.argv.slice(1);
  const { openHook } = require(root + "/bin/cached-script.js");
  const { main, script } = openHook(root + "/dist/commands/hook.js");
  process.on("exit", () => {
    const needed = { cache: cacheOf(script), builtins: builtins() };
    require("node:fs").writeSync(2, JSON.stringify(needed));
  });
  main(args);`;

/** Modules of Node that take long to load. */
const slow = (builtins: readonly string[]) =>
  builtins.filter((each) =>
    /^(crypto|child_process|os|perf_hooks|worker_threads|zlib)$/.test(each),
  );

function needed(wire: LiveWire, args: readonly string[], root = checkout): Needed {
  const { status, stderr } = spawnSync(process.execPath, ["-e", RUN, root, ...args], {
    encoding: "utf8",
    env: wire.env,
    input: "",
  });
  expect(status, stderr).toBe(0);
  return JSON.parse(stderr) as Needed;
}

const at = (wire: LiveWire) => ["--wire", wire.dir, "--as", "forge"];

describe("the commands that `npm run build` makes", () => {
  it("send, inbox and status through a daemon read one file, with its code cache, and load no crypto", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("forge");
    for (const words of [["send", "hello", "a body"], ["inbox"], ["status"]]) {
      const { code, scripts, builtins } = needed(wire, [...words, ...at(wire)]);
      expect({ code, scripts }).toEqual({ code: 0, scripts: { first: "taken" } });
      expect(builtins).toContain("net");
      expect(slow(builtins)).toEqual([]);
    }
    await daemon.stop();
  });

  it("the hook reads one file of its own, with its code cache, and loads no slow module of Node but net", async () => {
    const wire = makeWire();
    const daemon = await wire.daemon("forge");
    const asked = { hook_event_name: "PostToolUse", session_id: "here" };
    const of = { encoding: "utf8", env: wire.env, input: JSON.stringify(asked) } as const;
    const args = ["-e", RUN_HOOK, checkout, "claude", ...at(wire)];
    const { status, stderr } = spawnSync(process.execPath, args, of);
    expect(status, stderr).toBe(0);
    const { cache, builtins } = JSON.parse(stderr) as { cache: string; builtins: string[] };
    expect(cache).toBe("taken");
    expect(builtins).toContain("net");
    expect(slow(builtins)).toEqual([]);
    // Its session is known now, so it did ask.
    const { sessions } = await wire.json<{ sessions: readonly object[] }>("forge", "status");
    expect(sessions).toMatchObject([{ tool: "claude", session: "here" }]);
    await daemon.stop();
  });

  it("without a daemon the rest is read too, with its cache", () => {
    const wire = makeWire();
    const { code, scripts } = needed(wire, ["send", "hello", ...at(wire)]);
    expect({ code, scripts }).toEqual({ code: 0, scripts: { first: "taken", rest: "taken" } });
  });

  it("a cache that does not fit is passed over, and no command writes one", () => {
    const wire = makeWire();
    const root = join(wire.folder, "program");
    for (const part of ["bin", "dist", "schemas", "package.json", "tiers.json"]) {
      cpSync(join(checkout, part), join(root, part), { recursive: true });
    }
    symlinkSync(join(checkout, "node_modules"), join(root, "node_modules"));
    const commands = join(root, "dist", "commands");
    writeFileSync(join(commands, "first.js.cache"), "made by another");
    rmSync(join(commands, "rest.js.cache"));
    const home = join(wire.folder, "tmp");
    mkdirSync(home);
    const before = readdirSync(commands);
    const { code, scripts } = needed(
      { ...wire, env: { ...wire.env, TMPDIR: home } },
      ["send", "hello", ...at(wire)],
      root,
    );
    expect({ code, scripts }).toEqual({ code: 0, scripts: { first: "refused", rest: "none" } });
    expect([readdirSync(commands), readdirSync(home)]).toEqual([before, []]);
  });
});
