import { FILES_PLANTS } from "./planted/files.js";
import { RULES_PLANTS } from "./planted/rules.js";

/**
 * Mistakes that one could make in this program. Each is put into the running code when Node loads
 * it (`DEADDROP_PLANT=name`), never into the sources, and the proof has to find it: the simulator
 * within 300 seeds, or the test that is named.
 */
export const PLANTS = [...FILES_PLANTS, ...RULES_PLANTS];

/** The plant that this process runs with, if any. Throws when there is none of that name. */
export function plantedHere(name = process.env.DEADDROP_PLANT) {
  if (name === undefined || name === "") return undefined;
  const plant = PLANTS.find((each) => each.name === name);
  if (plant === undefined) throw new Error(`no plant is named "${name}"`);
  return plant;
}

/** The text of a source file with the mistake in it. Throws when it has no place for it any more. */
export function withPlant(plant, path, text) {
  if (plant === undefined || !path.endsWith(`/${plant.file}`)) return text;
  const pieces = text.split(plant.find);
  if (pieces.length !== 2)
    throw new Error(`"${plant.name}" fits ${pieces.length - 1} places of ${plant.file}`);
  return pieces.join(plant.put);
}
