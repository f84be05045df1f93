import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { SHARED_FILES } from "../archive.ts";
import type { WireLayout } from "../carrier.ts";

/**
 * What a path in the repository is.
 *
 * - `carrier`: of one owner; live or archived.
 * - `shared`: lines of everybody, live or archived.
 * - `document`: replaced as a whole.
 * - `other`: of the repository or of people, none of the wire's business.
 */
export interface WirePath {
  readonly is: "carrier" | "shared" | "document" | "other";
  /** The agent that alone writes it. */
  readonly owner?: string;
}

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
    for (const path of COMMON_DOCUMENTS) live.set(path, { is: "document" });
    for (const owner of layout.handles) {
      live.set(`trust/${owner}.card.json`, { is: "document", owner });
      live.set(`${owner}_state.json`, { is: "document", owner });
    }
    for (const path of SHARED_FILES) live.set(path, { is: "shared" });
    for (const [path, { owner }] of layout.carriers) live.set(path, { is: "carrier", owner });
    this.layout = layout;
    this.live = live;
  }

  /** Undefined: no path that a wire has. */
  get(path: string): WirePath | undefined {
    const live = this.layout.parts.liveOf(ARCHIVED.exec(path)?.[1] ?? "") ?? path;
    return this.live.get(live) ?? (OTHER.test(path) ? { is: "other" } : undefined);
  }
}
