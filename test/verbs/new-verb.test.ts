import { expect, test } from "vitest";
import { jsonSchemaOf } from "../../src/agents/mcp/schema.ts";
import { toolsFor } from "../../src/agents/mcp/tool-table.ts";
import { groupsWith } from "../../src/cli/command-table.ts";
import { buildCommand } from "../../src/cli/command.ts";
import type { Cli } from "../../src/cli/context.ts";
import { newFrame } from "../../src/framing/frame.ts";
import { methodsOf } from "../../src/library/speaking.ts";
import { VERBS } from "../../src/verbs/table.ts";
import { emptyRecording, recorder, whoami } from "../cli/fake-cli.ts";
import { praise } from "./praise.ts";

const verbs = {
  ...VERBS,
  praise: { group: "Talk", summary: "praise a peer", load: async () => praise },
} as const;
const views = { whoami: whoami("forge", "scribe", "mason") };
const recording = emptyRecording();
const client = recorder(recording, { views }, { handle: "forge", wireDir: "/", viaDaemon: true });
const PRAISED = { to: ["mason"], subject: "praise: the parser", body: { much: "much" } };

/** The outside of a command, as far as this one needs it. */
function cliOf(out: string[]): Cli {
  return {
    ...{ env: { DEADDROP_WIRE: "/", DEADDROP_AS: "forge" }, cwd: "/", exitCode: 0 },
    stdin: { isTTY: true },
    stdout: { write: (text: string) => out.push(text) },
    stderr: { write: (text: string) => out.push(text) },
    clock: { nowMs: () => 0, sleep: async () => {} },
    openClient: async () => client,
  } as unknown as Cli;
}

test("a verb of one file and one row is a command, with its help and its place in the overview", async () => {
  const talk = groupsWith(verbs).find(({ title }) => title === "Talk");
  const entry = talk?.entries.find(({ name }) => name === "praise");
  expect(entry?.summary).toBe("praise a peer");
  const out: string[] = [];
  const command = buildCommand("praise", (await entry?.load()) ?? { about: "" }, cliOf(out));
  expect(command.helpInformation()).toMatch(/\[peer\] \[what\][^]*--much <how> +how good it is/);
  await command.parseAsync(["mason", "the parser", "--much", "much"], { from: "user" });
  expect(recording.drafts.splice(0)).toMatchObject([PRAISED]);
  expect(out.join("")).toMatch(/^sent \w+ to mason/);
});

test("it is a tool for models", async () => {
  const tool = (await toolsFor(verbs)).find(({ name }) => name === "praise");
  expect(tool).toMatchObject({ description: "Praise a peer.", effect: "sends" });
  expect(tool && jsonSchemaOf(tool.input)).toMatchObject({
    properties: { what: { type: "string" }, much: { enum: ["some", "much"] } },
    required: ["what"],
  });
  const call = {
    ...{ client, frame: newFrame(), nowMs: 0, cwd: "/", env: {}, tool: "praise" },
    ...{ skill: { instructions: "", body: "" }, signal: new AbortController().signal },
  };
  const args = { to: ["mason"], what: "the parser", much: "much" };
  expect(await tool?.run(call, args)).toMatchObject({ facts: { outcome: "sent" } });
  expect(recording.drafts.splice(0)).toMatchObject([PRAISED]);
});

test("it is a method of the library", async () => {
  const { praise: say } = methodsOf(client, verbs);
  await say?.("the parser", { to: ["mason"], much: "much" });
  expect(recording.drafts.splice(0)).toMatchObject([PRAISED]);
  await expect(say?.({ to: ["mason"] })).rejects.toThrow("praise: what is missing");
});
