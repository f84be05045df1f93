import { MAX_ROSTER } from "./limits.ts";
import { quote } from "./quote.ts";

const HANDLE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const DID_PREFIX = "did:wire:";
// Windows reserves a device name with any extension too: `con.log` opens the console.
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;

/** Spec 1.1. */
export function isHandle(text: string): boolean {
  return HANDLE.test(text);
}

/** `did:wire:scribe` names `scribe`; undefined for anything else. */
export function handleFromDid(did: string): string | undefined {
  if (!did.startsWith(DID_PREFIX)) return undefined;
  const handle = did.slice(DID_PREFIX.length);
  return isHandle(handle) ? handle : undefined;
}

export function didOf(handle: string): string {
  return DID_PREFIX + handle;
}

/** Who is meant by a handle or by `did:wire:<handle>`, the two spellings of `from`. Spec 1.2. */
export function agentName(name: string): string | undefined {
  return isHandle(name) ? name : handleFromDid(name);
}

/**
 * Why a wire cannot be made or joined with these handles: one message for each fault, none when
 * all is well. Spec 1.1.
 */
export function rosterProblems(roster: readonly string[]): string[] {
  if (roster.length > MAX_ROSTER) {
    return [`roster: ${roster.length} agents; at most ${MAX_ROSTER} share a wire`];
  }
  const problems: string[] = [];
  const firstByFolded = new Map<string, string>();
  for (const [index, handle] of roster.entries()) {
    const where = `roster[${index}]: ${quote(handle, 128)}`;
    const twin = firstByFolded.get(handle.toLowerCase());
    if (!isHandle(handle)) {
      problems.push(
        `${where} is not a handle; use a letter or digit, then up to 127 letters, digits, ".", "_" or "-"`,
      );
    } else if (WINDOWS_DEVICE.test(handle)) {
      problems.push(`${where} is a reserved name on Windows; choose another handle`);
    } else if (twin === handle) {
      problems.push(`${where} is in the roster twice`);
    } else if (twin !== undefined) {
      problems.push(
        `${where} differs from ${quote(twin, 128)} only in case; choose another handle`,
      );
    } else {
      firstByFolded.set(handle.toLowerCase(), handle);
    }
  }
  return problems.length > 0 ? problems : sharedNames(roster);
}

/** `a` to `b_to_c` and `a_to_b` to `c` would both be `a_to_b_to_c.jsonl`. */
function sharedNames(roster: readonly string[]): string[] {
  const pairByName = new Map<string, string>();
  const problems: string[] = [];
  for (const from of roster) {
    for (const to of roster) {
      if (from === to) continue;
      const name = `${from}_to_${to}`.toLowerCase();
      const pair = `"${from}" to "${to}"`;
      const other = pairByName.get(name);
      if (other === undefined) pairByName.set(name, pair);
      else problems.push(`roster: ${other} and ${pair} would share the file ${name}.jsonl`);
    }
  }
  return problems;
}
