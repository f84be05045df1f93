import { createHash } from "node:crypto";
import { quote } from "../../wire/quote.ts";
import type { RemoteFile } from "../copies/remote-files.ts";
import type { WireFiles } from "../copies/wire-files.ts";
import type { TransportTrouble } from "../port.ts";
import type { FetchedFiles } from "../remote.ts";
import type { Repository } from "./repository.ts";
import type { Tree } from "./tree.ts";

const MAX_NAMED_PATHS = 8;

/** A commit as a wire: the files that a wire has, and what else is where one may be. Spec 5.2. */
export function remoteTree(
  tree: Tree,
  prefix: string,
  wire: WireFiles,
  repository: Pick<Repository, "blob" | "format">,
): FetchedFiles {
  const files = new Map<string, RemoteFile>();
  const unknown: string[] = [];
  for (const [path, entry] of within(tree.files, prefix)) {
    const file = wire.of(path);
    if (file === undefined) unknown.push(path);
    else if (file.is !== "other") files.set(path, entry);
  }
  const strange = [...within(tree.strange, prefix)].filter(
    ([path]) => wire.of(path)?.is !== "other",
  );
  return {
    remote: {
      files,
      idOf: (bytes) => blobId(bytes, repository.format),
      read: (id, into) => repository.blob(id, into),
    },
    troubles: [
      ...strange.slice(0, MAX_NAMED_PATHS).map(([path, what]) => trouble(path, `it is ${what}`)),
      ...(unknown.length === 0 ? [] : [unknownPaths(unknown)]),
      ...(tree.isWhole
        ? []
        : [
            trouble(
              prefix,
              "it has far more files than a wire; only the wire's own were looked at",
            ),
          ]),
    ],
  };
}

function* within<T>(
  entries: ReadonlyMap<string, T>,
  prefix: string,
): Generator<readonly [path: string, entry: T]> {
  for (const [path, entry] of entries) {
    if (path.startsWith(prefix)) yield [path.slice(prefix.length), entry];
  }
}

function unknownPaths(paths: readonly string[]): TransportTrouble {
  const named = paths.slice(0, MAX_NAMED_PATHS).map((path) => quote(path.slice(0, 100)));
  const more = paths.length > named.length ? ` and ${paths.length - named.length} more` : "";
  return {
    cause: "wire_tampered",
    where: `${named.join(", ")}${more}`,
    detail: "no file of a wire has such a name; it was not taken in",
  };
}

function trouble(path: string, detail: string): TransportTrouble {
  return {
    cause: "wire_tampered",
    where: quote(path.slice(0, 100)),
    detail: `${detail}; it was not taken in`,
  };
}

/** The id that git gives a file with that content. */
function blobId(bytes: Uint8Array, format: "sha1" | "sha256"): string {
  return createHash(format).update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}
