/**
 * Random numbers on the device: published vectors, and the same bits as the JavaScript twin.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { elementwiseKernel } from "../../../src/kernels/elementwise.ts";
import { philox, randomNormal, randomUniform } from "../../../src/kernels/philox.ts";
import { close, openGpu, run } from "./harness.ts";

const test = suite("philox");
const { caps } = await openGpu();

test("Philox gives the published vectors", () => {
  assert.equal(philox([0, 0, 0, 0], [0, 0]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
  assert.equal(
    philox([0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff], [0xffffffff, 0xffffffff]),
    [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
  );
  assert.equal(
    philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
    [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
  );
});

test("random numbers equal their JavaScript twin", async () => {
  const n = 4096,
    scalars = [{ type: "u32" }, { type: "u32" }, { type: "u32" }] as const,
    words = [0x12345678, 0x9abcdef0, 7];
  const kernel = (distribution: "uniform" | "normal"): ReturnType<typeof elementwiseKernel> =>
    elementwiseKernel(
      {
        shape: [n],
        operands: [],
        outputs: [{ dtype: "float32", binding: 0 }],
        bindings: ["read_write"],
        name: distribution,
        body: "r0 = drawn0;",
        scalars,
        draws: [{ distribution, scalar: 0 }],
      },
      caps,
    );
  const [uniform] = await run(kernel("uniform"), [{ dtype: "float32", length: n }], {
    scalars: words,
  });
  const [normal] = await run(kernel("normal"), [{ dtype: "float32", length: n }], {
    scalars: words,
  });
  const index = Array.from({ length: n }, (_, i) => i);
  close(
    uniform!,
    index.map((i) => randomUniform([words[0]!, words[1]!], 7, i)),
    0,
    0,
    "uniform",
  );
  close(
    normal!,
    index.map((i) => randomNormal([words[0]!, words[1]!], 7, i)),
    1e-3,
    1e-3,
    "normal",
  );
  const mean = (xs: ArrayLike<number>, f: (x: number) => number): number =>
    Array.from(xs, f).reduce((a, b) => a + b) / n;
  assert.ok(Math.abs(mean(uniform!, (x) => x) - 0.5) < 0.02);
  assert.ok(
    Math.abs(mean(normal!, (x) => x)) < 0.06 && Math.abs(mean(normal!, (x) => x * x) - 1) < 0.1,
  );
});

test.run();
