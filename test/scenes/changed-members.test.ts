import { expect, test } from "vitest";
import {
  ack,
  causesOf,
  MINUTE,
  propose,
  SECOND,
  statusOf,
} from "../support/scripts/proposal-scene.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const ROSTER = ["forge", "scribe", "mason"];

test.each([
  ["the roster lost a handle", { roster: ["forge", "scribe"] }],
  ["a key that nobody knows", { colour: "blue" }],
  ["another wire id", { wire_id: "0011223344556677" }],
])(
  "config.json with %s is told once, and a running daemon goes on as before",
  async (_, change) => {
    const wire = new SimulatedWire(ROSTER);
    await wire.start();
    const first = await propose(wire, "forge", ["scribe", "mason"], "Use tabs");
    await wire.pass(5 * SECOND);
    for (const member of ["scribe", "mason"]) await ack(wire, member, first);
    await wire.pass(MINUTE);
    const config = JSON.parse(wire.read("config.json")) as object;
    wire.replace("config.json", JSON.stringify({ ...config, ...change }));
    await wire.pass(3 * MINUTE);
    await wire.stop("forge");
    await wire.start("forge");
    const second = await propose(wire, "forge", ["mason"], "Use spaces");
    await wire.pass(5 * SECOND);
    await ack(wire, "mason", second);
    await wire.pass(MINUTE);
    for (const id of [first, second]) expect(await statusOf(wire, "forge", id)).toBe("ratified");
    for (const who of ROSTER) expect(await causesOf(wire, who)).toEqual(["config_drift"]);
  },
);

test("status names logs that nobody reads", async () => {
  const wire = new SimulatedWire(["forge", "scribe"], {});
  await wire.start("forge");
  const troubles = async () => (await wire.agent("forge").view("status", undefined)).troubles;
  expect(await troubles()).toEqual([]);
  wire.append("forge_to_mason.jsonl", "{}\n");
  wire.append("notes.jsonl", "{}\n");
  await wire.settle();
  expect(await troubles()).toMatchObject([
    { code: "unowned_log", detail: expect.stringMatching(/: forge_to_mason.jsonl, notes.jsonl$/) },
  ]);
  for (let at = 0; at < 200; at += 1) wire.append(`no log ${at}.jsonl`, "{}\n");
  await wire.settle();
  const [trouble] = await troubles();
  expect(trouble?.detail).toContain('"no log 0.jsonl"');
  expect(trouble?.detail).toContain(" and 182 more");
});
