/**
 * A WebGPU device that computes on the host and watches: kernels are translated to JavaScript, new
 * buffers hold NaN instead of zeros, and what a driver would clamp, ignore or leave to chance is
 * complained of: accesses outside of a binding, races in a dispatch, a buffer bound for reading and
 * for writing, use after destroy, a wrong usage. Its answers come after a random while, so that
 * what waits for them meets in many orders. It makes pipelines some fifty times faster than the
 * compiler of a software driver, which random programs wait for most. `installWatched` makes it
 * `navigator.gpu`. The library owns what it makes.
 */
import { globals } from "webgpu";
import type { Random } from "../random.ts";
import { Bound, type Clock, Memory } from "./memory.ts";
import { type Translated, translate } from "./translate.ts";

/** The watched GPU of a process. */
export class WatchedGPU {
  /** What was seen and should not have been. */
  readonly complaints: string[] = [];
  /** Kernels translated so far, by text. */
  readonly kernels = new Map<string, Translated>();
  /** Decides how long answers take. */
  random: Random;
  readonly clock: Clock = { dispatch: 0, invocation: 0 };

  constructor(random: Random) {
    this.random = random;
  }

  complain(text: string): void {
    if (this.complaints.length < 20 && !this.complaints.includes(text)) this.complaints.push(text);
  }

  /** Resolves after up to three turns of the event loop. */
  async later(): Promise<void> {
    for (let k = this.random.int(4); k > 0; k--) await new Promise((done) => setImmediate(done));
  }

  requestAdapter(): Promise<unknown> {
    const info = {
      vendor: "tenure",
      architecture: "host",
      device: "watched",
      description: "watched device",
      isFallbackAdapter: true,
    };
    const requestDevice = (): Promise<unknown> => Promise.resolve(new WatchedDevice(this));
    return Promise.resolve({ info, limits, features: new Set<string>(), requestDevice });
  }
}

const limits = {
  maxBufferSize: 2 ** 28,
  maxStorageBufferBindingSize: 2 ** 27,
  maxStorageBuffersPerShaderStage: 10,
  maxComputeWorkgroupStorageSize: 16384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupSizeY: 256,
  maxComputeWorkgroupSizeZ: 64,
  maxComputeWorkgroupsPerDimension: 65535,
};

/** Makes a watched GPU the realm's `navigator.gpu`; `TENURE_DEVICE=software` finds it. */
export function installWatched(random: Random): WatchedGPU {
  Object.assign(globalThis, globals);
  const gpu = new WatchedGPU(random);
  const navigator: object = globalThis.navigator ?? {};
  Object.defineProperty(navigator, "gpu", { value: gpu, configurable: true });
  Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
  return gpu;
}

/** Undoes `installWatched`. */
export function uninstallWatched(): void {
  Reflect.deleteProperty(globalThis.navigator, "gpu");
}

class WatchedBuffer {
  readonly label: string;
  readonly size: number;
  readonly usage: number;
  readonly memory: Memory;
  mapState: GPUBufferMapState;
  destroyed = false;
  readonly #gpu: WatchedGPU;

  constructor(gpu: WatchedGPU, descriptor: GPUBufferDescriptor) {
    const { label = "", size, usage, mappedAtCreation = false } = descriptor;
    this.#gpu = gpu;
    this.label = label;
    this.size = size;
    this.usage = usage;
    this.memory = new Memory(size);
    this.memory.words.fill(0x7fc0_0bad); // not zeros, which nobody gets from a used buffer
    this.mapState = mappedAtCreation ? "mapped" : "unmapped";
    if (mappedAtCreation && size % 4 !== 0) gpu.complain(`${label}: mapped, not a multiple of 4`);
  }

  /** Complains unless commands may use it so. */
  check(usage: number, what: string): void {
    const wrong = this.destroyed
      ? "after its end"
      : this.mapState !== "unmapped"
        ? `while ${this.mapState}`
        : (this.usage & usage) === 0
          ? `with usage ${this.usage}`
          : "";
    if (wrong !== "") this.#gpu.complain(`${what} of buffer "${this.label}" ${wrong}`);
  }

