import { expect, test } from "vitest";
import { checkedScenes } from "../support/scenes/scene-checks.ts";

const sceneOf = checkedScenes("replay");

const MINUTE = 60_000;
const LOG = "scribe_to_forge";
const FILE = `${LOG}.jsonl`;

const textOf = ({ line }: { readonly line: Uint8Array }): string =>
  `${Buffer.from(line).toString("utf8")}\n`;

test("an inbox of 64 MiB is rotated; its unread part stays readable until it has been read", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  const { paths } = wire.agent("forge").place;
  const { disk } = wire.agent("forge");
  const body = "x".repeat(1_000_000);
  for (let day = 0; day < 2; day += 1) {
    for (let at = 0; at < 35; at += 1) {
      wire.append(FILE, textOf(wire.forge("scribe", LOG, { body })));
      await wire.agent("forge").tick();
    }
    // A peer may make us store 64 MiB a day.
    wire.suspend(25 * 60 * MINUTE);
  }
  await wire.agent("forge").sync();
  expect(disk.stat(paths.inbox)?.size).toBe(0);
  // While the log is gone, what was delivered is read from the closed part.
  const whole = wire.read(FILE);
  wire.replace(FILE, "");
  const all = await wire.agent("forge").view("inbox", { unread: true });
  expect(all).toHaveLength(70);
  wire.replace(FILE, whole);
  await wire.agent("forge").markRead("all");
  wire.append(FILE, textOf(wire.forge("scribe", LOG, { subject: "new" })));
  await wire.settle();
  const [unread, ...others] = await wire.agent("forge").view("inbox", { unread: true });
  expect([unread?.subject, others]).toEqual(["new", []]);
  wire.kill("forge");
  await wire.start("forge");
  expect(disk.stat(paths.inbox)?.size).toBeLessThan(2_000);
});
