// Loaded before the program (node --import): its wall clock is then wrong by as many milliseconds
// as the file says whose address stands behind the question mark; "" is none. The monotonic clock
// stays what it is, as when a host's clock is set.
import { readFileSync } from "node:fs";

const file = new URL(new URL(import.meta.url).search.slice(1));
const RealDate = globalThis.Date;
const wrongMs = () => Number(readFileSync(file, "utf8"));

class SetDate extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(SetDate.now());
    else super(...parts);
  }
  static now() {
    return RealDate.now() + wrongMs();
  }
}
globalThis.Date = SetDate;
