import { afterEach, expect, it } from "vitest";
import { until } from "../../support/processes/real-processes.ts";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";

afterEach(removeWires);

interface Sent {
  readonly receipts: readonly unknown[];
}

interface TrustRow {
  readonly handle: string;
  readonly keys: readonly { readonly key_id: string }[];
}

it("revoked key: what it signs from then on is not taken, its agent is held, history stays", async () => {
  const wire = makeWire();
  await wire.daemon("forge");
  const scribe = await wire.daemon("scribe");
  const subjects = () => wire.privateLines("scribe", "inbox").map(({ subject }) => subject);
  /** Scribe's daemon has looked since: it has beaten twice. */
  const looked = async (): Promise<void> => {
    const before = wire.lines("scribe_to_forge.jsonl").length;
    await until("it has looked", () => wire.lines("scribe_to_forge.jsonl").length >= before + 2);
  };
  await wire.json("forge", "send", "before");
  await until("it is there", () => subjects().length === 1);

  const rows = await wire.json<TrustRow[]>("scribe", "trust", "list");
  const keyId = rows.find(({ handle }) => handle === "forge")?.keys[0]?.key_id ?? "";
  await wire.json("scribe", "trust", "revoke", keyId, "--yes", "--reason", "it was stolen");
  await wire.json("forge", "send", "by whoever has the key");
  await looked();
  expect(subjects()).toEqual(["before"]);
  expect(await wire.json("scribe", "peers")).toMatchObject([{ handle: "forge", held: true }]);
  // Whoever has the key is told.
  const [sent] = await wire.json<Sent[]>("forge", "sent", "--limit", "1");
  expect(sent?.receipts).toMatchObject([{ to: "scribe", state: "refused" }]);

  // A daemon that starts again believes the history of the key, and no more than that.
  expect((await scribe.stop()).code).toBe(0);
  await wire.daemon("scribe");
  await wire.json("forge", "send", "again");
  await looked();
  expect(subjects()).toEqual(["before"]);
  const inbox = await wire.run("scribe", "inbox", "--json");
  expect(inbox.stdout.trimEnd().split("\n")).toHaveLength(1);
});
