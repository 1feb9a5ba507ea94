/**
 * Every built-in op in float16: it must give what it gives in float32 for the same (already
 * rounded) inputs, rounded once. That holds only if nothing inside is accumulated or kept in
 * float16. Where the adapter has no shader-f16, float16 tensors must be refused, by name.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { DTypeError, type Tensor, deviceInfo, newDisposeScope, noGrad, tensor } from "tenure";
import { isFloat } from "../../../src/base/dtype.ts";
import { fromHalf, toHalf } from "../../../src/tensor/host.ts";
import { uniqueName } from "../../../src/ops/op.ts";
import "../../../src/ops/updates.ts";
import { rejects, setup } from "../../helpers.ts";
import { allOps } from "../../op-records.ts";
import type { Case } from "./cases/case.ts";
import { casesOf } from "./cases.ts";
import { type Host, execute, upload } from "./host.ts";

await setup();
const test = suite("ops in float16");
const has = deviceInfo()!.features.includes("shader-f16");

const rounded = (h: Host): Host =>
  h.dtype === "float32" ? { ...h, values: h.values.map((v) => fromHalf(toHalf(v))) } : h;
const halved = (h: Host): Host => (h.dtype === "float32" ? { ...h, dtype: "float16" } : h);
const inHalf = (attrs: unknown): unknown =>
  typeof attrs === "object" && attrs !== null && "dtype" in attrs && attrs.dtype === "float32"
    ? { ...attrs, dtype: "float16" }
    : attrs;

/**
 * One rounding to nearest is half a unit in the last place; a device may round the other way, and
 * may flush what is below the smallest normal number.
 */
const rel = 2 ** -10,
  abs = 2 ** -14;

async function compare(name: string, c: Case): Promise<void> {
  const op = allOps().find((o) => uniqueName(o) === name)!,
    reads: Promise<[ArrayLike<number>, ArrayLike<number>]>[] = [];
  {
    using _ = newDisposeScope(name);
    const run = (make: (h: Host) => Host, attrs: unknown): Tensor[] =>
      noGrad(() =>
        execute(
          op,
          c.inputs.map((h) => upload(make(rounded(h)))),
          attrs,
          c.words ?? [],
        ),
      );
    const wide = run((h) => h, c.attrs),
      half = run(halved, inHalf(c.attrs));
    half.forEach((out, k) => {
      if (isFloat(wide[k]!.dtype) && c.inputs.some((h) => h.dtype === "float32"))
        assert.ok(isFloat(out.dtype), `${name}: ${out.dtype}`);
      reads.push(
        Promise.all([wide[k]!.data(), out.data()]).then(([w, h]) => [
          out.dtype === "float16" ? Float32Array.from(w, (v) => fromHalf(toHalf(v))) : w,
          h,
        ]),
      );
    });
  }
  for (const [want, got] of await Promise.all(reads)) {
    for (let i = 0; i < want.length; i++) {
      const w = want[i]!,
        g = got[i]!;
      const near =
        Object.is(w, g) ||
        w === g ||
        (Number.isNaN(w) && Number.isNaN(g)) ||
        Math.abs(w - g) <= rel * Math.abs(w) + abs ||
        (Math.abs(w) >= 65504 && Math.abs(g) >= 65504 && Math.sign(w) === Math.sign(g));
      if (!near) throw new Error(`${name}, ${c.label}: expected ${w} at position ${i}, got ${g}`);
    }
  }
}

if (has) {
  for (const op of allOps()) {
    const name = uniqueName(op),
      cases = casesOf(name)!.filter(
        (c) =>
          c.inputs.some((h) => h.dtype === "float32") || op.name === "fill" || op.name === "arange",
      );
    if (cases.length > 0)
      test(name, async () => {
        for (const c of cases) await compare(name, c);
      });
  }
} else {
  test("an adapter without shader-f16 refuses float16 by name", async () => {
    await rejects(
      () => tensor([1, 2], { dtype: "float16" }),
      DTypeError,
      new RegExp(
        "^tensor: expected a device with shader-f16 for float16 tensors, got " +
          ".+ without it; stay with float32",
      ),
      new RegExp(deviceInfo()!.name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")),
    );
    const x = tensor([1, 2]);
    await rejects(() => x.half(), DTypeError, /shader-f16/);
    x.dispose();
  });
}

test.run();
