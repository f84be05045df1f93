import { afterEach, expect, it } from "vitest";
import { until } from "../support/processes/real-processes.ts";
import { makeWire, removeWires } from "../support/processes/live-wire.ts";

afterEach(removeWires);

it("a daemon that starts lists the incidents that are not resolved, and only those", async () => {
  const wire = makeWire();
  const raise = ["incident", "raise", "--severity", "high"] as const;
  const { messages } = await wire.json<{ messages: { event_id: string }[] }>(
    "scribe",
    ...raise,
    "the build \u001b[31mbroke",
  );
  await wire.json("scribe", ...raise, "a false alarm");
  const alarm = wire.lines("scribe_to_forge.jsonl").at(-1)?.event_id as string;
  await wire.json("scribe", "incident", "resolve", alarm, "nothing was wrong");
  const daemon = await wire.daemon("forge");
  const listed = await until("it lists them", () => {
    const lines = daemon.log().filter(({ msg }) => msg === "unresolved incident");
    return lines.length > 0 && lines;
  });
  expect(listed.map(({ incident }) => incident)).toEqual([messages[0]?.event_id]);
  expect(listed[0]).toMatchObject({ from: "scribe", severity: "high", status: "open" });
  // What a peer wrote reaches no terminal as it is.
  expect(listed[0]?.["subject"]).not.toContain("\u001b");
});

it("the heartbeats after a start count one wake-up more than those before it", async () => {
  const wire = makeWire({ cadenceSeconds: 60 });
  const beats = () => wire.lines("forge_to_scribe.jsonl");
  const counts: unknown[][] = [];
  for (let starts = 0; starts < 2; starts += 1) {
    const before = new Set(beats().map(({ event_id: id }) => id));
    // A line may be published twice.
    const newer = () => beats().filter(({ event_id: id }) => !before.has(id));
    const daemon = await wire.daemon("forge");
    await until("it beats", () => newer().length > 0);
    await daemon.stop();
    counts.push([...new Set(newer().map(({ body }) => body["wakeup_count"]))]);
  }
  expect(counts).toEqual([[1], [2]]);
});
