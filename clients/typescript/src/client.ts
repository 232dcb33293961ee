/** One connection to a server: ask, listen, answer. */

import { ConnectionClosed, RequestTimeout, RpcError } from "./errors.js";
import type {
  ClientInfo,
  InitializeCapabilities,
  InitializeResponse,
  Methods,
  Notifications,
  RequestId,
  ServerMethods,
  ServerNotification,
} from "./v2.js";

/** The part of the platform's WebSocket that a client needs. */
export interface Socket {
  addEventListener(type: "open" | "error", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { code: number; reason: string }) => void): void;
  send(text: string): void;
  close(code?: number): void;
}

export interface ConnectOptions {
  /** Presented as the subprotocol `bearer.TOKEN`: a browser cannot send a header. */
  token?: string;
  /** How long a request, and the connecting itself, may take. 0 waits for ever; 60 seconds unless told. */
  timeoutMs?: number;
  /** Makes the socket, where the platform has none of its own. */
  webSocket?: (url: string, protocols: string[]) => Socket;
  /** Hears of what has no other ear: a message that is none, a listener that threw. Goes to the console unless told. */
  onFault?: (fault: unknown) => void;
}

export interface RequestOptions {
  timeoutMs?: number;
}

/** Params may be left out where every member of them may be. */
export type Arguments<Params> = {} extends Params
  ? [params?: Params, options?: RequestOptions]
  : [params: Params, options?: RequestOptions];

/** Answers a request of the server. Throw an `RpcError` to refuse with a code of your own. */
export type Handler<M extends keyof ServerMethods> = (
  params: ServerMethods[M]["params"],
  id: RequestId,
) => ServerMethods[M]["result"] | Promise<ServerMethods[M]["result"]>;

interface Pending {
  resolve(result: unknown): void;
  reject(fault: Error): void;
}

interface Message {
  id?: RequestId;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;
const NORMAL = 1000;
const ABNORMAL = 1006;
const CLOSING_MS = 2_000; // a peer that does not answer the closing frame is not worth a longer wait

/** Open a connection. The handshake is yours: `initialize` comes first. */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Client> {
  const protocols = options.token === undefined ? [] : [`bearer.${options.token}`];
  const make = options.webSocket ?? ((where, wanted): Socket => new WebSocket(where, wanted));
  const socket = make(url, protocols);
  const milliseconds = options.timeoutMs ?? 60_000;
  const client = new Client(socket, milliseconds, options.onFault ?? ((fault) => console.error(fault)));
  try {
    await bounded(`connecting to ${url}`, milliseconds, (resolve, reject) => {
      socket.addEventListener("open", () => resolve(undefined));
      // Node 20 tells of a connection that never came to be by an error alone; browsers close it, too.
      socket.addEventListener("error", () => reject(new ConnectionClosed(ABNORMAL, `cannot connect to ${url}`)));
      void client.closed.then(({ code }) => reject(new ConnectionClosed(code, `cannot connect to ${url}`)));
    });
  } catch (fault) {
    socket.close();
    throw fault;
  }
  return client;
}

/** A conversation with a server; `connect` makes one. */
export class Client {
  /** Settles when the connection is gone, whoever ended it. */
  readonly closed: Promise<ConnectionClosed>;

  readonly #socket: Socket;
  readonly #timeoutMs: number;
  readonly #onFault: (fault: unknown) => void;
  readonly #pending = new Map<RequestId, Pending>();
  readonly #listeners = new Set<(notification: ServerNotification) => void>();
  readonly #handlers = new Map<string, (params: never, id: RequestId) => unknown>();
  #settle!: (end: ConnectionClosed) => void;
  #end: ConnectionClosed | undefined;
  #lastId = 0;

