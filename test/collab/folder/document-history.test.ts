import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noteDocuments, outOfTurn } from "../../../src/collab/folder/document-history.ts";
import { planInit } from "../../../src/collab/folder/init-plan.ts";
import { initRound } from "../../../src/collab/folder/init-round.ts";
import { readRound } from "../../../src/collab/folder/read-round.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { collabHistory, placesFrom } from "../../../src/storage/paths.ts";
import { newFolder } from "../scripted-round.ts";

test.each(["", "null", "{}", "7", "[null]", '[{"seq":"1"}]', '[{"seq":1,"hashes":null}]'])(
  "a note of the documents that holds %j is passed over, and noted again",
  (damaged) => {
    const disk = nodeDisk();
    const root = newFolder();
    const folder = join(root, "round");
    const wish = {
      ...{ folder, participants: ["ann", "bob"], objective: "Choose.", completion: ["It is so"] },
      ...{ schema: 1 as const, type: undefined, file: undefined, checks: [], mode: undefined },
      ...{ dir: undefined, repoRoot: undefined },
    };
    initRound(disk, planInit(disk, wish, "/"), Date.parse("2026-11-21T12:00:00Z"));
    const places = placesFrom({ HOME: root }, root);
    const { round } = readRound(disk, folder);
    noteDocuments(disk, places, folder, round);
    const [name = ""] = readdirSync(collabHistory(places));
    writeFileSync(join(collabHistory(places), name), damaged);
    expect(outOfTurn(disk, places, folder, round)).toEqual([]);
    noteDocuments(disk, places, folder, round);
    const noted: unknown = JSON.parse(readFileSync(join(collabHistory(places), name), "utf8"));
    expect(noted).toEqual([{ seq: 1, hashes: expect.any(Object) as object }]);
  },
);
