import { expect, test } from "vitest";
import { HOUR, MINUTE, SECOND } from "../support/scripts/proposal-scene.ts";
import { commandIn } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// Claims between real agents. Spec 3.6, 3.7.
const sceneOf = checkedScenes("replay and audit");
/** What is refused depends on who looks. */
const ownViewOf = checkedScenes("replay");
interface Said {
  readonly type?: string;
  readonly body?: { readonly tier?: unknown };
}

const THREE = ["forge", "quill", "scribe"];

async function claimsOf(wire: SimulatedWire, handle: string): Promise<string[]> {
  const claims = await wire.agent(handle).view("claims", undefined);
  return claims.map(({ from, paths, status }) => `${from} ${paths.join(" ")} ${status}`);
}

/** How fast an agent says that it beats. */
function lastTier(wire: SimulatedWire, handle: string): unknown {
  const lines = wire.lines(`outbox/${handle}.jsonl`).map((line) => JSON.parse(line) as Said);
  return lines.findLast(({ type }) => type === "heartbeat")?.body?.tier;
}

async function noticesOf(wire: SimulatedWire, handle: string): Promise<string[]> {
  return (await wire.agent(handle).view("agent_notices", {})).map(({ text }) => text);
}

async function isBlocked(wire: SimulatedWire, handle: string, path: string): Promise<boolean> {
  const { paths } = await wire.agent(handle).view("check", { paths: [path] });
  return paths.some(({ verdict }) => verdict === "blocked");
}

test("two claim the same at once: nobody holds, both are told, and the release of one ends it", async () => {
  const wire = sceneOf(THREE);
  await wire.start();
  expect(await commandIn(wire, "forge", "claim", "src/**", "--for", "2h")).toContain("sent <id>");
  expect(await commandIn(wire, "scribe", "claim", "src/api/*", "--anyway")).toContain("sent <id>");
  await wire.pass(2 * MINUTE);
  for (const handle of wire.roster) {
    expect(await claimsOf(wire, handle)).toEqual([
      "forge src/** contested",
      "scribe src/api/* contested",
    ]);
  }
  expect(await isBlocked(wire, "quill", "src/api/x.ts")).toBe(false);
  expect(await noticesOf(wire, "forge")).toEqual([
    'Your claim of "src/**" and one of scribe overlap, and neither of you knew of the other: neither holds until one of you releases its claim (`deaddrop release`).',
  ]);
  expect(await noticesOf(wire, "scribe")).toHaveLength(1);
  expect(lastTier(wire, "forge")).toBe("T0_HEADS_DOWN");
  expect(await commandIn(wire, "scribe", "release")).toContain("sent <id>");
  await wire.pass(2 * MINUTE);
  expect(await claimsOf(wire, "quill")).toEqual(["forge src/** held"]);
  expect((await noticesOf(wire, "forge")).at(-1)).toContain("nothing overlaps yours");
  expect(await isBlocked(wire, "quill", "src/api/x.ts")).toBe(true);
  expect(await isBlocked(wire, "forge", "src/api/x.ts")).toBe(false);
  expect(await commandIn(wire, "quill", "claim", "src/x.ts")).toContain("forge claims");
  await wire.pass(2 * HOUR);
  expect(await commandIn(wire, "quill", "claims")).toBe("No open claims.");
  expect(await isBlocked(wire, "quill", "src/api/x.ts")).toBe(false);
});

test("one that insists on what it knows is claimed loses, and both are told", async () => {
  const wire = sceneOf(THREE);
  await wire.start();
  await commandIn(wire, "forge", "claim", "src/**");
  await wire.pass(6 * MINUTE);
  await commandIn(wire, "scribe", "claim", "src/api/*", "--anyway");
  await wire.pass(MINUTE);
  expect(await claimsOf(wire, "quill")).toEqual(["forge src/** held", "scribe src/api/* lost"]);
  expect((await noticesOf(wire, "scribe"))[0]).toContain("so yours does not");
  expect((await noticesOf(wire, "forge"))[0]).toContain("yours was known to scribe and holds");
});

test("the owner of a domain grants a claim, takes it back, and is bound by none", async () => {
  const domains = { api: { owner: "quill", paths: ["src/api/"] } };
  const wire = sceneOf(THREE, { domains });
  await wire.start();
  const sent = await commandIn(wire, "forge", "claim", "src/api/x.ts");
  expect(sent).toContain("it holds once quill has accepted it.");
  await wire.pass(5 * SECOND);
  const [claim] = await wire.agent("quill").view("claims", undefined);
  expect(claim?.status).toBe("waiting");
  expect(await isBlocked(wire, "forge", "src/api/x.ts")).toBe(true);
  const id = claim?.event_id ?? "";
  expect(await commandIn(wire, "scribe", "accept", id)).toContain("decides nothing");
  expect(await commandIn(wire, "quill", "accept", id)).not.toContain("decides nothing");
  await wire.pass(MINUTE);
  expect(await claimsOf(wire, "scribe")).toEqual(["forge src/api/x.ts held"]);
  expect(await isBlocked(wire, "forge", "src/api/x.ts")).toBe(false);
  expect(await isBlocked(wire, "quill", "src/api/x.ts")).toBe(false);
  expect(await isBlocked(wire, "scribe", "src/api/x.ts")).toBe(true);
  expect(await noticesOf(wire, "forge")).toEqual(['quill granted your claim of "src/api/x.ts".']);
  await commandIn(wire, "quill", "reject", id);
  await wire.pass(MINUTE);
  expect(await claimsOf(wire, "scribe")).toEqual(["forge src/api/x.ts denied"]);
});

test("a claim of a peer below ATTESTED is refused and binds nobody", async () => {
  const tiers = { quill: { forge: "VERIFIED" as const } };
  const wire = ownViewOf(THREE, { tiers });
  await wire.start();
  await commandIn(wire, "forge", "claim", "**");
  await wire.pass(MINUTE);
  expect(await claimsOf(wire, "quill")).toEqual([]);
  expect(await isBlocked(wire, "quill", "src/x.ts")).toBe(false);
  expect(await isBlocked(wire, "scribe", "src/x.ts")).toBe(true);
});
