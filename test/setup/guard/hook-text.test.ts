import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { GUARD_HOOKS, hookText, recogniseHook } from "../../../src/setup/guard/hook-text.ts";

const PROGRAM = {
  node: "/opt/it's/node",
  bin: "/opt/a b/deaddrop.js",
  settings: "/home/ada/$HOME/settings.json",
};

test.each(GUARD_HOOKS)("%s is a script of sh, and recognised as ours", (hook) => {
  for (const folder of [undefined, "/repo/made\nfor/hooks"]) {
    const text = hookText(hook, PROGRAM, folder);
    expect(spawnSync("sh", ["-n"], { input: text }).stderr.toString()).toBe("");
    expect(recogniseHook(text)).toEqual({ is: "ours", madeFolder: folder });
    expect(recogniseHook(`${text}echo more\n`)).toEqual({ is: "changed" });
    expect(recogniseHook(text.replace("/opt/a b", "/opt/b"))).toEqual({ is: "changed" });
  }
});

test("another hook is none of ours", () => {
  for (const text of ["", "#!/bin/sh\n", "#!/bin/sh\nexit 0\n", "\0\u0001"]) {
    expect(recogniseHook(text)).toEqual({ is: "foreign" });
  }
});
