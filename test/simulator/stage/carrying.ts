import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { FolderTransport, makeWireLayout } from "../../../src/carriers/folder.ts";
import type { WireLayout } from "../../../src/carriers/carrier.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import type { CoreAgent, Transports } from "../../support/core-wire.ts";
import type { Luck } from "../luck.ts";

/** A carrier of one agent, as it lies in a folder. */
export interface CarrierFile {
  readonly path: string;
  readonly owner: string;
}

/** The folder of a wire: one for all agents, or one for each with an unreliable way between them. */
export class Carrying {
  readonly #root: string;
  readonly #hasHosts: boolean;
  readonly #luck: Luck;
  /** What was carried once, by target: it may come back. */
  readonly #older = new Map<string, Buffer>();

  constructor(root: string, hasHosts: boolean, luck: Luck) {
    this.#root = root;
    this.#hasHosts = hasHosts;
    this.#luck = luck;
  }

  folder(name: string): string {
    const folder = join(this.#root, this.#hasHosts ? `files-${name}` : "files");
    mkdirSync(join(folder, "outbox"), { recursive: true });
    return folder;
  }

  readonly transports: Transports = (wire, agent, ours) => [
    new FolderTransport({
      ...{ disk: agent.disk, wireDir: this.folder(agent.name), mode: 0o600, ours },
      layout: followMembers(agent),
      world: {
        clock: { wallMs: () => wire.nowMs },
        after: () => () => undefined,
        watch: () => () => undefined,
      },
    }),
  ];

  files(folder: string): CarrierFile[] {
    return [folder, join(folder, "outbox")]
      .filter((each) => existsSync(each))
      .flatMap((each) => readdirSync(each).map((name) => join(each, name)))
      .filter((path) => path.endsWith(".jsonl") && !path.endsWith("decisions.jsonl"))
      .toSorted()
      .map((path) => ({ path, owner: ownerOf(path) }));
  }

  /** Brings the carriers of one agent to another, well or badly. */
  carry(from: string, to: string): void {
    if (!this.#hasHosts || from === to) return;
    const luck = this.#luck;
    for (const { path, target } of this.#pairs(from, to)) {
      const bytes = readFileSync(path);
      const older = this.#older.get(target);
      const lines = bytes.toString().split("\n").slice(0, -1);
      const text = (some: readonly string[]): string => some.map((line) => `${line}\n`).join("");
      luck.weighted<() => void>([
        [12, () => writeFileSync(target, bytes)],
        [3, () => undefined],
        [2, () => writeFileSync(target, bytes.subarray(0, luck.between(0, bytes.length + 1)))],
        [2, () => writeFileSync(target, text(lines.filter(() => luck.chance(0.7))))],
        [2, () => writeFileSync(target, text(luck.shuffled(lines)))],
        [2, () => writeFileSync(target, text([...lines, ...luck.shuffled(lines)]))],
        [1, () => writeFileSync(target, older ?? bytes)],
        [1, () => rmSync(target, { force: true })],
      ])();
      if (older === undefined || luck.chance(0.2)) this.#older.set(target, bytes);
    }
  }

  /** Brings all there is, as it is. */
  carryWell(from: string, to: string): void {
    if (!this.#hasHosts || from === to) return;
    for (const { path, target } of this.#pairs(from, to)) writeFileSync(target, readFileSync(path));
  }

  #pairs(from: string, to: string): { readonly path: string; readonly target: string }[] {
    const source = this.folder(from);
    const folder = this.folder(to);
    return this.files(source)
      .filter(({ owner }) => owner === from)
      .map(({ path }) => ({ path, target: join(folder, path.slice(source.length + 1)) }));
  }
}

function ownerOf(path: string): string {
  const base = path.slice(dirname(path).length + 1, -".jsonl".length);
  return base.split("_to_")[0] ?? "";
}

function followMembers(agent: CoreAgent): () => WireLayout {
  let made: { readonly by: string; readonly layout: WireLayout } | undefined;
  return () => {
    const { membership } = agent.core;
    const by = JSON.stringify([membership.handles, ...membership.members]);
    if (made?.by !== by) made = { by, layout: makeWireLayout(membership) };
    return made.layout;
  };
}

/** A file that its writer made by hand. */
export function writeByHand(path: string, lines: readonly Uint8Array[]): void {
  const bytes = Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]));
  nodeDisk().replace(path, bytes, 0o600);
}
