/**
 * The server of docs/hosts.md is asked to end by SIGTERM while it answers: what is in flight gets
 * its answer, the device is let go, and the process ends by itself with code 0 although clients
 * keep their connections. On the packaged software adapter.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync } from "node:fs";
import { Agent, get } from "node:http";
import { basename, join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { pack, Project } from "../../packed.ts";

const root = join(import.meta.dirname, "../../../..");
const test = suite("shutdown");
const project = new Project();
const agent = new Agent({ keepAlive: true });
let server: ChildProcess | undefined;
test.before(async () => {
  project.install("tenure", await pack("tenure"));
  project.install("tenure-software-gpu", await pack("tenure-software-gpu"));
  for (const installed of ["node_modules/webgpu", "packages/software-gpu/node_modules/@sparticuz"])
    symlinkSync(join(root, installed), join(project.folder, "node_modules", basename(installed)));
});
test.after(() => {
  server?.kill("SIGKILL");
  agent.destroy();
  project[Symbol.dispose]();
});

/** The program on the page. */
function program(): string {
  const page = readFileSync(join(root, "docs/hosts.md"), "utf8");
  const text = /```js\n(import \{ createServer \} from "node:http";[^`]*)```/.exec(page)?.[1];
  assert.ok(text);
  return text;
}

/** Status and body of the answer. */
function ask(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ port, agent }, (response) => {
      let body = "";
      response.on("data", (part) => (body += String(part)));
      response.on("end", () => {
        resolve(`${response.statusCode} ${body}`);
      });
    }).on("error", reject);
  });
}

test("a server that is told to end answers what is in flight, and ends by itself", async () => {
  project.write("server.mjs", program());
  project.write(
    "main.mjs",
    `import http from "node:http";
     const { emit } = http.Server.prototype;
     let asked = 0;
     http.Server.prototype.emit = function (name, ...rest) {
       if (name === "listening") process.send({ port: this.address().port });
       if (name === "request" && ++asked === 4) process.kill(process.pid, "SIGTERM");
       return emit.call(this, name, ...rest);
     };
     await import("./server.mjs");
     process.channel.unref();`,
  );
  server = spawn(process.execPath, ["main.mjs"], {
    cwd: project.folder,
    env: { ...process.env, PORT: "0", TENURE_DEVICE: "software", NODE_OPTIONS: "" },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const ended = once(server, "exit");
  const early = ended.then(([code]) => Promise.reject(new Error(`ended with ${String(code)}`)));
  early.catch(() => undefined);
  const message = Promise.race([once(server, "message"), early]);
  const [{ port }] = (await message) as [{ port: number }];
  const first = await ask(port);
  assert.match(first, /^200 -?\d/);
  const inFlight = await Promise.all([ask(port), ask(port), ask(port)]);
  assert.equal(inFlight, [first, first, first]);
  const at = performance.now();
  assert.equal(await ended, [0, null]);
  assert.ok(performance.now() - at < 4000, "connections that clients keep keep it alive");
});

test.run();
