import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { jsonLines, type Line } from "../support/processes/live-wire.ts";
import {
  BIN,
  killChildren,
  start,
  until,
  type Ended,
  type Started,
} from "../support/processes/real-processes.ts";

const SCRIPT = join(dirname(dirname(BIN)), "install.sh");

let folder: string;
let wire: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-install-e2e-"));
  wire = join(folder, "project", "_coordination");
  for (const name of ["forge", "scribe"]) mkdirSync(join(folder, name));
});
afterEach(async () => {
  await killChildren();
  rmSync(folder, { recursive: true, force: true });
});

/** A shell of that person: a home of its own, and no service manager. */
function shell(who: string, ...command: readonly string[]): Started {
  const home = join(folder, who);
  const env = { PATH: `${home}/.local/bin:${process.env["PATH"] ?? ""}`, HOME: home, TZ: "UTC" };
  const [program = "", ...args] = command;
  return start(program, args, { env, cwd: home, input: "" });
}

async function install(who: string, ...args: readonly string[]): Promise<Ended> {
  return shell(who, "sh", SCRIPT, ...args).ended;
}

async function installs(who: string, ...args: readonly string[]): Promise<string> {
  const ended = await install(who, ...args);
  expect(ended, args.join(" ")).toMatchObject({ code: 0, stderr: "" });
  return ended.stdout;
}

/** A command line as it was printed, with more words; what it says when it is run. */
async function copied(who: string, line: string, more = ""): Promise<string> {
  const ended = await shell(who, "sh", "-c", `${line} ${more}`).ended;
  expect(ended, line).toMatchObject({ code: 0, stderr: "" });
  return ended.stdout;
}

function printed(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`no ${pattern} in:\n${text}`);
  return found;
}

function tree(at: string): string[] {
  return readdirSync(at, { recursive: true, encoding: "utf8" }).toSorted();
}

const keyOf = (who: string): string =>
  join(folder, who, ".config/inter-agent-deaddrop", `${who}.key`);
const programOf = (who: string): string => join(folder, who, ".local/share/deaddrop/app");
const initArgs = (): string[] => {
  const handles = ["--my-handle", "forge", "--peer-handle", "scribe"];
  return ["init", ...handles, "--wire", wire];
};
const joinArgs = (): string[] => {
  const handles = ["--my-handle", "scribe", "--peer-handle", "forge"];
  return ["join", wire, ...handles];
};

