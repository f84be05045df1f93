import type { Change } from "../copies/changes.ts";

/** What `git fast-import` is to make: one commit, on top of another one or the first. */
export interface NewCommit {
  readonly parent: string | undefined;
  readonly changes: readonly Change[];
  readonly author: string;
  readonly atMs: number;
}

const REF = "refs/deaddrop/ours";

/** The stream that makes that commit and prints its id. The paths are a wire's own: plain. Spec 5.2. */
export function commitInput({ parent, changes, author, atMs }: NewCommit): Buffer {
  const person = `${author} <${author}@deaddrop.invalid> ${Math.floor(atMs / 1_000)} +0000`;
  const head = [
    "feature done",
    `reset ${REF}`,
    ...(parent === undefined ? [""] : [`from ${parent}`, ""]),
    `commit ${REF}`,
    "mark :1",
    `author ${person}`,
    `committer ${person}`,
    ...dataRows(messageOf(author)),
    ...(parent === undefined ? [] : [`from ${parent}`]),
    "",
  ].join("\n");
  const pieces = changes.flatMap(({ path, bytes }) => [
    Buffer.from(`M 100644 inline ${path}\ndata ${bytes.length}\n`, "utf8"),
    bytes,
    Buffer.from("\n", "utf8"),
  ]);
  return Buffer.concat([Buffer.from(head, "utf8"), ...pieces, Buffer.from("get-mark :1\ndone\n")]);
}

/** What the log of the repository says of a commit. */
export function messageOf(author: string): string {
  return `deaddrop: ${author}`;
}

function dataRows(text: string): string[] {
  return [`data ${Buffer.byteLength(text)}`, text];
}
