/**
 * Running a plan whose values go to the host and back, or whose parts are timed: its steps are
 * encoded in stretches, between which the host is waited for. Called by schedulers only; programs
 * that need no waiting are run by execute.ts in one go. Host copies belong to the run; their arrays
 * are kept for the next one. Staging buffers come from the device's rings and go back there.
 */
import type { TenureError } from "../base/errors.ts";
import type { Device } from "../device/device.ts";
import { sizeClass } from "../device/pool.ts";
import type { PooledBuffer } from "../device/pool.ts";
import type { Executable } from "./compile.ts";
import { type SlotBuffers, bindGroup, debugging, poison } from "./execute.ts";

/**
 * Copies under way to the host may hold so many bytes of staging, or one copy if that is larger.
 */
const stagingLimit = 64 * 2 ** 20;

/**
 * How closely a run is timed: not at all, by phase, by op. Timing makes the device wait for the
 * host.
 */
export type Profile = "off" | "phases" | "ops";

/** What a run took. */
export interface RunFigures {
  /** Waits for the host that really waited, and for how long, in seconds. */
  stalls: number;
  stallSeconds: number;
  /** Most bytes of host copies at one time. */
  hostBytes: number;
  /** Seconds by phase and by op, with how often it ran; empty unless profiled. */
  readonly phases: Map<string, { seconds: number; count: number }>;
  readonly ops: Map<string, { seconds: number; count: number }>;
}

/** Arrays for host copies, kept from run to run. */
export class HostArrays {
  readonly #free = new Map<number, Uint8Array<ArrayBuffer>[]>();
  bytes = 0;

  take(bytes: number): Uint8Array<ArrayBuffer> {
    const known = this.#free.get(bytes)?.pop();
    if (known !== undefined) return known;
    this.bytes += bytes;
    return new Uint8Array(bytes);
  }

  give(array: Uint8Array<ArrayBuffer>): void {
    const free = this.#free.get(array.byteLength);
    if (free === undefined) this.#free.set(array.byteLength, [array]);
    else free.push(array);
  }

  clear(): void {
    this.#free.clear();
    this.bytes = 0;
  }
}

interface HostCopy {
  readonly array: Uint8Array<ArrayBuffer>;
  readonly ready: Promise<void>;
  readonly staged: number;
  complete: boolean;
}

/**
 * Encodes and submits the steps of a plan. @returns what the device refused, or null
 * @param profile waits after each op, or at the end of each phase, and notes the time
 */
