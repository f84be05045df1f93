import { dirname, join } from "node:path";
import { makeFolderLike } from "../../carriers/archive.ts";
import type { ListedCarrier } from "../../carriers/carrier.ts";
import { carriersOf, isAddressedTo, pairPath } from "../../carriers/folder.ts";
import { publish, type Carrier, type OwnLine, type Published } from "../../carriers/publisher.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { parseObject } from "../../wire/json/json.ts";
import { chainToPublish } from "../lines/own-lines.ts";
import type { Duty, Ground } from "./duty.ts";

export interface FillOptions {
  readonly wireDir: string;
  /** Of new files. */
  readonly mode: number;
  /** Whether our daemon fills the folder of this machine now. */
  isMover(): boolean;
  /** Whether that agent runs on this machine: it writes its files itself. */
  isLocal(handle: string): boolean;
  /** Carriers that exist in the folder. */
  list(): readonly ListedCarrier[];
}

/** A file of another author, and what it gets. */
interface Filled {
  readonly path: string;
  readonly takes: (line: OwnLine) => boolean;
  /** It has copies, whatever the author's other files have. */
  readonly isCopy: boolean;
}

const MOST_LOOSE = 1_024;

/**
 * Fills the files of authors elsewhere from our store, so that people can read the wire on each machine. What was
 * appended is remembered with how the file looks: one that somebody has changed is compared again. Spec 5.2.
 */
export function fillFolder(ground: Ground, options: FillOptions): Duty {
  const { store, world } = ground;
  const { disk } = world;
  const { wireDir, mode } = options;
  /** What of each author was there when its files were filled: they are looked at when there is more. */
  const filled = new Map<string, string>();

  /** Those that the author would write here. */
  function filesOf(author: string): Filled[] {
    const { members } = ground;
    const takesLoose = (line: OwnLine): boolean => line.seq > 0 || hasAddressees(line);
    if (members.get(author) !== false)
      return carriersOf(author, members).map(({ path, takes }) => ({
        ...{ path, isCopy: takes !== undefined },
        takes: (line) => takesLoose(line) && (takes?.(line) ?? true),
      }));
    const others = [...members.keys()].filter((member) => member !== author);
    return others.map((member) => ({
      ...{ path: pairPath(author, member), isCopy: true },
      takes: (line) => takesLoose(line) && isAddressedTo(line, member),
    }));
  }

  function fill(author: string, { path, takes, isCopy }: Filled, there: readonly string[]): void {
    const key = `filled ${path}`;
    const saved = there.includes(path) ? store.cursor(key) : undefined;
    const known = saved === undefined ? undefined : (JSON.parse(saved) as Published);
    const others = isCopy ? [] : there.filter((name) => name !== path);
    const inWire = (name: string): string => join(wireDir, name);
    const carrier: Carrier = { path: inWire(path), others: others.map(inWire), mode, takes };
    const chain = {
      ...chainToPublish(store, author),
      extras: (after: number) =>
        store.loose(author, { after, limit: MOST_LOOSE }).map(({ n, bytes }) => ({ e: n, bytes })),
    };
    if (path.includes("/")) makeFolderLike(disk, dirname(carrier.path));
    const published = publish(disk, carrier, chain, known, () => undefined);
    const text = JSON.stringify(published);
    if (text !== saved) store.write((into) => into.setCursor(key, text));
  }

  return {
    write() {
      if (!options.isMover() || disk.stat(wireDir) === undefined) return;
      const due = ground.roster.handles.flatMap((author) => {
        const has = `${store.chains.whole(author).seq} ${store.lastLoose(author)}`;
        return options.isLocal(author) || filled.get(author) === has ? [] : [{ author, has }];
      });
      if (due.length === 0) return;
      const carriers = options.list();
      const troubles: StorageError[] = [];
      for (const { author, has } of due) {
        try {
          const there = carriers.filter(({ owner }) => owner === author).map(({ name }) => name);
          for (const file of filesOf(author)) fill(author, file, there);
          filled.set(author, has);
        } catch (error) {
          // Another user's file stops no other one.
          if (!(error instanceof StorageError) || error.path === store.path) throw error;
          troubles.push(error);
        }
      }
      const [first] = troubles;
      if (first !== undefined) throw first;
    },
  };
}

/** One in no chain that names nobody is for the reader of the file in which it was found: that is not known here. */
function hasAddressees({ bytes }: OwnLine): boolean {
  const parsed = parseObject(bytes);
  return parsed.ok && parsed.value["to"] !== undefined;
}
