import { DeaddropError } from "../../api/errors.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { parseObject } from "../../wire/json/json.ts";
import { isOurs, openShared, share } from "../wire/sharing.ts";
import type { Sharing } from "../../storage/sharing.ts";

/** The public half of a key as trust files write it. Spec 2.1. */
export interface AdvertisedKey {
  readonly handle: string;
  readonly keyId: string;
  /** Standard base64 of 32 bytes. */
  readonly key: string;
  /** ISO 8601. */
  readonly addedAt: string;
  /** The ids of those that are no longer in use. */
  readonly retired?: readonly string[];
}

const MAX_TRUST_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Adds our key to the wire's trust.json, which is all that Python peers read. Everything else in
 * the file stays as it is. Under the file's kernel lock; of our own file readers see the old one or
 * the new one. Spec 2.1, 4.2.
 */
export function advertiseKey(disk: Disk, path: string, key: AdvertisedKey, sharing: Sharing): void {
  const file = openShared(disk, path, sharing);
  try {
    const text = advertisedText(disk, path);
    const next = withAdvertisedKey(text, key);
    if (!next.ok) {
      throw new DeaddropError("config", `${path}: ${next.detail}`, {
        hint: "correct the file by hand; it only advertises keys, so it can also be moved away and written again",
      });
    }
    if (next.text === text) return;
    // In a sticky folder nobody can replace another user's file. Readers bear a torn one: it proves
    // nothing.
    if (!isOurs(file.stat())) {
      file.rewrite(Buffer.from(next.text));
      return;
    }
    disk.replace(path, Buffer.from(next.text), sharing.sharedMode);
    share(disk, path, sharing.sharedMode, sharing);
  } finally {
    file.close();
  }
}

/** Whether the wire's trust.json already names our key. */
export function advertises(disk: Disk, path: string, key: AdvertisedKey): boolean {
  const text = advertisedText(disk, path);
  const next = withAdvertisedKey(text, key);
  return next.ok && next.text === text;
}

function advertisedText(disk: Disk, path: string): string {
  return Buffer.from(readWhole(disk, path, MAX_TRUST_FILE_BYTES) ?? []).toString("utf8");
}

type Advertised =
  { readonly ok: true; readonly text: string } | { readonly ok: false; readonly detail: string };

interface TrustFields {
  agents?: Record<string, AgentFields>;
}

interface AgentFields {
  public_keys?: AdvertisedEntry[];
}

type AdvertisedEntry = { key_id?: unknown; active?: unknown } | null | undefined;

/** The file's text with our key in it; the same text when it is there already. Pure. @internal */
export function withAdvertisedKey(text: string, key: AdvertisedKey): Advertised {
  const blank = text.trim() === "";
  const parsed = parseObject(Buffer.from(blank ? "{}" : text));
  if (!parsed.ok) return { ok: false, detail: parsed.detail };
  const fields = (blank ? { schema_version: "v3.1", version: 1 } : JSON.parse(text)) as TrustFields;
  const { agents = {} } = fields;
  if (!isPlainObject(agents)) return { ok: false, detail: "agents is not an object" };
  const agent = Object.hasOwn(agents, key.handle) ? agents[key.handle] : undefined;
  const keys = agent?.public_keys ?? [];
  if ((agent !== undefined && !isPlainObject(agent)) || !Array.isArray(keys)) {
    return { ok: false, detail: `agents.${key.handle} is not an agent with a list public_keys` };
  }
  const { retired = [] } = key;
  const isOver = (each: AdvertisedEntry): boolean => retired.some((id) => id === each?.key_id);
  const isShown = keys.some((each) => each?.key_id === key.keyId);
  if (isShown && !keys.some((each) => isOver(each) && each?.active !== false)) {
    return { ok: true, text };
  }
  const entry = { key_id: key.keyId, key: key.key, added_at: key.addedAt, active: true };
  const still = keys.map((each) => (isOver(each) ? { ...each, active: false } : each));
  // The tier is for the reader's operator to raise; what a file says of its own author is nothing.
  const next = {
    tier: "UNTRUSTED",
    ...agent,
    public_keys: [...still, ...(isShown ? [] : [entry])],
  };
  const document = { ...fields, agents: { ...agents, [key.handle]: next } };
  return { ok: true, text: `${JSON.stringify(document, null, 2)}\n` };
}

function isPlainObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
