import type { Plant } from "../plants.js";

export const FILES_PLANTS: readonly Plant[];
