/**
 * Namesakes: a `Tensor` of another package, of which the program has no types, is not TensorFlow's
 * though its methods have the same names.
 */
import { suite } from "uvu";
import { assert, lines, lint } from "./tester.ts";
import plugin from "../src/index.ts";

const test = suite("namesakes");

const program = (from: string): string => `import { Tensor } from "${from}";
export class Scheduler {
  ends: Tensor[] = [];
  step(out: Tensor, sample: Tensor) {
    if (this.ends.length) out = out.add(this.ends[0]).div(2);
    const other = sample.mul(0.5).sub(out);
    return other.mul(2).add(out.mul(3));
  }
  noise(a: Tensor, b: Tensor) { return a.mul(b).add(b).squeeze(); }
}`;
const reports = (from: string): string[] => {
  const { rules } = plugin.configs.recommended;
  return lines(lint(program(from), { rules, settings: { presets: ["tfjs"] } }));
};

for (const from of ["@maker/transformers", "numbers", "@maker/numbers/dense"])
  test(`of ${from}`, () => {
    assert.equal(reports(from), []);
  });
for (const from of ["@tensorflow/tfjs-missing", "https://cdn.test/@tensorflow/tfjs/+esm"])
  test(`none of ${from}`, () => {
    assert.ok(reports(from).length >= 4, reports(from).join("\n"));
  });

test.run();
