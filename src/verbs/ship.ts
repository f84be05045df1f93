import { DeaddropError } from "../api/errors.ts";
import type { JsonObject } from "../wire/json/json-value.ts";
import { EXTRAS, extrasOf, STATE, TO } from "./fields.ts";
import { threadNamed } from "./naming/parent.ts";
import { recipients } from "./naming/recipients.ts";
import { subjectOf } from "./send.ts";
import { body, text, verb } from "./verb.ts";
import { bodyFields, withState } from "./words/opening.ts";
import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { resolve } from "node:path";

const DIGEST = /^(?:[a-z0-9]+:)?[0-9a-f]{8,128}$/;

/** Done, and provably this: it carries `body.manifest_digest`. Spec 1.2. */
export const ship = verb({
  about:
    "Says that something is done. It names what by a digest: the one that you give, or that of " +
    "the files that you reference, as `sha256sum FILE… | sha256sum` computes it.",
  fields: {
    to: { ...TO, spelling: "[peer] --to <handle>" },
    subject: text("[subject] --subject <text>", "what is done"),
    body: body("what there is to say about it"),
    digest: text("--digest <digest>", "the digest, e.g. sha256:4f2a…"),
    state: STATE,
    thread: text("--thread <id>", "write into the thread of this message"),
    ...EXTRAS,
  },
  needs: [],
  examples: ['deaddrop ship "parser v2" --state "tests green on main" --ref dist/parser.js'],
  async prepare({ client, cwd }, args) {
    const { body: said = "" } = args;
    const subject = subjectOf(args.subject, said);
    const given = bodyFields(said);
    const opened = withState("ship", given, args.state) as JsonObject;
    const body = { ...opened, manifest_digest: await digestOf(cwd, given, args) };
    const to = await recipients(client, args.to);
    const thread = args.thread === undefined ? undefined : await threadNamed(client, args.thread);
    return {
      draft: {
        ...{ to, type: "ship", subject, body, ...extrasOf(args) },
        ...(thread === undefined ? {} : { correlationId: thread.correlationId }),
      },
      answers: thread?.continues,
    };
  },
});

async function digestOf(
  cwd: string,
  body: JsonObject,
  {
    digest,
    refs = [],
  }: { readonly digest?: string | undefined; readonly refs?: string[] | undefined },
): Promise<string> {
  const [only = ""] = refs;
  // One commit and no file: its id is a digest.
  const commit = refs.length === 1 && only.startsWith("git:") ? only.slice("git:".length) : "";
  const given = digest ?? body["manifest_digest"] ?? (DIGEST.test(commit) ? commit : undefined);
  if (given !== undefined) {
    if (typeof given === "string" && DIGEST.test(given)) return given;
    throw new DeaddropError("usage", "the digest is lower-case hex, with sha256: before it or not");
  }
  const files = refs.filter((ref) => !ref.startsWith("git:"));
  if (files.length > 0) return manifestDigest(cwd, files);
  throw new DeaddropError("usage", "a ship names what it ships by a digest", {
    hint: "reference the files with --ref, or give the digest with --digest",
  });
}

/**
 * The digest of files, in the order given: `sha256:` and what `sha256sum FILE… | sha256sum` prints,
 * so that a peer can check it without us. Throws DeaddropError for what is no file.
 */
async function manifestDigest(cwd: string, files: readonly string[]): Promise<string> {
  const listing = createHash("sha256");
  for (const file of files) listing.update(`${await fileDigest(cwd, file)}  ${file}\n`);
  return `sha256:${listing.digest("hex")}`;
}

async function fileDigest(cwd: string, file: string): Promise<string> {
  const path = resolve(cwd, file);
  const stat = statSync(path, { throwIfNoEntry: false });
  // sha256sum writes such names escaped; rather than follow it there, ask for another name.
  if (stat?.isFile() !== true || /[\\\n\r]/.test(file)) {
    throw new DeaddropError("usage", `--ref ${file}: no file to take the digest of`, {
      hint: "reference files that are here, or give the digest yourself with --digest",
    });
  }
  const digest = createHash("sha256");
  for await (const chunk of createReadStream(path)) digest.update(chunk as Uint8Array);
  return digest.digest("hex");
}
