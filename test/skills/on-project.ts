import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { expect, onTestFinished } from "vitest";
import type { Cli } from "../../src/cli/context.ts";
import { main } from "../../src/cli/main.ts";
import { openClient } from "../../src/client/open-client.ts";

/** A folder with a project in it, and a command line there. */
export interface Project {
  readonly folder: string;
  /** Ends well and says nothing on stderr; its standard output. */
  fine(...args: string[]): Promise<string>;
  run(...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }>;
  write(path: string, text: string, mode?: number): void;
  read(path: string): string;
  has(path: string): boolean;
  /** Every file and link with its content and mode. */
  all(): Record<string, string>;
}

export interface ProjectOptions {
  /** Lines that a person types. */
  readonly typed?: string;
  readonly env?: NodeJS.ProcessEnv;
}

export function makeProject({ typed, env }: ProjectOptions = {}): Project {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-skills-")));
  const folder = join(root, "project");
  mkdirSync(folder);
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const at = (path: string) => join(folder, path);
  const run = async (...args: string[]) => {
    const [out, err]: [string[], string[]] = [[], []];
    const isTTY = typed !== undefined;
    const cli: Cli = {
      env: { PATH: process.env["PATH"], HOME: join(root, "home"), ...env },
      cwd: folder,
      stdin: Object.assign(Readable.from([Buffer.from(typed ?? "")]), { isTTY }),
      stdout: { write: (text: string) => out.push(text) },
      stderr: { write: (text: string) => err.push(text), isTTY },
      exitCode: 0,
      clock: { nowMs: () => Date.parse("2026-11-25T12:00:00Z"), sleep: async () => undefined },
      openClient,
    };
    const exitCode = await main(args, cli);
    return { exitCode, stdout: out.join(""), stderr: err.join("") };
  };
  return {
    folder,
    run,
    fine: async (...args) => {
      const { exitCode, stdout, stderr } = await run(...args);
      expect([exitCode, stderr], `${args.join(" ")}\n${stdout}`).toEqual([0, ""]);
      return stdout;
    },
    write: (path, text, mode) => {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), text);
      if (mode !== undefined) chmodSync(at(path), mode);
    },
    read: (path) => readFileSync(at(path), "utf8"),
    has: (path) => existsSync(at(path)),
    all: () => filesIn(folder),
  };
}

function filesIn(folder: string, below = ""): Record<string, string> {
  const names = readdirSync(join(folder, below)).toSorted();
  return Object.fromEntries(
    names.flatMap((name) => {
      const path = below === "" ? name : `${below}/${name}`;
      const full = join(folder, path);
      const stat = lstatSync(full);
      if (stat.isSymbolicLink()) return [[path, `-> ${readlinkSync(full)}`]];
      if (stat.isDirectory()) return Object.entries(filesIn(folder, path));
      return [[path, `${(stat.mode & 0o777).toString(8)} ${readFileSync(full, "utf8")}`]];
    }),
  );
}

/** The text of a skill. */
export function skillText(name: string, body = "Do it.\n", more = ""): string {
  return `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\n${body}`;
}
