import { createHash } from "node:crypto";
import type { Change } from "../../../src/transport/copies/changes.ts";
import type { RemoteFile } from "../../../src/transport/copies/remote-files.ts";
import { TransportError } from "../../../src/transport/port.ts";
import type { FetchedFiles } from "../../../src/transport/remote.ts";
import type { Luck } from "./luck.ts";
import type { Timers } from "./timers.ts";

type Files = ReadonlyMap<string, RemoteFile>;

/** What a call waits for before it says that nobody answers. */
const GIVES_UP_MS = 60_000;

/**
 * The place through which hosts share a wire, and the network between: calls take their time, get
 * lost on the way there or back, and hosts are cut off. It takes a push on top of its newest version
 * alone, as git does.
 */
export class SimulatedRemote {
  readonly #timers: Timers;
  readonly #luck: Luck;
  /** All that it ever held, oldest first. */
  readonly #versions: Files[] = [];
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #cutOff = new Set<string>();
  /** Nothing is slow or lost any more. */
  isCalm = false;
  /** The paths that each push has changed. */
  readonly pushes: (readonly string[])[] = [];

  constructor(timers: Timers, luck: Luck) {
    this.#timers = timers;
    this.#luck = luck;
  }

  get version(): string | undefined {
    return this.#versions.length === 0 ? undefined : `v${this.#versions.length}`;
  }

  cutOff(host: string): void {
    this.#cutOff.add(host);
  }

  joinAll(): void {
    this.#cutOff.clear();
  }

  /** A call by a process of that host: what `work` finds when it arrives comes back, or the call fails. */
  call<T>(host: string, isAlive: () => boolean, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (): void => {
        this.#timers.after(this.isCalm ? 0 : this.#luck.between(0, GIVES_UP_MS), () => {
          if (isAlive()) reject(unreachable());
        });
      };
      this.#timers.after(this.#delayMs(), () => {
        if (this.#isLost(host)) return fail();
        const answer = work();
        this.#timers.after(this.#delayMs(), () => {
          if (this.#isLost(host)) return fail();
          if (isAlive()) resolve(answer);
        });
      });
    });
  }

  /** Pushes on top of an older version are refused. */
  take(base: string | undefined, changes: readonly Change[]): string | undefined {
    if (base !== this.version) return undefined;
    const files = new Map(this.#versions.at(-1));
    for (const { path, bytes } of changes) {
      const id = idOf(bytes);
      this.#blobs.set(id, Buffer.from(bytes));
      files.set(path, { id, bytes: bytes.length });
    }
    this.#versions.push(files);
    this.pushes.push(changes.map(({ path }) => path));
    return this.version;
  }

  filesOf(version: string | undefined): FetchedFiles {
    const at = version === undefined ? 0 : Number(version.slice(1));
    return {
      remote: {
        files: new Map(this.#versions[at - 1]),
        idOf,
        read: (id, into) => this.#read(id, into),
      },
      troubles: [],
    };
  }

  /** Versions that somebody may have fetched before, in any order, now and then one of them twice. */
  olderVersions(): string[] {
    const count = this.#luck.between(1, 3);
    const last = this.#versions.length;
    if (last === 0) return [];
    return Array.from(
      { length: count },
      () => `v${this.#luck.between(Math.max(0, last - 12), last) + 1}`,
    );
  }

  /** The text of a file as it is now. */
  text(path: string): string {
    const id = this.#versions.at(-1)?.get(path)?.id ?? "";
    return Buffer.from(this.#blobs.get(id) ?? []).toString("utf8");
  }

  /** In pieces, as programs give them. */
  #read(id: string, into: (chunk: Uint8Array) => void): Promise<void> {
    const bytes = this.#blobs.get(id);
    if (bytes === undefined) return Promise.reject(new Error(`no file ${id} was ever pushed`));
    for (let at = 0; at < bytes.length;) {
      const length = this.#luck.chance(0.8) ? bytes.length : this.#luck.between(1, 2_000);
      into(bytes.subarray(at, at + length));
      at += length;
    }
    return Promise.resolve();
  }

  #delayMs(): number {
    if (this.isCalm) return 5;
    const [from, to] = this.#luck.weighted<readonly [number, number]>([
      [70, [5, 400]],
      [25, [400, 5_000]],
      [5, [5_000, 90_000]],
    ]);
    return this.#luck.between(from, to);
  }

  #isLost(host: string): boolean {
    return this.#cutOff.has(host) || (!this.isCalm && this.#luck.chance(0.03));
  }
}

function unreachable(): TransportError {
  return new TransportError("unreachable", "nobody answers", { hint: "simulated" });
}

function idOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