it("two people set a wire up by what is printed alone, upgrade, and leave", async () => {
  const before = tree(folder);
  const planned = await installs("forge", ...initArgs(), "--dry-run");
  expect(planned).toMatch(/^would +make the key .*forge\.key$/m);
  expect(planned).toContain(`service install --wire ${wire} --as forge`);
  expect(tree(folder)).toEqual(before);

  const made = await installs("forge", ...initArgs());
  const joined = await installs("scribe", ...joinArgs());
  for (const [who, text] of [
    ["forge", made],
    ["scribe", joined],
  ] as const) {
    const key = readFileSync(keyOf(who));
    // Whoever was first looks at the other's card now; after that nothing is left to do.
    const args = who === "forge" ? initArgs() : joinArgs();
    const second = await installs(who, ...args);
    expect(second).not.toMatch(/^done +(?! |show the card)/m);
    expect(await installs(who, ...args)).not.toMatch(/^done /m);
    expect(readFileSync(keyOf(who))).toEqual(key);
    expect(text).toMatch(/^done +make the key /m);
    expect(text).toContain("no systemd user manager answers here");
  }

  // Each compares what the other's screen shows, and copies the command.
  const texts = { forge: made, scribe: joined };
  const shown = { forge: "", scribe: "" };
  for (const who of ["forge", "scribe", "forge", "scribe"] as const) {
    shown[who] = await copied(who, printed(texts[who], /^ {2}(deaddrop trust sas .*)$/m));
  }
  for (const [who, other] of [
    ["forge", "scribe"],
    ["scribe", "forge"],
  ] as const) {
    const verify = printed(shown[who], /^ {2}(deaddrop trust verify .*)$/m);
    const read = printed(shown[other], /^(\d{6}) {2}with /m);
    const said = await copied(who, verify.replace("<digits>", read), "--yes --reason phone");
    expect(said).toContain(`${other} is VERIFIED`);
  }

  const daemons = [];
  for (const [who, text] of [
    ["forge", made],
    ["scribe", joined],
  ] as const) {
    const line = printed(text, /^run it in the foreground: (.*)$/m);
    daemons.push(shell(who, "sh", "-c", `exec ${line}`));
  }
  for (const log of ["forge_to_scribe.jsonl", "scribe_to_forge.jsonl"]) {
    const [first] = await until(`the first line of ${log}`, () => {
      const lines = jsonLines(readFileSync(join(wire, log), "utf8")) as Line[];
      return lines.length > 0 && lines;
    });
    expect(first).toMatchObject({ type: "heartbeat" });
    expect(first?.["signature"]).toMatch(/^[A-Za-z0-9+/]{86}==$/);
  }
  await until("each has heard the other", async () => {
    const peers = ["forge", "scribe"].map((who) =>
      copied(who, `deaddrop peers --wire ${wire} --json`),
    );
    return (await Promise.all(peers)).every((text) => /"presence": ?"online"/.test(text));
  });

  const hello = printed(made, /^ {2}(deaddrop send hello .*)$/m);
  expect(await copied("forge", hello)).toMatch(/^sent /);
  const id = await until("hello has come", async () => {
    const inbox = jsonLines(await copied("scribe", `deaddrop inbox --wire ${wire} --json`));
    return (inbox as Line[])[0]?.event_id;
  });
  await copied("scribe", `deaddrop ack ${id} --wire ${wire}`);
  const sent = printed(made, /^ {2}(deaddrop sent .*)$/m);
  await until("sent shows the ack", async () => (await copied("forge", sent)).includes("answered"));
  const service = printed(made, /^ {2}(deaddrop service install .*)$/m);
  const unmanaged = await shell("forge", "sh", "-c", service).ended;
  expect(unmanaged).toMatchObject({ code: 1, stderr: "" });
  expect(unmanaged.stdout).toContain("run it in the foreground: ");

  const key = readFileSync(keyOf("forge"));
  expect(await installs("forge", "upgrade")).toMatch(
    /^upgraded to \d.*\nnote: the daemon of forge was not started by a service/m,
  );
  const refused = await install("forge", "uninstall");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("the daemon of forge runs");
  expect(existsSync(programOf("forge"))).toBe(true);
  for (const daemon of daemons) {
    daemon.child.kill("SIGTERM");
    expect(await daemon.ended).toMatchObject({ code: 0, stderr: "" });
  }

  const log = readFileSync(join(wire, "forge_to_scribe.jsonl"));
  // What the package has, the installed program has.
  const source = JSON.parse(readFileSync(join(dirname(SCRIPT), "package.json"), "utf8")) as {
    files: string[];
  };
  const app = join(folder, "forge", ".local/share/deaddrop/app");
  const parts = source.files.filter((name) => !/^!|^install\.sh$|^CHANGELOG/u.test(name));
  expect(parts.filter((name) => !existsSync(join(app, name)))).toEqual([]);
  const project = dirname(wire);
  await copied("forge", `cd '${project}' && deaddrop integrate gemini --yes`);
  expect(existsSync(join(project, ".gemini"))).toBe(true);
  const kept = await installs("forge", "uninstall");
  expect(kept).toMatch(/^gemini: taken out, \d files changed$/m);
  expect(existsSync(join(project, ".gemini"))).toBe(false);
  expect(kept).toMatch(/^removed: the program; keys, pins and inboxes stay in /m);
  expect([programOf("forge"), keyOf("forge")].map((path) => existsSync(path))).toEqual([
    false,
    true,
  ]);
  await installs("forge", ...initArgs());
  expect(readFileSync(keyOf("forge"))).toEqual(key);

  expect(await installs("scribe", "uninstall", "--purge", "--yes")).toMatch(/^removed: .* keys/m);
  expect(existsSync(keyOf("scribe"))).toBe(false);
  expect(readFileSync(join(wire, "forge_to_scribe.jsonl"))).toEqual(log);
  expect(existsSync(join(wire, "scribe_to_forge.jsonl"))).toBe(true);
});

it("purging wants the word typed on a terminal", async ({ skip }) => {
  const none = spawnSync("script", ["--version"]).error !== undefined;
  skip(none, "script(1), which makes a terminal, is not installed here");
  await installs("forge", ...initArgs());
  const typed = (word: string): Promise<Ended> => {
    const env = { PATH: process.env["PATH"], HOME: join(folder, "forge") };
    const line = ["-qec", `sh '${SCRIPT}' uninstall --purge`, "/dev/null"];
    return start("script", line, { env, cwd: folder, input: `${word}\n` }).ended;
  };
  const refused = await typed("yes");
  expect(refused.code).toBe(1);
  expect(refused.stdout).toContain("nothing was removed");
  expect([programOf("forge"), keyOf("forge")].map((path) => existsSync(path))).toEqual([
    true,
    true,
  ]);
  expect((await typed("purge")).code).toBe(0);
  expect([programOf("forge"), keyOf("forge")].map((path) => existsSync(path))).toEqual([
    false,
    false,
  ]);
});
