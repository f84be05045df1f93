import { parsedConfig } from "../../agent/config/parsed-config.ts";
import { readWhole } from "../../storage/disk/disk.ts";
import { wirePaths } from "../../storage/paths.ts";
import { sharingOf } from "../../storage/sharing.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { randomWireId, type SetupHost } from "../host.ts";
import type { Step } from "../steps.ts";
import { openShared, share } from "./sharing.ts";

/**
 * A wire without an id, as the Python reference makes them, gets one under the lock of its configuration: without
 * it nothing is chained. Spec 1.1.
 */
export function wireIdStep(host: SetupHost, wireDir: string): Step {
  const { disk } = host;
  const path = wirePaths(wireDir).config;
  const read = () => readWhole(disk, path, MAX_CONFIG_BYTES);
  const needed = (): boolean => {
    const bytes = read();
    return bytes === undefined || parsedConfig(path, bytes).wireId === undefined;
  };
  return {
    what: `give the wire an id in ${path}`,
    needed,
    run: () => {
      const sharing = sharingOf(disk, wireDir);
      const wire_id = randomWireId(host);
      if (disk.stat(path) === undefined) {
        const temporary = `${path}.${wire_id}.new`;
        disk.replace(temporary, configText({ wire_id }), sharing.sharedMode);
        share(disk, temporary, sharing.sharedMode, sharing);
        disk.renameExclusive(temporary, path);
        return;
      }
      const file = openShared(disk, path, sharing);
      try {
        if (!needed()) return;
        const fields = JSON.parse(Buffer.from(read() ?? []).toString("utf8")) as object;
        disk.replace(path, configText({ wire_id, ...fields }), sharing.sharedMode);
        share(disk, path, sharing.sharedMode, sharing);
      } finally {
        file.close();
      }
    },
  };
}

function configText(config: object): Uint8Array {
  return Buffer.from(`${JSON.stringify(config, null, 2)}\n`, "utf8");
}
