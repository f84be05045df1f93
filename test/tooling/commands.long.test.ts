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

/** The files of the bundle that one command reads. */
function filesRead(wire: LiveWire, args: readonly string[], input = ""): string[] {
  const program = join(checkout, "bin", "deaddrop.js");
  const trace = join(wire.folder, "trace");
  const strace = ["-D", "-f", "-e", "trace=open,openat", "-o", trace, process.execPath, program];
  const { status, stderr } = spawnSync("strace", [...strace, ...args], {
    encoding: "utf8",
    // Else code comes out of the cache.
    env: { ...wire.env, NODE_DISABLE_COMPILE_CACHE: "1" },
    input,
  });
  expect(status, stderr).toBe(0);
  const opened = readFileSync(trace, "utf8").matchAll(/dist\/commands\/([\w-]+)\.c?js"/g);
  // A name ends with a hash of what the file holds.
  return [
    ...new Set([...opened].map(([, name = ""]) => name.replace(/-[\w-]{8}$/, ""))),
  ].toSorted();
}

const at = (wire: LiveWire) => ["--wire", wire.dir, "--as", "forge"];

describe.skipIf(spawnSync("strace", ["-V"]).status !== 0)(
  "the commands that `npm run build` makes",
  () => {
    it("send, inbox and status through a daemon read what is frequent, and nothing else", async () => {
      const wire = makeWire();
      const daemon = await wire.daemon("forge");
      for (const words of [["send", "hello", "a body"], ["inbox"], ["status"]]) {
        const files = filesRead(wire, [...words, ...at(wire)]);
        expect(files).toEqual(["frequent", "main", "rolldown-runtime"]);
      }
      await daemon.stop();
    });

    it("the hook reads one file of its own", async () => {
      const wire = makeWire();
      const daemon = await wire.daemon("forge");
      const event = JSON.stringify({ hook_event_name: "PostToolUse", session_id: "here" });
      expect(filesRead(wire, ["hook", "claude", ...at(wire)], event)).toEqual(["hook"]);
      // Its session is known now, so it did ask.
      const { sessions } = await wire.json<{ sessions: readonly object[] }>("forge", "status");
      expect(sessions).toMatchObject([{ tool: "claude", session: "here" }]);
      await daemon.stop();
    });

    it("the hook finds its agent by itself", async () => {
      const wire = makeWire();
      const event = JSON.stringify({ hook_event_name: "PostToolUse", session_id: "here" });
      expect(filesRead(wire, ["hook", "claude"], event)).toEqual(["hook"]);
    });

    it("hold no path of the machine that built them", () => {
      const folder = join(checkout, "dist", "commands");
      for (const name of readdirSync(folder)) {
        expect(readFileSync(join(folder, name), "latin1").includes(checkout), name).toBe(false);
      }
    });
  },
);

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
