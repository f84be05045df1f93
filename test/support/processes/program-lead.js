// A plain program on the library, which waits for nothing but messages: it leads.
// usage: node program-lead.js LIBRARY WIRE PEER; prints what it has learnt as JSON and ends.
import process from "node:process";

const [library, dir, peer] = process.argv.slice(2);
const { openWire } = await import(library);
const as = "forge";
/** Each write is repeated with its key, by a program that has lost its connection. */
const twice = async (speak) => {
  const first = await speak(wire);
  const other = await openWire(dir, { as });
  const again = await speak(other);
  other.close();
  if (again.messages[0].event_id !== first.messages[0].event_id) throw new Error("sent twice");
  return first;
};

const wire = await openWire(dir, { as });
const learnt = {};
for await (const message of wire.inbox()) {
  const { type, subject, _meta, body } = message;
  const [id, key] = [_meta.id, `for ${_meta.id}`];
  if (type === "request") {
    learnt.plan = body.plan;
    await twice((wire) => wire.respond(id, { approve: true, reason: "go", key }));
  } else if (type === "claim") learnt.claimed = body.paths;
  else if (type === "ship") {
    learnt.shipped = body.manifest_digest;
    const about = { subject: "release", decision: "We release on Monday.", key };
    await twice((wire) => wire.propose(about));
  } else if (type === "proposal") {
    learnt.countered = body.decision;
    await twice((wire) => wire.accept(id, { key }));
  } else if (subject === "all is decided") {
    learnt.last = subject;
    break;
  }
}
wire.close();
process.stdout.write(`${JSON.stringify({ peer, ...learnt })}\n`);
