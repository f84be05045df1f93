import { Command } from "commander";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { DeaddropError } from "../../../api/errors.ts";
import { verifyContext, verifyLine } from "../../../admission/verify-lines.ts";
import type { AdmissionContext } from "../../../admission/context.ts";
import { isBlank } from "../../../storage/disk/line-splitter.ts";
import type { Cli } from "../../context.ts";
import { inputLines } from "../../input/input-lines.ts";
import { writeExact } from "../../output/output.ts";
import { safeJson, sanitise } from "../../../framing/sanitise.ts";

/** `deaddrop verify --trust FILE`: a fixed machine interface of spec 4.4. */
export function command(cli: Cli): Command {
  return new Command("verify")
    .summary("check message lines against the keys of a trust file")
    .description(
      "Reads message lines from standard input and prints a verdict for each, as JSON. Checks that\n" +
        "need a file, a clock or history are skipped. Exits 1 when any line was refused.",
    )
    .requiredOption("--trust <file>", "trust.json with the keys to believe")
    .action(async (flags: { trust: string }) => {
      const ctx = contextFrom(cli, flags.trust);
      for await (const line of inputLines(cli.stdin)) {
        if (line !== undefined && isBlank(line)) continue; // Spec 1.2: blank lines are skipped
        const verdict = verifyLine(line, ctx);
        if (!verdict.ok) cli.exitCode = 1;
        writeExact(cli.stdout, `${safeJson(verdict)}\n`);
      }
    });
}

/** Keys that cannot be used are left out and named: their lines are then refused. */
export function contextFrom(cli: Cli, trustFile: string): AdmissionContext {
  const path = resolve(cli.cwd, trustFile);
  const built = verifyContext(readTrustFile(path), path);
  if (!built.ok) {
    throw new DeaddropError("usage", built.detail, {
      hint: "give a trust file, as in _coordination/trust.json or ~/.config/inter-agent-deaddrop",
    });
  }
  for (const problem of built.problems) cli.stderr.write(`${sanitise(problem)}\n`);
  return built.ctx;
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
