/**
 * One library in a process of its own, told by `main.ts` what to do. The device belongs to the
 * library and ends with the process.
 */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { type AdapterName, useAdapter } from "./adapter.ts";
import type { Answer, Order, PeerName } from "./orders.ts";
import { type Peer, type Program, rows } from "./rows.ts";
import { type Jax, jaxProgram } from "./with-jax.ts";
import { type Onnx, onnxProgram } from "./with-onnx.ts";
import { tenureProgram } from "./with-tenure.ts";
import { type Library, tfjsProgram } from "./with-tfjs.ts";

interface WebGPUPackage {
  create(flags: readonly string[]): GPU;
  readonly globals: Record<string, unknown>;
}

const require = createRequire(import.meta.url);

/** A package of this folder's lock, by the rules of `import`; typed by who asks. */
const load = async <T>(name: string): Promise<T> => (await import(name)) as T;

/** Gives libraries written for browsers the WebGPU they look for; says what the adapter is. */
async function browserLike(): Promise<string> {
  const webgpu = await load<WebGPUPackage>("webgpu");
  const gpu = webgpu.create([]);
  const put = (name: string, value: unknown): unknown =>
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  for (const [name, value] of Object.entries(webgpu.globals)) put(name, value);
  put("navigator", { gpu, userAgent: "node" });
  const adapter = await gpu.requestAdapter();
  if (adapter === null) throw new Error("peers: expected an adapter, got none");
  return adapter.info.description || adapter.info.device;
}

/** What devices complained of since the last answer: a dropped submit would look fast. */
const complaints: string[] = [];

function watch(device: GPUDevice): void {
  device.onuncapturederror = ({ error }) => complaints.push(error.message);
}

const peers: Readonly<Record<PeerName, () => Promise<Peer>>> = {
  tenure: async () => {
    const { init } = await import("tenure");
    const { name } = await init();
    return { adapter: name, make: async (spec) => tenureProgram(spec) };
  },
  tfjs: async () => {
    const adapter = await browserLike();
    const tf = require("@tensorflow/tfjs-core") as Library;
    require("@tensorflow/tfjs-core/dist/register_all_gradients.js");
    require("@tensorflow/tfjs-backend-webgpu");
    await tf.setBackend("webgpu");
    const backend = tf.backend() as unknown as {
      endComputePassEncoder(): void;
      submitQueue(): void;
      readonly commandEncoder: GPUCommandEncoder | null;
      readonly queue: GPUQueue;
      readonly device: GPUDevice;
    };
    watch(backend.device);
    const finished = async (): Promise<void> => {
      backend.endComputePassEncoder();
      if (backend.commandEncoder !== null) backend.submitQueue();
      await backend.queue.onSubmittedWorkDone();
    };
    return { adapter, make: async (spec) => tfjsProgram(tf, spec, finished) };
  },
  "jax-js": async () => {
    const adapter = await browserLike();
    const jax = await load<Jax>("@jax-js/jax");
    await jax.init("webgpu");
    jax.defaultDevice("webgpu");
    watch(jax.getWebGPUDevice());
    return { adapter, make: async (spec) => jaxProgram(jax, spec) };
  },
  onnxruntime: async () => {
    const onnx = await load<Onnx>(pathToFileURL(require.resolve("onnxruntime-node")).href);
    return { adapter: undefined, make: (spec) => onnxProgram(onnx, spec) };
  },
};

let program: Program | undefined;

/** Milliseconds of one `run`, and those of all threads of this process. */
async function timed(times: number, run: () => Promise<void>): Promise<Answer> {
  const used = process.cpuUsage();
  const start = performance.now();
  for (let i = 0; i < times; i++) await run();
  const ms = (performance.now() - start) / times;
  const { user, system } = process.cpuUsage(used);
  return { ms, cpu: (user + system) / 1000 / times };
}

async function obey(peer: Peer, order: Order): Promise<Answer> {
  const spec = rows.find((r) => r.name === order.row)?.spec;
  if (spec === undefined) throw new Error(`peers: expected a row, got ${order.row}`);
  if (order.what === "make") {
    program = await peer.make(spec);
    return program === undefined ? {} : { values: await program.values() };
  }
  if (order.what === "first") {
    const answer = await timed(1, async () => {
      program = await peer.make(spec);
      await program?.run();
    });
    return program === undefined ? {} : answer;
  }
  const made = program;
  if (made === undefined) throw new Error(`peers: expected ${order.row} to be made before`);
  if (order.what === "run") return timed(order.times, () => made.run());
  made.dispose();
  program = undefined;
  return {};
}

/** The first line of an error, fit for a cell of a table. */
const reason = (error: unknown): string =>
  (String(error).split("\n")[0] ?? "").replaceAll("|", "\\|").slice(0, 200);

const [name = "", adapter = ""] = process.argv.slice(2);
await useAdapter(adapter as AdapterName);
const peer = await peers[name as PeerName]();
process.on("message", (order: Order) => {
  obey(peer, order).then(
    (answer) => {
      const [complaint] = complaints.splice(0);
      process.send?.(complaint === undefined ? answer : { error: reason(complaint) });
    },
    (error: unknown) => process.send?.({ error: reason(error) } satisfies Answer),
  );
});
process.send?.({ adapter: peer.adapter } satisfies Answer);
