import type { Plant } from "../plants.js";

export const RULES_PLANTS: readonly Plant[];
