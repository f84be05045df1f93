import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { UnsignedDecision } from "../../protocol/asks/record.ts";
import { shortId } from "../../framing/short-id.ts";
import { DemoFailure, type Stage } from "./stage.ts";
import { ask, FORGE, note, SCRIBE, succeed, type Telling } from "./telling.ts";

/** The lines that prove it, found in the logs and verified by the published command. */
export async function proveDecision(
  told: Telling,
  decision: Pick<UnsignedDecision, "proposal" | "acks" | "close">,
): Promise<void> {
  const trustFile = await writeKeys(told);
  const parts = [
    { what: "proposal", id: decision.proposal[2], by: FORGE },
    ...decision.acks.map(([, , id]) => ({ what: "ack", id, by: SCRIBE })),
    { what: "close", id: decision.close[2], by: FORGE },
  ];
  const lines = parts.map(({ what, id }) => lineOf(told.stage, what, id));
  const args = ["verify", "--trust", trustFile];
  const { stdout } = succeed(await told.stage.run(undefined, args, `${lines.join("\n")}\n`), args);
  const verdicts = stdout.trim().split("\n");
  for (const [at, { what, id, by }] of parts.entries()) {
    const verdict = JSON.parse(verdicts[at] ?? "{}") as { ok?: boolean; from?: string };
    if (verdict.ok !== true || verdict.from !== by) {
      throw new DemoFailure(`the ${what} ${id} of ${by} does not verify`);
    }
    note(told, `proof: ${what} ${shortId(id)}, signature of ${by} verified`);
  }
}

/** By its own id: lines name the ids of others. */
function lineOf({ wireDir }: Stage, what: string, id: string): string {
  for (const log of [`${FORGE}_to_${SCRIBE}`, `${SCRIBE}_to_${FORGE}`]) {
    const lines = readFileSync(join(wireDir, `${log}.jsonl`), "utf8")
      .trim()
      .split("\n");
    const line = lines.find((each) => (JSON.parse(each) as { event_id?: string }).event_id === id);
    if (line !== undefined) return line;
  }
  throw new DemoFailure(`the ${what} ${id} is in no log`);
}

/** Both public keys in one trust file, as an auditor would be handed them. */
async function writeKeys({ stage, ...told }: Telling): Promise<string> {
  const rows = await ask<{ handle: string; keys: object[] }[]>(
    { stage, ...told },
    FORGE,
    "trust",
    "list",
  );
  const agents = Object.fromEntries(
    rows.map(({ handle, keys }) => [handle, { tier: "ATTESTED", public_keys: keys }]),
  );
  const path = join(stage.root, "keys.json");
  writeFileSync(path, JSON.stringify({ schema_version: "v3.1", version: 1, agents }, null, 2));
  return path;
}
