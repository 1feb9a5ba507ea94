/**
 * A device of the implementation, lent to one run after the other: what it compiled is kept, which
 * takes most of the time of a run, and everything else goes with the run. To the library each loan
 * is a new device. Used by the wrapper that injects faults, which owns it.
 */

/** A method of WebGPU's, whatever it takes. */
export type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Methods whose results are kept from run to run. */
const compiling = new Set([
  "createShaderModule",
  "createComputePipeline",
  "createBindGroupLayout",
  "createPipelineLayout",
]);

/** One device, between runs and in them. */
export class RealDevice {
  readonly device: GPUDevice;
  readonly #compiled = new Map<string, object>();
  readonly #numbers = new WeakMap<object, number>();
  readonly #buffers = new Set<GPUBuffer>();
  readonly #listeners: Parameters<EventTarget["addEventListener"]>[] = [];
  isLost = false;

  constructor(device: GPUDevice) {
    this.device = device;
    void device.lost.then(() => {
      this.isLost = true;
    });
  }

  /** The implementation's own method of the device or its queue, whatever it was replaced by. */
  method(name: string, of: object = this.device): (...args: unknown[]) => unknown {
    const found = Reflect.get(Object.getPrototypeOf(of) as object, name) as Method | undefined;
    if (found === undefined) throw new Error(`no ${name}`);
    return (...args) => found.apply(of, args);
  }

  /** Calls a method that makes something; what takes long to make is made once. */
  make(name: string, descriptor: object): object {
    const key = compiling.has(name) ? this.#keyOf(name, descriptor) : null;
    const known = key === null ? undefined : this.#compiled.get(key);
    if (known !== undefined) return known;
    const made = this.method(name)(descriptor) as object;
    if (key === null) return made;
    this.#numbers.set(made, this.#compiled.size);
    this.#compiled.set(key, made);
    return made;
  }

  /** Text that stands for what is asked for; null when it is made of what is not kept. */
  #keyOf(name: string, descriptor: object): string | null {
    let isWhole = true;
    const text = JSON.stringify(descriptor, (_, value: unknown) => {
      if (typeof value !== "object" || value === null) return value;
      if (!value.constructor.name.startsWith("GPU")) return value;
      const number = this.#numbers.get(value);
      isWhole &&= number !== undefined;
      return `#${number}`;
    });
    return isWhole ? `${name} ${text}` : null;
  }

  /** Makes a buffer that goes with the run. */
  createBuffer(descriptor: GPUBufferDescriptor): GPUBuffer {
    const buffer = this.method("createBuffer")(descriptor) as GPUBuffer;
    this.#buffers.add(buffer);
    return buffer;
  }

  /** Adds a listener that goes with the run. */
  listen(...args: Parameters<EventTarget["addEventListener"]>): void {
    this.#listeners.push(args);
    this.method("addEventListener")(...args);
  }

  /** Ends a run. */
  end(): void {
    for (const buffer of this.#buffers) buffer.destroy();
    this.#buffers.clear();
    for (const args of this.#listeners.splice(0)) this.method("removeEventListener")(...args);
  }
}
