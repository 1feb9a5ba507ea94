/**
 * Everything users import from `tenure/testing`: checks for tests of code that makes tensors.
 * `installTestHooks` adds a check after every test file; under another runner, call the function it
 * returns when a file is done. Borrows what it is given and owns nothing.
 * @module tenure/testing
 */
import "./compose.ts";
import { ShapeError, TenureError, calledAs } from "./base/errors.ts";
import { type OptionTable, readOptions } from "./base/options.ts";
import { formatShape, sameShape } from "./base/shape.ts";
import type { Mark } from "./ownership/evidence.ts";
import { runtime } from "./runtime/runtime.ts";
import { memory } from "./runtime/memory.ts";
import { flatten } from "./tensor/host.ts";
import { type NestedArray, Tensor, live } from "./tensor/tensor.ts";

export { gradcheck, type GradCheckOptions } from "./autograd/gradcheck.ts";
export { assertNoLeaks } from "./ownership/evidence.ts";

/**
 * How far apart two numbers may lie: `|actual - expected| <= abs + rel·|expected|`. A plain number
 * is both.
 */
export type Tolerance = number | { readonly rel?: number; readonly abs?: number };

const margin = { type: "number", range: "[0, Infinity]", default: 0 } as const;
const toleranceOptions = { rel: margin, abs: margin } satisfies OptionTable<
  Exclude<Tolerance, number>
>;

/** What `assertClose` compares. */
export type Comparable = Tensor | NestedArray | ArrayBufferView;

/**
 * Checks that two arrays have the same shape and close elements. NaN matches NaN, infinities match
 * themselves. A flat list on either side matches any shape.
 * @throws ShapeError for different shapes, TenureError naming the worst element, ArgumentError for
 *   what are no numbers
 */
export async function assertClose(
  actual: Comparable,
  expected: Comparable,
  tolerance: Tolerance = 1e-5,
): Promise<void> {
  const { rel, abs } = readOptions(
    "assertClose",
    typeof tolerance === "number" ? { rel: tolerance, abs: tolerance } : tolerance,
    toleranceOptions,
  );
  const [a, b] = await Promise.all([elementsOf(actual), elementsOf(expected)]);
  const flat = a.shape.length === 1 || b.shape.length === 1;
  if (flat ? a.values.length !== b.values.length : !sameShape(a.shape, b.shape))
    throw new ShapeError(
      "assertClose",
      formatShape(b.shape),
      formatShape(a.shape),
      "compare arrays of one shape",
    );
  let worst = -1,
    most = 0,
    wrong = 0;
  for (let i = 0; i < b.values.length; i++) {
    const got = a.values[i]!,
      want = b.values[i]!;
    if (Object.is(got, want) || got === want || (Number.isNaN(got) && Number.isNaN(want))) continue;
    const excess = Math.abs(got - want) - (abs + rel * Math.abs(want));
    if (excess <= 0) continue;
    wrong++;
    if (worst === -1 || excess > most) {
      worst = i;
      most = excess;
    }
  }
  if (worst !== -1)
    throw new TenureError(
      "assertClose",
      `expected ${b.values[worst]} at position ${worst} of ${formatShape(b.shape)}, ` +
        `got ${a.values[worst]}; ${wrong} of ${b.values.length} elements differ ` +
        `by more than ${abs} + ${rel}·|expected|`,
    );
}

async function elementsOf(
  x: Comparable,
): Promise<{ values: ArrayLike<number>; shape: readonly number[] }> {
  if (!(x instanceof Tensor)) return calledAs("assertClose", () => flatten(x));
  live(x, "assertClose");
  return { values: await x.data(), shape: x.shape };
}

/** A check after a test file: one message per thing that is wrong, none when all is well. */
export type FileCheck = () => Promise<string[]>;

/**
 * Adds checks that run after each test file: the device reported no error, no tensor of the file is
 * alive, and the garbage collector had to reclaim none. Installs once per process. @returns the
 * check, for test runners other than Tenure's
 */
export function installTestHooks(): FileCheck {
  const { settings } = runtime();
  if (settings.fileCheck !== null) return settings.fileCheck;
  let before: Mark = memory.mark(),
    live = memory.stats().threadTotalLiveCount;
  const check: FileCheck = async () => {
    const messages: string[] = [];
    const { device } = runtime();
    if (device !== null && device.lost === null) await device.idle();
    for (const error of device?.errorLog.splice(0) ?? [])
      messages.push(`uncaptured device error: ${String(error)}`);
    device?.takeErrors();
    const delta = memory.since(before),
      now = memory.stats().threadTotalLiveCount;
    if (now > live)
      messages.push(`${now - live} tensors or containers are still alive: ${delta.toString()}`);
    else if (delta.forgotten > 0)
      messages.push(
        `${delta.forgotten} tensors had to be reclaimed by the garbage collector: ${memory
          .reclaimed()
          .map((r) => `${r.count} made at ${r.site}`)
          .join(", ")}`,
      );
    before = memory.mark();
    live = now;
    return messages;
  };
  const hooks = globalThis as { __tenureTestHooks?: FileCheck[] };
  (hooks.__tenureTestHooks ??= []).push(check);
  settings.fileCheck = check;
  return check;
}
