import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { TransportError } from "../carrier.ts";
import type { Repository } from "./repository.ts";

const MAX_PUSHES = 8;
const CONFIG = "config.json";

/**
 * Makes a wire in the repository, or finds the one that is there: whose push of `config.json` is taken has made
 * it. Spec 1.1, 5.2.
 *
 * @param config of the wire that is to be made
 * @param pause waits before another attempt, that many more each time
 * @returns the `config.json` of the wire that is in the repository now
 * @throws TransportError
 */
export async function claimWire(
  repository: Repository,
  config: Uint8Array,
  pause: (attempt: number) => Promise<void>,
): Promise<Uint8Array> {
  for (let attempt = 1; attempt <= MAX_PUSHES; attempt += 1) {
    const head = await repository.fetch();
    if (head !== undefined) {
      const { files, odd } = await repository.list(head, [CONFIG]);
      const there = files.find(({ path }) => path === CONFIG);
      if (there !== undefined) return repository.read(there.id, MAX_CONFIG_BYTES);
      if (odd.has(CONFIG)) throw notPlain(odd.get(CONFIG));
    }
    const change = { path: CONFIG, bytes: config.length, pieces: [config] };
    const commit = await repository.commit(head, [change]);
    if (await repository.push(commit)) return config;
    await pause(attempt);
  }
  throw new TransportError("unreachable", "others push all the time", { hint: "try it again" });
}

function notPlain(what: string | undefined): TransportError {
  return new TransportError("stopped", `config.json in the repository is ${what ?? "no file"}`, {
    hint: "look at the repository: it is no wire, or somebody has tampered with it",
  });
}
