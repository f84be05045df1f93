import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { daemonPathsOf } from "../../src/client/daemon-paths.ts";
import { placesFrom } from "../../src/storage/paths.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "deaddrop-private-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test.each(["null", "7", "[]", "{", '{"wire_id":null}'])(
  "a peer that writes %s into config.json ends no command of ours",
  (text) => {
    const wireDir = join(root, "wire");
    mkdirSync(wireDir);
    writeFileSync(join(wireDir, "config.json"), text);
    const places = placesFrom({ HOME: root }, root);
    expect(() => daemonPathsOf(places, { wireDir, handle: "forge" })).not.toThrow();
  },
);
