/** What asks a peer to agree that the wire moves to outboxes, as input of `send`. Spec 3.11. */
export function moveDraft(peer: string) {
  return {
    to: [peer],
    type: "proposal",
    subject: "move this wire to layout outbox",
    body: {
      action: "layout",
      layout: "outbox",
      required: [peer],
      decision:
        "Each agent closes the logs of its pairs and goes on in its outbox. Nothing is copied, and " +
        "the closed logs stay part of the wire. Each operator takes it with `deaddrop layout accept`.",
    },
    ackRequired: true,
  };
}
