/**
 * Programs in TypeScript that say `tf.Tensor` where TensorFlow.js is not installed, as on the first
 * day of a checkout: the name is what there is to go by. Lines marked with `// !` are reported.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint } from "./tester.ts";

const test = suite("untyped annotations");

const { rules } = plugin.configs.recommended;
const settings = { presets: ["tfjs"] } as const;
const library = 'import * as tf from "@tensorflow/tfjs-of-old";\n';

function finds(name: string, code: string, head = library): void {
  test(name, () => {
    const text = head + code.trim();
    const expected = text.split("\n").flatMap((l, i) => (l.includes("// !") ? [i + 1] : []));
    const found = lines(lint(text, { rules, settings }));
    assert.equal([...new Set(found.map((line) => parseInt(line, 10)))], expected, found.join("\n"));
  });
}

const decode = (result: string, body: string): string => `
declare function decode(bytes: Uint8Array): ${result};
export ${result.startsWith("Promise") ? "async " : ""}function sizeOf(bytes: Uint8Array) {
${body}
}`;

finds(
  "a function is said to give a value",
  decode("tf.Tensor3D", "const image = decode(bytes); // !\nreturn image.size;"),
);
finds(
  "an early return leaves it",
  decode(
    "tf.Tensor3D",
    "const image = decode(bytes); // !\nif (bytes[9]) return 0;\nimage.dispose();\nreturn 1;",
  ),
);
finds(
  "it is ended",
  decode("tf.Tensor3D", "const image = decode(bytes);\nimage.dispose();\nreturn 1;"),
);
finds(
  "a promise of one",
  decode(
    "Promise<tf.Tensor | null>",
    "const image = await decode(bytes); // !\nreturn image?.size;",
  ),
);
finds("a number", decode("tf.Rank", "const rank = decode(bytes);\nreturn rank;"));
finds(
  "the same name of another package",
  decode("tf.Tensor3D", "const image = decode(bytes);\nreturn image.size;"),
  'import * as tf from "numbers";\n',
);
finds(
  "a name of its own",
  decode("Tensor", "const image = decode(bytes);\nreturn image.size;"),
  'import type { Tensor } from "./tensors";\n',
);
finds(
  "a name that is imported",
  decode("Tensor2D", "const image = decode(bytes); // !\nreturn image.size;"),
  'import type { Tensor2D } from "@tensorflow/tfjs-of-old";\n',
);

const evaluate = (type: string, names: string, body: string): string => `
export async function losses(model: tf.LayersModel, x: tf.Tensor, y: tf.Tensor) {
  const ${names} = model.evaluate(x, y) as ${type};${body}
}`;
finds("an assertion", evaluate("tf.Scalar", "loss", " // !\nreturn (await loss.data())[0];"));
finds(
  "one of a list",
  evaluate(
    "tf.Scalar[]",
    "[loss, acc]",
    " // !\nreturn (await loss.data())[0] + acc.dataSync()[0];",
  ),
);
finds(
  "one of a pair, ended",
  evaluate(
    "[tf.Scalar, tf.Scalar]",
    "[loss, acc]",
    "\nconst all = loss.dataSync()[0] + acc.dataSync()[0];\ntf.dispose([loss, acc]);\nreturn all;",
  ),
);

const best = (before: string): string => `
export class RestoreBest extends tf.Callback {
  private weights: tf.Tensor[] = [];
  constructor(private readonly net: tf.LayersModel) {
    super();
  }
  override async onEpochEnd(): Promise<void> {
    ${before}
  }
  override async onTrainEnd(): Promise<void> {
    this.net.setWeights(this.weights);
    tf.dispose(this.weights);
    this.weights = [];
  }
}`;
const clones = "this.weights = this.net.getWeights().map((w) => w.clone());";
finds("a field of lists", best(`${clones} // !`));
finds("a field of lists, ended first", best(`tf.dispose(this.weights);\n${clones}`));

finds(
  "weights of a model are looked at where others are set",
  `
export function soften(online: tf.LayersModel, target: tf.LayersModel): void {
  const mine = online.getWeights();
  const mixed = target.getWeights().map((t, i) => tf.tidy(() => t.add(mine[i]))); // !
  target.setWeights(mixed);
}
export function copy(online: tf.LayersModel, target: tf.LayersModel): void {
  target.setWeights(online.getWeights());
}`,
);

test.run();
