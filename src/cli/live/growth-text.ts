import type { GrowthView } from "../../agent/answers/growth.ts";

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** How large it is, and what to do where something has to be done. */
export function growthText({ files, bytes, advice }: GrowthView): string {
  const size = `${sizeText(bytes)} in ${files} ${files === 1 ? "file" : "files"}`;
  return advice === undefined ? size : `${size}; ${advice}`;
}

/** A size such as "12 MiB", with one decimal below ten. */
export function sizeText(bytes: number): string {
  let [amount, unit] = [bytes, 0];
  while (amount >= 1_024 && unit < UNITS.length - 1) {
    amount /= 1_024;
    unit += 1;
  }
  const digits = unit === 0 || amount >= 10 ? 0 : 1;
  return `${amount.toFixed(digits)} ${UNITS[unit] ?? ""}`;
}
