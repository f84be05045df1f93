import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { composeLine } from "../../src/wire/compose.ts";
import { makeSigner } from "../../src/wire/signature.ts";
import { BY_FLAGS } from "../cli/on-machine.ts";
import { jsonLines, makeWire, removeWires, WIRE_ID } from "../support/processes/live-wire.ts";
import type { LiveWire } from "../support/processes/live-wire.ts";
import { BIN, start, until, type Ended } from "../support/processes/real-processes.ts";

// Real repositories, real hooks, real daemons: what git lets through and what it does not.

const folders: string[] = [];
afterEach(async () => {
  await removeWires();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Outside of the folder that holds the wire. */
function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-guard-")));
  folders.push(folder);
  return folder;
}

const DOMAINS = {
  domains: {
    api: { owner: "scribe", paths: ["src/api/**"] },
    core: { owner: "forge", paths: ["src/core/**"] },
  },
};

/** A repository of forge beside or around a wire. */
class Project {
  readonly wire: LiveWire;
  readonly top: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(wire: LiveWire, top: string) {
    this.wire = wire;
    this.top = top;
    this.env = {
      ...wire.env,
      ...{ DEADDROP_AS: "forge", DEADDROP_WIRE: wire.dir, GIT_CONFIG_NOSYSTEM: "1" },
      ...{ GIT_AUTHOR_NAME: "Ada", GIT_AUTHOR_EMAIL: "ada@a.example" },
      ...{ GIT_COMMITTER_NAME: "Ada", GIT_COMMITTER_EMAIL: "ada@a.example" },
    };
  }

  async git(args: readonly string[], more: NodeJS.ProcessEnv = {}, cwd = this.top): Promise<Ended> {
    return start("git", args, { env: { ...this.env, ...more }, cwd, input: "" }).ended;
  }

  async mustGit(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.git(args);
    if (code !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  deaddrop(args: readonly string[], more: NodeJS.ProcessEnv = {}, cwd = this.top, input = "") {
    const env = { ...this.env, ...more };
    return start(process.execPath, [BIN, ...args], { env, cwd, input }).ended;
  }

  async guard(...args: readonly string[]): Promise<Ended> {
    const ended = await this.deaddrop(["guard", ...args]);
    expect(ended.code, ended.stderr).toBe(0);
    return ended;
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.top, path)), { recursive: true });
    writeFileSync(join(this.top, path), text);
  }

  async commit(path: string, more: NodeJS.ProcessEnv = {}): Promise<Ended> {
    this.write(path, `${Math.random()}\n`);
    await this.mustGit("add", "--", path);
    return this.git(["commit", "-m", path], more);
  }
}

/** The wire is `wire/` in the repository, or elsewhere. */
async function project(where: "inside" | "outside" = "outside"): Promise<Project> {
  const wire = makeWire({ config: DOMAINS });
  const made = new Project(wire, where === "inside" ? wire.folder : newFolder());
  await made.mustGit("init", "-q", "-b", "main");
  return made;
}

/** Every file and folder, with modes and contents. */
function picture(root: string, folder = root): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder).toSorted()) {
    const path = join(folder, name);
    const stat = lstatSync(path);
    const mode = (stat.mode & 0o7777).toString(8);
    const shown = relative(root, path);
    if (stat.isDirectory()) Object.assign(found, { [shown]: mode }, picture(root, path));
    else if (stat.isSymbolicLink()) found[shown] = `link ${readlinkSync(path)}`;
    else found[shown] = `${mode} ${readFileSync(path).toString("base64")}`;
  }
  return found;
}

/** A line of an agent at the end of its log, signed by that key. */
function nextLine(wire: LiveWire, log: string, by: { as: string; keyOf: string }): string {
  const path = join(wire.dir, `${log}.jsonl`);
  const all = existsSync(path) ? wire.lines(`${log}.jsonl`) : [];
  const { seq = 0, event_id: id = "" } = all.at(-1) ?? {};
  const signer = makeSigner(by.as, readFileSync(wire.paths(by.keyOf).identity.key));
  const timestamp = new Date().toISOString();
  const to = [log.split("_to_")[1] ?? ""];
  const said = { to, type: "feedback", subject: "s", body: "x", correlationId: timestamp };
  const at = { timestamp, log, wireId: WIRE_ID, head: seq === 0 ? undefined : { seq, id } };
  return `${Buffer.from(composeLine(said, at, signer).line).toString("utf8")}\n`;
}

