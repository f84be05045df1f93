// An agent under load, through the library: sends and proposes until its input ends, and acks the
// proposals in its inbox. Each answer to a send is a line on standard output. What fails because
// the daemon was killed is left alone: nobody was promised anything.
// Arguments: the library, the wire's folder, our handle, the peer, mean milliseconds between sends.
const [library, dir, handle, peer, pauseMs] = process.argv.slice(2);
const { openWire } = await import(library);
const EXPECTED = new Set(["DeaddropError", "StorageError"]);

let isSending = true;

function outgoing(at) {
  const body = { by: process.pid, at, text: "x".repeat((at * 37) % 1_500) };
  if (at % 11 !== 0) return { to: [peer], type: "feedback", subject: `note ${at}`, body };
  return { to: [peer], type: "proposal", subject: `plan ${at}`, body, ackRequired: true };
}

/** Undefined when it failed as things may fail while daemons are killed. */
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (!EXPECTED.has(error.name)) throw error;
    process.stderr.write(`${error.code}: ${error.message}\n`);
    return undefined;
  }
}

/** The daemon of a machine under load may be slow to answer, or be killed just now. */
async function opened() {
  for (;;) {
    const wire = await attempt(() => openWire(dir, { as: handle }));
    if (wire !== undefined) return wire;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const wire = await opened();

async function send(...messages) {
  const answer = await attempt(() => wire.send(...messages));
  for (const { event_id, place } of answer?.messages ?? []) {
    process.stdout.write(`${JSON.stringify({ event_id, seq: place[1] })}\n`);
  }
  return answer !== undefined;
}

async function ackProposals(signal) {
  while (!signal.aborted) {
    await attempt(async () => {
      for await (const { type, correlation_id, _meta } of wire.inbox({ signal })) {
        if (type !== "proposal") continue;
        const body = { acks: _meta.place, approve: true };
        const ack = { to: [peer], type: "ack", subject: "ack", body };
        while (!(await send({ ...ack, correlationId: correlation_id })));
      }
    });
  }
}

const ending = new AbortController();
const acking = ackProposals(ending.signal);
process.stdin.on("data", () => (isSending = false));
process.stdin.on("end", () => ending.abort());
for (let at = 1; isSending; at += 1) {
  await send(...(at % 5 === 0 ? [outgoing(at), outgoing(at + 1_000_000)] : [outgoing(at)]));
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 * Number(pauseMs)));
}
await acking;
wire.close();
