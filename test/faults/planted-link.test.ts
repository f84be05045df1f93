import { join } from "node:path";
import { expect, test } from "vitest";
import { MINUTE, SECOND } from "../support/scenes/fault-scene.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const said = (subject: string) => ({ to: ["*"], type: "feedback", subject, body: "x" });

test.each(["before it starts", "while it runs"] as const)(
  "a daemon that finds something else in the place of its carrier %s takes in mail, and publishes later",
  async (when) => {
    const wire = new SimulatedWire(["forge", "quill", "scribe"], { withFaults: true });
    const subjects = async (handle: string) =>
      (await wire.agent(handle).view("inbox", {})).messages.map(({ subject }) => subject);
    await wire.start();
    await wire.send("forge", said("before"));
    await wire.pass(5 * SECOND);
    if (when === "before it starts") await wire.stop("forge");
    const carrier = wire.carrier("forge");
    const path = join(wire.wirePath, carrier);
    const stood = wire.read(carrier);
    wire.disk.process().remove(path);
    wire.disk.process().makeFolder(path, 0o700);
    if (when === "before it starts") await wire.start("forge");
    await wire.send("quill", said("hello"));
    await wire.send("forge", said("to nobody yet"));
    await wire.pass(3 * MINUTE);
    expect(await subjects("forge")).toEqual(["hello"]);
    expect(await subjects("scribe")).toEqual(["before", "hello"]);
    // It does not spin.
    expect(wire.agent("forge").nextDueMs()).toBeGreaterThan(wire.elapsedMs);
    wire.disk.process().remove(path);
    wire.replace(carrier, stood);
    await wire.pass(2 * MINUTE);
    await wire.send("forge", said("again"));
    expect(await subjects("scribe")).toEqual(["before", "hello", "to nobody yet", "again"]);
  },
);