const blocked = (ended: Ended): string => {
  expect(ended.code, ended.stderr).toBe(1);
  expect(ended.stderr).toContain("is blocked");
  return ended.stderr;
};
const passed = (ended: Ended): void => expect(ended.code, ended.stderr).toBe(0);

describe("a commit", () => {
  test("of what another claims for itself is blocked until it is released", async () => {
    const at = await project();
    const { wire } = at;
    await Promise.all([wire.daemon("forge"), wire.daemon("scribe")]);
    await at.guard("install");
    const claims = (): Promise<{ from: string; status: string }[]> => wire.json("forge", "claims");
    const reason = "splitting the pages";
    await wire.json("scribe", "claim", "docs/**", "--reason", reason);
    await until("forge knows the claim", async () => (await claims()).length === 1);
    const said = blocked(await at.commit("docs/a.md"));
    expect(said).toContain("claimed by scribe for itself alone until");
    expect(said).toContain(reason);
    expect(said).toContain("deaddrop send scribe 'may I edit docs/a.md?'");
    await wire.json("scribe", "release");
    await until("forge knows the release", async () => (await claims()).length === 0);
    passed(await at.git(["commit", "-m", "docs"]));
  });

  test("of another's domain is blocked until a decision covers it; the rest goes through", async () => {
    const at = await project();
    const { wire } = at;
    await at.guard("install");
    passed(await at.commit("src/core/a.ts"));
    passed(await at.commit("docs/a.md"));
    const said = blocked(await at.commit("src/api/it's ü.ts"));
    expect(said).toContain("src/api/it's ü.ts");
    expect(said).toContain("domain api of scribe");
    expect(said).toContain("deaddrop propose");
    await at.mustGit("reset", "-q", "--hard");
    // A rename counts on both sides.
    await at.mustGit("mv", "src/core/a.ts", "src/core/b.ts");
    passed(await at.git(["commit", "-m", "own"]));
    mkdirSync(join(at.top, "src/api"), { recursive: true });
    await at.mustGit("mv", "docs/a.md", "src/api/a.md");
    blocked(await at.git(["commit", "-m", "theirs"]));
    await at.mustGit("reset", "-q", "--hard");

    const daemons = await Promise.all([wire.daemon("forge"), wire.daemon("scribe")]);
    const args = ["--required", "scribe", "--domain", "api"];
    const sent = await wire.json<{ messages: { event_id: string }[] }>(
      ...(["forge", "propose", "edit the api", ...args] as const),
    );
    const id = sent.messages[0]?.event_id ?? "";
    await until("it has come", async () => (await wire.run("scribe", "accept", id)).code === 0);
    const inForce = async () =>
      (await wire.json<{ in_force: unknown[] }>("forge", "decisions")).in_force.length > 0;
    await until("it is in force", inForce);
    passed(await at.commit("src/api/b.ts"));
    // Other indexes than the usual one.
    at.write("docs/b.md", "x");
    await at.mustGit("add", "docs/b.md");
    passed(await at.git(["commit", "-m", "only", "docs/b.md"]));
    for (const daemon of daemons) await daemon.stop();
  });

  test("that is overridden is recorded with who and why, and its owner hears of it", async () => {
    const at = await project();
    const { wire } = at;
    await at.guard("install");
    blocked(await at.commit("src/api/a.ts"));
    const more = { ALLOW_HOTPATH: "1", ALLOW_HOTPATH_REASON: "the build is red" };
    const ended = await at.commit("src/api/a.ts", more);
    passed(ended);
    expect(ended.stderr).toContain("told scribe");
    const [record] = jsonLines(readFileSync(wire.paths("forge").overrides, "utf8"));
    expect(record).toMatchObject({
      ...{ hook: "pre-commit", handle: "forge", git_user: "Ada <ada@a.example>" },
      blocked: [{ path: "src/api/a.ts", why: expect.stringContaining("domain api of scribe") }],
      reason: "the build is red",
    });
    const warning = wire.lines("forge_to_scribe.jsonl").find(({ type }) => type === "warning");
    expect(JSON.stringify(warning?.body)).toContain("src/api/a.ts");
    expect(JSON.stringify(warning?.body)).toContain("the build is red");
    const status = JSON.parse((await at.guard("status", "--json")).stdout) as object;
    expect(status).toMatchObject({
      hooks: [{ state: "installed" }, { state: "installed" }],
      ...{ handle: "forge", strict: false, overrides: [{ reason: "the build is red" }] },
    });
  });

  test("of 1,000 files takes one request and a fixed number of processes", async () => {
    const at = await project();
    const daemon = await at.wire.daemon("forge");
    const tools = join(at.wire.folder, "tools");
    mkdirSync(tools);
    const calls = join(at.wire.folder, "calls");
    const real = execFileSync("sh", ["-c", "command -v git"]).toString().trim();
    writeFileSync(join(tools, "git"), `#!/bin/sh\necho "$4" >>'${calls}'\nexec ${real} "$@"\n`);
    chmodSync(join(tools, "git"), 0o755);
    const PATH = [tools, at.env["PATH"]].join(delimiter);
    const counted = async (): Promise<string[]> => {
      rmSync(calls, { force: true });
      passed(await at.deaddrop(["guard", "check"], { PATH }));
      return readFileSync(calls, "utf8").trim().split("\n");
    };
    at.write("one.txt", "x");
    await at.mustGit("add", ".");
    const few = await counted();
    for (let i = 0; i < 1_000; i++) at.write(`many/${i}.txt`, `${i}`);
    await at.mustGit("add", ".");
    expect(await counted()).toEqual(few);
    expect(few).toEqual(["rev-parse", "diff"]);
    await daemon.stop();
  });
});

