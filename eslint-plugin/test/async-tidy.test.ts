/**
 * What an async callback of a synchronous scope makes before it waits, which the scope ends, and
 * after that, which nobody does. Each case marks the lines that a rule of `recommended` reports.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint } from "./tester.ts";

const test = suite("async tidy");
const { rules } = plugin.configs.recommended;

function waits(name: string, body: string): void {
  test(name, () => {
    const code = `import * as tf from "@tensorflow/tfjs-core";\n${body}\n`;
    const found = lint(code, { rules, settings: { presets: ["tfjs"] } });
    const expected = code.split("\n").flatMap((line, i) => (line.includes("// ~") ? [i + 1] : []));
    assert.equal(
      found.map(({ line }) => line),
      expected,
      lines(found).join("\n"),
    );
  });
}
waits(
  "before and after an await",
  `export async function train(x: tf.Tensor): Promise<void> {
  await tf.tidy(async () => { // ~
    const first = x.add(x);
    const data = await first.data();
    const second = tf.tensor(data); // ~
    console.log(second.shape);
  });
}`,
);
waits(
  "one that ends what it makes late",
  `export async function train(x: tf.Tensor): Promise<void> {
  await tf.tidy(async () => { // ~
    const data = await x.data();
    const second = tf.tensor(data);
    console.log(second.shape);
    second.dispose();
  });
}`,
);
waits(
  "one that does not wait",
  `export function train(x: tf.Tensor): Float32Array {
  return tf.tidy(() => {
    const first = x.add(x);
    return first.mul(x).dataSync();
  });
}`,
);

test.run();
