import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { wholeLogs } from "../../../src/storage/archive/whole-logs.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { wireFiles } from "../../../src/transport/copies/wire-files.ts";
import { GitRemote } from "../../../src/transport/git/git-remote.ts";
import { openHostState } from "../../../src/transport/host-state.ts";
import { afterMs } from "../../support/after-ms.ts";
import type { Pulled, TransportTrouble } from "../../../src/transport/port.ts";
import { RemoteTransport } from "../../../src/transport/remote-transport.ts";

/** Bare repositories, and machines that share a wire of forge and scribe through them. */
export class GitScene {
  readonly root = mkdtempSync(join(tmpdir(), "deaddrop-git-"));
  readonly remote: string;
  readonly #hosts: GitHost[] = [];

  constructor(...options: readonly string[]) {
    this.remote = join(this.root, "wire.git");
    git(this.root, "init", "--quiet", "--bare", "--initial-branch=main", ...options, this.remote);
  }

  host(handle: string, name = handle, change: HostChange = {}): GitHost {
    const host = new GitHost(join(this.root, name), handle, this.remote, change);
    this.#hosts.push(host);
    return host;
  }

  /** What somebody pushes who has a clone of the repository. */
  clone(): string {
    const folder = mkdtempSync(join(this.root, "clone-"));
    git(this.root, "clone", "--quiet", this.remote, folder);
    git(folder, "config", "user.name", "mallory");
    git(folder, "config", "user.email", "mallory@example.org");
    return folder;
  }

  /** Changes what the remote holds, by an ordinary commit. */
  tamper(work: (clone: string) => void): void {
    const clone = this.clone();
    work(clone);
    git(clone, "add", "--all");
    git(clone, "commit", "--quiet", "--allow-empty", "-m", "tampered");
    git(clone, "push", "--quiet", "origin", "HEAD:main");
  }

  /** The bytes of a file in the remote. */
  inRemote(path: string): string {
    return git(this.remote, "show", `main:${path}`);
  }

  async remove(): Promise<void> {
    for (const host of this.#hosts) await host.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}

export interface HostChange {
  readonly env?: NodeJS.ProcessEnv;
  /** Lines that count as signed by this host's agent. */
  readonly isOurs?: (line: string) => boolean;
  /** Whether its agent has restored its logs. */
  readonly isWhole?: () => boolean;
  readonly remote?: string;
}

/** One machine: its folder, its private files, and its transport. */
export class GitHost {
  readonly wire: string;
  readonly home: string;
  readonly kept: string[] = [];
  readonly pulls: Pulled[] = [];
  readonly transport: RemoteTransport;

  constructor(
    root: string,
    handle: string,
    remote: string,
    { env, isOurs, isWhole = () => true, remote: other }: HostChange,
  ) {
    this.wire = join(root, "wire");
    this.home = join(root, "home");
    mkdirSync(this.home, { recursive: true });
    mkdirSync(join(this.wire, "trust"), { recursive: true });
    const disk = nodeDisk();
    const state = join(root, "state");
    const url = other ?? remote;
    const paths = {
      ...{ settings: join(root, "settings.json"), folder: state },
      ...{
        moverLock: join(state, "lock"),
        agreed: join(state, "agreed"),
        fetched: join(state, "f"),
      },
    };
    let mono = 0;
    const wallMs = (): number => Date.now();
    const folder = {
      ...{ disk, handle, wireDir: this.wire, whole: wholeLogs(disk, this.wire) },
      wire: wireFiles("pairwise", ["forge", "scribe"]),
      local: () => new Set([handle]),
    };
    const gitRemote = new GitRemote({
      ...{ disk, wallMs, folder },
      env: { PATH: process.env["PATH"], HOME: this.home, ...env },
      settings: {
        remote: { url, scheme: url.startsWith("ssh:") ? "ssh" : "file" },
        ...{ branch: "main", prefix: "" },
      },
      paths: { repository: join(root, "transport.git"), seenRemote: join(root, "seen.json") },
    });
    this.transport = new RemoteTransport(
      {
        world: {
          clock: { wallMs, monoMs: () => (mono += 1_000_000) },
          after: afterMs,
          random: () => 0.5,
          cadenceMs: () => 30_000,
          log: { warn: () => undefined },
          failed: (error) => {
            throw error;
          },
        },
        host: openHostState(disk, paths, url),
        folder,
        isSigned: (_log, line) => isOurs?.(Buffer.from(line).toString("utf8")) === true,
        isWhole,
        keep: (_log, lines) => {
          this.kept.push(Buffer.from(lines).toString("utf8"));
          return "kept";
        },
      },
      gitRemote,
    );
    this.transport.onPulled((pulled) => this.pulls.push(pulled));
  }

  /** One fetch and one push; the problem that it ended with. */
  async turn(): Promise<string | undefined> {
    await this.transport.turn({ fetch: true, push: true });
    const { problem } = this.transport.health();
    return problem === undefined ? undefined : `${problem.code}: ${problem.detail}`;
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.wire, path)), { recursive: true });
    writeFileSync(join(this.wire, path), text);
  }

  append(path: string, text: string): void {
    appendFileSync(join(this.wire, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.wire, path), "utf8");
  }

  /** What was told, each once. */
  troubles(): string[] {
    const all = this.pulls.flatMap(({ troubles }) => troubles).map(textOf);
    return [...new Set(all)];
  }

  async close(): Promise<void> {
    await this.transport.stop();
  }
}

function textOf({ cause, where, detail }: TransportTrouble): string {
  return `${cause} ${where}: ${detail}`;
}

export function git(folder: string, ...args: readonly string[]): string {
  return execFileSync("git", ["-C", folder, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 1 << 28,
  });
}
