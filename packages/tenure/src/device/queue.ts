/**
 * The command queue: dispatches and copies are batched into as few passes and submits as their
 * order allows. Used by the executor. Owns the open encoder.
 */
import type { CounterSet } from "./counters.ts";
import type { KernelWatch } from "./kernel-watch.ts";
import type { GPUBindGroup, GPUBuffer, GPUComputePipeline, GPUDevice } from "./webgpu.ts";

/**
 * Dispatches after which a submit goes out, so that the device starts early and watchdogs stay
 * calm.
 */
const submitEvery = 256;

/** The queue of one device, with the commands not yet submitted. */
export class CommandQueue {
  readonly #device: GPUDevice;
  readonly #counters: CounterSet;
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  #pipeline: GPUComputePipeline | null = null;
  #pending = 0;
  /** Submits that the device took. */
  submits = 0;
  /** Who times kernels, each in a pass of its own; null mostly. */
  watch: KernelWatch | null = null;

  constructor(device: GPUDevice, counters: CounterSet) {
    this.#device = device;
    this.#counters = counters;
  }

  /** Encodes one dispatch. */
  dispatch(
    pipeline: GPUComputePipeline,
    group: GPUBindGroup,
    x: number,
    y: number,
    z: number,
  ): void {
    let pass = this.#pass;
    if (pass === null) {
      this.#encoder ??= this.#device.createCommandEncoder();
      pass = this.#pass = this.#encoder.beginComputePass(this.watch?.pass());
      this.#pipeline = null;
      this.#counters.passes++;
    }
    if (this.#pipeline !== pipeline) {
      pass.setPipeline(pipeline);
      this.#pipeline = pipeline;
    }
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(x, y, z);
    this.#counters.dispatches++;
    if (this.watch !== null) this.#endPass();
    if (++this.#pending >= submitEvery) this.submit();
  }

  /** Encodes one copy. */
  copy(
    source: GPUBuffer,
    sourceOffset: number,
    target: GPUBuffer,
    targetOffset: number,
    bytes: number,
  ): void {
    this.#endPass();
    this.#encoder ??= this.#device.createCommandEncoder();
    this.#encoder.copyBufferToBuffer(source, sourceOffset, target, targetOffset, bytes);
  }

  /**
   * Submits one copy by itself, so that nothing else is refused with it. The label is the op that
   * the device's complaint names.
   */
  copyAlone(
    label: string,
    source: GPUBuffer,
    sourceOffset: number,
    target: GPUBuffer,
    targetOffset: number,
    bytes: number,
  ): void {
    const encoder = this.#device.createCommandEncoder({ label: `${label} [copy]` });
    encoder.copyBufferToBuffer(source, sourceOffset, target, targetOffset, bytes);
    this.#device.queue.submit([encoder.finish({ label: `${label} [copy]` })]);
    this.#counters.submits++;
  }

  /** Sends what is encoded to the device; nothing when there is nothing. */
  submit(): void {
    this.#endPass();
    this.#pending = 0;
    const encoder = this.#encoder;
    if (encoder === null) return;
    this.watch?.submitting(encoder);
    this.#encoder = null; // whatever happens next, nobody encodes into it any more
    this.#device.queue.submit([encoder.finish()]);
    this.submits++;
    this.#counters.submits++;
  }

  /** Forgets what is encoded and not submitted. */
  abandon(): void {
    this.#pass = null;
    this.#encoder = null;
    this.#pending = 0;
    this.watch?.abandoned();
  }

  #endPass(): void {
    const pass = this.#pass;
    this.#pass = null;
    pass?.end();
  }
}
