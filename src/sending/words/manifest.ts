import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";

/**
 * The digest of files, in the order given: `sha256:` and what `sha256sum FILE… | sha256sum` prints,
 * so that a peer can check it without us. Throws DeaddropError for what is no file.
 */
export async function manifestDigest(cwd: string, files: readonly string[]): Promise<string> {
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
