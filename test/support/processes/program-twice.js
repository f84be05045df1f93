// What the two programs share: a wire, and every write said twice.
// The second time it comes over another connection, as from a program that has lost its first one.
import process from "node:process";

const [library] = process.argv.slice(2);
const { openWire } = await import(library);

/** The wire in a folder, and `twice`, which says something with its key on two connections. */
export async function openTwice(dir, as) {
  const wire = await openWire(dir, { as });
  const twice = async (speak) => {
    const first = await speak(wire);
    const other = await openWire(dir, { as });
    const again = await speak(other);
    other.close();
    if (again.messages[0].event_id !== first.messages[0].event_id) throw new Error("sent twice");
    return first;
  };
  return { wire, twice };
}
