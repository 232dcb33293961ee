/** The server, or a handler of yours, refused. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The connection is gone, or never came to be; `code` is WebSocket's. */
export class ConnectionClosed extends Error {
  override readonly name = "ConnectionClosed";
  readonly code: number;

  constructor(code: number, reason: string) {
    super(reason ? `the connection is closed: ${reason}` : `the connection is closed (${code})`);
    this.code = code;
  }
}

/** No answer came in time. The server may still have done what was asked. */
export class RequestTimeout extends Error {
  override readonly name = "RequestTimeout";

  constructor(what: string, milliseconds: number) {
    super(`${what}: nothing after ${milliseconds} ms`);
  }
}
