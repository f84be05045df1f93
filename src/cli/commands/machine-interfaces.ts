import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { safeJson, sanitise } from "../../framing/sanitise.ts";
import { verifyLine } from "../../protocol/admit/verify-line.ts";
import { isBlank } from "../../storage/disk/line-splitter.ts";
import { staticSas, type SasParty } from "../../trust/pairing/sas.ts";
import type { TrustStore } from "../../trust/store.ts";
import { parseTrustFile } from "../../trust/trust-file.ts";
import { canonicalBytes, eventId, V30_OMIT, V31_OMIT } from "../../wire/canonical.ts";
import { agentName, didOf } from "../../wire/handle.ts";
import { parseObject } from "../../wire/json/json.ts";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";
import { quote } from "../../wire/quote.ts";
import { decodeKey, isAcceptableKey } from "../../wire/signature.ts";
import { define } from "../command.ts";
import type { Cli } from "../context.ts";
import { inputLines } from "../input/input-lines.ts";
import { emit, writeExact } from "../output/output.ts";

/** A fixed machine interface of spec 8.6. */
export const verify = define({
  about:
    "Reads message lines from standard input and prints a verdict for each, as JSON. Checks that " +
    "need a file, a clock or history are skipped. Exits 1 when any line was refused.",
  options: {
    "--trust <file>": { about: "trust.json with the keys to believe", isRequired: true },
  },
  async run(cli, flags) {
    const store = keysFrom(cli, flags.trust);
    for await (const line of inputLines(cli.stdin)) {
      if (line !== undefined && isBlank(line)) continue; // Spec 1.2: blank lines are skipped
      const verdict = verdictOn(line, store);
      if (!verdict.ok) cli.exitCode = 1;
      writeExact(cli.stdout, `${safeJson(verdict)}\n`);
    }
  },
});

/** A fixed machine interface of spec 8.6. */
export const canonical = define({
  about:
    "Reads JSON texts from standard input, one a line, and prints for each " +
    '{"ok":true,"canonical":"…","event_id":"…"} or {"ok":false,"reason":"malformed","detail":"…"}.',
  options: { "--v30": "the form that v3.0 signs; it has no event id" },
  async run(cli, flags) {
    for await (const line of inputLines(cli.stdin)) {
      writeExact(cli.stdout, `${safeJson(canonicalVerdict(line, flags.v30 === true))}\n`);
    }
  },
});

/** The published digits of two keys, as peers without commitments show. Spec 8.6. */
export const sas = define({
  about:
    "Prints the six digits that follow from two agents and their keys alone, as implementations " +
    "without commitments show them. Somebody in between can search for keys that give both " +
    "sides the same digits, so these alone promote nobody.",
  args: {
    "<did>": "did:wire:<handle>, or the handle",
    "<key>": "its public key: 32 bytes in base64",
    "<other-did>": "the other agent",
    "<other-key>": "its public key",
  },
  examples: ["deaddrop sas did:wire:forge <key> did:wire:scribe <key>"],
  run(cli, flags, { did, key, otherDid, otherKey }) {
    const [a, b] = [partyOf(did, key), partyOf(otherDid, otherKey)];
    if (a.did === b.did) {
      throw new DeaddropError("usage", `both sides are ${a.did}`, {
        hint: "give the two agents that are to be paired",
      });
    }
    const sas = staticSas(a, b);
    emit(cli, flags, { sas }, () => sas);
  },
});

const ID_BYTES = 32;

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

function canonicalVerdict(line: Uint8Array | undefined, v30: boolean): Record<string, unknown> {
  if (line === undefined) {
    return { ok: false, reason: "oversized", detail: `longer than ${MAX_LINE_BYTES} bytes` };
  }
  const parsed = parseObject(line);
  if (!parsed.ok) return { ok: false, reason: "malformed", detail: parsed.detail };
  const { value } = parsed;
  if (v30) return { ok: true, canonical: text(canonicalBytes(value, V30_OMIT)) };
  return { ok: true, canonical: text(canonicalBytes(value, V31_OMIT)), event_id: eventId(value) };
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

function partyOf(did: string, text: string): SasParty {
  const handle = agentName(did);
  if (handle === undefined) {
    throw new DeaddropError("usage", `${quote(did)} names no agent`, {
      hint: "give did:wire:<handle>, or the handle",
    });
  }
  const key = decodeKey(text);
  if (key === undefined || !isAcceptableKey(key)) {
    throw new DeaddropError("usage", `the key of ${handle} is no usable Ed25519 public key`, {
      hint: "give its 32 bytes in base64 (44 characters)",
    });
  }
  return { did: didOf(handle), key };
}