  async mapAsync(): Promise<void> {
    this.check(GPUBufferUsage.MAP_READ | GPUBufferUsage.MAP_WRITE, "mapAsync");
    this.mapState = "pending";
    await this.#gpu.later();
    if (this.destroyed) throw new DOMException("destroyed", "AbortError");
    this.mapState = "mapped";
  }

  getMappedRange(offset = 0, size = this.size - offset): ArrayBuffer {
    if (this.mapState !== "mapped" || this.destroyed) throw new Error("the buffer is not mapped");
    const bytes = this.memory.bytes.slice(offset, offset + size);
    this.#mapped.push({ offset, bytes });
    return bytes;
  }
  readonly #mapped: { readonly offset: number; readonly bytes: ArrayBuffer }[] = [];

  unmap(): void {
    for (const { offset, bytes } of this.#mapped.splice(0))
      new Uint8Array(this.memory.bytes).set(new Uint8Array(bytes), offset);
    this.mapState = "unmapped";
  }

  destroy(): void {
    this.destroyed = true;
  }
}

interface Pipeline {
  readonly label: string;
  readonly kernel: Translated;
}
interface Group {
  readonly entries: readonly { binding: number; resource: GPUBufferBinding }[];
}
type Command = () => void;

class WatchedDevice {
  readonly label = "watched";
  readonly features: ReadonlySet<string> = new Set();
  readonly limits = limits;
  readonly lost: Promise<unknown>;
  readonly queue: object;
  readonly #gpu: WatchedGPU;
  readonly #events = new EventTarget();
  #lose: (info: unknown) => void = () => undefined;

