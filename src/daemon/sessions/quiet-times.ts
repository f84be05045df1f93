/** Whether a time of the day is within `HH:MM-HH:MM` (local time; it may go over midnight). */
export function isQuietAt(quiet: string, now: Date): boolean {
  const [from, to] = quiet.split("-").map(minutesOf);
  if (from === undefined || to === undefined) return false;
  const at = now.getHours() * 60 + now.getMinutes();
  return from <= to ? from <= at && at < to : at >= from || at < to;
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}
