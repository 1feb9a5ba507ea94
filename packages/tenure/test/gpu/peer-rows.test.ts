/**
 * The rows in which Tenure is compared with other libraries compute what they say: small ones of
 * each kind, against TF.js on its CPU backend, whose programs are those of the comparison, from the
 * same start.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { assertClose } from "tenure/testing";
import { type Spec, spread, transposed } from "../../../bench/peers/rows.ts";
import { tenureProgram } from "../../../bench/peers/with-tenure.ts";
import { tfjsProgram } from "../../../bench/peers/with-tfjs.ts";
import { setup } from "../helpers.ts";
import { tf } from "./ops/oracles/tfjs.ts";

await setup();
const test = suite("rows beside other libraries");

const specs: readonly Spec[] = [
  { kind: "matmul", size: 24 },
  { kind: "chain", elements: 100, ops: 8, multiply: false },
  { kind: "chain", elements: 100, ops: 8, multiply: true },
  { kind: "softmax", rows: 5, columns: 33 },
  { kind: "layerNorm", rows: 5, columns: 33 },
  { kind: "mlp", widths: [20, 12, 10], batch: 6, optimizer: "SGD" },
  { kind: "mlp", widths: [20, 12, 10], batch: 6, optimizer: "Adam" },
  { kind: "lenet", side: 16, batch: 3 },
];

for (const spec of specs)
  test(`${JSON.stringify(spec)} is what TF.js computes`, async () => {
    const ours = tenureProgram(spec);
    const theirs = tfjsProgram(tf, spec, () => Promise.resolve());
    await ours.run();
    await theirs.run();
    const expected = await theirs.values();
    assert.is(expected.length > 0 && expected.every(Number.isFinite), true);
    assert.is(new Set(expected).size > 1, true, "all values alike would prove little");
    await assertClose([...(await ours.values())], [...expected], { rel: 1e-4, abs: 1e-5 });
    ours.dispose();
    theirs.dispose();
  });

test("transposed moves what it should, spread takes from everywhere", () => {
  const data = Float32Array.from({ length: 6 }, (_, i) => i);
  const { shape, data: moved } = transposed({ shape: [1, 2, 3], data }, [2, 0, 1]);
  assert.equal(shape, [3, 1, 2]);
  assert.equal([...moved], [0, 3, 1, 4, 2, 5]);
  assert.equal(spread([1, 2, 3]), [1, 2, 3]);
  assert.is(spread(Array.from({ length: 640 }, (_, i) => i))[63], 630);
});

test.run();
