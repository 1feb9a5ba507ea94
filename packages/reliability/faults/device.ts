/**
 * A GPU whose devices fail on demand, at the boundary that WebGPU draws: the n-th call of one kind
 * is refused the way a driver or a browser refuses it. The library under test gets it as
 * `navigator.gpu` and knows nothing. Used by the fault harness. The wrapped device belongs to the
 * library; this file only counts what it makes and destroys.
 */
import { type Method, RealDevice } from "./real-device.ts";

/** A way to fail, by its name in reports. `prepare` says what to do instead of the real call. */
export type FaultKind =
  | "createBuffer: out of memory"
  | "createBuffer: invalid"
  | "createBuffer: throws"
  | "createShaderModule: invalid"
  | "createShaderModule: throws"
  | "createComputePipeline: invalid"
  | "createComputePipeline: throws"
  | "createBindGroupLayout: invalid"
  | "createPipelineLayout: invalid"
  | "createBindGroup: invalid"
  | "createBindGroup: throws"
  | "createCommandEncoder: throws"
  | "beginComputePass: throws"
  | "copyBufferToBuffer: throws"
  | "finish: throws"
  | "finish: invalid"
  | "submit: throws"
  | "submit: invalid"
  | "submit: device lost"
  | "writeBuffer: throws"
  | "writeBuffer: invalid"
  | "mapAsync: rejects"
  | "getMappedRange: throws"
  | "createBuffer: device lost";

/** All kinds, in the order of reports. */
export const faultKinds: readonly FaultKind[] = [
  "createBuffer: out of memory",
  "createBuffer: invalid",
  "createBuffer: throws",
  "createShaderModule: invalid",
  "createShaderModule: throws",
  "createComputePipeline: invalid",
  "createComputePipeline: throws",
  "createBindGroupLayout: invalid",
  "createPipelineLayout: invalid",
  "createBindGroup: invalid",
  "createBindGroup: throws",
  "createCommandEncoder: throws",
  "beginComputePass: throws",
  "copyBufferToBuffer: throws",
  "finish: throws",
  "finish: invalid",
  "submit: throws",
  "submit: invalid",
  "writeBuffer: throws",
  "writeBuffer: invalid",
  "mapAsync: rejects",
  "getMappedRange: throws",
  "submit: device lost",
  "createBuffer: device lost",
];

type Scope = { readonly filter: GPUErrorFilter; error: GPUError | null };

/** The error class of that name which the WebGPU implementation put into the realm. */
function gpuError(name: "GPUOutOfMemoryError", message: string): GPUError {
  const constructor = (globalThis as unknown as Record<string, new (m: string) => GPUError>)[name];
  if (constructor === undefined) throw new Error(`no ${name} in this realm`);
  return new constructor(message);
}

/** What a wrapper saw and holds. Counts start when the device is made. */
export class FaultPoint {
  /** Calls so far, by method. */
  readonly calls = new Map<string, number>();
  /** Bytes of buffers that were made and not destroyed, apart from uniforms. */
  liveBytes = 0;
  /** Whether the fault has happened. */
  fired = false;
  /** Submits that the device took and will run. */
  accepted = 0;
  readonly #kind: FaultKind | null;
  readonly #at: number;

  /** @param at which call of the kind's method fails, from 1; `null` never fails */
  constructor(kind: FaultKind | null = null, at = 0) {
    this.#kind = kind;
    this.#at = at;
  }

  /** How often a kind could have failed so far. */
  chances(kind: FaultKind): number {
    return this.calls.get(methodOf(kind)) ?? 0;
  }

