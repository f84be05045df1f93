import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const checkout = resolve(import.meta.dirname, "../..");

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

function run(folder: string, command: string, ...args: readonly string[]): string {
  const { PATH, HOME } = process.env;
  const ended = spawnSync(command, args, { cwd: folder, encoding: "utf8", env: { PATH, HOME } });
  expect(ended.status, `${command}: ${ended.stderr}`).toBe(0);
  return ended.stdout;
}

/** The documents that messages and documents of the package send their reader to. */
function documentsNamed(): string[] {
  const texts = [
    ...sourcesBelow("src").map((path) => readFileSync(join(checkout, path), "utf8")),
    ...["README.md", "SECURITY.md"].map((path) => readFileSync(join(checkout, path), "utf8")),
  ];
  const named = texts.flatMap((text) => text.match(/\bdocs\/[\w./-]+\.md\b/g) ?? []);
  expect(named).toContain("docs/backup.md");
  return [...new Set(named)];
}

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(checkout, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));
}

test("a clone that is not built, or lacks its modules, says what to run", () => {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-clone-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  for (const name of ["bin", "package.json"]) {
    cpSync(join(checkout, name), join(folder, name), { recursive: true });
  }
  mkdirSync(join(folder, "src"));
  const say = () =>
    spawnSync(process.execPath, [join(folder, "bin", "deaddrop.js"), "status"], {
      encoding: "utf8",
    });
  const expected = {
    status: 2,
    stdout: "",
    stderr: `deaddrop: ${realpathSync(folder)}/ is not built\n  run \`npm ci && npm run build\` there\n`,
  };
  expect(say()).toMatchObject(expected);
  cpSync(join(checkout, "dist"), join(folder, "dist"), { recursive: true });
  expect(say()).toMatchObject(expected);
  symlinkSync(join(checkout, "node_modules"), join(folder, "node_modules"));
  expect(say().stderr).not.toContain("is not built");
});

test("the packed package holds what runs, nothing else, and runs", () => {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-package-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const answer = run(
    checkout,
    "npm",
    "pack",
    "--ignore-scripts",
    "--json",
    "--pack-destination",
    folder,
  );
  const packed = Object.values(JSON.parse(answer) as Record<string, Packed>)[0];
  const paths = packed?.files.map(({ path }) => path) ?? [];
  expect(paths).toEqual(
    expect.arrayContaining([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "bin/deaddrop.js",
      "dist/cli/main.js",
      "dist/index.d.ts",
      "dist/index.js",
      "install.sh",
      "launchd/dev.deaddrop.daemon.plist",
      "package.json",
      "schemas/message.json",
      "systemd/deaddrop@.service",
      "tiers.json",
    ]),
  );
  const allowed = /^(agent|bin|dist|docs|plugins|schemas|skills|systemd|launchd)\/|^[\w.]+$/;
  expect(documentsNamed().filter((name) => !paths.includes(name))).toEqual([]);
  expect(paths.filter((path) => !allowed.test(path) || path.endsWith(".map"))).toEqual([]);

  run(folder, "tar", "-xzf", packed?.filename ?? "");
  const unpacked = join(folder, "package");
  symlinkSync(join(checkout, "node_modules"), join(unpacked, "node_modules"));
  const { version } = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8")) as {
    version: string;
  };
  expect(run(unpacked, process.execPath, "bin/deaddrop.js", "--version").trim()).toBe(version);
  const importing = 'import("deaddrop").then((face) => console.log(Object.keys(face).length > 0))';
  expect(run(unpacked, process.execPath, "-e", importing).trim()).toBe("true");
});
