import { expect, test } from "vitest";
import { DeaddropError } from "../../src/api/errors.ts";
import { methodsOf, type Speaking } from "../../src/library/speaking.ts";
import { VERBS } from "../../src/verbs/table.ts";
import { emptyRecording, ID, recorder, resolved, whoami } from "../cli/fake-cli.ts";

const recording = emptyRecording();
const views = { whoami: whoami("forge", "scribe", "mason"), resolve_id: resolved("feedback") };
const client = recorder(recording, { views }, { handle: "forge", wireDir: "/", viaDaemon: true });
const wire = methodsOf(client, VERBS) as unknown as Speaking;

test("what a verb needs is its first argument, or among the others; a body is any JSON value", async () => {
  await wire.reply(ID, { body: { answer: [42, null] } });
  await wire.reply({ id: ID, body: "yes", ackRequired: true });
  expect(recording.drafts.splice(0)).toMatchObject([
    { to: ["scribe"], type: "feedback", body: { answer: [42, null] } },
    { to: ["scribe"], body: "yes", ackRequired: true },
  ]);
});

test("several messages are sent together, or none", async () => {
  await wire.send({ to: ["mason"], subject: "one" }, { to: ["scribe"], subject: "two" });
  expect(recording.drafts.splice(0).map(({ subject }) => subject)).toEqual(["one", "two"]);
  const second = { to: ["nobody"], subject: "two" };
  await expect(wire.send({ to: ["mason"], subject: "one" }, second)).rejects.toThrow(
    '"nobody" is not on this wire',
  );
  expect(recording.drafts).toEqual([]);
});

test.for([
  [{ subject: "s", prority: "high" }, 'there is no argument "prority"; did you mean priority?'],
  [{ subject: "s", priority: "soon" }, "priority must be one of low, medium, high"],
  [{ subject: "s", ackRequired: "perhaps" }, "ack_required must be true or false"],
  [{ subject: "s", body: () => 1 }, "body must be a JSON value"],
  [{ subject: 1n << 70n }, "subject must be text"],
] as const)("wrong arguments are named, never a TypeError: %o", async ([about, problem]) => {
  const sent = wire.send(about as never);
  await expect(sent).rejects.toThrow(DeaddropError);
  await expect(sent).rejects.toThrow(problem);
  expect(recording.drafts).toEqual([]);
});

test("what is missing is named", async () => {
  const reply = wire.reply as (...given: unknown[]) => Promise<unknown>;
  await expect(reply()).rejects.toThrow("id is missing");
  await expect(reply(undefined, { body: "x" })).rejects.toThrow("id is missing");
  await expect(reply(ID)).rejects.toThrow("the body is empty");
});