describe("a merge that somebody has to finish", () => {
  test("brings what others have changed, and is asked about the rest", async () => {
    const at = await project();
    passed(await at.commit("docs/both.md"));
    await at.mustGit("checkout", "-q", "-b", "theirs");
    passed(await at.commit("src/api/a.ts"));
    passed(await at.commit("docs/both.md"));
    await at.mustGit("checkout", "-q", "main");
    passed(await at.commit("docs/both.md"));
    await at.guard("install");
    expect((await at.git(["merge", "-q", "theirs"])).code).toBe(1);
    at.write("docs/both.md", "merged\n");
    await at.mustGit("add", "docs/both.md");
    at.write("src/api/b.ts", "slipped in\n");
    await at.mustGit("add", "src/api/b.ts");
    const said = blocked(await at.git(["commit", "-q", "-m", "merged"]));
    expect(said).toContain("src/api/b.ts");
    expect(said).not.toContain("src/api/a.ts");
    await at.mustGit("rm", "-q", "-f", "src/api/b.ts");
    passed(await at.git(["commit", "-q", "-m", "merged"]));
  });
});

describe("logs of a wire in the repository", () => {
  async function withLog(): Promise<Project> {
    const at = await project("inside");
    writeFileSync(join(at.top, ".gitignore"), "home/\n");
    for (const subject of ["one", "two"]) {
      passed(await at.wire.run("forge", "send", "--to", "scribe", subject, "x"));
    }
    await at.mustGit("add", ".gitignore", "wire");
    await at.mustGit("commit", "-q", "-m", "the wire");
    await at.guard("install");
    return at;
  }
  const LOG = "wire/forge_to_scribe.jsonl";

  test("may only grow, by lines of their authors", async () => {
    const at = await withLog();
    const { wire, top } = at;
    const path = join(top, LOG);
    const whole = readFileSync(path, "utf8");
    const staged = async (change: () => void): Promise<Ended> => {
      change();
      await at.mustGit("add", "-A", "wire");
      return at.git(["commit", "-m", "wire"]);
    };
    const back = () => at.mustGit("reset", "-q", "--hard");

    const rewritten = blocked(
      await staged(() => writeFileSync(path, whole.replace('"one"', '"eno"'))),
    );
    expect(rewritten).toContain(`forge_to_scribe.jsonl:1`);
    await back();
    const cut = whole.slice(0, whole.indexOf("\n") + 1);
    expect(blocked(await staged(() => writeFileSync(path, cut)))).toContain("line 2 is changed");
    await back();
    expect(blocked(await staged(() => rmSync(path)))).toContain("are deleted");
    await back();
    blocked(await staged(() => renameSync(path, join(top, "wire/other.jsonl"))));
    await back();
    rmSync(join(top, "wire/other.jsonl"), { force: true });
    const forged = nextLine(wire, "forge_to_scribe", { as: "forge", keyOf: "scribe" });
    expect(blocked(await staged(() => appendFileSync(path, forged)))).toMatch(/:3\n {2}\w+:/);
    await back();
    expect(blocked(await staged(() => appendFileSync(path, "junk\n")))).toContain("malformed");
    await back();
    // A copy of another's line that somebody wants, and a chain that leaves a line out: both may travel.
    const copy = nextLine(wire, "scribe_to_forge", { as: "scribe", keyOf: "scribe" });
    passed(await staged(() => appendFileSync(path, copy)));
    await at.mustGit("reset", "-q", "--hard", "HEAD~1");
    const third = nextLine(wire, "forge_to_scribe", { as: "forge", keyOf: "forge" });
    appendFileSync(path, third);
    const fourth = nextLine(wire, "forge_to_scribe", { as: "forge", keyOf: "forge" });
    passed(await staged(() => writeFileSync(path, whole + fourth)));
    await at.mustGit("reset", "-q", "--hard", "HEAD~1");

    passed(await staged(() => appendFileSync(path, third)));
    // Not a line yet.
    passed(await staged(() => appendFileSync(path, '{"half')));
    const segment = join(top, "wire/archive/2026/forge_to_scribe.jsonl");
    const archived = await staged(() => {
      mkdirSync(dirname(segment), { recursive: true });
      writeFileSync(segment, whole + third);
      writeFileSync(path, "");
    });
    passed(archived);
    expect(blocked(await staged(() => rmSync(segment)))).toContain("changed or missing");
  });

  test("are compared with what the remote has when they are pushed", async () => {
    const at = await withLog();
    const remote = join(at.wire.folder, "home", "remote.git");
    await at.mustGit("init", "-q", "--bare", "-b", "main", remote);
    await at.mustGit("remote", "add", "origin", remote);
    passed(await at.git(["push", "-q", "origin", "main"]));
    const path = join(at.top, LOG);
    const whole = readFileSync(path, "utf8");
    writeFileSync(path, whole.replace('"one"', '"eno"'));
    passed(await at.git(["commit", "-q", "--no-verify", "-am", "rewritten"]));
    expect(blocked(await at.git(["push", "-q", "origin", "main"]))).toContain("line 1 is changed");
    expect((await at.git(["push", "-q", "origin", "main"], { ALLOW_HOTPATH: "1" })).code).toBe(0);
  });
});

