import { afterEach, expect, it } from "vitest";
import { openClient } from "../../../src/client/open-client.ts";
import { mailText } from "../../../src/framing/mail-text.ts";
import { connectMcp, textOf } from "../../support/processes/mcp-clients.ts";
import { removeWires } from "../../support/processes/live-wire.ts";
import { planTeam } from "../../support/processes/plan-team.ts";
import { until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

it("an owner whose tool has deaddrop as an MCP server is told of its step, reads it and reports, once", async () => {
  const team = await planTeam(["lead", "ann"]);
  const text =
    "plan_id: p\nsteps:\n  - {id: a, description: do it well, owner: ann, files: [a.txt], risk_notes: none}\n";
  const file = team.write("plan.yaml", text);
  const running = team.run("lead", "plan", "run", file, "--yes");
  const client = await openClient({ wireDir: team.wire.dir, handle: "ann", env: team.wire.env });
  const mail = await until("the mail of ann", async () => {
    const view = await client.view("mail");
    return view.unread > 0 && view;
  });
  expect(mail.steps).toBe(1);
  expect(mailText(mail, { handle: "ann", nowMs: 0 })).toContain(
    "A step of a plan is waiting for ann.",
  );
  client.close();

  const ann = await connectMcp(team.wire, "ann");
  const refusal = async (args: Record<string, unknown>) => {
    const answer = await ann.call("send", args);
    expect(answer.isError).toBe(true);
    return textOf(answer);
  };
  const words = await ann.words("read", { what: "steps" });
  expect(words).toContain("│ step a of plan p, with the skill execute");
  expect(words).toContain("│ do it well");
  const request = /^request ([0-9a-f]+) of lead, attempt 1, not taken yet:$/mu.exec(words)?.[1];
  const to = { type: "report", reply_to: request };
  const failed = { ...to, body: "I tried", outcome: "failure" };
  expect(await refusal(failed)).toContain("error is missing");
  const artifacts = [{ file: "a.txt", status: "created" }];
  const good = { ...to, body: "done well", outcome: "success", artifacts };
  expect(await ann.facts("send", good)).toMatchObject({ messages: [{ to: ["lead"] }] });
  expect((await running.ended).code).toBe(0);
  expect(await refusal(good)).toContain("names no step that waits");
  expect(await ann.words("read", { what: "steps" })).toBe("No step waits for you.");
  expect(team.finalReport("p").steps).toMatchObject([
    { id: "a", outcome: "success", details: "done well", reported_by: "ann" },
  ]);
  await ann.close();
});
