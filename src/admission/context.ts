import type { Limits } from "../wire/limits.ts";
import type { SigningPolicy } from "../trust/policy/config.ts";
import type { TrustStore } from "../trust/store.ts";
import type { Absences } from "../wire/roster/members.ts";
import type { UnsignedPast } from "./unsigned-lines.ts";

/** What admission looks at besides the line. Our own keys are in `store` too, under `self`. */
export interface AdmissionContext {
  readonly wireId: string | undefined;
  readonly signing: SigningPolicy;
  readonly limits: Limits;
  readonly store: TrustStore;
  readonly self: string;
  /** Who left, by the pinned configuration; absent: nobody. Spec 1.1. */
  readonly left?: Absences;
  /**
   * Given when history is read again (an audit, a lost journal): then a deactivated key is
   * believed up to the last line noted when it was deactivated. Live lines never are. Spec 2.1.
   */
  readonly history?: {
    /** Whether the last line noted for that key has been passed in that log. */
    passed(keyId: string, log: string): boolean;
  };
}

/** Where a line is: `undefined` where there is no file to compare with (`deaddrop verify`). */
export interface LineSource {
  readonly owner: string | undefined;
  readonly log: string | undefined;
  /** Where history is read: what bears on an unsigned line of that author. Spec 1.5. */
  readonly unsignedPast?: ((author: string) => UnsignedPast) | undefined;
}
