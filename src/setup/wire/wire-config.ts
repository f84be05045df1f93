import { parsedConfig } from "../../agent/config/parsed-config.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { wirePaths } from "../../storage/paths.ts";
import type { WireConfig } from "../../trust/policy/config.ts";
import { DEFAULT_LIMITS, MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import type { ProtocolSubject } from "./protocol-document.ts";

/** The text of config.json for a new wire. Spec 1.1. */
export function newConfigText(wireId: string, roster: readonly string[]): string {
  const config = {
    wire_id: wireId,
    protocol_version: "v3.1",
    roster,
    v3_signing: { enforce_signed: true, allow_unsigned_from: [] },
    domains: {},
    limits: DEFAULT_LIMITS,
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

/** What config.json of a wire says; undefined when the wire has none. Throws when it is invalid. */
export function readWireConfig(disk: Disk, wireDir: string): WireConfig | undefined {
  const path = wirePaths(wireDir).config;
  const bytes = readWhole(disk, path, MAX_CONFIG_BYTES);
  return bytes === undefined ? undefined : parsedConfig(path, bytes);
}

/** What PROTOCOL.md is made from. */
export function protocolSubject(config: WireConfig): ProtocolSubject {
  return {
    wireId: config.wireId,
    roster: config.roster,
    unchained: config.unchained,
    enforceSigned: config.signing.enforceSigned,
    domains: [...config.domains].map(([name, domain]) => ({ name, ...domain })),
    limits: config.limits,
  };
}
