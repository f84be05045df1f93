import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BIN, start, type Ended, type Started } from "./real-processes.ts";

/** A real UNIX user, made for one test, whose processes run with an umask of its own. */
export interface UnixUser {
  readonly name: string;
  readonly uid: number;
  readonly home: string;
  readonly umask: string;
  start(program: string, ...args: readonly string[]): Started;
  /** `deaddrop …` to its end. */
  run(...args: readonly string[]): Promise<Ended>;
}

/** Test files run side by side, and the user database lets only one program in at a time. */
const ONE_AT_A_TIME = join(tmpdir(), "deaddrop-test-users.lock");

/** Users of one group, and a folder that all of them can enter and write. */
export interface UnixTeam {
  readonly group: string;
  readonly gid: number;
  readonly users: readonly UnixUser[];
  readonly folder: string;
  /** Takes users, group and folder away; whatever the users ran has ended. */
  remove(): void;
}

/** Why no users can be made here; undefined when they can. */
export function whyNoUsers(): string | undefined {
  if (process.getuid?.() !== 0) return "two real users are made, which only root can do";
  const tools = ["useradd", "userdel", "groupadd", "groupdel", "setpriv", "flock"];
  const missing = tools.find((tool) => spawnSync(tool, ["--help"]).error !== undefined);
  if (missing !== undefined) return `${missing} is not installed here`;
  const nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", process.execPath, BIN];
  return spawnSync("setpriv", [...nobody, "--version"]).status === 0
    ? undefined
    : `other users cannot run ${BIN}: the checkout is in a private folder`;
}

/** One user for each umask. */
export function makeTeam(umasks: readonly string[]): UnixTeam {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-team-"));
  chmodSync(folder, 0o755);
  const shared = join(folder, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  const group = `ddt${process.pid}`;
  changeUsers("groupadd", group);
  const users: UnixUser[] = [];
  const remove = (): void => {
    for (const { name } of users) changeUsers("userdel", name);
    changeUsers("groupdel", group);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const [index, umask] of umasks.entries()) {
      users.push(makeUser(`${group}${"abcdef".charAt(index)}`, group, folder, umask));
    }
  } catch (error) {
    remove();
    throw error;
  }
  const gid = Number(must("getent", "group", group).split(":")[2]);
  return { group, gid, users, folder: shared, remove };
}

function makeUser(name: string, group: string, folder: string, umask: string): UnixUser {
  const home = join(folder, name);
  changeUsers("useradd", "--groups", group, "--create-home", "--home-dir", home, name);
  const [uid = "", gid = ""] = ["-u", "-g"].map((which) => must("id", which, name).trim());
  const become = [`--reuid=${uid}`, `--regid=${gid}`, "--init-groups"];
  const env = { PATH: process.env["PATH"], HOME: home, TZ: "UTC", USER: name };
  const begin = (program: string, ...args: readonly string[]): Started => {
    const shell = ["sh", "-c", `umask ${umask} && exec "$@"`, "sh", program, ...args];
    return start("setpriv", [...become, ...shell], { env, cwd: home });
  };
  return {
    name,
    uid: Number(uid),
    home,
    umask,
    start: begin,
    run(...args) {
      const started = begin(process.execPath, BIN, ...args);
      started.child.stdin?.end();
      return started.ended;
    },
  };
}

function changeUsers(program: string, ...args: readonly string[]): void {
  must("flock", ONE_AT_A_TIME, program, ...args);
}

function must(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  if (status === 0) return stdout;
  throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? stderr}`);
}