  /** Counts one call. @returns how it shall fail, or null */
  next(method: string): string | null {
    const count = (this.calls.get(method) ?? 0) + 1;
    this.calls.set(method, count);
    if (this.#kind === null || methodOf(this.#kind) !== method || count !== this.#at) return null;
    this.fired = true;
    return this.#kind.slice(method.length + 2);
  }
}

function methodOf(kind: FaultKind): string {
  return kind.slice(0, kind.indexOf(":"));
}

/** An implementation of `navigator.gpu` whose devices fail where `point()` says. */
export function faultyGPU(gpu: GPU, point: () => FaultPoint): GPU {
  let real: RealDevice | null = null;
  return wrap(gpu, {
    requestAdapter: async (...args) => {
      const adapter = await gpu.requestAdapter(...(args as [GPURequestAdapterOptions?]));
      if (adapter === null) return null;
      return wrap(adapter, {
        requestDevice: async (...given) => {
          if (real === null || real.isLost)
            real = new RealDevice(
              await adapter.requestDevice(...(given as [GPUDeviceDescriptor?])),
            );
          return new FaultyDevice(real, point()).device;
        },
      });
    },
  });
}

/** The same object with some methods of its own; the others keep their receiver. */
function wrap<T extends object>(target: T, methods: Record<string, Method | object>): T {
  return new Proxy(target, {
    get(object, name) {
      if (typeof name === "string" && Object.hasOwn(methods, name)) return methods[name];
      const value = Reflect.get(object, name, object) as unknown;
      return typeof value === "function" ? (value as Method).bind(object) : value;
    },
    set: (object, name, value) => Reflect.set(object, name, value, object),
  });
}

function operationError(what: string): Error {
  return new DOMException(`injected: ${what}`, "OperationError");
}

/**
 * Methods are replaced on the device itself, not behind a proxy: implementations check the class of
 * what they are given.
 */
class FaultyDevice {
  readonly device: GPUDevice;
  readonly #real: RealDevice;
  readonly #point: FaultPoint;
  readonly #scopes: Scope[] = [];
  #lose: (info: GPUDeviceLostInfo) => void = () => undefined;

  constructor(real: RealDevice, point: FaultPoint) {
    const { device } = real;
    this.device = device;
    this.#real = real;
    this.#point = point;
    const own = (name: string, value: unknown): void => {
      Object.defineProperty(device, name, { value, configurable: true, writable: true });
    };
    this.#guardScopes(own);
    this.#guardCreation(own);
    this.#guardQueue();
    const lost = new Promise<GPUDeviceLostInfo>((resolve) => {
      this.#lose = resolve;
    });
    own("lost", lost);
    own("addEventListener", real.listen.bind(real));
    own("destroy", () => {
      while (this.#scopes.pop() !== undefined) void this.#pop();
      real.end();
      this.#lose({ reason: "destroyed", message: "given back" } as GPUDeviceLostInfo);
    });
  }

  #push(filter: GPUErrorFilter): void {
    this.#real.method("pushErrorScope")(filter);
  }

  #pop(): Promise<GPUError | null> {
    return this.#real.method("popErrorScope")() as Promise<GPUError | null>;
  }

