/**
 * Whether an unchained line is in a log that it was not written to. The same unchained content once
 * in each addressee's log is a broadcast (spec 2.4); in the log of an agent that it does not name,
 * while an agent that it names has a log of its own from this sender, it is a copy from that one.
 * Told from the line alone, so the order in which logs are read does not matter. Names outside the
 * roster have no log to be copied from and are passed over.
 *
 * @param to the recipients as the line states them; absent means the addressee of the log
 * @param addressee whom the log addresses; absent in layout `outbox`, where one log serves all
 * @param otherAddressees whom the sender's other logs address
 */
export function isStrayCopy(
  to: readonly string[] | undefined,
  addressee: string | undefined,
  otherAddressees: readonly string[],
): boolean {
  if (to === undefined || addressee === undefined) return false;
  if (to.includes("*") || to.includes(addressee)) return false;
  return to.some((name) => otherAddressees.includes(name));
}
