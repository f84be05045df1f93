import { afterEach, expect, it } from "vitest";
import { openWire } from "../../src/library/open-wire.ts";
import { brokenPlaces } from "../support/chain-check.ts";
import { makeWire, removeWires } from "../support/processes/live-wire.ts";

afterEach(removeWires);

const note = (subject: string) => ({ to: ["scribe"], type: "feedback", subject, body: "" });

it("an open wire outlives its daemon, and finds the next one", async () => {
  const wire = makeWire();
  const forge = await openWire(wire.dir, { as: "forge", env: wire.env });
  await forge.send(note("no daemon yet"));
  const first = await wire.daemon("forge");
  await forge.send(note("through the first"));
  first.child.kill("SIGKILL");
  await first.ended;
  await forge.send(note("without one"));
  const second = await wire.daemon("forge");
  await forge.send(note("through the second"));
  forge.close();
  await second.stop();
  const said = wire.lines("forge_to_scribe.jsonl").filter(({ type }) => type === "feedback");
  expect(said.map(({ subject }) => subject)).toEqual([
    ...["no daemon yet", "through the first", "without one", "through the second"],
  ]);
  expect(brokenPlaces(wire, "forge", "forge_to_scribe.jsonl")).toEqual([]);
});

it("calls that come together without a daemon wait for each other", async () => {
  const wire = makeWire();
  const forge = await openWire(wire.dir, { as: "forge", env: wire.env });
  const subjects = Array.from({ length: 20 }, (_, at) => `note ${at}`);
  const [answers, decisions] = await Promise.all([
    Promise.all(subjects.map((subject) => forge.send(note(subject)))),
    forge.decisions(),
  ]);
  forge.close();
  expect(answers.map(({ messages }) => messages[0]?.place[1])).toEqual(
    subjects.map((_, at) => at + 1),
  );
  expect(decisions.in_force).toEqual([]);
  expect(wire.lines("forge_to_scribe.jsonl").map(({ subject }) => subject)).toEqual(subjects);
});
