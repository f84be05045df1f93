// A process that sends through the library, one message at a time, and prints a line for each
// answer. Arguments: the library, the wire's folder, our handle, the peer, a name, how many.
const [library, dir, handle, peer, name, count] = process.argv.slice(2);
const { openWire } = await import(library);
const wire = await openWire(dir, { as: handle });
for (let at = 1; at <= Number(count); at += 1) {
  const { outcome, messages } = await wire.send({
    to: [peer],
    type: "feedback",
    subject: `${name} ${at}`,
    body: { name, at },
  });
  for (const { event_id, place } of messages) {
    process.stdout.write(`${JSON.stringify({ outcome, event_id, seq: place[1] })}\n`);
  }
}
wire.close();
