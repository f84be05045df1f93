import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { HoldsView } from "../../../src/agent/answers/holds.ts";
import { composeLine, type ChainHead, type Composed } from "../../../src/wire/compose.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import {
  jsonLines,
  makeWire,
  removeWires,
  WIRE_ID,
  type LiveWire,
} from "../../support/processes/live-wire.ts";
import { until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

const BY_FLAGS = ["--yes", "--reason", "its operator has restored a backup"];

/** A line that scribe's key signs, written by hand into its log. */
function line(wire: LiveWire, subject: string, head: ChainHead | undefined): Composed {
  const signer = makeSigner("scribe", readFileSync(wire.paths("scribe").identity.key));
  const timestamp = new Date().toISOString();
  return composeLine(
    { to: ["forge"], type: "feedback", subject, body: "x", correlationId: timestamp },
    { timestamp, wireId: WIRE_ID, head },
    signer,
  );
}

const headOf = ({ message }: Composed): ChainHead => ({ seq: message.seq ?? 0, id: message.id });
const placeOf = ({ seq, id }: { seq: number; id: string }) => ["scribe", seq, id];
const textOf = (composed: Composed): string => Buffer.from(composed.line).toString("utf8");

function append(wire: LiveWire, ...lines: readonly Composed[]): void {
  const text = lines.map((each) => `${textOf(each)}\n`).join("");
  appendFileSync(join(wire.dir, "outbox", "scribe.jsonl"), text);
}

it("a peer that forks is held with both lines kept; the operator resets it, and new lines come in", async () => {
  const wire = makeWire({ handles: ["forge", "quill", "scribe"] });
  const daemon = await wire.daemon("forge");
  const subjects = () => wire.privateLines("forge", "inbox").map(({ subject }) => subject);
  const show = () => wire.json<HoldsView>("forge", "peer", "show", "scribe");
  expect((await show()).holds).toEqual([]);

  const one = line(wire, "one", undefined);
  const other = line(wire, "another one", undefined);
  const two = line(wire, "two", headOf(one));
  append(wire, one, other, two);
  const [hold] = await until("scribe is held", async () => {
    const { holds } = await show();
    return holds.length > 0 && holds;
  });
  expect(hold).toMatchObject({ cause: "log_forked", place: placeOf(headOf(one)) });
  expect(hold?.evidence).toHaveLength(1);
  const path = hold?.evidence[0] ?? "";
  const kept = jsonLines(readFileSync(path, "utf8")) as { line?: string }[];
  expect(kept.slice(1).map((each) => each.line)).toEqual([textOf(one), textOf(other)]);
  const notices = await wire.json<{ cause: string }[]>("forge", "incident", "notices");
  expect(notices.map(({ cause }) => cause)).toContain("log_forked");
  expect(wire.text("incident_log.jsonl")).not.toContain(wire.folder);
  const rows = await wire.json<{ handle: string; evidence: string[] }[]>("forge", "trust", "list");
  expect(rows.find(({ handle }) => handle === "scribe")?.evidence).toEqual([path]);

  await wire.json("quill", "send", "--to", "forge", "hello");
  await until("quill's message arrives", () => subjects().includes("hello"));
  // Whatever scribe has said of the two is nobody's mail yet.
  expect(subjects()).toEqual(["hello"]);

  // An agent's shell is not an operator.
  const refused = await wire.run("forge", "peer", "reset", "scribe");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("is the operator's to decide");
  const done = await wire.json("forge", "peer", "reset", "scribe", ...BY_FLAGS);
  expect(done).toMatchObject({ peer: "scribe", changed: true, was: [{ cause: "log_forked" }] });
  await until("what waited arrives", () => subjects().includes("two"));
  append(wire, other, two, line(wire, "three", headOf(two)));
  await until("what is new arrives", () => subjects().includes("three"));
  expect(subjects()).toEqual(["hello", "one", "two", "three"]);
  const journal = jsonLines(readFileSync(wire.paths("forge").operatorJournal, "utf8"));
  expect(journal.at(-1)).toMatchObject({ action: "peer reset", target: "scribe" });

  // The same after a restart, and there is nothing left to decide.
  await daemon.stop();
  await wire.daemon("forge");
  expect((await show()).holds).toEqual([]);
  expect((await show()).evidence).toEqual([path]);
  expect(await wire.json("forge", "peer", "reset", "scribe")).toMatchObject({ changed: false });
  expect(subjects()).toEqual(["hello", "one", "two", "three"]);
});

it("without a daemon a hold is shown and ended just so", async () => {
  const wire = makeWire({ handles: ["forge", "quill", "scribe"] });
  await wire.run("forge", "inbox");
  const one = line(wire, "one", undefined);
  append(wire, one, line(wire, "another one", undefined), line(wire, "two", headOf(one)));
  const shown = await wire.run("forge", "peer", "show", "scribe");
  expect(shown.stdout).toContain("log_forked");
  expect(shown.stdout).toContain("deaddrop peers reset scribe");
  const done = await wire.run("forge", "peer", "reset", "scribe", ...BY_FLAGS);
  expect(done.stdout).toContain("taken again scribe");
  await wire.run("forge", "inbox");
  const subjects = wire.privateLines("forge", "inbox").map(({ subject }) => subject);
  expect(subjects).toEqual(["one", "two"]);
});

it("who is held for a revoked key stays held after a reset, until another key was compared", async () => {
  const wire = makeWire();
  const rows = await wire.json<{ handle: string; keys: { key_id: string }[] }[]>(
    ...(["forge", "trust", "list"] as const),
  );
  const keyId = rows.find(({ handle }) => handle === "scribe")?.keys[0]?.key_id ?? "";
  await wire.json("forge", "trust", "revoke", keyId, ...BY_FLAGS);
  const reset = await wire.run("forge", "peer", "reset", "scribe", ...BY_FLAGS);
  expect(reset.stdout).toContain("scribe stays held until you have compared a new key of it");
  await wire.json("scribe", "send", "by whoever has the key");
  expect(await wire.json<HoldsView>("forge", "peer", "show", "scribe")).toMatchObject({
    holds: [{ place: null, cause: "key_revoked" }],
    can_speak: false,
  });
  await wire.run("forge", "inbox");
  expect(wire.privateLines("forge", "inbox")).toEqual([]);
});
