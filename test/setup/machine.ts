import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setupHost, type SetupHost } from "../../src/setup/host.ts";

/** A machine of its own in a temporary folder: real files, nothing of the person who tests. */
export interface Machine {
  readonly root: string;
  readonly wireDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly host: SetupHost;
  /** Every file and folder below the root: its mode and content. */
  picture(): Record<string, string>;
  remove(): void;
}

const NOW_MS = Date.UTC(2026, 5, 1, 10);

export function newMachine(): Machine {
  const root = mkdtempSync(join(tmpdir(), "deaddrop-setup-"));
  const env = {
    PATH: process.env["PATH"],
    HOME: join(root, "home"),
    XDG_CONFIG_HOME: join(root, "config"),
    XDG_STATE_HOME: join(root, "state"),
  };
  return {
    root,
    wireDir: join(root, "_coordination"),
    env,
    host: setupHost(env, NOW_MS),
    picture: () => Object.fromEntries(pictureOf(root, root)),
    remove: () => {
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function pictureOf(root: string, folder: string): [string, string][] {
  return readdirSync(folder).flatMap((name): [string, string][] => {
    const path = join(folder, name);
    const stat = lstatSync(path);
    const mode = (stat.mode & 0o7777).toString(8);
    const shown = relative(root, path);
    if (stat.isDirectory()) return [[shown, mode], ...pictureOf(root, path)];
    return [[shown, `${mode} ${readFileSync(path).toString("base64")}`]];
  });
}
