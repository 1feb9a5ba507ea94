/**
 * What the tests of this package share: a device with every check switched on, plain float64
 * references, views of all kinds, golden files. Tests only.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as assert from "uvu/assert";
import { type DeviceInfo, type IdleTuning, type TenureError, init, sync } from "tenure";
import { installTestHooks } from "tenure/testing";
import { runtime } from "../src/runtime/runtime.ts";

/**
 * A device, with all plans verified, recycled buffers poisoned, and leak and error checks after the
 * file. With TENURE_VARIANT, a number, every kernel is written in the way at this place of those it
 * can be written in: `npm test -- --variant=2`.
 */
export async function setup(): Promise<DeviceInfo> {
  const { settings, parts } = runtime();
  parts.want("inspection"); // on pages, too
  settings.verifyPlans = true;
  settings.poison = true;
  settings.planningMs = 60_000; // tests must not depend on how busy the machine is
  installTestHooks();
  const info = await init();
  await parts.load(["budgets"]); // which runs programs whose buffers are poisoned
  // The same file runs in pages, where there is no process.
  const turn = typeof process === "undefined" ? undefined : process.env["TENURE_VARIANT"];
  const { device } = runtime();
  if (turn !== undefined && device !== null) device.choices.turn = Number(turn);
  return info;
}

/** Waits for what idle moments measure: their timers keep no process alive. */
export async function idleDone(idle: IdleTuning): Promise<void> {
  const alive = setInterval(() => undefined, 1000);
  try {
    await idle.done();
  } finally {
    clearInterval(alive);
  }
}

/** Takes what the device complained about, for tests that make it complain. */
export function takeDeviceErrors(): TenureError[] {
  const { device } = runtime();
  device?.takeErrors();
  return device?.errorLog.splice(0) ?? [];
}

/**
 * Runs `fn`, which must throw (or reject with) an error of class `type` whose text matches every
 * pattern.
 */
export async function rejects(
  fn: () => unknown,
  type: new (...args: never[]) => Error,
  ...patterns: readonly RegExp[]
): Promise<void> {
  let thrown: unknown;
  try {
    await fn();
  } catch (error) {
    thrown = error;
  }
  if (!(thrown instanceof type))
    throw new Error(
      `expected a ${type.name}, got ${thrown instanceof Error ? String(thrown) : "no error"}`,
    );
  for (const expected of patterns) assert.match(thrown.message, expected);
}

/**
 * A pattern whose text goes on over several lines: a line break and the indentation after it stand
 * for one space, and backslashes are the pattern's own.
 */
export function pattern(text: TemplateStringsArray): RegExp {
  return new RegExp(text.raw.join("").replace(/\n\s*/g, " "));
}

/** How often the event loop turns while `fn` runs, and for how long. */
export async function turnsDuring(
  fn: () => Promise<unknown>,
): Promise<{ turns: number; ms: number }> {
  const begin = performance.now();
  let turns = 0;
  let done = false;
  const turn = (): void => {
    turns++;
    if (!done) setImmediate(turn);
  };
  setImmediate(turn);
  await fn();
  done = true;
  return { turns, ms: performance.now() - begin };
}

/** A promise, and what resolves it. */
export function gate(): { open: () => void; passed: Promise<void> } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

/** Compares text with a file in test/golden; `UPDATE_GOLDEN=1` writes it. */
export function golden(name: string, text: string): void {
  const file = join(dirname(fileURLToPath(import.meta.url)), "golden", name);
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  const want = existsSync(file) ? readFileSync(file, "utf8") : "";
  if (want !== text)
    throw new Error(
      `golden file ${name} differs; run with UPDATE_GOLDEN=1 and read the diff\n${text}`,
    );
}

/** A small deterministic generator of numbers in [0, 1): mulberry32. */
export function mulberry(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), s | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `n` numbers in [low, high), as float32 holds them. */
export function numbers(n: number, seed: number, low = -2, high = 2): number[] {
  const next = mulberry(seed);
  return Array.from({ length: n }, () => Math.fround(low + next() * (high - low)));
}

/** Product of dimensions. */
export function count(shape: readonly number[]): number {
  return shape.reduce((n, d) => n * d, 1);
}

/** Every index of a shape, row-major. */
export function* indices(shape: readonly number[]): Generator<number[]> {
  const total = count(shape);
  const index = shape.map(() => 0);
  for (let k = 0; k < total; k++) {
    yield [...index];
    for (let d = shape.length - 1; d >= 0; d--) {
      if (++index[d]! < shape[d]!) break;
      index[d] = 0;
    }
  }
}

/** The element of a row-major array of shape `shape` that an index into a broadcast shape means. */
export function broadcastAt(shape: readonly number[], index: readonly number[]): number {
  const pad = index.length - shape.length;
  return shape.reduce((at, d, k) => at * d + (d === 1 ? 0 : index[k + pad]!), 0);
}

/** Runs `fn` with every op a kernel of its own. */
export async function unfused<T>(fn: () => Promise<T>): Promise<T> {
  await sync();
  runtime().caches.clear(); // equal programs would find the plans of the other kind
  runtime().settings.fuse = false;
  try {
    return await fn();
  } finally {
    await sync();
    runtime().caches.clear();
    runtime().settings.fuse = true;
  }
}
