/**
 * Elements of datasets of TensorFlow.js: each is the callback's that goes through the dataset. Each
 * case says which rules of `recommended` must report.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint } from "./tester.ts";

const test = suite("datasets");
const { rules } = plugin.configs.recommended;

const own = `class Dataset<T> {
  constructor(private readonly rows: readonly T[]) {}
  async forEachAsync(f: (element: T) => void): Promise<void> {
    for (const row of this.rows) f(row);
  }
}`;

/** Goes through a dataset of the library, or one that is declared here, with a callback. */
function goesThrough(name: string, callback: string, ...expected: string[]): void {
  goesThroughOf('import type { Dataset } from "@tensorflow/tfjs-data";', name, callback, expected);
}
function goesThroughOf(source: string, name: string, callback: string, expected: string[]): void {
  test(name, () => {
    const code = `import * as tf from "@tensorflow/tfjs-core";
interface Batch { xs: tf.Tensor; ys: tf.Tensor }
${source}
declare const rows: Dataset<Batch>;
export const all = async (kept: tf.Tensor[]): Promise<void> => {
  await rows.forEachAsync(${callback});
};
export const size = (): number => kept.length;
const kept: tf.Tensor[] = [];
`;
    const found = lint(code, { rules, settings: { presets: ["tfjs"] } });
    assert.equal(
      found.map((m) => m.message.split("`")[1]),
      expected,
      lines(found).join("\n"),
    );
  });
}
goesThrough("that is only looked at", "(b) => { console.log(b.xs.shape); }", "b.xs", "b.ys");
goesThrough("taken apart", "({ xs, ys }) => { console.log(xs.shape); ys.dispose(); }", "xs");
goesThrough("ended as a whole", "(b) => { console.log(b.xs.shape); tf.dispose(b); }");
goesThrough("ended part by part", "(b) => { b.xs.dispose(); b.ys.dispose(); }");
goesThrough("kept in part", "(b) => { kept.push(b.xs); b.ys.dispose(); }");
goesThroughOf(own, "of the program, whose rows stay", "(b) => { console.log(b.xs.shape); }", []);

test("what a dataset calls for each of its elements makes nothing to end", () => {
  const code = `import * as tf from "@tensorflow/tfjs-core";
import type { Dataset } from "@tensorflow/tfjs-data";
export const scaled = (rows: Dataset<tf.Tensor>) => rows.map((x) => x.abs().add(1));
export const all = (rows: tf.Tensor[]) => rows.map((x) => x.abs().add(1));
`;
  const found = lint(code, { rules, settings: { presets: ["tfjs"] } });
  assert.equal(
    found.map((m) => m.line),
    [4],
    lines(found).join("\n"),
  );
});

test.run();