  /** Error scopes are mirrored, so that an injected error lands in the scope a real one would. */
  #guardScopes(own: (name: string, value: unknown) => void): void {
    own("pushErrorScope", (filter: GPUErrorFilter) => {
      this.#scopes.push({ filter, error: null });
      this.#push(filter);
    });
    own("popErrorScope", async () => {
      const scope = this.#scopes.pop();
      const real = await this.#pop();
      return scope?.error ?? real;
    });
  }

  /** Gives an error to the innermost scope that wants it. */
  #raise(filter: GPUErrorFilter, error: GPUError): void {
    const scope = this.#innermost(filter);
    if (scope === undefined) throw new Error(`no ${filter} scope was open: ${error.message}`);
    scope.error ??= error;
  }

  #innermost(filter: GPUErrorFilter): Scope | undefined {
    return this.#scopes.findLast((scope) => scope.filter === filter);
  }

  /** Submits, and counts what the device accepts. Errors go where they would have gone. */
  #submit(real: () => void): void {
    const scope = this.#innermost("validation");
    this.#push("validation");
    try {
      real();
    } finally {
      void this.#pop().then(
        (error) => {
          if (error === null) this.#point.accepted++;
          else if (scope !== undefined) scope.error ??= error;
        },
        () => undefined,
      );
    }
  }

  #loseDevice(): void {
    this.#lose({ reason: "unknown", message: "injected loss" } as GPUDeviceLostInfo);
    this.#real.isLost = true;
    this.#real.method("destroy")();
  }

  #guardCreation(own: (name: string, value: unknown) => void): void {
    const invalid: Record<string, object> = {
      createShaderModule: { code: "injected: no WGSL" },
      createComputePipeline: { compute: { entryPoint: "injected" } },
      createBindGroupLayout: {
        entries: [
          { binding: 0, visibility: 4, buffer: {} },
          { binding: 0, visibility: 4, buffer: {} },
        ],
      },
      createPipelineLayout: { bindGroupLayouts: Array(16).fill(null) },
      createBindGroup: { entries: [] },
    };
    for (const [method, change] of Object.entries(invalid)) {
      own(method, (descriptor: object) => {
        const fault = this.#point.next(method);
        if (fault === "throws") throw operationError(method);
        if (fault !== "invalid") return this.#real.make(method, descriptor);
        const { compute } = descriptor as { compute?: object };
        const changed = { ...descriptor, ...change };
        if (compute !== undefined)
          Object.assign(changed, { compute: { ...compute, entryPoint: "injected" } });
        return this.#real.method(method)(changed);
      });
    }
    own("createBuffer", (descriptor: GPUBufferDescriptor) =>
      this.#createBuffer((given) => this.#real.createBuffer(given), descriptor),
    );
    own("createCommandEncoder", () => {
      if (this.#point.next("createCommandEncoder") !== null) throw operationError("encoder");
      const encoder = this.#real.method("createCommandEncoder")() as GPUCommandEncoder;
      return this.#guardEncoder(encoder);
    });
  }

  #createBuffer(real: GPUDevice["createBuffer"], descriptor: GPUBufferDescriptor): GPUBuffer {
    const fault = this.#point.next("createBuffer");
    if (fault === "throws") throw new RangeError("injected: createBuffer");
    if (fault === "device lost") this.#loseDevice();
    if (fault === "out of memory") {
      // A buffer without memory, as implementations give: real, invalid, and quiet about it.
      this.#push("validation");
      const buffer = real({ size: descriptor.size, usage: 0x8000_0000, mappedAtCreation: false });
      void this.#pop();
      this.#raise("out-of-memory", gpuError("GPUOutOfMemoryError", "injected: out of memory"));
      return buffer;
    }
    if (fault === "invalid") return real({ ...descriptor, usage: 0x8000_0000 });
    const buffer = real(descriptor);
    // Uniforms belong to plans, which are kept.
    const counted = (descriptor.usage & GPUBufferUsage.UNIFORM) === 0;
    this.#guardBuffer(buffer, counted ? buffer.size : 0);
    return buffer;
  }

  #guardBuffer(buffer: GPUBuffer, size: number): void {
    const point = this.#point;
    let live = true;
    point.liveBytes += size;
    const destroy = buffer.destroy.bind(buffer);
    const mapAsync = buffer.mapAsync.bind(buffer);
    const getMappedRange = buffer.getMappedRange.bind(buffer);
    Object.assign(buffer, {
      destroy() {
        if (live) point.liveBytes -= size;
        live = false;
        destroy();
      },
      mapAsync(...args: [number, number?, number?]) {
        if (point.next("mapAsync") !== null) return Promise.reject(operationError("mapAsync"));
        return mapAsync(...args);
      },
      getMappedRange(...args: [number?, number?]) {
        if (point.next("getMappedRange") !== null) throw operationError("getMappedRange");
        return getMappedRange(...args);
      },
    });
  }

  #guardEncoder(encoder: GPUCommandEncoder): GPUCommandEncoder {
    const point = this.#point;
    const begin = encoder.beginComputePass.bind(encoder);
    const copy = encoder.copyBufferToBuffer.bind(encoder) as (...args: unknown[]) => void;
    const finish = encoder.finish.bind(encoder);
    Object.assign(encoder, {
      beginComputePass(...args: []) {
        if (point.next("beginComputePass") !== null) throw operationError("beginComputePass");
        return begin(...args);
      },
      copyBufferToBuffer(...args: unknown[]) {
        if (point.next("copyBufferToBuffer") !== null) throw operationError("copyBufferToBuffer");
        copy(...args);
      },
      finish(...args: []) {
        const fault = point.next("finish");
        if (fault === "throws") throw operationError("finish");
        // An open pass makes the command buffer invalid.
        if (fault === "invalid") begin();
        return finish(...args);
      },
    });
    return encoder;
  }

  #guardQueue(): void {
    const { queue } = this.device;
    const submit = this.#real.method("submit", queue);
    const write = this.#real.method("writeBuffer", queue);
    Object.assign(queue, {
      submit: (commands: GPUCommandBuffer[]) => {
        const fault = this.#point.next("submit");
        if (fault === "throws") throw operationError("submit");
        if (fault === "device lost") this.#loseDevice();
        // Submitting the same commands twice in one call is a validation error of the whole call.
        this.#submit(() => {
          submit(fault === "invalid" ? [...commands, ...commands] : commands);
        });
      },
      writeBuffer: (target: GPUBuffer, offset: number, ...rest: unknown[]) => {
        const fault = this.#point.next("writeBuffer");
        if (fault === "throws") throw operationError("writeBuffer");
        write(target, fault === "invalid" ? target.size : offset, ...rest);
      },
    });
    Object.defineProperty(this.device, "queue", { value: queue, configurable: true });
  }
}
