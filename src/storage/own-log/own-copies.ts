import type { ChainHead } from "../../wire/chain.ts";
import type { Disk } from "../disk/disk.ts";
import { linesBefore, openOwnCopy, type OwnCopy } from "./own-copy.ts";
import type { OwnLog } from "./own-log-repair.ts";
import type { OwnLine } from "./pending.ts";

interface CopyOptions {
  readonly disk: Disk;
  copyPath(log: string): string;
  readonly ownLine: (log: string, line: Uint8Array) => ChainHead | undefined;
}

/** The private copies of all logs of an identity. Spec 1.6. */
export class OwnCopies {
  readonly #options: CopyOptions;
  readonly #open = new Map<string, OwnCopy>();

  constructor(options: CopyOptions) {
    this.#options = options;
  }

  /** `pending`: what is promised now. */
  of({ name }: OwnLog, pending: readonly OwnLine[]): OwnCopy {
    const { disk, copyPath } = this.#options;
    const [unsure] = linesOf(name, pending);
    const place = { disk, path: copyPath(name), log: name, check: this.#check(name) };
    const copy = this.#open.get(name) ?? openOwnCopy(place, unsure);
    this.#open.set(name, copy);
    return copy;
  }

  /** What is durable in a log now is kept here too, before pending forgets it. */
  keep(log: OwnLog, pending: readonly OwnLine[]): void {
    const lines = linesOf(log.name, pending);
    const [first] = lines;
    if (first === undefined) return;
    const before = (): readonly OwnLine[] =>
      linesBefore(this.#options.disk, log, first.seq, this.#check(log.name));
    this.of(log, pending).add(lines, before);
  }

  /** What is on disk may be another now. */
  forget(): void {
    this.#open.clear();
  }

  #check(log: string): (line: Uint8Array) => ChainHead | undefined {
    return (line) => this.#options.ownLine(log, line);
  }
}

function linesOf(log: string, lines: readonly OwnLine[]): readonly OwnLine[] {
  return lines.filter((own) => own.log === log && own.foreign !== true);
}
