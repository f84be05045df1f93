import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { desktopCommand, hasDesktop, reachSession } from "../../../src/daemon/sessions/wakers.ts";

const folders: string[] = [];
afterEach(() => {
  vi.unstubAllEnvs();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const SESSION = { tool: "gemini", session: "s" } as const;

test("a desktop is there where the environment names one", () => {
  expect(hasDesktop({ DISPLAY: ":0" }, "linux")).toBe(true);
  expect(hasDesktop({ WAYLAND_DISPLAY: "wayland-0" }, "linux")).toBe(true);
  expect(hasDesktop({ HOME: "/root" }, "linux")).toBe(false);
  expect(hasDesktop({}, "darwin")).toBe(true);
});

test("the line is one argument, and no option", () => {
  expect(desktopCommand("linux", "--help").slice(-3)).toEqual(["--", "deaddrop", "--help"]);
  expect(desktopCommand("darwin", 'a" & quit').at(-1)).toBe('a" & quit');
});

test.runIf(process.platform === "linux")(
  "a program is run that shows it, if there is one",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "desktop-"));
    folders.push(folder);
    vi.stubEnv("PATH", folder);
    const show = () => reachSession({ by: "desktop" }, SESSION, "forge has 1 unread message");
    expect(await show()).toBe(false);
    const shown = join(folder, "shown");
    const program = join(folder, "notify-send");
    writeFileSync(program, `#!/bin/sh\nprintf '%s|' "$@" > ${shown}\n`);
    chmodSync(program, 0o755);
    vi.stubEnv("PATH", [folder, "/bin", "/usr/bin"].join(delimiter));
    expect(await show()).toBe(true);
    expect(readFileSync(shown, "utf8")).toBe(
      "--app-name=deaddrop|--|deaddrop|forge has 1 unread message|",
    );
  },
);
