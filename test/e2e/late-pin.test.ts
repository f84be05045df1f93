import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";
import { until } from "../support/processes/real-processes.ts";

afterEach(removeWires);

async function pin(wire: LiveWire, self: string, peer: string): Promise<void> {
  const rows = await wire.json<{ keys: { fingerprint: string }[] }[]>(peer, "trust", "list");
  const fingerprint = rows[0]?.keys[0]?.fingerprint ?? "";
  const flags = ["--fingerprint", fingerprint, "--yes", "--reason", "a test"];
  await wire.json(self, "trust", "pin", peer, "--tier", "VERIFIED", ...flags);
}

it("operators who pin after both daemons have begun to beat lose nothing that comes after", async () => {
  const wire = makeWire();
  for (const handle of ["forge", "scribe"]) {
    const { trust, trustSeen } = wire.paths(handle);
    for (const path of [trust, trustSeen]) rmSync(path);
    // Somebody keeps their cards away; fingerprints are all that the operators have.
    const card = join(wire.dir, "trust", `${handle}.card.json`);
    rmSync(card);
    mkdirSync(card);
  }
  await Promise.all([wire.daemon("forge"), wire.daemon("scribe")]);
  // Nobody knows forge's key, so its lines wait.
  await until("forge has beaten twice", () => wire.lines("forge_to_scribe.jsonl").length >= 2);
  await pin(wire, "scribe", "forge");
  await pin(wire, "forge", "scribe");
  await wire.json("forge", "send", "hello");
  const [message] = await until("hello is in scribe's inbox", () => {
    const inbox = wire.privateLines("scribe", "inbox");
    return inbox.length > 0 && inbox;
  });
  expect(message?.subject).toBe("hello");
  const { stdout } = await wire.run("scribe", "audit", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ violations: [], torn: [] });
});
