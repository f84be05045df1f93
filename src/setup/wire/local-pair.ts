import { DeaddropError } from "../../api/errors.ts";
import type { SetupHost } from "../host.ts";
import { initWire, type InitRequest } from "./init-wire.ts";
import type { SetupReport } from "../report.ts";
import { NO_AGREEMENT, type Agreement } from "./policy-to-pin.ts";

/**
 * Makes a wire with all of its agents on this machine, under this user: keys for each, and each
 * pins the others at TRUSTED, since one operator holds all the keys. A report for each. Spec 8.6.
 */
export function initLocalPair(
  host: SetupHost,
  request: Omit<InitRequest, "handles" | "peerKeys">,
  handle: string,
  agrees: Agreement = NO_AGREEMENT,
): readonly SetupReport[] {
  if (request.group !== undefined) {
    throw new DeaddropError("usage", "--local-pair and --group exclude each other", {
      hint: "with --group each agent is a user of its own: run init as one, join as the other",
    });
  }
  return initWire(host, { ...request, handles: [handle, ...request.peers], peers: [] }, agrees);
}
