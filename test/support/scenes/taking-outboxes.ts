import { expect } from "vitest";
import { loadPlace } from "../../../src/agent/config/agent-config.ts";
import { takeOutboxLayout } from "../../../src/setup/wire/move-wire.ts";
import type { SimulatedWire } from "./simulated-wire.ts";

/** Operators take the layout of outboxes, as `layout accept` does. */
export async function take(wire: SimulatedWire, ...handles: readonly string[]): Promise<void> {
  for (const handle of handles) {
    const process = wire.disk.process();
    const place = loadPlace(process, wire.placesOf(handle), { wireDir: wire.wirePath, handle });
    expect(takeOutboxLayout(process, place)).toEqual([]);
    if (wire.isUp(handle)) await wire.agent(handle).reload();
  }
  await wire.settle();
}
