import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { SHARED_FILES } from "../archive.ts";
import type { ListedCarrier, WireLayout } from "../carrier.ts";

/**
 * What a path in the repository is. `owner`: the agent that alone writes it.
 *
 * - `carrier`: of one owner; live or archived.
 * - `shared`: lines of everybody, live or archived.
 * - `document`: replaced as a whole.
 * - `other`: of the repository or of people, none of the wire's business.
 */
export type WirePath =
  | { readonly is: "carrier"; readonly owner: string; readonly reader: string | undefined }
  | { readonly is: "shared"; readonly owner?: undefined }
  | { readonly is: "document"; readonly owner: string | undefined }
  | { readonly is: "other"; readonly owner?: undefined };

/** More of a file is not taken. A shared file has to fit into memory. */
export const MAX_BYTES: Readonly<Record<WirePath["is"], number>> = {
  carrier: 256 * 1_048_576,
  shared: 64 * 1_048_576,
  document: MAX_CONFIG_BYTES,
  other: 0,
};

/** Documents that every agent may change. */
export const COMMON_DOCUMENTS: readonly string[] = [
  "config.json",
  "tiers.json",
  "PROTOCOL.md",
  "trust.json",
];
/** What people and hosts keep in a repository; each daemon makes its own SAFE_MODE. */
const OTHER =
  /^(?:SAFE_MODE|\.gitattributes|\.gitignore|\.github\/.+|(?:README|LICENSE|CHANGELOG)[^/]*)$/;
const ARCHIVED = /^archive\/20[0-9]{2}\/([^/]+)$/;

/** Names are formed from handles and compared; no path is followed or split to find a handle. */
export class WirePaths {
  readonly layout: WireLayout;
  /** Every path but those in the archive. */
  readonly live: ReadonlyMap<string, WirePath>;

  constructor(layout: WireLayout) {
    const live = new Map<string, WirePath>();
    for (const path of COMMON_DOCUMENTS) live.set(path, { is: "document", owner: undefined });
    for (const owner of layout.handles) {
      live.set(`trust/${owner}.card.json`, { is: "document", owner });
      live.set(`${owner}_state.json`, { is: "document", owner });
    }
    for (const path of SHARED_FILES) live.set(path, { is: "shared" });
    for (const [path, { owner, reader }] of layout.carriers)
      live.set(path, { is: "carrier", owner, reader });
    this.layout = layout;
    this.live = live;
  }

  /** Undefined: no path that a wire has. */
  get(path: string): WirePath | undefined {
    const live = this.liveOf(path);
    return live === undefined && OTHER.test(path) ? { is: "other" } : this.live.get(live ?? "");
  }

  /** The live file that it is, or is an archived part of. */
  liveOf(path: string): string | undefined {
    return this.live.has(path) ? path : this.layout.parts.liveOf(ARCHIVED.exec(path)?.[1] ?? "");
  }

  carrier(name: string): ListedCarrier | undefined {
    const found = this.get(name);
    return found?.is === "carrier" ? { name, owner: found.owner, reader: found.reader } : undefined;
  }
}
