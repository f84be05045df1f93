import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import type { JsonObject, JsonValue } from "../wire/json/json-value.ts";
import { recipients } from "./naming/recipients.ts";
import type { Extras, Prepared } from "./prepared.ts";
import { bodyFields, withState } from "./words/opening.ts";
import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { resolve } from "node:path";

const DIGEST = /^(?:[a-z0-9]+:)?[0-9a-f]{8,128}$/;

export interface Ship {
  readonly subject: string;
  readonly body: JsonValue;
  readonly to?: readonly string[] | undefined;
  /** Of what is shipped; else that of the files that `extras.refs` name. */
  readonly digest?: string | undefined;
  readonly state?: string | undefined;
  readonly extras: Extras;
}

/**
 * Done, and provably this: it carries `body.manifest_digest`. `cwd`: where the files are that it
 * references. Spec 1.2.
 */
export async function prepareShip(client: Client, about: Ship, cwd: string): Promise<Prepared> {
  const given = bodyFields(about.body);
  const opened = withState("ship", given, about.state) as JsonObject;
  const body = { ...opened, manifest_digest: await digestOf(cwd, given, about) };
  const to = await recipients(client, about.to);
  return { draft: { to, type: "ship", subject: about.subject, body, ...about.extras } };
}

async function digestOf(cwd: string, body: JsonObject, { digest, extras }: Ship): Promise<string> {
  const given = digest ?? body["manifest_digest"];
  if (given !== undefined) {
    if (typeof given === "string" && DIGEST.test(given)) return given;
    throw new DeaddropError("usage", "the digest is lower-case hex, with sha256: before it or not");
  }
  const files = (extras.refs ?? []).filter((ref) => !ref.startsWith("git:"));
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