export async function runStretches(
  device: Device,
  exe: Executable,
  buffers: SlotBuffers,
  host: HostArrays,
  profile: Profile,
  saveHostMemory: boolean,
  figures: RunFigures,
): Promise<TenureError | null> {
  const {
      plan: { steps, program },
      dispatches,
      dispatchOf,
    } = exe,
    { queue } = device;
  const copies = new Map<string, HostCopy>(),
    leaving = new Set<HostCopy>(),
    verdicts: Promise<TenureError | null>[] = [];
  let staged = 0,
    held = 0,
    at = 0,
    since = performance.now(),
    drained = false;

  const swapOut = (storage: string, buffer: PooledBuffer, offset: number, bytes: number): void => {
    forget(copies.get(storage));
    const staging = device.reads.take(bytes),
      array = host.take(bytes);
    queue.copy(buffer.gpu, offset, staging, 0, bytes);
    queue.submit(); // mapped before more work is queued, or the map waits for that too
    const ready = device.reads.read(staging, bytes, (data) => {
      array.set(new Uint8Array(data, 0, bytes));
    });
    const copy: HostCopy = {
      array,
      staged: sizeClass(bytes),
      complete: false,
      ready: ready.finally(() => {
        copy.complete = true;
        leaving.delete(copy);
        staged -= copy.staged;
      }),
    };
    copy.ready.catch(() => undefined); // whoever waits for it hears of it
    copies.set(storage, copy);
    leaving.add(copy);
    staged += copy.staged;
    held += bytes;
    if (held > figures.hostBytes) figures.hostBytes = held;
  };
  const forget = (copy: HostCopy | undefined): void => {
    if (copy === undefined) return;
    held -= copy.array.byteLength;
    if (copy.complete) host.give(copy.array);
    else
      void copy.ready.then(
        () => {
          host.give(copy.array);
        },
        () => undefined,
      );
  };

  /** Encodes steps until one has to wait. */
  const stretch = (): (() => Promise<void>) | null => {
    let wait: (() => Promise<void>) | null = null;
    for (; at < steps.length && wait === null; at++) {
      const { kind, op, storage, slot, bytes, offset = 0 } = steps[at]!;
      switch (kind) {
        case "dispatch":
        case "recompute": {
          const d = dispatches[dispatchOf[at]!];
          if (d !== undefined)
            queue.dispatch(
              d.pipeline.gpu,
              bindGroup(device, exe, d, buffers),
              d.workgroups[0],
              d.workgroups[1],
              d.workgroups[2],
            );
          if (
            profile === "ops" ||
            (profile === "phases" && phaseAfter(at) !== program.ops[op!]!.phase)
          )
            wait = () => clock(op!, kind);
          break;
        }
        case "swapOut": {
          const oldest =
            staged > 0 && staged + bytes! > stagingLimit
              ? leaving.values().next().value
              : undefined;
          if (oldest !== undefined) {
            at--;
            wait = () => stall(oldest);
          } else swapOut(storage!, buffers[slot!]!, offset, bytes!);
          break;
        }
        case "wait": {
          const copy = copies.get(storage!)!;
          if (!copy.complete) wait = () => stall(copy);
          break;
        }
        case "swapIn": {
          const { array } = copies.get(storage!)!,
            target = buffers[slot!]!.gpu;
          queue.submit(); // the queue's own writes come after this, not before
          const done = device.uploads.write(target, offset, array, (source, size) => {
            queue.copy(source, 0, target, offset, size);
          });
          if (done !== undefined) {
            queue.submit();
            done();
          }
          if (saveHostMemory) {
            forget(copies.get(storage!));
            copies.delete(storage!);
          }
          break;
        }
        case "open":
          if (!drained && device.pool.isFull(bytes!)) {
            at--;
            wait = drain;
            break;
          }
          queue.submit(); // the pool may destroy free buffers
          buffers[slot!] = device.pool.acquire(bytes!);
          if (debugging.poison) poison(device, buffers[slot!]!);
          break;
        case "close":
          device.pool.release(buffers[slot!]!);
          buffers[slot!] = undefined;
          drained = false;
          break;
        case "release":
          if (debugging.poison) {
            queue.submit();
            poison(device, buffers[slot!]!, offset, bytes);
          }
          break;
      }
    }
    queue.submit();
    return wait;
  };
  const phaseAfter = (t: number): string | undefined => {
    for (let k = t + 1; k < steps.length; k++)
      if (steps[k]!.op !== undefined) return program.ops[steps[k]!.op!]!.phase;
    return undefined;
  };
  /** Destroyed buffers stay with the device as long as it works with them. */
  const drain = async (): Promise<void> => {
    const before = performance.now();
    await device.idle();
    drained = true;
    figures.stalls++;
    figures.stallSeconds += (performance.now() - before) / 1000;
  };
  const stall = async (copy: HostCopy): Promise<void> => {
    const before = performance.now();
    await copy.ready;
    figures.stalls++;
    figures.stallSeconds += (performance.now() - before) / 1000;
  };
  const clock = async (op: number, kind: string): Promise<void> => {
    await device.idle();
    const now = performance.now(),
      { phase, name } = program.ops[op]!,
      seconds = (now - since) / 1000;
    since = now;
    const add = (to: RunFigures["ops"], key: string): void => {
      const row = to.get(key) ?? { seconds: 0, count: 0 };
      row.seconds += seconds;
      row.count++;
      to.set(key, row);
    };
    add(figures.phases, phase);
    if (profile === "ops") add(figures.ops, kind === "recompute" ? `${name} (again)` : name);
  };

  while (at < steps.length) {
    const waits: (() => Promise<void>)[] = [];
    verdicts.push(
      device.watch(() => {
        const wait = stretch();
        if (wait !== null) waits.push(wait);
      }),
    );
    for (const wait of waits) await wait();
  }
  // Copies nobody fetched again (parameters that stayed clean, say) end with the run.
  for (const copy of copies.values()) {
    await copy.ready;
    forget(copy);
  }
  for (const verdict of verdicts) {
    const refused = await verdict;
    if (refused !== null) return refused;
  }
  return null;
}
