/**
 * The steps of a plan, encoded in segments: each runs until the host must wait, for a copy, for the
 * device, or for the time. A plan that never waits is one segment. Called by an execution. Host
 * copies belong to the run; buffers opened on the way are the execution's like all others.
 */
import { at, defined } from "../../base/access.ts";
import type { CounterSet } from "../../device/counters.ts";
import type { Device } from "../../device/device.ts";
import type { Step } from "../../planner/steps.ts";
import type { Executable } from "../executable.ts";
import { encodeDispatch } from "./encode.ts";
import { type Profile, type RunFigures, addTiming } from "./figures.ts";
import { logMoment, logTimed } from "./run-log.ts";
import type { HostArrays } from "./host-arrays.ts";
import { type HostCopy, HostCopies } from "./host-copies.ts";
import { type Poison, type SlotBuffers, bufferIn } from "./slot-buffers.ts";

/** A wait between two segments. */
export type Wait = () => Promise<void>;

/** What the segments of one run work with. */
export interface SegmentOptions {
  readonly device: Device;
  readonly counters: CounterSet;
  readonly exe: Executable;
  readonly buffers: SlotBuffers;
  readonly figures: RunFigures;
  readonly profile: Profile;
  readonly host: HostArrays;
  /** Lets host copies go as soon as they are back on the device. */
  readonly saveHostMemory: boolean;
  /** Overwrites freed memory; null outside tests. */
  readonly poison: Poison | null;
}

/** One run through the steps of a plan. */
export class Segments {
  readonly #options: SegmentOptions;
  readonly #copies: HostCopies;
  #at = 0;
  #since = performance.now();
  /** Whether the device was waited for since memory was last given back. */
  #drained = false;

  constructor(options: SegmentOptions) {
    this.#options = options;
    this.#copies = new HostCopies(options.device, options.host);
  }

  /** Encodes steps until one has to wait. @returns the wait, or null at the end of the plan */
  encode(): Wait | null {
    const { steps } = this.#options.exe.plan;
    let wait: Wait | null = null;
    while (wait === null && this.#at < steps.length) {
      wait = this.#encodeStep(at(steps, this.#at));
      this.#at++;
    }
    return wait;
  }

  /** Ends a run that waited, with its host copies. */
  async end(): Promise<void> {
    await this.#copies.end();
    this.#options.figures.hostBytes = this.#copies.mostBytes;
  }

  #encodeStep(step: Step): Wait | null {
    switch (step.kind) {
      case "dispatch":
      case "recompute":
        return this.#dispatch(step);
      case "swapOut":
        return this.#swapOut(step);
      case "wait": {
        const copy = this.#copies.of(defined(step.storage));
        return copy.complete ? null : () => this.#stall(copy);
      }
      case "swapIn":
        this.#swapIn(step);
        return null;
      case "open":
        return this.#open(step);
      case "close":
        this.#close(step);
        return null;
      case "release":
        this.#release(step);
        return null;
    }
  }

  #dispatch({ kind, op }: Step): Wait | null {
    const { device, counters, exe, buffers, profile } = this.#options;
    const dispatch = exe.dispatches[exe.dispatchOf[this.#at] ?? -1];
    if (dispatch !== undefined) {
      const { watch } = device.queue;
      if (watch !== null && op !== undefined) {
        const { phase } = at(exe.plan.program.ops, op);
        const { name, layer, flops, bytes } = dispatch;
        watch.next({ name, phase, layer, flops, bytes, recomputed: kind === "recompute" });
      }
      encodeDispatch(device, counters, exe, dispatch, buffers);
    }
    if (op === undefined) return null;
    if (kind === "recompute") logMoment(kind, at(exe.plan.program.ops, op).name, 0);
    if (profile === "off") return null;
    if (profile === "phases" && this.#phaseAfter(this.#at) === exe.plan.program.ops[op]?.phase)
      return null;
    return () => this.#clock(op, kind);
  }

  #swapOut({ storage, slot, bytes, offset = 0 }: Step): Wait | null {
    const oldest = this.#copies.inTheWay(defined(bytes));
    if (oldest !== undefined) {
      this.#at--; // again, after the wait
      return () => this.#stall(oldest);
    }
    const buffer = bufferIn(this.#options.buffers, defined(slot));
    this.#copies.swapOut(defined(storage), buffer, offset, defined(bytes));
    logMoment("swapOut", defined(storage), defined(bytes));
    return null;
  }

  #swapIn({ storage, slot, offset = 0, bytes = 0 }: Step): void {
    const { buffers, saveHostMemory } = this.#options;
    const name = defined(storage);
    this.#copies.swapIn(name, bufferIn(buffers, defined(slot)), offset);
    if (saveHostMemory) this.#copies.forget(name);
    logMoment("swapIn", name, bytes);
  }

  #open({ slot, bytes }: Step): Wait | null {
    const { device, buffers, poison } = this.#options;
    const size = defined(bytes);
    if (!this.#drained && device.pool.isFull(size)) {
      this.#at--; // again, after the wait
      return () => this.#drain();
    }
    device.queue.submit(); // the pool may destroy free buffers
    const buffer = device.pool.acquire(size);
    buffers[defined(slot)] = buffer;
    poison?.spread(device, buffer);
    logMoment("buffer", "opened", size);
    return null;
  }

  #close({ slot }: Step): void {
    const { device, buffers } = this.#options;
    const buffer = bufferIn(buffers, defined(slot));
    device.pool.release(buffer);
    buffers[defined(slot)] = undefined;
    logMoment("buffer", "closed", buffer.bytes);
    this.#drained = false;
  }

  #release({ slot, offset, bytes }: Step): void {
    const { device, exe, buffers, poison } = this.#options;
    if (poison === null || !exe.inSegments) return; // what runs in one go is submitted in one go
    device.queue.submit();
    poison.spread(device, bufferIn(buffers, defined(slot)), offset, bytes);
  }

  #phaseAfter(after: number): string | undefined {
    const { steps, program } = this.#options.exe.plan;
    for (let t = after + 1; t < steps.length; t++) {
      const op = steps[t]?.op;
      if (op !== undefined) return program.ops[op]?.phase;
    }
    return undefined;
  }

  /** Destroyed buffers stay with the device as long as it works with them. */
  async #drain(): Promise<void> {
    await this.#options.figures.stall(this.#options.device.idle());
    this.#drained = true;
  }

  async #stall({ ready }: HostCopy): Promise<void> {
    await this.#options.figures.stall(ready);
  }

  /** Notes how long the device took for what was encoded since the last time. */
  async #clock(index: number, kind: Step["kind"]): Promise<void> {
    const { device, exe, figures, profile } = this.#options;
    await device.idle();
    const now = performance.now();
    const from = this.#since;
    const seconds = (now - from) / 1000;
    this.#since = now;
    device.queue.watch?.clocked(from, seconds);
    const { phase, name } = at(exe.plan.program.ops, index);
    addTiming(figures.phases, phase, seconds);
    const op = kind === "recompute" ? `${name} (recompute)` : name;
    if (profile === "ops") addTiming(figures.ops, op, seconds);
    logTimed(profile === "ops" ? op : phase, phase, from, seconds);
  }
}