describe("a push", () => {
  test("is asked about what its commits change, merges and new branches too", async () => {
    const at = await project();
    const remote = join(at.wire.folder, "remote.git");
    await at.mustGit("init", "-q", "--bare", "-b", "main", remote);
    await at.mustGit("remote", "add", "origin", remote);
    passed(await at.commit("src/api/theirs.ts"));
    passed(await at.git(["push", "-q", "origin", "main"]));
    await at.guard("install");
    passed(await at.commit("src/core/a.ts"));
    passed(await at.git(["push", "-q", "origin", "main"]));

    // A change of scribe's that came by the remote is not ours.
    const other = join(at.wire.folder, "other");
    await at.mustGit("clone", "-q", remote, other);
    writeFileSync(join(other, "src/api/theirs.ts"), "changed by its owner\n");
    const theirs = { ALLOW_HOTPATH: "1" };
    passed(await at.git(["commit", "-qam", "theirs"], theirs, other));
    passed(await at.git(["push", "-q", "origin", "main"], theirs, other));
    await at.mustGit("checkout", "-q", "-b", "topic");
    passed(await at.commit("docs/topic.md"));
    await at.mustGit("fetch", "-q");
    await at.mustGit("merge", "-q", "-m", "merged", "origin/main");
    passed(await at.git(["push", "-q", "origin", "topic"]));

    at.write("src/api/theirs.ts", "changed by us\n");
    passed(await at.git(["commit", "-q", "--no-verify", "-am", "ours"]));
    expect(blocked(await at.git(["push", "-q", "origin", "topic"]))).toContain("src/api/theirs.ts");
    blocked(await at.git(["push", "-q", "origin", "topic:new"]));
    passed(await at.git(["push", "-q", "origin", ":topic"]));
  });
});