  constructor(gpu: WatchedGPU) {
    this.#gpu = gpu;
    this.lost = new Promise((resolve) => (this.#lose = resolve));
    this.queue = {
      submit: (lists: readonly (readonly Command[])[]) => {
        for (const command of lists.flat()) command();
      },
      writeBuffer: (...args: Parameters<WatchedDevice["write"]>) => {
        this.write(...args);
      },
      onSubmittedWorkDone: () => gpu.later(),
    };
  }

  /** A write of the queue; `from` and `count` are elements of `data`. */
  write(
    target: WatchedBuffer,
    offset: number,
    data: Uint8Array | Uint32Array,
    from = 0,
    count = data.length - from,
  ): void {
    target.check(GPUBufferUsage.COPY_DST, "writeBuffer");
    const part = data.subarray(from, from + count);
    const bytes = new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
    if (offset % 4 !== 0 || bytes.length % 4 !== 0 || offset + bytes.length > target.size)
      this.#gpu.complain(`writeBuffer of ${bytes.length} at ${offset} into ${target.size} bytes`);
    else new Uint8Array(target.memory.bytes).set(bytes, offset);
  }

  addEventListener(...args: Parameters<EventTarget["addEventListener"]>): void {
    this.#events.addEventListener(...args);
  }
  removeEventListener(...args: Parameters<EventTarget["removeEventListener"]>): void {
    this.#events.removeEventListener(...args);
  }
  pushErrorScope(): void {
    this.#scopes++;
  }
  async popErrorScope(): Promise<null> {
    if (--this.#scopes < 0) this.#gpu.complain("popErrorScope without a scope");
    await this.#gpu.later();
    return null;
  }
  #scopes = 0;

  createBuffer(descriptor: GPUBufferDescriptor): WatchedBuffer {
    return new WatchedBuffer(this.#gpu, descriptor);
  }
  createShaderModule({ code }: { code: string }): Translated {
    const known = this.#gpu.kernels.get(code) ?? translate(code);
    this.#gpu.kernels.set(code, known);
    return known;
  }
  createComputePipeline(descriptor: { label: string; compute: { module: Translated } }): Pipeline {
    return { label: descriptor.label, kernel: descriptor.compute.module };
  }
  createBindGroupLayout(descriptor: object): object {
    return descriptor;
  }
  createPipelineLayout(descriptor: object): object {
    return descriptor;
  }
  createBindGroup(descriptor: Group): Group {
    return descriptor;
  }

  createCommandEncoder(): object {
    const commands: Command[] = [];
    return {
      beginComputePass: () => this.#pass(commands),
      copyBufferToBuffer: (...args: Parameters<WatchedDevice["copy"]>) => {
        commands.push(() => {
          this.copy(...args);
        });
      },
      finish: () => commands,
    };
  }

  #pass(commands: Command[]): object {
    let pipeline: Pipeline | undefined;
    let group: Group | undefined;
    return {
      setPipeline: (given: Pipeline) => (pipeline = given),
      setBindGroup: (_: number, given: Group) => (group = given),
      dispatchWorkgroups: (x: number, y = 1, z = 1) => {
        const [runs, binds] = [pipeline, group];
        if (runs === undefined || binds === undefined) throw new Error("nothing to dispatch");
        commands.push(() => {
          this.#dispatch(runs, binds, [x, y, z]);
        });
      },
      end: () => undefined,
    };
  }

  /** A copy of the queue. */
  copy(from: WatchedBuffer, at: number, to: WatchedBuffer, offset: number, size: number): void {
    from.check(GPUBufferUsage.COPY_SRC, "copy out");
    to.check(GPUBufferUsage.COPY_DST, "copy in");
    if (at + size > from.size || offset + size > to.size || [at, offset, size].some((n) => n % 4))
      this.#gpu.complain(`a copy of ${size} bytes from ${at} to ${offset}`);
    else new Uint8Array(to.memory.bytes).set(new Uint8Array(from.memory.bytes, at, size), offset);
  }

  #dispatch({ label, kernel }: Pipeline, { entries }: Group, grid: readonly number[]): void {
    const complain = (text: string): void => {
      this.#gpu.complain(`${label} ${text}`);
    };
    const { clock } = this.#gpu;
    clock.dispatch++;
    clock.invocation = 0;
    const run = kernel.link(this.#bind(kernel, entries, complain));
    const [x = 1, y = 1, z = 1] = grid;
    for (let w = 0; w < x * y * z; w++) {
      const workgroup_id = [w % x, Math.floor(w / x) % y, Math.floor(w / (x * y))];
      for (let lane = 0; lane < kernel.workgroupSize; lane++) {
        clock.invocation++;
        run({ workgroup_id, num_workgroups: [x, y, z], local_invocation_index: lane });
      }
    }
  }

  /** What the kernel's bindings are, by number. */
  #bind(
    kernel: Translated,
    entries: Group["entries"],
    complain: (text: string) => void,
  ): unknown[] {
    const bound: unknown[] = [];
    const uses = new Map<WatchedBuffer, { space: string; from: number; to: number }[]>();
    for (const { index, space, type } of kernel.bindings) {
      const resource = entries.find((e) => e.binding === index)?.resource;
      if (resource === undefined) throw new Error(`${String(index)} is not bound`);
      const buffer = resource.buffer as unknown as WatchedBuffer;
      const { offset = 0, size = buffer.size - offset } = resource;
      const usage = space === "uniform" ? GPUBufferUsage.UNIFORM : GPUBufferUsage.STORAGE;
      buffer.check(usage, `${space} binding`);
      if (offset % 256 !== 0 || offset + size > buffer.size || size <= 0)
        complain(`binds ${size} bytes at ${offset} of ${buffer.size}`);
      if (space === "uniform") bound[index] = params(buffer.memory, offset, type.fields ?? []);
      else {
        const scalar = type.of?.of?.name ?? type.of?.name ?? "";
        bound[index] = new Bound(
          buffer.memory,
          { offset, size },
          scalar,
          this.#gpu.clock,
          complain,
        );
      }
      const list = uses.get(buffer) ?? [];
      for (const other of list)
        if (other.space !== space) complain("binds a buffer for reading and for writing");
        else if (space === "write" && other.from < offset + size && offset < other.to)
          complain("binds the same bytes twice for writing");
      uses.set(buffer, [...list, { space, from: offset, to: offset + size }]);
    }
    return bound;
  }

  destroy(): void {
    this.#lose({ reason: "destroyed", message: "shut down" });
  }
}

/** The fields of a uniform struct, all of them scalars of four bytes. */
function params(
  { bytes }: Memory,
  offset: number,
  fields: readonly { readonly name: string; readonly type: { readonly name: string } }[],
): Record<string, number> {
  const view = new DataView(bytes, offset);
  const values: Record<string, number> = {};
  for (const [k, { name, type }] of fields.entries())
    values[name] = type.name === "f32" ? view.getFloat32(4 * k, true) : view.getUint32(4 * k, true);
  return values;
}
