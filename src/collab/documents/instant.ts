const DATE = String.raw`(?<year>\d{4})(?:-(?<month>\d\d)-(?<day>\d\d)|(?<month2>\d\d)(?<day2>\d\d))`;
const WEEK = String.raw`(?<weekYear>\d{4})-?W(?<week>\d\d)(?:-?(?<weekday>[1-7]))?`;
const TIME = String.raw`(?<hour>\d\d)(?::?(?<minute>\d\d)(?::?(?<second>\d\d)(?:[.,](?<fraction>\d+))?)?)?`;
const ZONE = String.raw`(?:Z|(?<sign>[+-])(?<zoneHour>\d\d)(?::?(?<zoneMinute>\d\d)(?::?(?<zoneSecond>\d\d))?)?)`;
const INSTANT = new RegExp(`^(?:${DATE}|${WEEK})[T ]${TIME}${ZONE}$`, "u");

const DAY_MS = 86_400_000;

/**
 * Milliseconds since 1970 of an ISO 8601 time with its offset, in the forms that Python's
 * `datetime.fromisoformat` takes: extended or basic, with a space for the T, with a week date. Undefined for
 * anything else, and for a day or time that does not exist.
 */
export function instantMs(value: unknown): number | undefined {
  const parts = typeof value === "string" ? INSTANT.exec(value)?.groups : undefined;
  if (parts === undefined) return undefined;
  const number = (name: string): number => Number(parts[name] ?? 0);
  const dayMs = parts["weekYear"] === undefined ? dateMs(parts) : weekDateMs(parts);
  const [hour, minute, second] = [number("hour"), number("minute"), number("second")];
  const [zoneHour, zoneMinute] = [number("zoneHour"), number("zoneMinute")];
  if (dayMs === undefined || hour > 23 || minute > 59 || second > 59) return undefined;
  if (zoneHour > 23 || zoneMinute > 59) return undefined;
  const zoneSeconds = zoneHour * 3_600 + zoneMinute * 60 + number("zoneSecond");
  const seconds = hour * 3_600 + minute * 60 + second;
  const fractionMs = Math.floor(Number(`0.${parts["fraction"] ?? 0}`) * 1_000);
  const offsetSeconds = parts["sign"] === "-" ? -zoneSeconds : zoneSeconds;
  return dayMs + (seconds - offsetSeconds) * 1_000 + fractionMs;
}

type Parts = Readonly<Record<string, string | undefined>>;

function dateMs({ year, month, day, month2, day2 }: Parts): number | undefined {
  const [monthAt, dayAt] = [Number(month ?? month2), Number(day ?? day2)];
  const ms = Date.UTC(Number(year), monthAt - 1, dayAt);
  const made = new Date(ms);
  return made.getUTCMonth() === monthAt - 1 && made.getUTCDate() === dayAt ? ms : undefined;
}

/** ISO 8601: week 1 is the one with the 4th of January; weeks begin on Monday. */
function weekDateMs({ weekYear, week, weekday = "1" }: Parts): number | undefined {
  const firstMonday = (year: number): number => {
    const fourth = Date.UTC(year, 0, 4);
    return fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * DAY_MS;
  };
  const start = firstMonday(Number(weekYear)) + (Number(week) - 1) * 7 * DAY_MS;
  if (Number(week) < 1 || start >= firstMonday(Number(weekYear) + 1)) return undefined;
  return start + (Number(weekday) - 1) * DAY_MS;
}
