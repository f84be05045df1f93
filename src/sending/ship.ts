import type { Client } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../wire/json/json-value.ts";
import { recipients } from "./naming/recipients.ts";
import type { Extras, Prepared } from "./prepared.ts";
import { manifestDigest } from "./words/manifest.ts";
import { withState } from "./words/opening.ts";

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
  const given = asObject(about.body);
  const opened = withState("ship", given, about.state) as JsonObject;
  const body = { ...opened, manifest_digest: await digestOf(cwd, given, about) };
  const to = await recipients(client, about.to);
  return { draft: { to, type: "ship", subject: about.subject, body, ...about.extras } };
}

function asObject(body: JsonValue): JsonObject {
  if (isJsonObject(body)) return body;
  return body === "" ? {} : { text: body };
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