  constructor(socket: Socket, timeoutMs: number, onFault: (fault: unknown) => void) {
    this.#socket = socket;
    this.#timeoutMs = timeoutMs;
    this.#onFault = onFault;
    this.closed = new Promise((resolve) => (this.#settle = resolve));
    socket.addEventListener("message", (event) => this.#take(event.data));
    socket.addEventListener("close", (event) => this.#lose(new ConnectionClosed(event.code, event.reason)));
  }

  /** The handshake: who you are, then that you are ready. */
  async initialize(clientInfo: ClientInfo, capabilities?: InitializeCapabilities): Promise<InitializeResponse> {
    const server = await this.request("initialize", { clientInfo, capabilities: capabilities ?? null });
    this.#send({ method: "initialized" });
    return server;
  }

  /** Ask. Rejects with `RpcError` for a refusal, `RequestTimeout`, or `ConnectionClosed`. */
  async request<M extends keyof Methods>(
    method: M,
    ...[params, options]: Arguments<Methods[M]["params"]>
  ): Promise<Methods[M]["result"]> {
    const id = ++this.#lastId;
    const answer = bounded(method, options?.timeoutMs ?? this.#timeoutMs, (resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#send({ id, method, params: params ?? {} });
    });
    return answer.finally(() => this.#pending.delete(id)) as Promise<Methods[M]["result"]>;
  }

  /** Listen to everything (narrow by `method`) or to one method. Gives the way to stop listening. */
  onNotification(listener: (notification: ServerNotification) => void): () => void;
  onNotification<M extends keyof Notifications>(
    method: M,
    listener: (params: Notifications[M]["params"]) => void,
  ): () => void;
  onNotification<M extends keyof Notifications>(
    what: M | ((notification: ServerNotification) => void),
    one?: (params: Notifications[M]["params"]) => void,
  ): () => void {
    const listener =
      typeof what === "function"
        ? (it: ServerNotification): void => what(it)
        : (it: ServerNotification): void => {
            if (it.method === what) one?.(it.params as Notifications[M]["params"]);
          };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Answer the server's requests of one method. Those without a handler are refused with −32601. */
  onRequest<M extends keyof ServerMethods>(method: M, handler: Handler<M>): () => void {
    this.#handlers.set(method, handler);
    return () => void (this.#handlers.get(method) === handler && this.#handlers.delete(method));
  }

  /** Leave. What was asked and not yet answered is rejected. */
  async close(): Promise<void> {
    this.#fail(new ConnectionClosed(NORMAL, "closed by this side"));
    this.#socket.close(NORMAL);
    const timer = setTimeout(() => this.#lose(new ConnectionClosed(ABNORMAL, "no closing frame came")), CLOSING_MS);
    await this.closed;
    clearTimeout(timer);
  }

  #take(data: unknown): void {
    const message = parse(data);
    if (message === undefined) return this.#onFault(new Error(`not a message: ${String(data).slice(0, 200)}`));
    if (message.method === undefined) return this.#settleRequest(message);
    if (message.id === undefined) return this.#publish(message as ServerNotification);
    void this.#answer(message.id, message.method, message.params);
  }

  #settleRequest({ id, result, error }: Message): void {
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (error == null) pending?.resolve(result);
    else pending?.reject(new RpcError(error.code, error.message, error.data));
  }

  #publish(notification: ServerNotification): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(notification);
      } catch (fault) {
        this.#onFault(fault); // one listener's fault is not the others'
      }
    }
  }

  async #answer(id: RequestId, method: string, params: unknown): Promise<void> {
    const handler = this.#handlers.get(method);
    let answer: Message;
    try {
      if (handler === undefined) throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
      answer = { id, result: await handler(params as never, id) };
    } catch (fault) {
      answer = { id, error: refusal(fault) };
    }
    if (this.#end === undefined) this.#send(answer);
  }

  #send(message: Message): void {
    if (this.#end !== undefined) throw this.#end;
    this.#socket.send(JSON.stringify(message));
  }

  #fail(end: ConnectionClosed): void {
    this.#end ??= end;
    for (const pending of this.#pending.values()) pending.reject(this.#end);
    this.#pending.clear();
  }

  #lose(end: ConnectionClosed): void {
    this.#fail(end);
    this.#settle(this.#end ?? end);
  }
}

function parse(data: unknown): Message | undefined {
  try {
    const message: unknown = typeof data === "string" ? JSON.parse(data) : undefined;
    return typeof message === "object" && message !== null && !Array.isArray(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

function refusal(fault: unknown): { code: number; message: string; data?: unknown } {
  if (fault instanceof RpcError) return { code: fault.code, message: fault.message, data: fault.data };
  return { code: INTERNAL_ERROR, message: fault instanceof Error ? fault.message : String(fault) };
}

/** A promise that is rejected when its time is up. */
function bounded(
  what: string,
  milliseconds: number,
  start: (resolve: (value: unknown) => void, reject: (fault: Error) => void) => void,
): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return new Promise((resolve, reject) => {
    if (milliseconds > 0) timer = setTimeout(() => reject(new RequestTimeout(what, milliseconds)), milliseconds);
    start(resolve, reject);
  }).finally(() => clearTimeout(timer));
}
