import { DeaddropError } from "../../api/errors.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { parseObject, toPlain } from "../../wire/json/json.ts";
import { parseRoles } from "../plan/owners.ts";
import { rolesFile, type PlanPlaces } from "./plan-places.ts";

const MAX_ROLES_BYTES = 64 * 1_024;

/** Which agent has which role in a project; none without the file. Throws DeaddropError. Spec 7.5. */
export function readRoles(disk: Disk, { project }: PlanPlaces): ReadonlyMap<string, string> {
  const path = rolesFile(project);
  const bytes = readWhole(disk, path, MAX_ROLES_BYTES);
  if (bytes === undefined) return new Map();
  const parsed = parseObject(bytes);
  const read = parsed.ok ? parseRoles(toPlain(parsed.value)) : parsed;
  if (read.ok) return read.roles;
  throw new DeaddropError("config", `${path}: ${read.detail}`, {
    hint: 'it names an agent for each role: {"Backend": "bob"}',
  });
}
