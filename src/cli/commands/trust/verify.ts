import { Command } from "commander";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { DeaddropError } from "../../../api/errors.ts";
import { verifyLine } from "../../../protocol/admit/verify-line.ts";
import type { TrustStore } from "../../../trust/store.ts";
import { parseTrustFile } from "../../../trust/trust-file.ts";
import { isBlank } from "../../../storage/disk/line-splitter.ts";
import type { Cli } from "../../context.ts";
import { inputLines } from "../../input/input-lines.ts";
import { writeExact } from "../../output/output.ts";
import { safeJson, sanitise } from "../../../framing/sanitise.ts";

const ID_BYTES = 32;

/** `deaddrop verify --trust FILE`: a fixed machine interface of spec 8.6. */
export function command(cli: Cli): Command {
  return new Command("verify")
    .summary("check message lines against the keys of a trust file")
    .description(
      "Reads message lines from standard input and prints a verdict for each, as JSON. Checks that\n" +
        "need a file, a clock or history are skipped. Exits 1 when any line was refused.",
    )
    .requiredOption("--trust <file>", "trust.json with the keys to believe")
    .action(async (flags: { trust: string }) => {
      const store = keysFrom(cli, flags.trust);
      for await (const line of inputLines(cli.stdin)) {
        if (line !== undefined && isBlank(line)) continue; // Spec 1.2: blank lines are skipped
        const verdict = verdictOn(line, store);
        if (!verdict.ok) cli.exitCode = 1;
        writeExact(cli.stdout, `${safeJson(verdict)}\n`);
      }
    });
}

function verdictOn(bytes: Uint8Array | undefined, store: TrustStore) {
  const judged = verifyLine(bytes, store);
  if (!judged.ok) return { ok: false, ...judged.problem };
  const { author, signed } = judged.line;
  // In the form of today the id is signed.
  const version = signed?.bytes.length === ID_BYTES ? "v3.1" : "v3.0";
  return { ok: true, from: author, version };
}

/** Keys that cannot be used are left out and named: their lines are then refused. */
function keysFrom(cli: Cli, trustFile: string): TrustStore {
  const path = resolve(cli.cwd, trustFile);
  // The operator has named the file: agents of one that knows no tiers count as ATTESTED.
  const parsed = parseTrustFile(readTrustFile(path), path, "ATTESTED");
  if (!parsed.ok) {
    throw new DeaddropError("usage", parsed.detail, {
      hint: "give a trust file, as in _coordination/trust.json or ~/.config/inter-agent-deaddrop",
    });
  }
  const { peers, version, problems } = parsed.document;
  for (const problem of problems) cli.stderr.write(`${sanitise(problem)}\n`);
  return { version: version ?? 0, peers };
}

function readTrustFile(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    throw new DeaddropError("usage", `${path}: no such file`, {
      hint: "--trust takes the file with the keys to believe",
      cause,
    });
  }
}
