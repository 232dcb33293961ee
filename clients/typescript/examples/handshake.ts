/** Connect, shake hands, list the models, and tell what the server says meanwhile: `handshake.js URL [TOKEN]`. */

import { connect, type ServerNotification } from "../src/index.js";

// All that this program needs of Node, so that it needs no package of types for it.
declare const process: { argv: string[]; exitCode: number };

const WANTED = [
  "thread/started",
  "turn/started",
  "item/agentMessage/delta",
  "turn/completed",
] as const satisfies readonly ServerNotification["method"][];

/** The notifications this program cares for, out of the union of all. */
type Heard = Extract<ServerNotification, { method: (typeof WANTED)[number] }>;

function isHeard(notification: ServerNotification): notification is Heard {
  return (WANTED as readonly string[]).includes(notification.method);
}

/** In each branch `params` has the type of that `method`; a method that is forgotten here does not compile. */
function describe(notification: Heard): string {
  switch (notification.method) {
    case "thread/started":
      return `thread ${notification.params.thread.id} in ${notification.params.thread.cwd}`;
    case "turn/started":
      return `turn ${notification.params.turn.id} of ${notification.params.threadId}`;
    case "item/agentMessage/delta":
      return `agent says ${JSON.stringify(notification.params.delta)}`;
    case "turn/completed":
      return `turn ${notification.params.turn.id} is ${notification.params.turn.status}`;
    default:
      return forgotten(notification);
  }
}

function forgotten(notification: never): never {
  throw new Error(`no branch for ${JSON.stringify(notification)}`);
}

async function main(url: string | undefined, token: string | undefined): Promise<void> {
  if (url === undefined) throw new Error("usage: handshake.js URL [TOKEN]");
  const client = await connect(url, { timeoutMs: 10_000, ...(token === undefined ? {} : { token }) });
  client.onNotification((notification) => {
    console.log(isHeard(notification) ? describe(notification) : `also: ${notification.method}`);
  });
  const server = await client.initialize({ name: "handshake", title: null, version: "0.1.0" });
  console.log(`server ${server.server?.name ?? server.userAgent} on ${server.platformOs}`);
  const { data } = await client.request("model/list", {});
  console.log(`models ${data.map((model) => model.id).join(", ") || "none"}`);
  await client.close();
  console.log("bye");
}

main(process.argv[2], process.argv[3]).catch((fault: unknown) => {
  console.error(fault);
  process.exitCode = 1;
});
