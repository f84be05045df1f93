import { mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, expect, it } from "vitest";
import type { ProposalView } from "../../src/api/views.ts";
import { openClient } from "../../src/client/open-client.ts";
import { main } from "../../src/cli/main.ts";
import type { LayoutView } from "../../src/protocol/logs/layout-change.ts";
import { makeWire, removeWires, type LiveWire } from "../support/processes/live-wire.ts";
import { until } from "../support/processes/real-processes.ts";
import { BY_FLAGS } from "./on-machine.ts";

afterEach(removeWires);

/** A command in this process, as an agent of a wire with real daemons. */
function commandsAs({ env, dir, folder }: LiveWire, handle: string) {
  async function run(command: string, ...args: readonly string[]) {
    const [out, err]: [string[], string[]] = [[], []];
    const code = await main([command, "--wire", dir, "--as", handle, ...args], {
      env,
      cwd: folder,
      stdin: Readable.from([]),
      stdout: { write: (text: string) => out.push(text) },
      stderr: { write: (text: string) => err.push(text) },
      exitCode: 0,
      clock: { nowMs: () => Date.now(), sleep: async () => Promise.resolve() },
      openClient,
    });
    return { code, stdout: out.join(""), stderr: err.join("") };
  }
  async function json<T>(...args: [string, ...string[]]): Promise<T> {
    const { code, stdout, stderr } = await run(...args, "--json");
    if (code !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }
  async function refused(...args: [string, ...string[]]): Promise<string> {
    const { code, stderr } = await run(...args);
    expect(code, args.join(" ")).not.toBe(0);
    return stderr;
  }
  return { run, json, refused, layout: () => json<LayoutView>("layout") };
}

async function pair() {
  const wire = makeWire({ cadenceSeconds: 1 });
  const daemons = [await wire.daemon("forge"), await wire.daemon("scribe")];
  const [forge, scribe] = [commandsAs(wire, "forge"), commandsAs(wire, "scribe")];
  const agree = async (): Promise<void> => {
    await until(
      "scribe knows of it",
      async () => (await scribe.layout()).pairs[0]?.status === "open",
    );
    const proposals = await scribe.json<ProposalView[]>("proposals");
    const open = proposals.find(({ status }) => status === "open");
    await scribe.json("accept", open?.proposal_id ?? "");
    for (const each of [forge, scribe]) {
      await until("both know", async () => (await each.layout()).agreed);
    }
  };
  const stop = async (): Promise<void> => {
    for (const daemon of daemons) await daemon.stop();
  };
  return { wire, forge, scribe, agree, stop };
}

it("is proposed to each peer once, agreed on, and taken by each operator alone", async () => {
  const { wire, forge, scribe, agree } = await pair();
  expect((await forge.layout()).pairs).toEqual([
    { between: ["forge", "scribe"], proposal_id: null, status: "none" },
  ]);
  const early = await forge.refused("layout", "accept", ...BY_FLAGS);
  expect(early).toContain("not all have agreed: forge and scribe (not proposed)");
  const nobody = { action: "layout", layout: "outbox", required: ["forge"] };
  const send = ["--type", "proposal", "--to", "scribe", "--body-json"];
  await forge.json("send", "move", ...send, "--body", JSON.stringify(nobody));
  const isVoid = "forge and scribe: void, `deaddrop proposals` says why";
  expect((await forge.run("layout")).stdout).toContain(isVoid);
  expect((await forge.run("proposals")).stdout).toContain("body.required names the proposer");
  expect(await forge.json("layout", "outbox")).toEqual({ proposed_to: ["scribe"] });
  expect(await forge.json("layout", "outbox")).toEqual({ proposed_to: [] });
  expect((await forge.run("layout")).stdout).toContain("forge and scribe: open");
  await agree();
  expect((await forge.run("layout", "show")).stdout).toContain("deaddrop layout accept");
  await until("the operator is told", async () => {
    const notices = await forge.json<{ cause: string }[]>("incident", "notices");
    return notices.some(({ cause }) => cause === "layout_agreed");
  });
  expect(await forge.refused("layout", "accept")).toContain("--yes");
  await forge.json("layout", "accept", ...BY_FLAGS);
  expect(JSON.parse(wire.text("config.json"))).toMatchObject({
    layout: { kind: "outbox", closed: ["forge_to_scribe", "scribe_to_forge"] },
  });
  expect(wire.text("PROTOCOL.md")).toContain("`forge_to_scribe.jsonl` | nobody any more");
  const bare = await scribe.refused("config", "accept", ...BY_FLAGS);
  expect(bare).toContain("the layout would change from pairwise to outbox");
  expect(bare).toContain("deaddrop layout accept");
  await scribe.json("layout", "accept", ...BY_FLAGS);
  for (const each of [forge, scribe]) {
    await until("it has moved", async () =>
      (await each.layout()).closed.every(({ by }) => by !== null),
    );
  }
  expect((await scribe.run("layout")).stdout).toContain("forge_to_scribe  closed");
  for (const act of ["accept", "outbox"]) {
    const again = await scribe.refused("layout", act, ...(act === "accept" ? BY_FLAGS : []));
    expect(again).toContain("this wire has outboxes already");
  }
  expect((await scribe.run("config", "accept", ...BY_FLAGS)).stdout).toContain("nothing to accept");
});

it("closes the logs before anything else is sent, and sends nothing while it cannot", async () => {
  const { wire, forge, agree, stop } = await pair();
  await forge.json("layout", "outbox");
  await agree();
  await stop();
  await forge.json("peer", "unchained", "scribe", "allow", ...BY_FLAGS);
  expect(await forge.refused("layout", "accept", ...BY_FLAGS)).toContain(
    "scribe may write without a chain",
  );
  await forge.json("peer", "unchained", "scribe", "refuse", ...BY_FLAGS);
  await forge.json("layout", "accept", ...BY_FLAGS);
  const [log, aside] = ["forge_to_scribe.jsonl", "aside"].map((name) => join(wire.dir, name));
  renameSync(log ?? "", aside ?? "");
  mkdirSync(log ?? "");
  expect(await forge.refused("send", "too early", "x")).toContain("forge_to_scribe");
  expect(wire.text("outbox/forge.jsonl")).toBe("");
});

it("goes on in the outbox without a daemon, with the next message", async () => {
  const { wire, forge, agree, stop } = await pair();
  await forge.json("layout", "outbox");
  await agree();
  await stop();
  await forge.json("layout", "accept", ...BY_FLAGS);
  await forge.json("send", "in the outbox", "x");
  expect(wire.lines("forge_to_scribe.jsonl").at(-1)?.body).toEqual({
    closes: "forge_to_scribe",
    into: "forge",
  });
  const outbox = wire.lines("outbox/forge.jsonl");
  expect(outbox.map(({ seq }) => seq)).toEqual([1, 2]);
  expect(outbox[1]?.subject).toBe("in the outbox");
  expect(readFileSync(join(wire.dir, "outbox/forge.jsonl"), "utf8").endsWith("\n")).toBe(true);
});
