import { expect, test } from "vitest";
import { fromPlain } from "../../src/wire/json/json.ts";
import { MAX_QUARANTINE_BYTES } from "../../src/storage/files/quarantine.ts";
import { HOUR, MINUTE } from "../support/scripts/proposal-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay");

const HONEST = ["forge", "quill"];
const HOSTILE = "vane";
const LOG = "vane";
/** The night is eight hours long in the nightly run, and two with as many requests otherwise. */
const HOURS = process.env["DEADDROP_NIGHTLY"] === "1" ? 8 : 2;
const NIGHT_MINUTES = HOURS * 60;
const REQUESTS_A_MINUTE = 168 / HOURS;

/** All that a member of tier VERIFIED can think of in one minute. */
function minuteOf(wire: SimulatedWire, minute: number): string {
  const drafts = [
    {
      type: "incident",
      subject: "all burns",
      ackRequired: true,
      body: { severity: minute % 2 === 0 ? "critical" : "low" },
    },
    { type: "claim", subject: "mine", body: { paths: ["**"], ttl_seconds: 86_400 } },
    { type: "shutdown", subject: "go", body: {} },
    ...Array.from({ length: REQUESTS_A_MINUTE }, (_, at) => ({
      type: "request",
      subject: "may I",
      body: {
        request_id: (minute * REQUESTS_A_MINUTE + at).toString(16).padStart(16, "0"),
        request_type: at === 0 ? "shutdown" : "review",
      },
    })),
  ];
  let after: { seq: number; id: string } | undefined;
  const lines = drafts.map(({ body, ...draft }) => {
    const line = wire.forge(HOSTILE, {
      ...draft,
      body: fromPlain(body),
      ...(after === undefined ? {} : { after }),
    });
    after = { seq: line.message.seq ?? 0, id: line.id };
    return Buffer.from(line.line).toString("utf8");
  });
  return [...lines, `{"nonsense":${minute}`, "\u0000".repeat(64), "{}", ""].join("\n");
}

test("a VERIFIED member spends a night on incidents, claims, shutdowns, 10,000 requests and nonsense", async () => {
  const tiers = Object.fromEntries(
    HONEST.map((handle) => [handle, { [HOSTILE]: "VERIFIED" as const }]),
  );
  const wire = sceneOf([...HONEST, HOSTILE], { tiers });
  await wire.start("forge");
  await wire.start("quill");
  for (let minute = 0; minute < NIGHT_MINUTES; minute += 1) {
    wire.append(`outbox/${LOG}.jsonl`, minuteOf(wire, minute));
    await wire.pass(MINUTE);
  }
  const asked = NIGHT_MINUTES * REQUESTS_A_MINUTE;
  expect(asked).toBeGreaterThan(10_000);
  for (const handle of HONEST) {
    const agent = wire.agent(handle);
    const status = await agent.view("status", undefined);
    // Nobody is stopped.
    expect(status.parked).toBeNull();
    expect(status.safe_mode).toBeNull();
    const { paths } = await agent.view("check", { paths: ["src/x.ts"] });
    expect(paths.map(({ verdict }) => verdict)).toEqual(["free"]);
    expect(await agent.view("claims", undefined)).toEqual([]);
    // What is remembered of it is bounded.
    const requests = await agent.view("requests", {});
    expect(requests.length).toBeLessThanOrEqual(2_048);
    const size = wire.disk.lookUp(agent.place.paths.quarantine)?.size ?? 0;
    expect(size).toBeLessThanOrEqual(MAX_QUARANTINE_BYTES);
    // The operator is told six things an hour of one peer, and one that there are more.
    const told = await agent.view("notices", undefined);
    expect(told.filter(({ peer }) => peer === HOSTILE).length).toBeLessThanOrEqual((HOURS + 1) * 7);
  }
  // The two go on as ever.
  const id = await wire.send("forge", {
    to: ["quill"],
    type: "feedback",
    subject: "good morning",
    body: "x",
  });
  await wire.pass(10 * MINUTE);
  const { messages: inbox } = await wire.agent("quill").view("inbox", { from: "forge" });
  expect(inbox.map(({ event_id }) => event_id)).toEqual([id]);
  await wire.pass(HOUR);
  expect((await wire.outcome("quill")).safeMode).toBeNull();
});
