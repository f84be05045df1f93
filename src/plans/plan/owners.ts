import { parseObject } from "../../wire/json/json.ts";
import { quote } from "../../wire/quote.ts";
import { isHandle } from "../../wire/handle.ts";
import type { Plan } from "./plan.ts";
import { errorAt, type Fault } from "./problem.ts";

/** Who is meant by the agent that runs the plan. Spec 7.5. */
const RUNNER: ReadonlySet<string> = new Set(["self", "coordinator"]);

/** Who works at the steps of a plan. */
export interface Owners {
  /** Undefined: without a wire, where one agent does everything. */
  readonly runner: string | undefined;
  readonly roster: readonly string[];
  /** `agent/roles.json`: a handle for each role. */
  readonly roles: ReadonlyMap<string, string>;
}

export type RolesRead =
  | { readonly ok: true; readonly roles: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly detail: string };

/** Reads `{"Backend": "bob"}`. */
export function parseRoles(bytes: Uint8Array): RolesRead {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return parsed;
  const roles = new Map<string, string>();
  for (const [role, handle] of Object.entries(parsed.value)) {
    if (typeof handle !== "string" || !(isHandle(handle) || isRunner(handle))) {
      return { ok: false, detail: `${quote(role)} needs the handle of an agent` };
    }
    roles.set(role, handle);
  }
  return { ok: true, roles };
}

/** The agent that does the steps of an owner: "self" is the runner; undefined: nobody is named so. */
export function agentOf(owner: string, { runner, roster, roles }: Owners): string | undefined {
  const named = roles.get(owner) ?? owner;
  if (runner === undefined || named === runner || isRunner(named)) return "self";
  return roster.includes(named) ? named : undefined;
}

function isRunner(name: string): boolean {
  return RUNNER.has(name.toLowerCase());
}

/** Steps that nobody on the wire owns. Spec 7.3. */
export function unknownOwners({ steps }: Plan, owners: Owners): Fault[] {
  const known = [...new Set([...owners.roster, ...owners.roles.keys()])].slice(0, 32).join(", ");
  return steps
    .filter(({ owner }) => agentOf(owner, owners) === undefined)
    .map(({ id, index, owner }) => {
      const text = `step ${quote(id)} belongs to ${quote(owner)}, who is not on this wire and no role of agent/roles.json; there are: ${known}, self`;
      return errorAt(["steps", index, "owner"], text);
    });
}