describe("the hooks", () => {
  test("that were there run first with the same input, and are put back as they were", async () => {
    const at = await project();
    const hooks = join(at.top, ".git/hooks");
    const heard = join(at.wire.folder, "heard");
    const before = join(hooks, "pre-push");
    writeFileSync(before, `#!/bin/sh\necho "$@" >'${heard}'\ncat >>'${heard}'\n`, { mode: 0o750 });
    writeFileSync(join(at.top, "ok.sh"), '#!/bin/sh\n[ -z "$REFUSE" ]\n', { mode: 0o755 });
    symlinkSync("../../ok.sh", join(hooks, "pre-commit"));
    const was = picture(at.top);
    await at.guard("install");
    const installed = picture(at.top);
    expect(installed).not.toEqual(was);
    expect((await at.guard("install")).stdout).toContain("installed already");
    expect(picture(at.top)).toEqual(installed);

    const refused = await at.commit("docs/a.md", { REFUSE: "1" });
    expect(refused.code).toBe(1);
    expect(refused.stderr).not.toContain("deaddrop");
    passed(await at.commit("docs/a.md"));
    const remote = join(at.wire.folder, "remote.git");
    await at.mustGit("init", "-q", "--bare", "-b", "main", remote);
    passed(await at.git(["push", "-q", remote, "main"]));
    const id = (await at.mustGit("rev-parse", "HEAD")).trim();
    expect(readFileSync(heard, "utf8")).toBe(
      `${remote} ${remote}\nrefs/heads/main ${id} refs/heads/main ${"0".repeat(40)}\n`,
    );
    await at.guard("uninstall");
    const now = picture(hooks);
    expect(now).toEqual(
      Object.fromEntries(
        Object.entries(was)
          .filter(([path]) => path.startsWith(".git/hooks/"))
          .map(([path, is]) => [path.slice(".git/hooks/".length), is]),
      ),
    );
  });

  test.each([
    ["no folder of hooks", undefined],
    ["a relative folder", "made/for/hooks"],
  ])("leave nothing behind: %s", async (_what, hooksPath) => {
    const at = await project();
    rmSync(join(at.top, ".git/hooks"), { recursive: true });
    if (hooksPath !== undefined) await at.mustGit("config", "core.hooksPath", hooksPath);
    const was = picture(at.top);
    await at.guard("install");
    blocked(await at.commit("src/api/a.ts"));
    await at.mustGit("rm", "-q", "-r", "--cached", ".");
    rmSync(join(at.top, "src"), { recursive: true });
    await at.guard("uninstall");
    const is = picture(at.top);
    const files = (shown: Record<string, string>) =>
      Object.fromEntries(
        Object.entries(shown).filter(([path]) => !/^\.git\/(objects|index)/.test(path)),
      );
    expect(files(is)).toEqual(files(was));
  });

  test("are not removed when somebody has changed them", async () => {
    const at = await project();
    await at.guard("install");
    appendFileSync(join(at.top, ".git/hooks/pre-commit"), "echo mine\n");
    for (const verb of ["install", "uninstall"]) {
      const ended = await at.deaddrop(["guard", verb]);
      expect(ended.code).toBe(1);
      expect(ended.stderr).toContain("was changed after the guard had made it");
    }
    expect((await at.guard("status")).stdout).toContain("changed by somebody");
  });

  test("in a folder that several repositories use need --shared", async () => {
    const at = await project();
    const global = join(at.env["HOME"] ?? "", "all hooks");
    await at.mustGit("config", "--global", "core.hooksPath", "~/all hooks");
    const ended = await at.deaddrop(["guard", "install"]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain("--shared");
    expect(existsSync(global)).toBe(false);
    await at.guard("install", "--shared");
    blocked(await at.commit("src/api/a.ts"));
    await at.guard("uninstall");
    expect(existsSync(global)).toBe(false);
  });

  test("guard linked work trees and submodules", async () => {
    const at = await project("inside");
    writeFileSync(join(at.top, ".gitignore"), "home/\nwire/\n");
    await at.mustGit("add", ".gitignore");
    await at.mustGit("commit", "-q", "-m", "first");
    await at.guard("install");
    for (const linked of [
      join(at.top, "home/linked"),
      join(at.wire.folder, "..", `l${Date.now()}`),
    ]) {
      await at.mustGit("worktree", "add", "-q", "-b", `b${linked.length}`, linked);
      const inside = new Project(at.wire, realpathSync(linked));
      expect(blocked(await inside.commit("src/api/a.ts"))).toContain("blocked src/api/a.ts");
      const checked = await inside.deaddrop(["check", "api/a.ts"], {}, join(inside.top, "src"));
      expect(checked.code).toBe(1);
    }

    const library = join(at.wire.folder, "home", "library");
    mkdirSync(library);
    const source = new Project(at.wire, library);
    await source.mustGit("init", "-q", "-b", "main");
    passed(await source.commit("a.ts"));
    await at.mustGit(
      ...["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "src/api"],
    );
    const sub = new Project(at.wire, join(at.top, "src/api"));
    await sub.guard("install");
    expect(existsSync(join(at.top, ".git/modules/src/api/hooks/pre-commit"))).toBe(true);
    expect(blocked(await sub.commit("a.ts"))).toContain("blocked src/api/a.ts");
  });
});

describe("a guard that cannot decide", () => {
  test("says why and lets pass; with guard.strict it blocks", async () => {
    const at = await project();
    await at.guard("install", "--wire", at.wire.dir, "--as", "forge");
    renameSync(at.wire.dir, `${at.wire.dir}.gone`);
    const loose = await at.commit("src/api/a.ts");
    passed(loose);
    expect(loose.stderr).toContain("it cannot decide");
    renameSync(`${at.wire.dir}.gone`, at.wire.dir);
    passed(await at.wire.run("forge", "config", "set", "guard.strict", "true", ...BY_FLAGS));
    renameSync(at.wire.dir, `${at.wire.dir}.gone`);
    expect(blocked(await at.commit("docs/b.md"))).toContain("guard.strict is on");
    passed(await at.commit("docs/b.md", { ALLOW_HOTPATH: "1" }));
  });

  test("because deaddrop is gone, too", async () => {
    const at = await project();
    const copy = join(at.wire.folder, "program.js");
    await at.guard("install");
    const hook = join(at.top, ".git/hooks/pre-commit");
    const text = readFileSync(hook, "utf8");
    writeFileSync(hook, text.replace(/^bin=.*$/m, `bin='${copy}'`));
    const PATH = "/usr/bin:/bin";
    const loose = await at.commit("docs/a.md", { PATH });
    passed(loose);
    expect(loose.stderr).toContain("nothing was checked");
    passed(await at.wire.run("forge", "config", "set", "guard.strict", "true", ...BY_FLAGS));
    expect(blocked(await at.commit("docs/b.md", { PATH }))).toContain("ALLOW_HOTPATH");
  });
});

describe("deaddrop check", () => {
  test("answers the same question, for paths from anywhere in the project", async () => {
    const at = await project();
    mkdirSync(join(at.top, "src/api"), { recursive: true });
    const from = join(at.top, "src");
    const asked = await at.deaddrop(["check", "api/a.ts", "core/b.ts", "--json"], {}, from);
    expect(asked.code).toBe(1);
    expect(asked.stderr).toContain("No daemon runs");
    expect(JSON.parse(asked.stdout)).toMatchObject({
      handle: "forge",
      paths: [
        { path: "src/api/a.ts", verdict: "blocked", blocked_by: [{ owner: "scribe" }] },
        { path: "src/core/b.ts", verdict: "own" },
      ],
    });
    expect((await at.deaddrop(["check", "core/b.ts"], {}, from)).code).toBe(0);
    const daemon = await at.wire.daemon("forge");
    const many = Array.from({ length: 1_000 }, (_, i) => `docs/${i}\nx.md`);
    const piped = await at.deaddrop(["check", "-", "--json"], {}, at.top, many.join("\0"));
    expect([piped.code, piped.stderr]).toEqual([0, ""]);
    expect((JSON.parse(piped.stdout) as { paths: unknown[] }).paths).toHaveLength(1_000);
    await daemon.stop();
    const outside = await at.deaddrop(["check", "/etc/passwd"]);
    expect(outside.code).toBe(1);
    expect(outside.stderr).toContain("is not in the project");
  });
});
