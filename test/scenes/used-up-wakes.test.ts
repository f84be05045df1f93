import { expect, test } from "vitest";
import { MINUTE, SECOND } from "../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import { commandIn } from "../support/scenes/scene-cli.ts";

// What a sender is told of an agent whose wakes are used up. Spec 8.3.
const sceneOf = checkedScenes("replay and audit");

test("who sends to an agent whose wakes are used up is told that it is not woken, and until when", async () => {
  const wire = sceneOf(["lead", "mate", "third"]);
  await wire.start();
  const untilMs = wire.nowMs + 30 * MINUTE;
  const send = (from: string, ...flags: readonly string[]) =>
    commandIn(wire, from, "send", "a question", "words", "--to", "mate", ...flags);
  expect(await send("lead")).not.toContain("not woken");

  await wire.agent("mate").setStatus({ notWoken: { lead: { untilMs } } });
  await wire.pass(5 * SECOND);
  expect(await send("lead")).toContain(
    "mate is not woken: its wakes for your mail are used up until",
  );
  const answer = JSON.parse(await send("lead", "--json")) as object;
  expect(answer).toMatchObject({ not_woken: [{ peer: "mate", until: "<time>" }] });
  // Urgent mail wakes, what wakes nobody is not spoken of, and others have wakes left.
  expect(await send("lead", "--priority", "high")).not.toContain("not woken");
  expect(await commandIn(wire, "lead", "claim", "src/web")).not.toContain("not woken");
  expect(await send("third")).not.toContain("not woken");

  const urgent = { untilMs, urgentUntilMs: untilMs - MINUTE };
  await wire.pass(MINUTE);
  await wire.agent("mate").setStatus({ notWoken: { lead: urgent } });
  await send("lead");
  await wire.pass(5 * SECOND);
  expect(await send("lead", "--priority", "high")).toContain("mate is not woken");
  await wire.pass(31 * MINUTE);
  expect(await send("lead")).not.toContain("not woken");
});
