/**
 * A tiny web server on this machine's loopback address, for pages that need a secure context
 * (WebGPU does). Called by browser tests. Owns its socket and connections until `close()`.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What is answered for a path. */
export interface PageRoute {
  /** Content type. Text types are served as UTF-8. */
  readonly type: string;
  readonly body: string | Uint8Array;
}

/** A running server. */
export interface PageServer extends AsyncDisposable {
  /** `http://localhost:<port>`, without a slash at the end. */
  readonly url: string;
  /** Ends open connections too. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Serves `routes` by exact path, `/` for example, on a port that the system picks. Everything else
 * is a 404. Borrows `routes`: later changes are seen.
 */
export async function servePages(routes: Readonly<Record<string, PageRoute>>): Promise<PageServer> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (route === undefined) {
      response.writeHead(404, { "content-type": "text/plain" }).end(`no page at ${path}\n`);
      return;
    }
    const type =
      route.type.startsWith("text/") && !route.type.includes("charset")
        ? `${route.type}; charset=utf-8`
        : route.type;
    response.writeHead(200, { "content-type": type, "cache-control": "no-store" }).end(route.body);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closed ??= new Promise((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    }));
  return { url: `http://localhost:${port}`, close, [Symbol.asyncDispose]: close };
}
