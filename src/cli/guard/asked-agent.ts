import { readInstalledFor } from "../../setup/guard/installed-for.ts";
import type { Repository } from "../../setup/guard/repository.ts";
import type { Cli, GlobalFlags } from "../context.ts";

/**
 * Whom the guard asks in this work tree: the agent that a flag or the environment names, else the one
 * for which it was installed here, else whoever a command here is. Spec 3.6.
 */
export function askedAgent<F extends GlobalFlags>(cli: Cli, flags: F, repository: Repository): F {
  const { as = cli.env["DEADDROP_AS"] ?? "", wire = cli.env["DEADDROP_WIRE"] ?? "" } = flags;
  if (as !== "" && wire !== "") return flags;
  const installed = readInstalledFor(repository);
  return {
    ...flags,
    ...(as === "" && installed !== undefined && { as: installed.handle }),
    ...(wire === "" && installed?.wire !== undefined && { wire: installed.wire }),
  };
}
