import { Command } from "commander";
import { DeaddropError } from "../../../api/errors.ts";
import { setupHost } from "../../../setup/host.ts";
import { groupedFingerprint } from "../../../setup/contact/offered-key.ts";
import { keyReport } from "../../../setup/report.ts";
import { makeIdentity } from "../../../storage/private/identity.ts";
import { StorageError } from "../../../storage/disk/disk.ts";
import { identityPaths } from "../../../storage/paths.ts";
import { rosterProblems } from "../../../wire/handle.ts";
import type { Cli, GlobalFlags } from "../../context.ts";
import { emit } from "../../output/output.ts";

/** `deaddrop keygen`: makes a key, and never overwrites one. Spec 2.5. */
export function command(cli: Cli): Command {
  return new Command("keygen")
    .description("Makes a key pair for a handle, where init and join look for it.")
    .argument("<handle>", "whose key it is")
    .action((handle: string, flags: GlobalFlags) => {
      run(cli, handle, flags);
    });
}

export function run(cli: Cli, handle: string, flags: GlobalFlags): void {
  const [problem] = rosterProblems([handle]);
  if (problem !== undefined) {
    throw new DeaddropError("usage", problem.replace(/^roster\[0\]: /, "keygen: "));
  }
  const { disk, places, random } = setupHost(cli.env, cli.clock.nowMs());
  const paths = identityPaths(places, handle);
  const { publicKey, signer } = asRefusal(() => makeIdentity(disk, paths, handle, random(32)));
  const report = keyReport(signer.keyId, publicKey);
  emit(cli, flags, { ...report, private_key: paths.key, public_key: paths.publicKey }, (paint) =>
    [
      `${paint("bold", report.key_id)}  ${paths.key}`,
      `public key    ${report.key}  ${paths.publicKey}`,
      `fingerprint   ${groupedFingerprint(report.fingerprint)}`,
    ].join("\n"),
  );
}

/** A key that is there is no failure of the disk: exit code 1. Spec 4.2. */
function asRefusal<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== "exists") throw error;
    throw new DeaddropError("refused", error.message, { hint: error.hint, cause: error });
  }
}
