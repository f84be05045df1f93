import { createHash } from "node:crypto";

const SHEBANG = "#!/bin/sh";
const MADE = "# made folder: ";

/** What a file in the place of a hook is to us. */
export type FoundHook =
  | { readonly is: "ours"; readonly madeFolder: string | undefined }
  /** Made by us, and changed by somebody since. */
  | { readonly is: "changed" }
  | { readonly is: "foreign" };

/**
 * A hook in POSIX sh that says who made it, and has a digest, so that a change is seen.
 *
 * @param notice its second line: who made it, and what removes it
 * @param madeFolder the first folder on the way to the hook that had to be made; undefined: none
 */
export function signedHook(
  notice: string,
  rows: readonly string[],
  madeFolder: string | undefined,
): string {
  const body = [`${MADE}${JSON.stringify(madeFolder ?? null)}`, ...rows, ""].join("\n");
  return [SHEBANG, notice, `# sha256: ${digestOf(body)}`, body].join("\n");
}

/** Whether a text is a hook with that notice. */
export function recogniseSigned(text: string, notice: string): FoundHook {
  const [shebang, second, digestLine = "", ...rest] = text.split("\n");
  if (shebang !== SHEBANG || second !== notice) {
    return { is: text.includes(notice) ? "changed" : "foreign" };
  }
  const body = rest.join("\n");
  if (digestLine !== `# sha256: ${digestOf(body)}`) return { is: "changed" };
  const made = JSON.parse(rest[0]?.replace(MADE, "") ?? "null") as string | null;
  return { is: "ours", madeFolder: made ?? undefined };
}

function digestOf(body: string): string {
  return createHash("sha256").update(body, "utf8").digest("hex");
}
